"""`bb watch`: a live screen on a terminal that supports it, else lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

from bb.cli.calls import output, progress
from bb.cli.calls.polling import sleep_or_stop
from bb.cli.screens import endings, styling
from bb.cli.watch import filters
from bb.cli.watch.filters import Filter
from bb.cli.watch.model import ALL, Chosen
from bb.kernel import clock, ids
from bb.kernel.errors import Busy, Usage
from bb.kernel.foreign import Foreign, quotation
from bb.ops.desk import desk as desks
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.overview.changes import Watched
from bb.ops.overview.news import News

NoScreen = Usage.declare(
    "NO_SCREEN",
    "The output cannot show a full screen, so --view has no effect",
    hint="omit --view: events are then printed line by line",
)


def watch(
    agent: str | None, bead: str | None, words: str, view: str | None, since: str | None, *, as_json: bool
) -> int:
    """Show the state live until the user quits."""
    has_screen = not as_json and _is_at_terminal() and _can_draw()
    if view is not None and not has_screen:
        raise NoScreen()
    if not as_json and _is_at_terminal() and not has_screen:
        output.lines(
            [f"Note: [{NoScreen.code}] this terminal cannot show a screen; printing lines instead"], sys.stderr
        )
        sys.stderr.flush()
    _read_once()
    at = desks.desk_here(only_reads=True)
    try:
        start = clock.before(since, at.now()) if since is not None else None
        if agent is not None and agent != ids.PERSON:
            signs_of_life.registered(at.store.caught_up(), agent)
        if not has_screen:
            follow(at, filters.of(agent, bead, words), start, as_json=as_json)
        _on_screen(at, agent, bead, start, Chosen(view=view or ALL, filter=words))
    finally:
        at.close()
    return 0


def _on_screen(at: Desk, agent: str | None, bead: str | None, since: int | None, chosen: Chosen) -> None:
    from bb.cli.watch.loop import Watcher  # noqa: PLC0415  (needs a terminal as Linux and macOS have them)

    Watcher(at, agent, bead, since, chosen).run()


def _read_once() -> None:
    """Bring the index up to date before the screen opens, because only then can a progress line be shown."""
    at = desks.desk_here(progress.shown(), only_reads=True)
    try:
        at.store.require_ledger()
        at.store.caught_up()
    finally:
        at.close()
        progress.done()


def _is_at_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _can_draw() -> bool:
    """Whether the terminal supports cursor positioning."""
    return os.name != "nt" and os.environ.get("TERM", "") not in ("", "dumb")


# -- in a pipe: one line, or one JSON document, for each thing that happens


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
    for item in told:
        if not wanted.admits(item):
            continue
        if as_json:
            output.document(item)
        else:
            output.lines([line(Foreign(item))])
        output.flush()


def line(told: Foreign) -> str:
    """An event as one line: time, author, text."""
    moment = clock.text(clock.parse_or(str(told["at"]), 0))
    bead = f" [{told['bead_id']}]" if told["bead_id"] else ""
    who = styling.coloured(str(told["by"]), "cyan")
    ours, theirs = endings.happening(told)
    return f"{moment[:10]} {moment[11:19]}  {who}  {ours}{quotation(theirs) if theirs else ''}{bead}"
