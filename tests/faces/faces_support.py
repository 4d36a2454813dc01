"""What the tests of commands share: every code there is, lines that no bb would write, and a folder as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bb.kernel.digest import digest
from bb.kernel.errors import DECLARED, BbError
from bb.kernel.event import Event
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ops import catalogue
from tests.support import NOON, Scratch


def statuses() -> dict[str, int]:
    """Every code that anything may refuse with, and the exit status of its family."""
    from bb.cli import app
    from bb.cli.calls import bug
    from bb.ops import catalogue

    assert app.answer
    assert bug.Bug
    catalogue.all_ops()
    found = {refusal.code: refusal.family.exit_status for refusal in DECLARED}
    waiting = [BbError]
    while waiting:
        kind = waiting.pop()
        found[kind.code] = kind.exit_status
        waiting += kind.__subclasses__()
    return found


class Forger:
    """Appends lines that chain rightly and say anything at all, as another program or a hostile clone might."""

    def __init__(self, repo: Scratch) -> None:
        self.writer = repo.journal().parent.name
        self._file = repo.journal()
        self._link = Journal(str(repo.store), self.writer).tail()

    def add(self, kind: str, by: str, data: dict[str, Any], ts: str = NOON, **members: Any) -> str:
        """Append an event; its id."""
        event = Event(self._id(), self._link.lamport + 1, ts, kind, by, data, **members)
        raw, self._link = lines.write(event, self._link, "saltsalt")
        return self._append(raw)

    def add_octets(self, data: bytes) -> str:
        """Append a line whose data are these bytes, whatever they are; its id."""
        raw, _ = lines.write(Event(self._id(), self._link.lamport + 1, NOON, "x.y", "user", {}), self._link, "saltsalt")
        head = raw.partition(lines.DATA)[0][: lines.DH_START] + digest(data).encode() + b'"'
        self._link = lines.Link(self._link.n + 1, self._link.lamport + 1, digest(head))
        return self._append(head + lines.DATA + data + b"}\n")

    def _id(self) -> str:
        return f"{self.writer}.{self._link.n + 1}"

    def _append(self, raw: bytes) -> str:
        with self._file.open("ab") as file:
            file.write(raw)
        return f"{self.writer}.{self._link.n}"


def everything_in(folder: Path, *, but: Path | None = None) -> dict[str, bytes | None]:
    """Every file below FOLDER with its contents, and every folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in sorted(folder.rglob("*"))
        if but is None or not path.is_relative_to(but)
    }


def screen_of(words: str) -> str:
    """The module of `cli/screens` that prints what the command of these WORDS answers."""
    return next((op.screen for op in catalogue.all_ops() if op.words == words), "")
