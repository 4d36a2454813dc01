"""`bb problems --watch`: prints the open problems, then each new one, and rings the terminal's bell."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import NoReturn

from bb.cli.calls import output
from bb.cli.calls.polling import sleep_or_stop
from bb.cli.screens import overview, styling
from bb.kernel import clock
from bb.kernel.errors import Usage
from bb.kernel.foreign import Foreign
from bb.ops.desk import desk as desks
from bb.ops.overview.changes import Alarms

BELL = "\a"
OPEN, NEW, SETTLED = "open", "new", "settled"

NeedsWatch = Usage.declare("NEEDS_WATCH", "--quiet needs --watch", hint="pass --watch, or omit --quiet")


def watch(*, as_json: bool, is_quiet: bool) -> NoReturn:
    """Print open problems, then new and settled ones, until interrupted."""
    at = desks.desk_here()
    try:
        alarms = Alarms(at)
        _say(OPEN, alarms.open.values(), at.now(), as_json=as_json)
        if not alarms.open and not as_json:
            output.lines(overview.problems(Foreign([])))
        while True:
            come, settled = alarms.changes()
            _say(NEW, come, at.now(), as_json=as_json)
            _say(SETTLED, settled, at.now(), as_json=as_json)
            if come and not is_quiet:
                _ring()
            output.flush()
            sleep_or_stop()
    finally:
        at.close()


def _say(what: str, problems: Iterable[object], now: int, *, as_json: bool) -> None:
    for problem in problems:
        if as_json:
            output.document({"what": what, "at": clock.text(now), "problem": problem})
        elif what == SETTLED:
            moment = clock.text(now)[:16].replace("T", " ")
            text = f"settled: {overview.problem(Foreign(problem))}"
            output.lines(styling.wrap_lines([f"{moment}  {styling.hanging(styling.coloured(text, 'dim'))}"]))
        else:
            output.lines(styling.wrap_lines(overview.problems(Foreign([problem]), is_log=True)))


def _ring() -> None:
    """Ring the bell on a terminal only; in a pipe it would be a stray character."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        sys.stdout.write(BELL)
