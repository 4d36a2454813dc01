"""`bb notify`: a command of the person's own for each new problem.

What agents wrote reaches it as values only, in the environment and on stdin. It never becomes part of a command line:
the words that are run are those that the person gave, and nothing is filled into them.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time

from bb.cli import say
from bb.cli.rounds import ending, rounds
from bb.kernel import clock, jsontext
from bb.kernel.errors import Refused, Usage
from bb.kernel.record import Record
from bb.kernel.show import harmless
from bb.ledger.told import Told
from bb.ops import desk as desks
from bb.ops import problems
from bb.ops.alarms import Alarms
from bb.ops.catalogue import MissingOption
from bb.ops.params import Number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk import Desk

SHELL = "/bin/sh"
USUAL_TIMEOUT = 30
GRACE = 2.0  # seconds to end in, for a command that took too long
LONGEST = 500  # characters of a text; what is cut is on stdin in full
AGAIN = (10, 60, 300)  # seconds after which a command that failed is run again, as long as the problem is there
ERRORS = 2  # what a command prints is no answer of ours
MADE_UP = {
    "id": "test:1",
    "kind": "test",
    "text": "amber-otter is blocked and asks user: this is only a test of bb notify",
    "next_step": "nothing is to be done",
}


class InvalidCommand(Usage):
    """That is no command that could be run."""

    code = "INVALID_COMMAND"
    hint = "for example --command 'notify-send bb'"


class NoShell(Usage):
    """There is no shell here to which a problem could be told safely."""

    code = "NO_SHELL"
    hint = "leave --shell away, and let the command read its environment or stdin"


class TestOrOnce(Usage):
    """A test tells nothing that would have to be told once."""

    code = "TEST_OR_ONCE"
    hint = "pass --test, or --once and --existing"


class NotifyFailed(Refused):
    """The command failed."""

    code = "NOTIFY_FAILED"
    hint = "`bb notify --test --command …` tries it out"


class Timeout(Number):
    """Seconds that the command may take."""

    metavar = "SECONDS"
    most = 3600


class Wanted(Record):
    """What is to be run, and when."""

    command: str  # as it was given
    words: tuple[str, ...]
    timeout: int
    is_existing: bool
    is_once: bool
    is_test: bool


class Due(Record):
    """A problem that is to be told, not before a moment of the monotonic clock, after so many failures."""

    problem: dict[str, Any]
    at: float
    failures: int


def wanted(
    command: str | None, timeout: str | None, *, is_shell: bool, is_existing: bool, is_once: bool, is_test: bool
) -> Wanted:
    """What is asked for, or why that makes no sense."""
    if command is None:
        raise MissingOption("notify needs --command", hint=InvalidCommand.hint)
    if is_test and (is_once or is_existing):
        raise TestOrOnce
    seconds = Timeout.from_text(timeout, "timeout") if timeout is not None else USUAL_TIMEOUT
    return Wanted(command, tuple(_words(command, is_shell=is_shell)), seconds, is_existing, is_once, is_test)


def _words(command: str, *, is_shell: bool) -> list[str]:
    if "\0" in command or not command.strip():
        raise InvalidCommand
    if is_shell:
        if os.name == "nt":  # cmd.exe fills variables in before it reads the line, and so would obey what agents wrote
            raise NoShell
        return [SHELL, "-c", command]
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError as error:
        raise InvalidCommand(f"the command cannot be split into words: {error}") from None
    if not words:
        raise InvalidCommand
    return words if os.name != "nt" else [word.strip('"') for word in words]


def notify(what: Wanted, *, as_json: bool) -> int:
    """Run the command for whatever is to be told; the exit status."""
    at = desks.here()
    try:
        with ending():
            if what.is_test:
                return _try(what, at.now(), as_json=as_json)
            at.store.must_exist()
            if what.is_once:
                return _once(at, what, as_json=as_json)
            return _follow(at, what, as_json=as_json)
    finally:
        at.close()


def _try(what: Wanted, now: int, *, as_json: bool) -> int:
    """Run it for a problem that is made up."""
    started = time.monotonic()
    if why := _run(what, {**MADE_UP, "since": clock.text(now)}, "example", now):
        raise NotifyFailed(f"the command {why}", hint="what it has printed itself stands above")
    took = round(time.monotonic() - started, 3)
    if as_json:
        say.success("notify", {"words": list(what.words), "seconds": took}, as_json=True)
    else:
        say.lines([f"The command ran well, for {took} s."])
    return 0


def _once(at: Desk, what: Wanted, *, as_json: bool) -> int:
    """Tell what is new since this was done last. What could not be told is new the next time, too."""
    told, failed = [], []
    with Told(at.place.store, jsontext.dumps(list(what.words))) as memory:
        found = problems.found(at)
        remembered = memory.names()
        known = {each["id"] for each in found if each["id"] in remembered}
        for each in found:
            if each["id"] in known and not what.is_existing:
                continue
            if why := _run(what, each, at.place.title, at.now()):
                failed.append({"id": each["id"], "why": why})
                _complain(each, why)
                continue
            told.append(each["id"])
            known.add(each["id"])
            memory.write(known)  # after each, so that nothing is told twice if we are ended
            if not as_json:
                _say(each)
        if known != remembered:
            memory.write(known)
    if failed:
        raise NotifyFailed(
            f"the command failed for {len(failed)} of {len(failed) + len(told)}", told=told, failed=failed
        )
    if as_json:
        say.success("notify", {"told": told, "open": len(found)}, as_json=True)
    return 0


def _follow(at: Desk, what: Wanted, *, as_json: bool) -> int:
    """Tell what comes, until interrupted."""
    alarms = Alarms(at)
    queue = [Due(each, 0.0, 0) for each in alarms.open.values()] if what.is_existing else []
    for _ in rounds():
        come, _ = alarms.changes()
        queue = [due for due in queue if due.problem["id"] in alarms.open]
        queue += [Due(each, 0.0, 0) for each in come]
        due = next((each for each in queue if each.at <= time.monotonic()), None)
        if due is None:
            continue
        queue.remove(due)
        if again := _tell(at, what, due, as_json=as_json):
            queue.append(again)
    raise AssertionError("rounds have no end")


def _tell(at: Desk, what: Wanted, due: Due, *, as_json: bool) -> Due | None:
    """Tell of a problem; if that fails, when it is to be tried again."""
    why = _run(what, due.problem, at.place.title, at.now())
    if as_json:
        say.document({"at": clock.text(at.now()), "told": why is None, "why": why, "problem": due.problem})
    elif why is None:
        _say(due.problem)
    say.flush()
    if why is None:
        return None
    is_last = due.failures >= len(AGAIN)
    again = "; it is not run again for this one" if is_last else f"; again in {AGAIN[due.failures]} s"
    _complain(due.problem, why + again)
    return None if is_last else Due(due.problem, time.monotonic() + AGAIN[due.failures], due.failures + 1)


def _say(problem: dict[str, Any]) -> None:
    say.lines([f"Told: {harmless(problem['text'])}"])


def _complain(problem: dict[str, Any], why: str) -> None:
    say.lines([f"Error: [{NotifyFailed.code}] {harmless(problem['text'])}: the command {why}"], sys.stderr)
    sys.stderr.flush()


# -- the command


def _run(what: Wanted, problem: dict[str, Any], repository: str, now: int) -> str | None:
    """Run the command for PROBLEM; why it failed, or None."""
    document = {"what": "new", "at": clock.text(now), "repository": repository, "problem": problem}
    say.flush()
    try:
        child = subprocess.Popen(  # noqa: S603  (the person's own words, and nothing else)
            what.words,
            stdin=subprocess.PIPE,
            stdout=ERRORS,
            env=_environment(variables(problem, repository)),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return f"cannot be started: {getattr(error, 'strerror', None) or error}: {what.words[0]}"
    try:
        child.communicate((jsontext.dumps_ascii(document) + "\n").encode(), timeout=what.timeout)
    except subprocess.TimeoutExpired:
        return f"took longer than {what.timeout} s and was ended"
    finally:
        _end(child)
    if child.returncode < 0:
        return f"was ended by signal {-child.returncode}"
    return f"ended with status {child.returncode}" if child.returncode else None


def variables(problem: dict[str, Any], repository: str) -> dict[str, str]:
    """What the command finds in its environment: each a harmless line, and not too long for anything."""
    told = {name: problem[name] for name in ("id", "kind", "text", "next_step", "since")}
    named = {f"BB_PROBLEM_{name.upper()}": value for name, value in told.items()} | {"BB_REPOSITORY": repository}
    return {name: _short(harmless(str(value))) for name, value in named.items()}


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


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
