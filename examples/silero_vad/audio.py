"""Recordings: WAV files to float samples at 16 kHz."""

from __future__ import annotations

import math
import wave
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RATE = 16000
Samples = NDArray[np.float32]


def read_wav(path: Path) -> tuple[Samples, int]:
    """The samples of a 16-bit WAV file, its channels averaged, from -1 to 1, and its rate. Raises ValueError for other sample sizes."""
    with wave.open(str(path)) as file:
        if file.getsampwidth() != 2:
            raise ValueError(f"{path}: {8 * file.getsampwidth()} bits a sample; 16 are expected")
        raw = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, file.getnchannels())
        return (raw.mean(axis=1) / 32768).astype(np.float32), file.getframerate()


def resample(samples: Samples, rate: int) -> Samples:
    """The samples at 16 kHz: zeros between, a windowed-sinc low pass, and every n-th of what comes out."""
    common = math.gcd(rate, RATE)
    up, down = RATE // common, rate // common
    if up == down:
        return samples
    stretched = np.zeros(len(samples) * up)
    stretched[::up] = samples
    widest = max(up, down)
    reach = 24 * widest
    at = np.arange(-reach, reach + 1)
    low_pass = np.sinc(at / widest) * np.hamming(len(at)) * up / widest
    return np.convolve(stretched, low_pass, mode="same")[::down].astype(np.float32)


def recording(files: Iterable[Path], pause: float = 0.6) -> Samples:
    """The files one after the other at 16 kHz, with pauses before, between and after."""
    silence = np.zeros(int(pause * RATE), np.float32)
    parts = [silence]
    for file in files:
        parts += [resample(*read_wav(file)), silence]
    return np.concatenate(parts)
