"""The daemon's log: lines with a time, in a file of limited size. It contains no text of messages."""

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
    """Internal error in the daemon."""

    code = "INTERNAL_ERROR"
    exit_status = 1
    hint = "see the daemon's log: `bb daemon logs`"


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
        """Log an error with its traceback. Every line after the first is marked as a continuation."""
        first, *others = secret_patterns.masked(before + "".join(traceback.format_exception(error))).splitlines()
        self._write("ERROR", first, *(SET_OFF + line for line in others))

    def bug(self, what: str, error: Exception) -> InternalError:
        """Log a bug; the refusal for the client that caused it."""
        self.trace(error, f"{what}: ")
        return InternalError(f"{type(error).__name__} in {what}")

    def _write(self, level: str, *lines: str) -> None:
        """Log LINES, each on one line: line breaks in a text are escaped, so that no text can forge a log line."""
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
            return  # a full disk must not stop the daemon: it refuses requests with the reason

    def _make_room(self) -> None:
        if os.path.exists(self.path) and os.path.getsize(self.path) > LARGEST:
            os.replace(self.path, self.path + ".1")
