"""Silero VAD v6 (16 kHz) as scripted modules: the probability of speech in each 32 ms of audio.

In: the tensors of ``silero_vad_16k.safetensors`` (MIT licence, Silero Team). Out: a module with mutable state and the entry points of the original:
`forward` for one chunk of a stream, `audio_forward` for a recording, `reset_states`, and, beyond the original, `timestamps`.
"""

from __future__ import annotations

from typing import Dict, List, Tuple

import jitlang as jl
from jitlang import Tensor

CHUNK = 512  # samples in a chunk: 32 ms
CONTEXT = 64  # samples of the chunk before that a chunk is looked at with


class Spectrum(jl.nn.Module):
    """Magnitudes of a short-time Fourier transform, made by a convolution with a fixed basis."""

    def __init__(self, basis: Tensor) -> None:
        super().__init__()
        self.register_buffer("basis", basis)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, samples) → (batch, 129 frequencies, frames)."""
        padded = jl.pad(x.unsqueeze(1), [0, 64], "reflect")
        transform = jl.conv1d(padded, self.basis, stride=128)
        real = transform[:, :129]
        imaginary = transform[:, 129:]
        return (real * real + imaginary * imaginary).sqrt()


class Convolution(jl.nn.Module):
    """A convolution over three frames, and ReLU."""

    def __init__(self, weight: Tensor, bias: Tensor, stride: int) -> None:
        super().__init__()
        self.weight = jl.nn.Parameter(weight)
        self.bias = jl.nn.Parameter(bias)
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, frames) → (batch, other channels, frames / stride)."""
        return jl.conv1d(x, self.weight, self.bias, stride=self.stride, padding=1).relu()


class Decoder(jl.nn.Module):
    """An LSTM cell that remembers the chunks before, and one number at the end."""

    def __init__(self, weights: Dict[str, Tensor]) -> None:
        super().__init__()
        self.weight_ih = jl.nn.Parameter(weights["lstm_cell.weight_ih"])
        self.weight_hh = jl.nn.Parameter(weights["lstm_cell.weight_hh"])
        self.bias_ih = jl.nn.Parameter(weights["lstm_cell.bias_ih"])
        self.bias_hh = jl.nn.Parameter(weights["lstm_cell.bias_hh"])
        self.weight = jl.nn.Parameter(weights["final_conv.weight"])
        self.bias = jl.nn.Parameter(weights["final_conv.bias"])

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        """(batch, 128, 1) and the state → probabilities (batch, 1) and the new state."""
        h, c = jl.lstm_cell(x.squeeze(-1), [h, c], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        probability = jl.conv1d(h.unsqueeze(-1).relu(), self.weight, self.bias).sigmoid()
        return probability.squeeze(1).mean([1]).unsqueeze(1), h, c


class SileroVAD(jl.nn.Module):
    """The detector. Its state is the LSTM's, and the end of the chunk before."""

    encoder: List[Convolution]
    sample_rates: List[int]

    def __init__(self, weights: Dict[str, Tensor]) -> None:
        super().__init__()
        self.spectrum = Spectrum(weights["stft_conv.weight"])
        self.encoder = [Convolution(weights[f"conv{i}.weight"], weights[f"conv{i}.bias"], 1 if i in (1, 4) else 2) for i in (1, 2, 3, 4)]
        self.decoder = Decoder(weights)
        self.sample_rates = [16000]
        self.h = jl.zeros([0])
        self.c = jl.zeros([0])
        self.context = jl.zeros([0])
        self.last_batch_size = 0

    @jl.export
    def reset_states(self) -> None:
        """Forgets what was heard."""
        self.h = jl.zeros([0])
        self.c = jl.zeros([0])
        self.context = jl.zeros([0])
        self.last_batch_size = 0

    def validate(self, x: Tensor, sr: int) -> Tuple[Tensor, int]:
        """The audio with a batch dimension, at 16 kHz where it came at a multiple of that."""
        if x.dim() == 1:
            x = x.unsqueeze(0)
        if x.dim() > 2:
            raise ValueError(f"Too many dimensions for input audio chunk {x.dim()}")
        if sr != 16000 and sr % 16000 == 0:
            x = x[:, :: sr // 16000]
            sr = 16000
        if sr not in self.sample_rates:
            raise ValueError(f"Supported sampling rates: {self.sample_rates} (or multiples of 16000)")
        if sr > 31.25 * x.size(1):
            raise ValueError("Input audio chunk is too short")
        return x, sr

    def forward(self, x: Tensor, sr: int) -> Tensor:
        """The probability of speech in one chunk: (512,) or (batch, 512) → (batch, 1)."""
        x, sr = self.validate(x, sr)
        if x.size(1) != CHUNK:
            raise ValueError(f"Provided number of samples is {x.size(1)}; 512 are expected at 16000 Hz")
        batch = x.size(0)
        if self.last_batch_size != 0 and self.last_batch_size != batch:
            self.reset_states()
        if self.context.numel() == 0:
            self.context = jl.zeros([batch, CONTEXT])
            self.h = jl.zeros([batch, 128])
            self.c = jl.zeros([batch, 128])
        x = jl.cat([self.context, x], 1)
        features = self.spectrum(x)
        for layer in self.encoder:
            features = layer(features)
        probability, self.h, self.c = self.decoder(features, self.h, self.c)
        self.context = x[:, -CONTEXT:]
        self.last_batch_size = batch
        return probability

    @jl.export
    def audio_forward(self, audio: Tensor, sr: int) -> Tensor:
        """The probabilities of all chunks of a recording: (samples,) or (batch, samples) → (batch, chunks)."""
        audio, sr = self.validate(audio, sr)
        self.reset_states()
        missing = -audio.size(1) % CHUNK
        if missing:
            audio = jl.pad(audio, [0, missing])
        probabilities: List[Tensor] = []
        for start in range(0, audio.size(1), CHUNK):
            probabilities.append(self.forward(audio[:, start : start + CHUNK], sr))
        return jl.cat(probabilities, 1)

    @jl.export
    def timestamps(
        self, audio: Tensor, sr: int, threshold: float = 0.5, min_speech: float = 0.25, min_silence: float = 0.1, pad: float = 0.03
    ) -> List[Tuple[float, float]]:
        """Where speech begins and ends in a recording (samples,), in seconds."""
        probabilities = self.audio_forward(audio, sr)[0]
        seconds = audio.size(-1) / sr
        found: List[Tuple[float, float]] = []
        start = -1.0  # of the speech that goes on, or -1
        quiet = -1.0  # since when it may be over, or -1
        for i in range(probabilities.size(0)):
            now = i * CHUNK / 16000
            probability = float(probabilities[i])
            if probability >= threshold:
                quiet = -1.0
                if start < 0.0:
                    start = now
            elif probability < threshold - 0.15 and start >= 0.0:
                if quiet < 0.0:
                    quiet = now
                if now - quiet >= min_silence:
                    if quiet - start > min_speech:
                        found.append((start, quiet))
                    start = -1.0
                    quiet = -1.0
        if start >= 0.0 and seconds - start > min_speech:
            found.append((start, seconds))
        return [(max(0.0, a - pad), min(seconds, b + pad)) for a, b in found]
