"""Running very many commands in little time, and writing ledger lines that no bb would write.

A started Typer costs most of what a command costs. So one process imports it once and then forks for every command:
each is a process of its own with its own streams, arguments, environment and exit status, started in a millisecond.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bb.kernel.digest import digest
from bb.kernel.errors import BbError
from bb.kernel.event import Event
from bb.ledger import line as lines
from bb.ledger.journal import Journal
from tests.support import NOON, ROOT, Ran, Scratch, environment

WHOLE, TYPER = "whole", "typer"  # the whole program, or Typer alone


@dataclass(frozen=True)
class Call:
    """One command: its words, and what is set for it beside the repository's settings."""

    words: Sequence[str]
    settings: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join([*(f"{name}={value}" for name, value in self.settings.items()), *map(repr, self.words)])


def run_all(repo: Scratch, calls: Iterable[Call], way: str = WHOLE, *, keep: str | None = None) -> list[Ran]:
    """What each of the CALLS does in REPO, one after the other, each in a process of its own.

    The files in the folder KEEP, when one is named, are put back before each call as they were before the first.
    """
    asked = [[list(call.words), dict(call.settings)] for call in calls]
    with tempfile.TemporaryFile() as errors:
        done = subprocess.run(
            [sys.executable, "-m", "tests.faces.faces_support", way, keep or ""],
            input=json.dumps(asked).encode(),
            cwd=repo.path,
            env=environment(**repo.settings) | {"COLUMNS": "100"},
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        errors.seek(0)
        assert done.returncode == 0, errors.read().decode()
    answers = [Ran(*json.loads(line)) for line in done.stdout.splitlines()]
    assert len(answers) == len(asked)
    return answers


def _serve(way: str, keep: str) -> None:
    from bb.cli import app
    from bb.ops import catalogue

    app.root()
    catalogue.everything()
    kept = {file: file.read_bytes() for file in Path(keep).iterdir()} if keep else {}
    calls = json.loads(sys.stdin.read())
    for words, settings in calls:
        for file, contents in kept.items():
            file.write_bytes(contents)
        print(json.dumps(_forked(words, settings, way)), flush=True)


def _forked(words: list[str], settings: dict[str, str], way: str) -> list[Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os.environ.update(settings)
            sys.argv = ["bb", *words]
            _become(way)
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        said = out.read().decode(errors="surrogateescape"), err.read().decode(errors="surrogateescape")
    return [os.waitstatus_to_exitcode(status), *said]


def _become(way: str) -> None:
    """Be the command, and end as it ends."""
    if way == WHOLE:
        from bb.cli.main import main

        main()
    from bb.cli import app

    try:
        status = app.answer(sys.argv[1:])
    except SystemExit as ended:
        status = int(ended.code or 0)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def statuses() -> dict[str, int]:
    """Every code that anything may refuse with, and the exit status of its family."""
    from bb.cli import app, bug
    from bb.ops import catalogue

    assert app.answer
    assert bug.Bug
    catalogue.everything()
    found: dict[str, int] = {}
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


assert ROOT  # children are started with it on their path
if __name__ == "__main__":
    _serve(*sys.argv[1:])
