"""The scripted code of ``jitlang demo``: a network that learns to read digits, and a search written as plain loops."""

from __future__ import annotations

import jitlang as jl
from jitlang import Tensor


class DigitReader(jl.nn.Module):
    """Two layers, from 64 pixels to a score for each digit. Learns by gradient descent with momentum; the gradients are written by hand."""

    w1: Tensor
    b1: Tensor
    w2: Tensor
    b2: Tensor
    v1: Tensor
    v2: Tensor

    def __init__(self, hidden: int = 64) -> None:
        super().__init__()
        self.w1 = jl.nn.Parameter(jl.randn([64, hidden]) * 0.18)
        self.b1 = jl.nn.Parameter(jl.zeros([hidden]))
        self.w2 = jl.nn.Parameter(jl.randn([hidden, 10]) * 0.18)
        self.b2 = jl.nn.Parameter(jl.zeros([10]))
        self.register_buffer("v1", jl.zeros([64, hidden]))
        self.register_buffer("v2", jl.zeros([hidden, 10]))

    def forward(self, images: Tensor) -> Tensor:
        """Scores (n, 10) of images (n, 64) with pixels from 0 to 1."""
        return jl.relu(images @ self.w1 + self.b1) @ self.w2 + self.b2

    @jl.export
    def read(self, images: Tensor) -> Tensor:
        """The digit that each image shows."""
        return self.forward(images).argmax(1)

    @jl.export
    def learn(self, images: Tensor, labels: Tensor, rate: float) -> float:
        """One step on a batch; returns the loss before it."""
        count = images.size(0)
        hidden = jl.relu(images @ self.w1 + self.b1)
        scores = hidden @ self.w2 + self.b2
        at = labels.unsqueeze(1)
        log_p = scores.log_softmax(1)
        loss = -log_p.gather(1, at).mean()
        # The gradient of the loss by the scores is softmax minus one at the label.
        truth = jl.arange(10).unsqueeze(0) == at
        d_scores = (log_p.exp() - truth.to(jl.float32)) / count
        d_hidden = (d_scores @ self.w2.t()) * (hidden > 0)
        self.v2 = self.v2 * 0.9 + hidden.t() @ d_scores
        self.v1 = self.v1 * 0.9 + images.t() @ d_hidden
        self.w2 -= self.v2 * rate
        self.b2 -= d_scores.sum(0) * rate
        self.w1 -= self.v1 * rate
        self.b1 -= d_hidden.sum(0) * rate
        return float(loss)


def nearest(images: list[list[int]], wanted: list[list[int]]) -> list[int]:
    """For each wanted image, the number of the one in `images` whose pixels differ least."""
    found: list[int] = []
    for image in wanted:
        best = 0
        least = 1 << 60
        for i in range(len(images)):
            other = images[i]
            distance = 0
            for k in range(len(image)):
                difference = other[k] - image[k]
                distance += difference * difference
            if distance < least:
                least = distance
                best = i
        found.append(best)
    return found
