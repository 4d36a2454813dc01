"""The command of `bb notify`, run once: what it is told, how long it may take, and why it failed if it did.

What agents wrote reaches it as values only. It never becomes part of a command line: the words that are run are those
that the person gave, and nothing is filled into them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

from bb.cli.calls import say
from bb.kernel import clock, json_text
from bb.kernel.record import Record
from bb.kernel.show import clipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

GRACE = 2.0  # seconds to end in, for a command that took too long
LONGEST = 500  # characters of a text; what is cut is on stdin in full
ERRORS = 2  # what a command prints is no answer of ours


class Failure(Record):
    """Why a command failed, and what to do about it."""

    why: str
    hint: str


NOT_STARTED = "name a program that can be run, by its whole path if need be; what only a shell knows needs --shell"
TOO_LONG = "let it do its work in the background, or give it longer with --timeout"
FAILED = "what it has printed itself, if anything, stands above"


def run(words: Sequence[str], problem: dict[str, Any], repository: str, now: int, timeout: int) -> Failure | None:
    """Run WORDS for PROBLEM; why they failed, or None."""
    document = {"what": "new", "at": clock.text(now), "repository": repository, "problem": problem}
    say.flush()
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
    """What the command finds in its environment: each a harmless line, and not too long for anything."""
    told = {name: problem[name] for name in ("id", "kind", "text", "next_step", "since")}
    named = {f"BB_PROBLEM_{name.upper()}": value for name, value in told.items()} | {"BB_REPOSITORY": repository}
    return {name: clipped(str(value), LONGEST) for name, value in named.items()}


def _environment(ours: dict[str, str]) -> Any:
    """Our environment and these: as UTF-8, whatever this system's encoding is."""
    if os.name == "nt":
        return {**os.environ, **ours}
    return {**os.environb, **{name.encode(): value.encode() for name, value in ours.items()}}


def _end(child: subprocess.Popen[bytes]) -> None:
    """See that it has ended, and whatever it started and waits for. What it left running is its own affair."""
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
