"""Commands that run in the process of the test: thousands of them in the time that a hundred processes take.

For what is about answers. What a process is about (its streams and how it ends, what it imports, two at once, its
being killed) is tested with processes: `tests/forks.py`, or one that is started.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bb.cli import fast_parser
from bb.cli.main import main
from bb.ledger.index import database
from tests.forks import WHOLE, Call
from tests.support import Ran, Scratch, environment, scratch


class Near(Scratch):
    """A repository whose commands run in this process."""

    def bb(self, *words: str | bytes, cwd: Path | None = None, stdin: str | None = None, **settings: str) -> Ran:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape") for _ in "12")
        given = io.TextIOWrapper(io.BytesIO((stdin or "").encode()), "utf-8", "surrogateescape")
        status: object = None
        with (
            contextlib.chdir(cwd or self.path),
            _surroundings(environment(COLUMNS="100") | self.settings | settings),
            _replaced(sys, argv=["bb", *map(os.fsdecode, words)], stdin=given, stdout=out, stderr=err),
            _replaced(os, _exit=sys.exit),
        ):
            try:
                main()
            except SystemExit as ended:
                status = ended.code
            finally:
                while database.LEFT_OPEN:  # this process does not end
                    database.LEFT_OPEN.pop().close()
        assert isinstance(status, int), "a command ends with a status"
        err.flush()
        said = [where.buffer.getvalue().decode("utf-8", "surrogateescape") for where in (out, err)]
        return Ran(status, *said)


# As `unittest.mock` does it, in a tenth of the time: there are tens of thousands of calls.


@contextlib.contextmanager
def _surroundings(wanted: dict[str, str]) -> Iterator[None]:
    """The process's environment is WANTED and nothing else. No command changes its own."""
    before = os.environ.copy()
    _surround(before, wanted)
    try:
        yield
    finally:
        _surround(wanted, before)


def _surround(there: dict[str, str], wanted: dict[str, str]) -> None:
    for name in there.keys() - wanted.keys():
        del os.environ[name]
    for name, value in wanted.items():
        if there.get(name) != value:
            os.environ[name] = value


@contextlib.contextmanager
def _replaced(holder: Any, **attributes: object) -> Iterator[None]:
    """Other ATTRIBUTES for a while."""
    before = {name: getattr(holder, name) for name in attributes}
    for name, value in attributes.items():
        setattr(holder, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(holder, name, value)


def near(path: Path, **settings: str) -> Near:
    """A fresh repository at PATH."""
    return Near(scratch(path).path, settings)


def run_all(repo: Scratch, calls: Iterable[Call], way: str = WHOLE, *, keep: Path | None = None) -> list[Ran]:
    """What each of the CALLS does in REPO, one after the other.

    The files in the folder KEEP, when one is named, are put back after each call as they were before the first.
    """
    kept = {file: file.read_bytes() for file in keep.iterdir()} if keep else {}
    answers = []
    with _replaced(fast_parser, answer=fast_parser.answer if way == WHOLE else lambda *_, **__: None):
        for call in calls:
            answers.append(repo.bb(*call.words, stdin=call.stdin, **call.settings))
            for file, contents in kept.items():
                file.write_bytes(contents)
    return answers
