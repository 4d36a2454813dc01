"""Turns an unexpected exception into a bug report: command, versions and traceback, without secrets or home path."""

from __future__ import annotations

import itertools
import os
import platform
import sys
import traceback

import bb
from bb.cli.calls import output
from bb.kernel import secret_patterns
from bb.kernel.errors import BbError
from bb.kernel.escaping import harmless

JSON = "--json"


class Bug(BbError):
    """bb ran into a bug of its own."""

    code = "INTERNAL_ERROR"
    exit_status = 1
    hint = "please report it with the text below; acknowledged changes are not lost"


def report(error: Exception, words: list[str]) -> int:
    """Print the report for ERROR in the requested format, and return the exit status."""
    text = _text(error, words)
    bug = Bug(f"bb ran into a bug: {type(error).__name__}: {_clean(str(error))}", report=text)
    plain = [word for word in words if word != JSON]
    command = " ".join(itertools.takewhile(lambda word: not word.startswith("-"), plain[:2]))
    try:
        output.refusal(command, bug, as_json=JSON in words)
        if JSON not in words:
            output.lines(["", *text.splitlines()], sys.stderr)
    except (output.OutputFailed, BrokenPipeError):
        pass  # no output is possible
    return bug.exit_status


def _text(error: Exception, words: list[str]) -> str:
    trace = "".join(traceback.format_exception(error))
    return (
        f"bb {bb.__version__}, Python {platform.python_version()}, {platform.system()} {platform.release()}\n"
        f"command: bb {_clean(' '.join(words))}\n{_clean(trace, keep_lines=True)}"
    )


def _clean(text: str, *, keep_lines: bool = False) -> str:
    home = os.path.expanduser("~")
    text = secret_patterns.masked(text.replace(home, "~") if len(home) > 1 else text)
    return "\n".join(map(harmless, text.split("\n"))) if keep_lines else harmless(text)
