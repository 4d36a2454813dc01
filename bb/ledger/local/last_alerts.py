"""`notify.json`: the problems that `bb notify --once` has reported, by the command that it reported them with.

The file belongs to this clone. If it is lost, open problems are reported once more. A lock file of its own keeps two
simultaneous runs from reporting a problem twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Self

from bb.kernel import json_text
from bb.kernel.digest import digest
from bb.kernel.errors import Busy
from bb.ledger.files import disk
from bb.ledger.files.lock import LedgerBusy, Lock

NAME, LOCK = "notify.json", "notify.lock"
MOST_COMMANDS = 32  # the latest commands are kept, so that experiments with the command do not fill the file
LARGEST = 16 << 20  # bytes
PATIENCE = 1.0  # seconds

AlreadyNotifying = Busy.declare(
    "ALREADY_NOTIFYING",
    "Another `bb notify --once` is running in this clone",
    hint="wait until it ends; the next run reports problems that are new by then",
)


class ReportedProblems:
    """The problems reported with one command. Used with `with`, which holds the lock."""

    def __init__(self, store: str, command: str) -> None:
        self._path = os.path.join(store, NAME)
        self._command = digest(command.encode("utf-8", "surrogateescape"))
        self._lock = Lock(os.path.join(store, LOCK), PATIENCE)

    def __enter__(self) -> Self:
        disk.make_empty(self._lock.path)
        try:
            self._lock.__enter__()
        except LedgerBusy.error as error:
            raise AlreadyNotifying() from error
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.__exit__()

    def names(self) -> set[str]:
        """The problems that were open at the last run, and were reported."""
        return set(self._all().get(self._command, ()))

    def write(self, names: Iterable[str]) -> None:
        """Replace the reported problems of this command."""
        others = {command: alerts for command, alerts in self._all().items() if command != self._command}
        latest = dict(list(others.items())[-(MOST_COMMANDS - 1) :]) | {self._command: sorted(names)}
        disk.replace(self._path, json_text.dumps(latest).encode(), durable=True)

    def _all(self) -> dict[str, list[str]]:
        try:
            reported = json_text.read(disk.read_small(self._path, LARGEST) or b"")
        except ValueError:
            return {}
        if type(reported) is not dict:
            return {}
        return {
            command: [name for name in names if type(name) is str]
            for command, names in reported.items()
            if type(command) is str and type(names) is list
        }
