"""The daemon's log: lines with a time, in a file that does not grow for ever. Nothing of what anybody says is in it."""

from __future__ import annotations

import os
import time
import traceback

from bb.kernel import clock, secret_patterns
from bb.kernel.errors import BbError
from bb.kernel.show import SET_OFF, harmless

LARGEST = 5 << 20
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


class InternalError(BbError):
    """The daemon ran into a bug of its own."""

    code = "INTERNAL_ERROR"
    exit_status = 1
    hint = "the daemon's log says more: `bb daemon logs`"


class Log:
    """Lines for a person to read."""

    def __init__(self, path: str, level: str = "INFO") -> None:
        self.path = path
        self.level = level

    def debug(self, text: str) -> None:
        self._write("DEBUG", text)

    def info(self, text: str) -> None:
        self._write("INFO", text)

    def warning(self, text: str) -> None:
        self._write("WARNING", text)

    def error(self, text: str) -> None:
        self._write("ERROR", text)

    def trace(self, error: Exception, before: str = "") -> None:
        """Where an error came from. What an exception says may have several lines, so each but the first is marked."""
        first, *others = secret_patterns.masked(before + "".join(traceback.format_exception(error))).splitlines()
        self._write("ERROR", first, *(SET_OFF + line for line in others))

    def bug(self, what: str, error: Exception) -> InternalError:
        """Note down a bug of ours; what whoever met it is refused with."""
        self.trace(error, f"{what}: ")
        return InternalError(f"{type(error).__name__} in {what}")

    def _write(self, level: str, *lines: str) -> None:
        """Note down LINES, each on one line of its own: what is said in one, by whomever, begins no other."""
        if LEVELS.index(level) < LEVELS.index(self.level):
            return
        stamp = clock.text(time.time_ns() // 1_000_000)
        written = "".join(f"{stamp} {level} {harmless(secret_patterns.masked(line))}\n" for line in lines)
        try:
            self._make_room()
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(fd, written.encode("utf-8", "backslashreplace"))
            finally:
                os.close(fd)
        except OSError:
            return  # a full disk must not stop the daemon from saying so to its clients

    def _make_room(self) -> None:
        if os.path.exists(self.path) and os.path.getsize(self.path) > LARGEST:
            os.replace(self.path, self.path + ".1")
