"""Running very many commands in little time, and writing ledger lines that no bb would write.

A started Typer costs most of what a command costs. So one process imports it once and then forks for every command:
each is a process of its own with its own streams, arguments, directory, environment and exit status, and is there in
a few milliseconds. What an interpreter settles at its start (encodings, locale, time zone) cannot be set for a fork;
tests about that start their own.
"""

from __future__ import annotations

import atexit
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
from tests.support import NOON, ROOT, Ran, Scratch, environment, scratch

WHOLE, TYPER = "whole", "typer"  # the whole program, or Typer alone
AT_START = ("PYTHON", "LC_", "LANG", "TZ")  # settings that only a fresh interpreter heeds


@dataclass(frozen=True)
class Call:
    """One command: its words, and what is set for it beside the repository's settings."""

    words: Sequence[str]
    settings: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join([*(f"{name}={value}" for name, value in self.settings.items()), *map(repr, self.words)])


class Quick(Scratch):
    """A repository whose commands run in forks."""

    def bb(self, *words: str | bytes, cwd: Path | None = None, stdin: str | None = None, **settings: str) -> Ran:
        if stdin is not None or any(name.startswith(AT_START) for name in settings):
            return super().bb(*words, cwd=cwd, stdin=stdin, **settings)
        return _forked(cwd or self.path, self.settings | settings, [os.fsdecode(word) for word in words], WHOLE)


def quick(path: Path, **settings: str) -> Quick:
    """A fresh repository at PATH."""
    return Quick(scratch(path).path, settings)


def run_all(repo: Scratch, calls: Iterable[Call], way: str = WHOLE, *, keep: Path | None = None) -> list[Ran]:
    """What each of the CALLS does in REPO, one after the other.

    The files in the folder KEEP, when one is named, are put back before each call as they were before the first.
    """
    kept = {file: file.read_bytes() for file in keep.iterdir()} if keep else {}
    answers = []
    for call in calls:
        for file, contents in kept.items():
            file.write_bytes(contents)
        answers.append(_forked(repo.path, repo.settings | call.settings, list(call.words), way))
    return answers


_server: subprocess.Popen[bytes] | None = None


def _forked(cwd: Path, settings: Mapping[str, str], words: list[str], way: str) -> Ran:
    global _server  # noqa: PLW0603  (one for all tests)
    if _server is None:
        _server = subprocess.Popen(
            [sys.executable, "-m", "tests.faces.faces_support"],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        atexit.register(_stop, _server)
    assert _server.stdin is not None
    assert _server.stdout is not None
    request = [str(cwd), environment(COLUMNS="100") | settings, words, way]
    _server.stdin.write(json.dumps(request).encode() + b"\n")
    _server.stdin.flush()
    return Ran(*json.loads(_server.stdout.readline()))


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.communicate()


def _serve() -> None:
    from bb.cli import app
    from bb.ops import catalogue

    app.root()
    catalogue.everything()
    for line in sys.stdin.buffer:
        print(json.dumps(_fork(*json.loads(line))), flush=True)


def _fork(cwd: str, settings: dict[str, str], words: list[str], way: str) -> list[Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os.chdir(cwd)
            os.environ.clear()
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
    status = 1
    try:
        if way == WHOLE:
            from bb.cli.main import main

            main()
        from bb.cli import app

        status = app.answer(sys.argv[1:])
    except SystemExit as ended:
        status = int(ended.code or 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
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


if __name__ == "__main__":
    _serve()
