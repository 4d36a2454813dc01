"""Commands that run in the process of the test: thousands of them in the time that a hundred processes take.

For what is about answers. What a process is about (its streams and how it ends, what it imports, two at once, its
being killed) is tested with processes: `tests/forks.py`, or one that is started.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from unittest import mock

import pytest

from bb.cli.main import main
from tests.forks import Call
from tests.support import Ran, Scratch, environment, scratch


class Near(Scratch):
    """A repository whose commands run in this process."""

    def bb(self, *words: str | bytes, cwd: Path | None = None, stdin: str | None = None, **settings: str) -> Ran:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape") for _ in "12")
        given = io.TextIOWrapper(io.BytesIO((stdin or "").encode()), "utf-8", "surrogateescape")
        with (
            contextlib.chdir(cwd or self.path),
            mock.patch.dict(os.environ, environment(COLUMNS="100") | self.settings | settings, clear=True),
            mock.patch.multiple(sys, argv=["bb", *words], stdin=given, stdout=out, stderr=err),
            mock.patch.object(os, "_exit", side_effect=sys.exit),
            pytest.raises(SystemExit) as ended,
        ):
            main()
        err.flush()
        said = [where.buffer.getvalue().decode("utf-8", "surrogateescape") for where in (out, err)]
        return Ran(ended.value.code, *said)


def near(path: Path, **settings: str) -> Near:
    """A fresh repository at PATH."""
    return Near(scratch(path).path, settings)


def run_all(repo: Scratch, calls: Iterable[Call]) -> list[Ran]:
    """What each of the CALLS does in REPO, one after the other."""
    return [repo.bb(*call.words, stdin=call.stdin, **call.settings) for call in calls]
