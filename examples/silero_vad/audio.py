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
    """The samples of a 16-bit WAV file, its channels averaged, from -1 to 1, and its rate. Raises ValueError for other files, OSError."""
    try:
        with wave.open(str(path)) as file:
            if file.getsampwidth() != 2:
                raise ValueError(f"{path}: {8 * file.getsampwidth()} bits a sample; 16 are expected")
            raw = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, file.getnchannels())
            return (raw.mean(axis=1) / 32768).astype(np.float32), file.getframerate()
    except (wave.Error, EOFError) as error:
        raise ValueError(f"{path}: no WAV file: {str(error) or 'it ends too early'}") from None


def resample(samples: Samples, rate: int) -> Samples:
    """The samples at 16 kHz: each is a sum over its neighbours, weighted by a sinc under a Hamming window that lets pass what both rates can hold."""
    if rate == RATE:
        return samples
    keep = min(1.0, RATE / rate)  # of the frequencies
    reach = math.ceil(24 / keep)
    padded = np.pad(samples, reach + 1)
    count = len(samples) * RATE // rate
    parts = []
    for start in range(0, count, 16384):
        places = np.arange(start, min(start + 16384, count)) * (rate / RATE)
        neighbours = np.floor(places).astype(np.int64)[:, None] + np.arange(-reach, reach + 1)
        distances = places[:, None] - neighbours
        window = 0.54 + 0.46 * np.cos(np.pi * distances / (reach + 1))
        parts.append((padded[neighbours + reach + 1] * keep * np.sinc(keep * distances) * window).sum(axis=1))
    return np.concatenate(parts).astype(np.float32)


def recording(files: Iterable[Path], pause: float = 0.6) -> Samples:
    """The files one after the other at 16 kHz, with pauses before, between and after."""
    silence = np.zeros(int(pause * RATE), np.float32)
    parts = [silence]
    for file in files:
        parts += [resample(*read_wav(file)), silence]
    return np.concatenate(parts)
