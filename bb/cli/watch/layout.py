"""The screen of `bb watch` as lines, from a picture of the state, the user's choices, a terminal size and a time.

The parts in order: problems, agents with their reservations, messages to accept, incursions and queues, recent events.
If the rows do not fit, the parts get one more row each in turn, and a heading shows how many of its rows are visible.
The second line counts all items, also those of parts that do not fit at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

from bb.cli.screens import fleet_age, styling
from bb.cli.watch import rows
from bb.cli.watch.filters import Shown
from bb.cli.watch.model import AGENTS, ALL, HELD, PROBLEMS, TIMELINE, Chosen
from bb.kernel import clock
from bb.kernel.escaping import harmless
from bb.kernel.foreign import Foreign, quotation
from bb.kernel.record import Record

Part = tuple[str, list[Foreign], Callable[[Foreign], str]]  # title, items, and the function that formats an item

NARROWEST, LOWEST = 20, 5  # columns and lines; on a smaller terminal the screen is cut
WIDE, AIRY = 150, 18  # columns for a layout side by side; lines for blank lines between parts
LONGEST_NAME = 20
EMPTY = {"Problems": "nothing needs you", "Agents": rows.NO_AGENTS, "Lately": "no events"}
HELP = (
    ("q, Ctrl-C", "quit"),
    ("space, p", "pause the screen; press again to continue"),
    ("/", "show only items with all of these words (agent, bead, path, any text); Enter applies, Esc clears"),
    ("f, Tab", "next view: all, problems, agents, held, timeline; F goes back, 1 to 5 selects a view"),
    ("j k, arrows", "scroll a view that is longer than the screen; also PgUp, PgDn, g and G"),
    ("r", "refresh and redraw the screen"),
    ("?", "this help; any key closes it"),
)


class Framed(Record):
    """The data for the first line and the last line of the screen."""

    title: Foreign  # of the repository
    sync: Foreign
    is_damaged: bool
    is_narrowed: bool  # whether an option limits the screen to one agent or bead
    trouble: str | None = None  # why the picture is not up to date
    fleet: Foreign = Foreign(None)  # its state; false if the ledger has none


class Drawn(Record):
    """The lines of a screen, the largest scroll offset of its view, and the number of view lines on a page."""

    lines: list[str]
    furthest: int
    page: int


class Layout:
    """Draws screens. The lines of a long view are cached until its input changes."""

    def __init__(self) -> None:
        self._known: tuple[Any, ...] = ()
        self._full: list[str] = []

    def drawn(self, shown: Shown, frame: Framed, chosen: Chosen, columns: int, height: int, now: int) -> Drawn:
        """The screen, as of NOW."""
        columns, room = max(columns, NARROWEST), max(height, LOWEST) - 3
        furthest, page = 0, max(room - 1, 1)
        if chosen.view == ALL and not chosen.is_help:
            body = _everything(shown, chosen, now, columns, room)
        else:
            full = _help(columns) if chosen.is_help else self._view(chosen.view, shown, now, columns)
            furthest = max(len(full) - page, 0)
            start = min(chosen.offset, furthest)
            place = f"  {start + 1}-{min(start + page, len(full))} of {len(full)}" if furthest else ""
            title = "help" if chosen.is_help else chosen.view
            body = [styling.heading(title.capitalize()) + styling.coloured(place, "dim"), *full[start : start + page]]
        body += [""] * (room - len(body))
        head = [_head(frame, chosen, now, columns), _counts(shown)]
        lines = [*head, *body[:room], _foot(frame, chosen, columns)][:height]
        return Drawn([rows.clipped(line, columns) for line in lines], furthest, page)

    def _view(self, view: str, shown: Shown, now: int, columns: int) -> list[str]:
        """All lines of one view. The timeline shows times and changes once a day; other views show ages and change each
        second."""
        inputs = (view, shown, columns, now // (clock.DAY if view == TIMELINE else clock.SECOND))
        if len(self._known) != len(inputs) or any(
            a is not b and a != b for a, b in zip(self._known, inputs, strict=True)
        ):
            self._full = VIEWS[view](shown, now, columns) or [rows.MARGIN + styling.coloured(NOTHING[view], "dim")]
            self._known = inputs
        return self._full


# -- head and foot


def _head(frame: Framed, chosen: Chosen, now: int, columns: int) -> str:
    """The first line: repository, time, active modes, and the last sync."""
    title = rows.clipped(str(frame.title), max(columns // 3, 12))
    parts = [styling.heading(title), clock.text(now)[11:19] + "Z"]
    if chosen.paused_at is not None:
        parts.append(styling.coloured(f"PAUSED since {clock.text(chosen.paused_at)[11:19]}Z", "yellow"))
    if frame.is_damaged:
        parts.append(styling.coloured("the ledger is damaged: bb doctor", "red"))
    if chosen.filter:
        parts.append(styling.coloured(f"only: {harmless(chosen.filter)}", "cyan"))
    if frame.is_narrowed:
        parts.append(styling.coloured("filtered", "cyan"))
    if frame.sync:
        parts.append(styling.coloured(_synced(frame.sync, now), "dim"))
    if frame.fleet:
        is_well = frame.fleet["state"] == "connected"
        parts.append(styling.coloured(fleet_age.line(frame.fleet), "dim" if is_well else "yellow"))
    return "  ".join(parts)


def _synced(sync: Foreign, now: int) -> str:
    at = sync["ok_at"]
    when = f"{styling.age(at, now)} ago" if at else "never"
    lacks = f", {sync['unpublished']:,} to publish" if sync["unpublished"] else ""
    failure = f", last attempt: {quotation(sync['failed_with'])}" if sync["failed_with"] else ""
    return f"synced {when}{lacks}{failure}"


def _counts(shown: Shown) -> str:
    """The second line: the number of items of each kind."""
    alive = [str(agent["liveness"]) for agent in shown.agents]
    states = [
        f"{alive.count(state)} {styling.state(state)}" for state in ("active", "stale", "evicted") if state in alive
    ]
    problems = styling.counted(len(shown.problems), "problem")
    parts = [
        styling.coloured(problems, "red") if shown.problems else problems,
        *(states or ["no agents"]),
        f"{len(shown.held)} held",
        *([f"{len(shown.unacked)} to be accepted"] if shown.unacked else []),
        *([styling.coloured(f"{len(shown.incursions)} in each other's way", "red")] if shown.incursions else []),
        *([f"{len(shown.waiting)} in line"] if shown.waiting else []),
    ]
    return ", ".join(parts)


def _foot(frame: Framed, chosen: Chosen, columns: int) -> str:
    """The last line: the keys, the filter being typed, or an error."""
    if chosen.draft is not None:
        typed = harmless(chosen.draft)
        room = max(columns - len("/_"), 1)
        while styling.display_width(typed) > room:
            typed = typed[1:]
        hint = "  Enter applies, Esc clears"
        fits = styling.display_width(typed) + len("/_") + len(hint) <= columns
        return f"/{typed}_" + (styling.coloured(hint, "dim") if fits else "")
    if frame.trouble:
        return styling.coloured(harmless(frame.trouble), "red")
    pause = "continue" if chosen.paused_at is not None else "pause"
    keys = ["q quit", f"space {pause}", "/ filter", f"f view: {chosen.view}", "? help"]
    if chosen.view != ALL or chosen.is_help:
        keys.append("j k scroll")
    line = ""
    for key in keys:
        joined = f"{line}   {key}" if line else key
        line = joined if len(joined) <= columns else line
    return styling.coloured(line, "dim")


def _help(columns: int) -> list[str]:
    wide = max(len(keys) for keys, _ in HELP) + 4
    lines = []
    for keys, about in HELP:
        folded = rows.folded(about, columns, wide)
        lines += [f"  {keys}".ljust(wide) + folded[0].lstrip(" "), *folded[1:]]
    return lines


# -- the parts


def _everything(shown: Shown, chosen: Chosen, now: int, columns: int, room: int) -> list[str]:
    """All parts below each other; on a wide terminal, the recent events at the right."""
    empty = dict.fromkeys(EMPTY, "no matches") if chosen.filter else EMPTY
    if columns < WIDE:
        return _on_one_screen([*_parts(shown, now, columns), _lately(shown, now, columns)], room, empty)
    left = columns * 3 // 5
    right = columns - left - 2
    now_lines = _on_one_screen(_parts(shown, now, left), room, empty)
    then_lines = _on_one_screen([_lately(shown, now, right)], room, empty)
    beside = zip_longest(now_lines, then_lines, fillvalue="")
    return [f"{rows.cell(one, left)}  {rows.clipped(other, right)}" for one, other in beside]


def _parts(shown: Shown, now: int, columns: int) -> list[Part]:
    """The parts with current items. A message or incursion that is also a problem is listed only there."""
    names = _names(shown.agents, "agent_id", columns)
    listed_ids = {problem[name] for problem in shown.problems for name in ("message_id", "event_id") if name in problem}
    others = shown.replace(
        unacked=[message for message in shown.unacked if message["message_id"] not in listed_ids],
        incursions=[incursion for incursion in shown.incursions if incursion["id"] not in listed_ids],
    )
    return [
        ("Problems", shown.problems, lambda each: rows.problem(each, now)),
        ("Agents", shown.agents, lambda each: rows.agent(each, now, names, columns)),
        *(part for part in _others(others, now) if part[1]),
    ]


def _lately(shown: Shown, now: int, columns: int) -> Part:
    by = _names(shown.told[: LOWEST * 10], "by", columns)
    return "Lately", shown.told, lambda each: rows.timeline_row(each, now, by)


def _others(shown: Shown, now: int) -> list[Part]:
    """Messages to accept, incursions and queues."""
    return [
        ("To be accepted", _oldest_first(shown.unacked), lambda each: rows.unacked(each, now)),
        ("In each other's way", shown.incursions, lambda each: rows.incursion(each, now)),
        ("In line", shown.waiting, rows.waiting),
    ]


def _oldest_first(messages: list[Foreign]) -> list[Foreign]:
    return sorted(messages, key=lambda each: str(each["created_at"]))


def _names(things: list[Foreign], name: str, columns: int) -> int:
    """The width of a column of names."""
    longest = styling.widest(thing[name] for thing in things)
    return min(longest, LONGEST_NAME, columns // 4)


def _on_one_screen(parts: list[Part], room: int, empty: Mapping[str, str]) -> list[str]:
    """PARTS within ROOM lines: each with its heading and as many rows as fit."""
    parts = parts[: max(room // 2, 1)]
    gap = [""] if room >= AIRY else []
    counts = _shared_out([len(things) or 1 for _, things, _ in parts], room - len(parts) - len(gap) * (len(parts) - 1))
    lines: list[str] = []
    for (title, things, row), count in zip(parts, counts, strict=True):
        left_out = styling.coloured(f"  {count} of {len(things)}", "dim") if count < len(things) else ""
        shown_rows = [row(thing) for thing in things[:count]] or [rows.MARGIN + styling.coloured(empty[title], "dim")]
        lines += [*(gap if lines else []), styling.heading(title) + left_out, *shown_rows[:count]]
    return lines


def _shared_out(sizes: list[int], room: int) -> list[int]:
    """The number of rows of each part that fit into ROOM lines. Parts get one more row each in turn."""
    counts = [0] * len(sizes)
    while room > 0 and counts != sizes:
        for number, size in enumerate(sizes):
            if counts[number] < size and room > 0:
                counts[number] += 1
                room -= 1
    return counts


# -- one view in full


def _problems(shown: Shown, now: int, columns: int) -> list[str]:
    return [line for problem in shown.problems for line in rows.whole_problem(problem, now, columns)]


def _agents(shown: Shown, now: int, columns: int) -> list[str]:
    wide = _names(shown.agents, "agent_id", columns)
    lines = [line for agent in shown.agents for line in rows.whole_agent(agent, now, wide, columns)]
    return lines + _left_out(shown, "agents", "bb agent list --all")


def _held(shown: Shown, now: int, columns: int) -> list[str]:
    """Freezes, then reservations, the next to end first; then messages to accept, incursions and queues."""
    held = sorted(shown.held, key=lambda each: ("frozen" not in each, str(each["expires_at"])))
    lines = [rows.held(reservation, now, columns) for reservation in held]
    lines += _left_out(shown, "reservations", "bb agent status --all")
    for title, things, row in _others(shown, now):
        lines += ["", styling.heading(title), *map(row, things)] if things else []
    return lines


def _left_out(shown: Shown, name: str, command: str) -> list[str]:
    """The line about those that the picture does not have."""
    count = int(shown.left_out.get(name) or 0)
    return [rows.MARGIN + styling.coloured(f"{count:,} more: {styling.whole(command)}", "dim")] if count else []


def _timeline(shown: Shown, now: int, columns: int) -> list[str]:
    wide = _names(shown.told, "by", columns)
    return [line for event in shown.told for line in rows.timeline_rows(event, now, wide, columns)]


VIEWS = {PROBLEMS: _problems, AGENTS: _agents, HELD: _held, TIMELINE: _timeline}
NOTHING = {
    PROBLEMS: "nothing needs you",
    AGENTS: rows.NO_AGENTS,
    HELD: "no reservations",
    TIMELINE: "no events",
}
