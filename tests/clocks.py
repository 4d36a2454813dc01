"""A wall clock that is wrong, for the processes of one machine of a test: `tests/data/shifted_clock.c`, compiled once."""

from __future__ import annotations

import functools
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import made_once

SOURCE = Path(__file__).parent / "data" / "shifted_clock.c"


class WallClock:
    """The clock of a machine. SETTINGS belong into the environment of its processes. It can be set while they run."""

    def __init__(self, folder: Path) -> None:
        library = _library()
        if library is None:
            pytest.skip("no C compiler makes a wrong clock on this system")
        self._file = folder / "clock"
        self._file.write_bytes(bytes(8))
        self.settings = {"LD_PRELOAD": str(library), "SHIFTED_CLOCK": str(self._file)}

    def is_ahead_by(self, hours: float) -> None:
        """Set the clock: so many HOURS ahead of the right time, or behind it."""
        with open(self._file, "r+b") as file:  # in place: processes have it in their memory
            file.write(struct.pack("=q", round(hours * 3_600_000_000_000)))


@functools.cache
def _library() -> Path | None:
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux" or sys.maxsize < 1 << 32:
        return None
    made = made_once("clock") / "shifted_clock.so"
    words = [compiler, "-O1", "-shared", "-fPIC", "-o", str(made), str(SOURCE), "-ldl"]
    return made if subprocess.run(words, check=False, capture_output=True).returncode == 0 else None
