"""What the examples do besides running models: audio, and fetching packages."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import wave
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


def load(path: str) -> ModuleType:
    name = path.replace("/", "_")
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{path}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("rate", [8000, 16000, 32000, 44100, 48000])
def test_resampling_keeps_tones_below_half_the_rate(rate: int) -> None:
    audio = load("silero_vad/audio")
    seconds = np.arange(rate) / rate
    tone = np.sin(2 * np.pi * 440 * seconds).astype(np.float32)
    found = audio.resample(tone, rate)
    assert len(found) == 16000
    expected = np.sin(2 * np.pi * 440 * np.arange(16000) / 16000)
    assert np.abs(found - expected)[500:-500].max() < 0.01
    if rate == 48000:
        high = np.sin(2 * np.pi * 11000 * seconds).astype(np.float32)
        assert np.abs(audio.resample(high, rate))[500:-500].max() < 0.01


def test_reading_wav_files(tmp_path: Path) -> None:
    audio = load("silero_vad/audio")
    path = tmp_path / "two.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(np.array([[16384, 0], [-32768, -32768]], "<i2").tobytes())
    samples, rate = audio.read_wav(path)
    assert rate == 16000 and samples.tolist() == [0.25, -1.0]
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 1, 16000, 0, "NONE", ""))
        file.writeframes(b"\x80")
    with pytest.raises(ValueError, match="8 bits a sample; 16 are expected"):
        audio.read_wav(path)
    for content, reason in ((b"", "it ends too early"), (b"no sound at all", "does not start with RIFF")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"no WAV file: .*{reason}"):
            audio.read_wav(path)


def test_what_a_user_has_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    fetch = load("fetch")
    fetch.require("numpy", "counting")
    with pytest.raises(fetch.Unavailable, match="counting needs the package jitlang_no_such_package: .* -m pip install jitlang_no_such_package"):
        fetch.require("jitlang_no_such_package", "counting")


def test_a_package_that_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch = load("fetch")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(fetch.Unavailable, match="'pip download --no-deps jitlang-no-such-package' failed"):
        fetch.from_pypi("jitlang-no-such-package", tmp_path)
    assert not (tmp_path / "jitlang-no-such-package").exists()
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(fetch.Unavailable, match="neither is apt-get"):
        fetch.from_debian("no-such-package", Path("/no/such/folder"), tmp_path)


@pytest.mark.parametrize("example", ["silero_vad", "minilm"])
def test_help(example: str) -> None:
    done = subprocess.run([sys.executable, "-m", f"examples.{example}", "--help"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "--check" in done.stdout
