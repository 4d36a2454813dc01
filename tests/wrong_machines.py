"""Machines of a test on which something is wrong: the wall clock, or the disk. C sources in `tests/data/` say how."""

from __future__ import annotations

import functools
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import made_once

SOURCES = Path(__file__).parent / "data"
BILLION = 1_000_000_000


class _Wrong:
    """SETTINGS belong into the environment of the machine's processes. They have the value in their memory, so it can
    be changed while they run."""

    def __init__(self, name: str, variable: str) -> None:
        library = _library(name)
        if library is None:
            pytest.skip("no C compiler makes that library on this system")
        self._file = _open_folder(name) / "value"
        self._file.write_bytes(bytes(8))
        self.settings = {"LD_PRELOAD": str(library), variable: str(self._file)}

    def _set(self, seconds: float) -> None:
        with open(self._file, "r+b") as file:
            file.write(struct.pack("=q", round(seconds * BILLION)))


class WallClock(_Wrong):
    """The clock of a machine."""

    def __init__(self) -> None:
        super().__init__("shifted_clock", "SHIFTED_CLOCK")

    def is_ahead_by(self, hours: float) -> None:
        """Set the clock: so many HOURS ahead of the right time, or behind it."""
        self._set(hours * 3600)


class Disk(_Wrong):
    """The disk of a machine."""

    def __init__(self) -> None:
        super().__init__("slow_disk", "SLOW_DISK")

    def takes(self, seconds: float) -> None:
        """Let each step that must reach the disk take so many SECONDS."""
        self._set(seconds)


def _open_folder(name: str) -> Path:
    """A folder that other users may read, such as the one that runs a server."""
    folder = made_once(name)
    for each in (folder, folder.parent):
        each.chmod(0o755)
    return folder


@functools.cache
def _library(name: str) -> Path | None:
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux" or sys.maxsize < 1 << 32:
        return None
    made = _open_folder(name) / f"{name}.so"
    words = [compiler, "-O1", "-shared", "-fPIC", "-o", str(made), str(SOURCES / f"{name}.c"), "-ldl"]
    return made if subprocess.run(words, check=False, capture_output=True).returncode == 0 else None
