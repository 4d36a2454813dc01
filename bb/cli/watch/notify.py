"""`bb notify`: runs a command of the user for each new problem.

Text of agents reaches the command only through its environment and stdin. It is never inserted into the command line.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from typing import Any, NoReturn

from bb.cli.calls import output
from bb.cli.calls.polling import exit_on_signals, sleep_or_stop
from bb.cli.screens import endings
from bb.cli.watch.notify_run import run
from bb.kernel import clock, json_text
from bb.kernel.errors import Refused, Usage
from bb.kernel.foreign import Foreign, quotation, sentence
from bb.kernel.record import Record
from bb.ledger.local.last_alerts import ReportedProblems
from bb.ops.desk import desk as desks
from bb.ops.desk.desk import Desk
from bb.ops.overview import problems
from bb.ops.overview.changes import Alarms

SHELL = "/bin/sh"
AGAIN = (10, 60, 300)  # seconds until a failed command is run again, if the problem is still open
MADE_UP = {
    "id": "test:1",
    "kind": "test",
    "text": "amber-otter is blocked and asks user: this is only a test of bb notify",
    "next_step": "no action is needed",
}

InvalidCommand = Usage.declare(
    "INVALID_COMMAND", "The command cannot be run", hint="for example `bb notify --command 'notify-send bb'`"
)

NoShell = Usage.declare(
    "NO_SHELL",
    "--shell is not available on this system, because its shell expands variables unsafely",
    hint="omit --shell, and let the command read its environment or stdin",
)

TestOrOnce = Usage.declare(
    "TEST_OR_ONCE", "--test cannot be combined with --once or --existing", hint="pass --test, or --once and --existing"
)
NotifyFailed = Refused.declare(
    "NOTIFY_FAILED", "The command failed", hint="`bb notify --test --command …` runs it for an example problem"
)


class NotifyOptions(Record):
    """The command to run, and the options of this run."""

    command: str  # as typed
    words: tuple[str, ...]
    timeout: int
    is_existing: bool
    is_once: bool
    is_test: bool


class Due(Record):
    """A problem to report: the earliest time on the monotonic clock, and the number of failures so far."""

    problem: dict[str, Any]
    at: float
    failures: int


def wanted(
    command: str, timeout: int, *, is_shell: bool, is_existing: bool, is_once: bool, is_test: bool
) -> NotifyOptions:
    """The checked options, or a refusal."""
    if is_test and (is_once or is_existing):
        raise TestOrOnce()
    return NotifyOptions(command, tuple(_words(command, is_shell=is_shell)), timeout, is_existing, is_once, is_test)


def _words(command: str, *, is_shell: bool) -> list[str]:
    if "\0" in command or not command.strip():
        raise InvalidCommand()
    if is_shell:
        if os.name == "nt":  # cmd.exe expands variables before it parses the line, so it could run text of agents
            raise NoShell()
        return [SHELL, "-c", command]
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError as error:
        raise InvalidCommand(f"the command cannot be split into words: {error}") from None
    if not words:
        raise InvalidCommand()
    return words if os.name != "nt" else [word.strip('"') for word in words]


def notify(what: NotifyOptions, *, as_json: bool) -> int:
    """Run the command for the problems to report, and return the exit status."""
    at = desks.desk_here()
    try:
        with exit_on_signals():
            if what.is_test:
                return _try(what, at.now(), as_json=as_json)
            at.store.require_ledger()
            if what.is_once:
                return _once(at, what, as_json=as_json)
            _follow(at, what, as_json=as_json)
    finally:
        at.close()


def _try(what: NotifyOptions, now: int, *, as_json: bool) -> int:
    """Run the command for an example problem."""
    started = time.monotonic()
    if failure := run(what.words, {**MADE_UP, "since": clock.text(now)}, "example", now, what.timeout):
        raise NotifyFailed(f"the command {failure.why}", hint=failure.hint)
    took = round(time.monotonic() - started, 3)
    if as_json:
        output.success("notify", {"words": list(what.words), "seconds": took}, as_json=True)
    else:
        output.lines([f"The command succeeded after {took} s."])
    return 0


def _once(at: Desk, what: NotifyOptions, *, as_json: bool) -> int:
    """Report the problems that are new since the last run. A problem whose command failed stays new."""
    reported, failed = [], []
    with ReportedProblems(at.place.store, json_text.dumps(list(what.words))) as memory:
        open_problems = problems.open_problems(at)
        remembered = memory.names()
        known_ids = {problem["id"] for problem in open_problems if problem["id"] in remembered}
        for problem in open_problems:
            if problem["id"] in known_ids and not what.is_existing:
                continue
            if failure := run(what.words, problem, at.place.title, at.now(), what.timeout):
                failed.append({"id": problem["id"], "why": failure.why})
                _complain(problem, failure.why)
                continue
            reported.append(problem["id"])
            known_ids.add(problem["id"])
            memory.write(known_ids)  # after each problem, so that none is reported twice if this process is killed
            if not as_json:
                _say(problem)
        if known_ids != remembered:
            memory.write(known_ids)
    if failed:
        raise NotifyFailed(
            f"the command failed for {len(failed)} of {len(failed) + len(reported)}", told=reported, failed=failed
        )
    if as_json:
        output.success("notify", {"told": reported, "open": len(open_problems)}, as_json=True)
    return 0


def _follow(at: Desk, what: NotifyOptions, *, as_json: bool) -> NoReturn:
    """Report new problems until interrupted."""
    alarms = Alarms(at)
    queue = [Due(problem, 0.0, 0) for problem in alarms.open.values()] if what.is_existing else []
    while True:
        come, _ = alarms.changes()
        queue = [due for due in queue if due.problem["id"] in alarms.open]
        queue += [Due(problem, 0.0, 0) for problem in come]
        due = next((entry for entry in queue if entry.at <= time.monotonic()), None)
        if due is not None:
            queue.remove(due)
            if again := _tell(at, what, due, as_json=as_json):
                queue.append(again)
        sleep_or_stop()


def _tell(at: Desk, what: NotifyOptions, due: Due, *, as_json: bool) -> Due | None:
    """Report a problem; if the command fails, return the next attempt."""
    failure = run(what.words, due.problem, at.place.title, at.now(), what.timeout)
    if as_json:
        why = failure.why if failure else None
        output.document({"at": clock.text(at.now()), "told": failure is None, "why": why, "problem": due.problem})
    elif failure is None:
        _say(due.problem)
    output.flush()
    if failure is None:
        return None
    is_last = due.failures >= len(AGAIN)
    again = "; no further attempt for this problem" if is_last else f"; next attempt in {AGAIN[due.failures]} s"
    _complain(due.problem, failure.why + again)
    return None if is_last else Due(due.problem, time.monotonic() + AGAIN[due.failures], due.failures + 1)


def _say(problem: dict[str, Any]) -> None:
    output.lines([f"Reported: {_text(problem)}"])


def _text(problem: dict[str, Any]) -> str:
    ours, theirs = endings.problem(Foreign(problem))
    return ours + (quotation(theirs) if theirs else "")


def _complain(problem: dict[str, Any], why: str) -> None:
    output.lines([f"Error: [{NotifyFailed.code}] {_text(problem)}: the command {sentence(why)}"], sys.stderr)
    sys.stderr.flush()
