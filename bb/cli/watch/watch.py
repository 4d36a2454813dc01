"""`bb watch`: a live screen on a terminal that supports it, else lines."""

from __future__ import annotations

import os
import sys

from bb.cli.calls import progress, say
from bb.cli.watch import filters
from bb.cli.watch.model import ALL, Chosen
from bb.kernel import clock, ids
from bb.kernel.errors import Usage
from bb.ops.desk import desk as desks
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk


class NoScreen(Usage):
    """The output cannot show a full screen, so --view has no effect."""

    code = "NO_SCREEN"
    hint = "omit --view: events are then printed line by line"


def watch(
    agent: str | None, bead: str | None, words: str, view: str | None, since: str | None, *, as_json: bool
) -> int:
    """Show the state live until the user quits."""
    has_screen = not as_json and _is_at_terminal() and _can_draw()
    if view is not None and not has_screen:
        raise NoScreen
    if not as_json and _is_at_terminal() and not has_screen:
        say.lines([f"Note: [{NoScreen.code}] this terminal cannot show a screen; printing lines instead"], sys.stderr)
        sys.stderr.flush()
    _read_once()
    at = desks.desk_here(only_reads=True)
    try:
        start = clock.before(since, at.now()) if since is not None else None
        if agent is not None and agent != ids.PERSON:
            signs_of_life.registered(at.store.caught_up(), agent)
        if not has_screen:
            from bb.cli.watch import lines  # noqa: PLC0415

            lines.follow(at, filters.of(agent, bead, words), start, as_json=as_json)
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
