"""The daemon's log: lines with a time, in a file of limited size. It contains no text of messages."""

from __future__ import annotations

import os
import time
import traceback
from typing import Any

from bb.kernel import clock, json_text, secret_patterns
from bb.kernel.errors import BbError, Usage
from bb.kernel.escaping import SET_OFF, harmless
from bb.ledger.files import disk

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


ObservabilityUpdateFailed = Usage.declare(
    "OBSERVABILITY_UPDATE_FAILED", "log_level must be DEBUG, INFO, WARNING or ERROR"
)


class LogSettings:
    """The settings of a log that clients may change (CCCC's observability), kept in a file."""

    def __init__(self, path: str, log: Log) -> None:
        self._path, self._log = path, log
        self.found: dict[str, Any] = {
            "developer_mode": False,
            "log_level": "INFO",
            "components": {},
            "terminal_transcript": {},
            "terminal_ui": {},
        } | self._kept()

    def _kept(self) -> dict[str, Any]:
        """The settings in the file; none if it is not valid."""
        try:
            kept = json_text.read(disk.read_small(self._path) or b"{}")
        except ValueError:
            return {}
        return kept if isinstance(kept, dict) and kept.get("log_level") in (None, *LEVELS) else {}

    def change(self, patch: dict[str, Any]) -> dict[str, Any]:
        """Change the settings permanently; all settings."""
        level = str(patch.get("log_level", self.found["log_level"])).upper()
        if level not in LEVELS:
            raise ObservabilityUpdateFailed(path="$.patch.log_level")
        if not isinstance(patch.get("developer_mode", False), bool):
            raise ObservabilityUpdateFailed("developer_mode must be true or false", path="$.patch.developer_mode")
        self.found = {**self.found, **patch, "log_level": level}
        self._log.level = level
        disk.replace(self._path, json_text.dumps(self.found).encode() + b"\n", durable=True, mode=0o600)
        return self.found
