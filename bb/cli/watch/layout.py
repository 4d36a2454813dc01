"""The screen of `bb watch` as lines: a picture and what is chosen of it, on a terminal of a given size. Nothing here
looks at a terminal's size or a clock.

First what needs a person, then who is here with what it holds, then what waits and who collides, then what happened.
Where there is less room than there are rows, each part gets one row more in turn, and its heading says how many of how
many it shows; parts there is no room for at all are still counted in the second line.
"""

from __future__ import annotations

from itertools import zip_longest

from bb.cli.screens import paint
from bb.cli.watch import rows
from bb.cli.watch.model import AGENTS, ALL, HELD, PROBLEMS, TIMELINE
from bb.kernel import clock
from bb.kernel.outside import Outside, quotation
from bb.kernel.record import Record
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bb.cli.watch.filters import Shown
    from bb.cli.watch.model import Chosen

    Part = tuple[str, list[Outside], Callable[[Outside], str]]  # its title, what is in it, and the row of each of those

NARROWEST, LOWEST = 20, 5  # columns and lines; where there are fewer, what is drawn is cut
WIDE, AIRY = 150, 18  # columns from which on there are two of text; lines that leave some to be blank
LONGEST_NAME = 20
EMPTY = {"Problems": "nothing needs you", "Agents": rows.NOBODY, "Lately": "nothing to tell"}
HELP = (
    ("q, Ctrl-C", "quit"),
    ("space, p", "pause: nothing moves until you press it again"),
    ("/", "show only what has these words (agent, bead, path, any text); Enter applies, Esc clears"),
    ("f, Tab", "the next view: all, problems, agents, held, timeline; F the one before, 1 to 5 that one"),
    ("j k, arrows", "scroll a view that is longer than the screen; PgUp, PgDn, g and G go further"),
    ("r", "look again now, and draw everything anew"),
    ("?", "this help; any key leaves it"),
)


class Framed(Record):
    """What the screen says around a view."""

    title: Outside  # of the repository
    sync: Outside
    is_damaged: bool
    is_narrowed: bool  # whether only what is about one agent or bead is shown, by an option
    trouble: str | None = None  # why what is shown is not the latest


class Drawn(Record):
    """The lines of a screen, one for each that it has; how many of a view's lines can be above it; how many it has."""

    lines: list[str]
    furthest: int
    page: int


class Layout:
    """Screens, one after the other. The lines of a long view are kept for as long as they stay the same."""

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
            body = [paint.heading(title.capitalize()) + paint.painted(place, "dim"), *full[start : start + page]]
        body += [""] * (room - len(body))
        head = [_head(frame, chosen, now, columns), _counts(shown)]
        lines = [*head, *body[:room], _foot(frame, chosen, columns)][:height]
        return Drawn([rows.clipped(line, columns) for line in lines], furthest, page)

    def _view(self, view: str, shown: Shown, now: int, columns: int) -> list[str]:
        """All lines of one view. What happened is told by the hour, all else says how long ago that was."""
        known = (view, shown, columns, now // (clock.DAY if view == TIMELINE else clock.SECOND))
        if len(self._known) != len(known) or any(
            a is not b and a != b for a, b in zip(self._known, known, strict=True)
        ):
            self._full = VIEWS[view](shown, now, columns) or [rows.MARGIN + paint.painted(NOTHING[view], "dim")]
            self._known = known
        return self._full


# -- around it


def _head(frame: Framed, chosen: Chosen, now: int, columns: int) -> str:
    """Which repository, what time it is, what is switched on, and when others were last met."""
    title = rows.clipped(str(frame.title), max(columns // 3, 12))
    parts = [paint.heading(title), clock.text(now)[11:19] + "Z"]
    if chosen.paused_at is not None:
        parts.append(paint.painted(f"PAUSED since {clock.text(chosen.paused_at)[11:19]}Z", "yellow"))
    if frame.is_damaged:
        parts.append(paint.painted("the ledger is damaged: bb doctor", "red"))
    if chosen.filter:
        parts.append(paint.painted(f"only: {harmless(chosen.filter)}", "cyan"))
    if frame.is_narrowed:
        parts.append(paint.painted("narrowed", "cyan"))
    if frame.sync:
        parts.append(paint.painted(_synced(frame.sync, now), "dim"))
    return "  ".join(parts)


def _synced(sync: Outside, now: int) -> str:
    at = sync["ok_at"]
    when = f"{paint.span((now - clock.parse_or(str(at), now)) // clock.SECOND)} ago" if at else "never"
    lacks = f", {sync['unpublished']:,} to publish" if sync["unpublished"] else ""
    wrong = f", last try: {quotation(sync['failed_with'])}" if sync["failed_with"] else ""
    return f"synced {when}{lacks}{wrong}"


def _counts(shown: Shown) -> str:
    """How much there is of everything, whatever there is room for."""
    alive = [str(each["liveness"]) for each in shown.agents]
    states = [
        f"{alive.count(state)} {paint.state(state)}" for state in ("active", "stale", "evicted") if state in alive
    ]
    problems = paint.counted(len(shown.problems), "problem")
    parts = [
        paint.painted(problems, "red") if shown.problems else problems,
        *(states or ["no agents"]),
        f"{len(shown.held)} held",
        *([f"{len(shown.unacked)} to be accepted"] if shown.unacked else []),
        *([paint.painted(f"{len(shown.incursions)} in each other's way", "red")] if shown.incursions else []),
        *([f"{len(shown.waiting)} in line"] if shown.waiting else []),
    ]
    return ", ".join(parts)


def _foot(frame: Framed, chosen: Chosen, columns: int) -> str:
    """The keys; or what is being typed, or what went wrong."""
    if chosen.draft is not None:
        typed = harmless(chosen.draft)
        room = max(columns - len("/_"), 1)
        while paint.occupied(typed) > room:
            typed = typed[1:]
        hint = "  Enter applies, Esc clears"
        fits = paint.occupied(typed) + len("/_") + len(hint) <= columns
        return f"/{typed}_" + (paint.painted(hint, "dim") if fits else "")
    if frame.trouble:
        return paint.painted(harmless(frame.trouble), "red")
    pause = "go on" if chosen.paused_at is not None else "pause"
    keys = ["q quit", f"space {pause}", "/ filter", f"f view: {chosen.view}", "? help"]
    if chosen.view != ALL or chosen.is_help:
        keys.append("j k scroll")
    line = ""
    for key in keys:
        joined = f"{line}   {key}" if line else key
        line = joined if len(joined) <= columns else line
    return paint.painted(line, "dim")


def _help(columns: int) -> list[str]:
    wide = max(len(keys) for keys, _ in HELP) + 4
    lines = []
    for keys, about in HELP:
        folded = rows.folded(about, columns, wide)
        lines += [f"  {keys}".ljust(wide) + folded[0].lstrip(" "), *folded[1:]]
    return lines


# -- one part after the other


def _everything(shown: Shown, chosen: Chosen, now: int, columns: int, room: int) -> list[str]:
    """All parts below each other; where it is wide, what has happened beside the others."""
    empty = dict.fromkeys(EMPTY, "nothing like that") if chosen.filter else EMPTY
    if columns < WIDE:
        return _on_one_screen([*_parts(shown, now, columns), _lately(shown, now, columns)], room, empty)
    left = columns * 3 // 5
    right = columns - left - 2
    now_lines = _on_one_screen(_parts(shown, now, left), room, empty)
    then_lines = _on_one_screen([_lately(shown, now, right)], room, empty)
    beside = zip_longest(now_lines, then_lines, fillvalue="")
    return [f"{rows.cell(one, left)}  {rows.clipped(other, right)}" for one, other in beside]


def _parts(shown: Shown, now: int, columns: int) -> list[Part]:
    """What there is now, one row for each. What waits to be accepted, or collides, and is a problem is told as one."""
    names = _names(shown.agents, "agent_id", columns)
    known = {each[name] for each in shown.problems for name in ("message_id", "event_id") if name in each}
    others = shown.but(
        unacked=[each for each in shown.unacked if each["message_id"] not in known],
        incursions=[each for each in shown.incursions if each["id"] not in known],
    )
    return [
        ("Problems", shown.problems, lambda each: rows.problem(each, now)),
        ("Agents", shown.agents, lambda each: rows.agent(each, now, names, columns)),
        *(part for part in _others(others, now) if part[1]),
    ]


def _lately(shown: Shown, now: int, columns: int) -> Part:
    by = _names(shown.told[: LOWEST * 10], "by", columns)
    return "Lately", shown.told, lambda each: rows.told(each, now, by)


def _others(shown: Shown, now: int) -> list[Part]:
    """What waits for somebody, or collides."""
    return [
        ("To be accepted", _oldest_first(shown.unacked), lambda each: rows.unacked(each, now)),
        ("In each other's way", shown.incursions, lambda each: rows.incursion(each, now)),
        ("In line", shown.waiting, rows.waiting),
    ]


def _oldest_first(messages: list[Outside]) -> list[Outside]:
    return sorted(messages, key=lambda each: str(each["created_at"]))


def _names(things: list[Outside], name: str, columns: int) -> int:
    """How wide a column of names is to be."""
    longest = max((paint.occupied(str(each[name])) for each in things), default=0)
    return min(longest, LONGEST_NAME, columns // 4)


def _on_one_screen(parts: list[Part], room: int, empty: Mapping[str, str]) -> list[str]:
    """PARTS within so many lines: each with its heading, and as many of its rows as there is room for."""
    parts = parts[: max(room // 2, 1)]
    gap = [""] if room >= AIRY else []
    counts = _shared_out([len(things) or 1 for _, things, _ in parts], room - len(parts) - len(gap) * (len(parts) - 1))
    lines: list[str] = []
    for (title, things, row), count in zip(parts, counts, strict=True):
        left_out = paint.painted(f"  {count} of {len(things)}", "dim") if count < len(things) else ""
        found = [row(each) for each in things[:count]] or [rows.MARGIN + paint.painted(empty[title], "dim")]
        lines += [*(gap if lines else []), paint.heading(title) + left_out, *found[:count]]
    return lines


def _shared_out(sizes: list[int], room: int) -> list[int]:
    """How many rows of each part have ROOM: one more for each in turn, as long as there is any."""
    counts = [0] * len(sizes)
    while room > 0 and counts != sizes:
        for number, size in enumerate(sizes):
            if counts[number] < size and room > 0:
                counts[number] += 1
                room -= 1
    return counts


# -- one view in full


def _problems(shown: Shown, now: int, columns: int) -> list[str]:
    return [line for each in shown.problems for line in rows.whole_problem(each, now, columns)]


def _agents(shown: Shown, now: int, columns: int) -> list[str]:
    wide = _names(shown.agents, "agent_id", columns)
    return [line for each in shown.agents for line in rows.whole_agent(each, now, wide, columns)]


def _held(shown: Shown, now: int, columns: int) -> list[str]:
    """What is frozen, what is held, what is about to be over first; then whatever waits for somebody, or collides."""
    held = sorted(shown.held, key=lambda each: ("frozen" not in each, str(each["expires_at"])))
    lines = [rows.held(each, now, columns) for each in held]
    for title, things, row in _others(shown, now):
        lines += ["", paint.heading(title), *map(row, things)] if things else []
    return lines


def _timeline(shown: Shown, now: int, columns: int) -> list[str]:
    wide = _names(shown.told, "by", columns)
    return [line for each in shown.told for line in rows.whole_told(each, now, wide, columns)]


VIEWS = {PROBLEMS: _problems, AGENTS: _agents, HELD: _held, TIMELINE: _timeline}
NOTHING = {
    PROBLEMS: "nothing needs you",
    AGENTS: rows.NOBODY,
    HELD: "nobody holds anything",
    TIMELINE: "nothing to tell",
}
