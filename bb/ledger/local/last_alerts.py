"""`notify.json`: which problems `bb notify --once` has told of, by the command that they were told with.

It is this clone's own and may be lost: then what is open is told once more. Two runs at once would tell twice, so one
waits for the other, at a lock of its own that nobody else ever waits for.
"""

from __future__ import annotations

import os

from bb.kernel import json_text
from bb.kernel.digest import digest
from bb.kernel.errors import Busy
from bb.ledger.files import disk
from bb.ledger.files.lock import LedgerBusy, Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

NAME, LOCK = "notify.json", "notify.lock"
MOST_COMMANDS = 32  # the latest; who tries out another wording again and again leaves no trace for ever
LARGEST = 16 << 20  # bytes
PATIENCE = 1.0  # seconds


class AlreadyNotifying(Busy):
    """Another `bb notify --once` is at work here."""

    code = "ALREADY_NOTIFYING"
    hint = "let it end; what is new until then is told the next time"


class Told:
    """What was told with one command. To be used with `with`: until then nobody else tells anything."""

    def __init__(self, store: str, command: str) -> None:
        self._path = os.path.join(store, NAME)
        self._command = digest(command.encode("utf-8", "surrogateescape"))
        self._lock = Lock(os.path.join(store, LOCK), PATIENCE)

    def __enter__(self) -> Self:
        try:
            os.close(disk.create(self._lock.path, os.O_WRONLY))
        except OSError as error:
            raise disk.refusal(error) from error
        try:
            self._lock.__enter__()
        except LedgerBusy as error:
            raise AlreadyNotifying from error
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.__exit__()

    def names(self) -> set[str]:
        """The problems that were told of and were still open then."""
        return set(self._all().get(self._command, ()))

    def write(self, names: Iterable[str]) -> None:
        """Remember these, and no others."""
        others = {command: told for command, told in self._all().items() if command != self._command}
        latest = dict(list(others.items())[-(MOST_COMMANDS - 1) :]) | {self._command: sorted(names)}
        disk.replace(self._path, json_text.dumps(latest).encode(), durable=True)

    def _all(self) -> dict[str, list[str]]:
        try:
            found = json_text.read(disk.read_small(self._path, LARGEST) or b"")
        except ValueError:
            return {}
        if type(found) is not dict:
            return {}
        return {
            command: [name for name in told if type(name) is str]
            for command, told in found.items()
            if type(command) is str and type(told) is list
        }
