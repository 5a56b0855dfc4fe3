"""``jitlang demo``: real input, from training to a saved model that runs in a process without its source."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from importlib import resources
from pathlib import Path
from typing import Any

import click

from jitlang.cli.report import Failed, need_scripts
from jitlang.cli.words import duration

ENOUGH = 0.95
BATCH = 32
SHADES = " ░▒▓█"


@click.command("demo")
@click.option("--epochs", default=30, show_default=True, type=click.IntRange(min=1), help="How often each image is learnt from.")
@click.option("--seed", default=0, show_default=True, help="Of the first weights and of the order of the images.")
def demo_command(epochs: int, seed: int) -> None:
    """Train a network on 1,437 handwritten digits, save it, and let a new process read 360 others from the saved file.

    Data: Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak (1998), UCI Machine Learning Repository, CC BY 4.0.
    """
    need_scripts()
    images, labels = load_digits()
    held_out = load_mask(len(images))
    model = train(images[~held_out], labels[~held_out], epochs, seed)
    answers = read_elsewhere(model, images[held_out])
    right = int((answers == labels[held_out]).sum())
    draw(images[held_out], labels[held_out], answers)
    click.echo(f"read {right} of {len(answers)} held-out digits right: {right / len(answers):.1%}")
    compare_loops(images[~held_out], labels[~held_out], images[held_out], labels[held_out])
    if right < ENOUGH * len(answers):
        raise Failed(f"fewer than {ENOUGH:.0%} of the digits were read right")


def load_digits() -> tuple[Any, Any]:
    """Images (n, 8, 8) of 0 to 16, and labels (n,)."""
    import numpy as np

    with resources.as_file(resources.files("jitlang.cli") / "data" / "digits.npz") as path, np.load(path) as data:
        return data["images"], data["labels"].astype(np.int64)


def load_mask(count: int) -> Any:
    """Which images are held out: every fifth."""
    import numpy as np

    return np.arange(count) % 5 == 0


def as_input(images: Any) -> Any:
    """Images as the network takes them: (n, 64), from 0 to 1."""
    import numpy as np

    return images.reshape(-1, 64).astype(np.float32) / 16


def train(images: Any, labels: Any, epochs: int, seed: int) -> Any:
    """The scripted model after `epochs` passes over the images."""
    import numpy as np

    import jitlang
    from jitlang.cli.digits import DigitReader

    jitlang.manual_seed(seed)
    start = time.perf_counter()
    model = jitlang.script(DigitReader())
    order = np.random.default_rng(seed).permutation(len(images))
    pixels, truth = as_input(images)[order], labels[order]
    batches = [(jitlang.from_numpy(pixels[i : i + BATCH]), jitlang.from_numpy(truth[i : i + BATCH])) for i in range(0, len(order), BATCH)]
    loss = 0.0
    with click.progressbar(length=epochs, label="training", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        for _ in range(epochs):
            loss = sum(model.learn(x, y, 0.1) for x, y in batches) / len(batches)
            bar.update(1)
    click.echo(f"trained on {len(images)} images, {epochs} times each, in {duration(time.perf_counter() - start)}; loss {loss:.4f}")
    return model


def read_elsewhere(model: Any, images: Any) -> Any:
    """Saves the model, and lets ``jitlang run`` read the images from an empty folder; returns the digits."""
    import numpy as np

    import jitlang

    with tempfile.TemporaryDirectory() as folder:
        archive, pixels, empty = Path(folder, "digits.jlm"), Path(folder, "images.npy"), Path(folder, "empty")
        empty.mkdir()
        jitlang.save(model, archive)
        np.save(pixels, as_input(images))
        command = ["run", str(archive), "--entry", "read", "--input", f"images={pixels}", "--output", str(Path(folder, "out"))]
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "jitlang", *command], cwd=empty, env=_environment(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"'jitlang {' '.join(command)}' failed:\n{done.stderr.strip()}")
        click.echo(
            f"saved as {archive.name} ({archive.stat().st_size / 1000:.0f} kB); 'jitlang run' read {len(images)} images in a new process in {duration(time.perf_counter() - start)}"
        )
        return np.load(Path(folder, "out", "result.npy"))


def _environment() -> dict[str, str]:
    """The environment for a process in another folder that is to use this very jitlang."""
    home = str(Path(__file__).parents[2])
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))}


def draw(images: Any, labels: Any, answers: Any, count: int = 6) -> None:
    """Some digits, those read wrong first, side by side."""
    chosen = sorted(range(len(labels)), key=lambda i: bool(answers[i] == labels[i]))[:2]
    chosen += [i for i in range(len(labels)) if i not in chosen][: count - len(chosen)]
    for row in range(8):
        click.echo("  ".join("".join(SHADES[min(4, int(v) // 4 + (v > 0))] * 2 for v in images[i][row]) for i in chosen).rstrip())
    said = [f"read as {answers[i]}" + ("" if answers[i] == labels[i] else f", is {labels[i]}") for i in chosen]
    click.echo("  ".join(text.ljust(16) for text in said).rstrip())


def compare_loops(known: Any, known_labels: Any, wanted: Any, wanted_labels: Any) -> None:
    """Times a search that is nothing but Python loops, as CPython runs it and compiled."""
    import jitlang
    from jitlang.cli.digits import nearest

    lists = [images.reshape(-1, 64).tolist() for images in (known, wanted)]
    steps = len(lists[0]) * len(lists[1]) * 64
    compiled = jitlang.script(nearest)
    start = time.perf_counter()
    for _ in range(2):
        compiled(lists[0][:2], lists[1][:2])
    jitlang.wait_for_compilation()
    preparation = time.perf_counter() - start
    times = {}
    answers = {}
    for name, function in (("CPython", nearest), ("jitlang", compiled)):
        start = time.perf_counter()
        answers[name] = function(*lists)
        times[name] = time.perf_counter() - start
    if answers["CPython"] != answers["jitlang"]:
        raise Failed("the compiled search found other images than the same function in CPython")
    right = sum(int(known_labels[i]) == int(label) for i, label in zip(answers["jitlang"], wanted_labels, strict=True))
    click.echo(f"nearest-image search, {steps / 1e6:.0f} million steps of plain loops, {right / len(wanted):.1%} right:")
    faster = times["CPython"] / times["jitlang"]
    click.echo(
        f"  CPython {duration(times['CPython'])}, jitlang {duration(times['jitlang'])} ({faster:.0f} times as fast), compiled before in {duration(preparation)}"
    )
