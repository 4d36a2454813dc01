"""Runs the command of `bb notify` once, with its environment, input and time limit.

Text of agents is never inserted into the command line.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from typing import Any

from bb.cli.calls import output
from bb.kernel import clock, json_text
from bb.kernel.escaping import clipped
from bb.kernel.record import Record

GRACE = 2.0  # seconds until a command that was told to end is killed
LONGEST = 500  # characters of a variable; stdin has the full text
ERRORS = 2  # the command's output goes to stderr, because it is not part of our answer


class Failure(Record):
    """Why a command failed, and what to do about it."""

    why: str
    hint: str


NOT_STARTED = "name an executable program, with its full path if necessary; shell syntax needs --shell"
TOO_LONG = "let the command work in the background, or raise --timeout"
FAILED = "see the command's own output above, if any"


def run(words: Sequence[str], problem: dict[str, Any], repository: str, now: int, timeout: int) -> Failure | None:
    """Run WORDS for PROBLEM; return the failure, or None."""
    document = {"what": "new", "at": clock.text(now), "repository": repository, "problem": problem}
    output.flush()
    try:
        child = subprocess.Popen(  # noqa: S603  (the person's own words, and nothing else)
            words,
            stdin=subprocess.PIPE,
            stdout=ERRORS,
            env=_environment(variables(problem, repository)),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Failure(f"cannot be started: {getattr(error, 'strerror', None) or error}: {words[0]}", NOT_STARTED)
    try:
        child.communicate((json_text.dumps_ascii(document) + "\n").encode(), timeout=timeout)
    except subprocess.TimeoutExpired:
        return Failure(f"took longer than {timeout} s and was ended", TOO_LONG)
    finally:
        _end(child)
    if child.returncode < 0:
        return Failure(f"was ended by signal {-child.returncode}", FAILED)
    return Failure(f"ended with status {child.returncode}", FAILED) if child.returncode else None


def variables(problem: dict[str, Any], repository: str) -> dict[str, str]:
    """The variables for the command: each an escaped line of limited length."""
    members = {name: problem[name] for name in ("id", "kind", "text", "next_step", "since")}
    named = {f"BB_PROBLEM_{name.upper()}": value for name, value in members.items()} | {"BB_REPOSITORY": repository}
    return {name: clipped(str(value), LONGEST) for name, value in named.items()}


def _environment(ours: dict[str, str]) -> Any:
    """Our environment with these variables added, as UTF-8 on every system."""
    if os.name == "nt":
        return {**os.environ, **ours}
    return {**os.environb, **{name.encode(): value.encode() for name, value in ours.items()}}


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the command and its process group if it is still running. Processes that a finished command left stay."""
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if child.poll() is not None:
            return
        with contextlib.suppress(OSError):
            if os.name == "nt":
                child.kill()
            else:
                os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(GRACE)
