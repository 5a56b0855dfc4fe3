"""Speech detection end to end: weights from PyPI, a scripted module, an archive, and the command line on a real recording.

    python -m examples.silero_vad [--work FOLDER] [--check] [RECORDING.wav …]

`--check` compares every chunk with the package's own TorchScript model; it needs PyTorch.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

import jitlang as jl
from examples.fetch import Unavailable, from_debian, from_pypi, require
from examples.runner import run
from examples.silero_vad.audio import RATE, recording
from examples.silero_vad.model import CHUNK, SileroVAD

PACKAGE = "silero-vad==6.2.3"
TOLERANCE = 1e-4


def main() -> int:
    """Runs the example; 0 where everything went well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", nargs="*", type=Path, help="16-bit WAV files (default: the spoken channel names of Debian's alsa-utils)")
    parser.add_argument("--work", type=Path, default=Path("build/silero_vad"), help="folder for downloads and results")
    parser.add_argument("--check", action="store_true", help="compare with the package's TorchScript model")
    options = parser.parse_args()
    work = options.work.resolve()
    try:
        if options.check:
            require("torch", "--check")
        work.mkdir(parents=True, exist_ok=True)
        package = from_pypi(PACKAGE, work)
        samples = recording(options.recordings or spoken(from_debian("alsa-utils", Path("/usr/share/sounds/alsa"), work)))
    except (Unavailable, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    weights = load_file(package / "silero_vad" / "data" / "silero_vad_16k.safetensors")
    archive, audio = work / "silero_vad.jlm", work / "audio.npy"
    jl.save(scripted(weights), archive)
    np.save(audio, samples)
    print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB; recording: {len(samples) / RATE:.1f} s")
    for start, end in from_command_line(work, archive, audio):
        print(f"  speech {start:7.2f} s – {end:7.2f} s")
    return check(package, weights, samples, np.load(work / "probabilities" / "result.npy")) if options.check else 0


def spoken(folder: Path) -> list[Path]:
    """The recordings of a voice in the package; the remaining one is noise."""
    return sorted(p for p in folder.glob("*.wav") if p.name != "Noise.wav")


def scripted(weights: dict[str, Any]) -> Any:
    """The detector with these weights, compiled."""
    return jl.script(SileroVAD({name: jl.from_numpy(array) for name, array in weights.items()}))


def from_command_line(work: Path, archive: Path, audio: Path) -> list[tuple[float, float]]:
    """Runs the archive in processes that have no source, from an empty folder; returns the stretches of speech."""
    inputs = ["--input", f"audio={audio}", "--input", f"sr={RATE}"]
    run(work, str(archive), "--entry", "audio_forward", *inputs, "--output", str(work / "probabilities"))
    segments = json.loads(run(work, str(archive), "--entry", "timestamps", *inputs, "--output", "-"))
    return [(start, end) for start, end in segments]


def check(package: Path, weights: dict[str, Any], samples: Any, from_archive: Any) -> int:
    """Compares all chunks with the package's TorchScript model, once with each set of weights; 0 where they agree.

    The package's two files hold different trainings of one network. So its TorchScript model is run as it is against ours with its parameters, and with the safetensors
    file's parameters put into it against what the archive gave.
    """
    import torch

    reference = torch.jit.load(package / "silero_vad" / "data" / "silero_vad.jit")
    parameters = reference.state_dict()
    own = {ours: parameters[theirs].numpy().copy() for ours, theirs in names()}
    audio = torch.from_numpy(samples)
    padded = np.concatenate([samples, np.zeros(-len(samples) % CHUNK, np.float32)])
    detector = scripted(own)
    chunks = [detector(jl.from_numpy(padded[i : i + CHUNK]), RATE).numpy() for i in range(0, len(padded), CHUNK)]
    worst = {"its own weights": np.abs(np.concatenate(chunks, 1) - reference.audio_forward(audio, RATE).numpy()).max()}
    with torch.no_grad():
        for ours, theirs in names():
            parameters[theirs].copy_(torch.from_numpy(weights[ours]))
    worst["the safetensors weights"] = np.abs(from_archive - reference.audio_forward(audio, RATE).numpy()).max()
    for what, difference in worst.items():
        print(f"largest difference from the package's TorchScript model with {what}, {len(chunks)} chunks: {difference:.1e}")
    return 0 if all(difference <= TOLERANCE for difference in worst.values()) else 1


def names() -> list[tuple[str, str]]:
    """Each tensor's name in the safetensors file and in the TorchScript model."""
    found = [("stft_conv.weight", "_model.stft.forward_basis_buffer")]
    found += [(f"conv{i + 1}.{part}", f"_model.encoder.{i}.reparam_conv.{part}") for i in range(4) for part in ("weight", "bias")]
    found += [(f"lstm_cell.{part}_{gate}", f"_model.decoder.rnn.{part}_{gate}") for part in ("weight", "bias") for gate in ("ih", "hh")]
    return found + [(f"final_conv.{part}", f"_model.decoder.decoder.2.{part}") for part in ("weight", "bias")]


if __name__ == "__main__":
    sys.exit(main())
