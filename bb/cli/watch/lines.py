"""`bb watch` in a pipe: one line, or one JSON document, for each thing that happens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from bb.cli.calls import say
from bb.cli.calls.rounds import sleep_or_stop
from bb.cli.screens import endings, paint
from bb.cli.watch.filters import Filter
from bb.kernel import clock
from bb.kernel.errors import Busy
from bb.kernel.foreign import Foreign, quotation
from bb.ops.desk.desk import Desk
from bb.ops.overview.changes import Watched
from bb.ops.overview.happening import News


def follow(desk: Desk, wanted: Filter, since: int | None, *, as_json: bool) -> NoReturn:
    """Print events from now on, or from SINCE, until interrupted or until the reader closes the pipe."""
    watched = Watched(desk)
    happenings = News(desk, wanted.agent, wanted.bead)
    if since is not None:
        _say(happenings.before(since), wanted, as_json=as_json)
    is_due = True  # the ledger may have changed since the command started
    while True:
        try:
            is_due = watched.has_changed() or is_due
            if is_due:
                _say(happenings.new(), wanted, as_json=as_json)
                is_due = False
        except Busy:
            pass  # another process rebuilds the index; the next round reads it
        sleep_or_stop()


def _say(told: Iterable[dict[str, Any]], wanted: Filter, *, as_json: bool) -> None:
    for each in told:
        if not wanted.admits(each):
            continue
        if as_json:
            say.document(each)
        else:
            say.lines([line(Foreign(each))])
        say.flush()


def line(told: Foreign) -> str:
    """An event as one line: time, author, text."""
    moment = clock.text(clock.parse_or(str(told["at"]), 0))
    bead = f" [{told['bead_id']}]" if told["bead_id"] else ""
    who = paint.coloured(str(told["by"]), "cyan")
    ours, theirs = endings.happening(told)
    return f"{moment[:10]} {moment[11:19]}  {who}  {ours}{quotation(theirs) if theirs else ''}{bead}"
