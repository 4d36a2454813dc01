"""Text screens for reserving, renewing and releasing: a count and a list first, and each thing once."""

from __future__ import annotations

from bb.cli.screens import styling
from bb.kernel.foreign import Foreign, names, sentence, shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

QUEUED = "queued"


def reserved(found: Foreign) -> list[str]:
    """What is reserved, or the place in line, and everything that the agent should know about it."""
    lines = list(_in_line(found["queued"])) if found.get("queued") else _held(found["reservations"])
    lines += [f"In this clone only: {sentence(found['why'])}"] if found.get("fallback") else []
    lines += _vanished(found["reservations"])
    lines += [f"Note: not there yet: {names(found['not_there'])}"] if found["not_there"] else []
    lines += [
        f"Taken over: {reservation['scope']} from {reservation['agent_id']}, "
        f"which was {reservation['owner_liveness']} and is notified"
        for reservation in found["taken_over"]
    ]
    lines += [
        f"Overlaps {incursion['held']}, held by {incursion['owner_agent']}: {sentence(incursion['resolution_hint'])}"
        for incursion in found["incursions"]
        if incursion["outcome"] == "overlapping"
    ]
    return [*lines, *_hot(found), *waiting(found), *styling.fleet_age(found)]


def renewed(found: Foreign) -> list[str]:
    rows = found["reservations"]
    return [*(_counted("renewed", rows) if rows else ["You hold nothing."]), *waiting(found)]


def released(found: Foreign) -> list[str]:
    """What is released; expired reservations by themselves; and the places in line that were left."""
    by_state: dict[str, list[Foreign]] = {}
    for reservation in found["reservations"]:
        by_state.setdefault(str(reservation["state"]), []).append(reservation)
    lines = [f"{len(rows)} {state.replace('_', ' ')}: {_scopes(rows)}" for state, rows in by_state.items()]
    left = found.get("left_line")
    lines += [f"No longer in line for {names(left)}"] if left else []
    return [*(lines or ["You held nothing."]), *waiting(found)]


def waiting(found: Foreign) -> list[str]:
    """The agents that wait for what the caller holds."""
    rows = found.get("waiting_for_you")
    return [f"{row['agent_id']} waits for {names(row['held'])}" for row in rows] if rows else []


def _held(rows: Foreign) -> list[str]:
    """The reservations: one line for those in this clone, and one for each with a token."""
    here = [row for row in rows if not row.get("global")]
    everywhere = [row for row in rows if row.get("global")]
    lines = []
    for kind in ("exclusive", "shared", "open"):
        some = [row for row in here if str(row["kind"]) == kind]
        lines += _counted("reserved" if kind == "exclusive" else f"reserved ({kind})", some) if some else []
    return lines + [
        f"{row['scope']} is reserved in every clone for {_length(row)}, by token {row['token']}" for row in everywhere
    ]


def _vanished(rows: Iterable[Foreign]) -> list[str]:
    """The regions that cannot be found any more."""
    return [
        f"Note: {row['scope']} is not there any more; others are told apart from it by its name. "
        f"Release it, or reserve what it is called now."
        for row in rows
        if row.get("vanished")
    ]


def _counted(what: str, rows: Iterable[Foreign]) -> list[str]:
    """A count, the time and the scopes, for all reservations of the same length."""
    by_length: dict[str, list[Foreign]] = {}
    for row in rows:
        by_length.setdefault(_length(row), []).append(row)
    return [f"{len(some)} {what} for {length}: {_scopes(some)}" for length, some in by_length.items()]


def _length(row: Foreign) -> str:
    """How long a reservation lasts: 45m, 2h, 1h 30m."""
    return _span(row["ttl_minutes"], 60)


def _span(length: Foreign, unit: int = 1) -> str:
    return styling.span(int(length) * unit).removesuffix(" 0m")


def _scopes(rows: Iterable[Foreign]) -> str:
    return ", ".join(str(row["scope"]) for row in rows)


def _in_line(place: Foreign) -> Iterator[str]:
    """The position, what is in the way of each scope, and what happens next."""
    scopes = names(place["scopes"])
    if not place["wanted"]:
        yield f"The place in line for {scopes} is over"
        return
    yield f"In line for {scopes}: position {place['position']}, for {_span(place['seconds_left'])}"
    for wanted in place["wanted"]:
        yield f"  {wanted['scope']}: {_in_the_way(wanted)}"
    yield "Nothing is reserved yet. You get a message when all of it is yours; to leave the line, release it."
    free = [shell_word(wanted["scope"]) for wanted in place["wanted"] if not wanted["holders"]]
    if 0 < len(free) < len(place["wanted"]):
        yield f"To have what is free now: bb reserve {' '.join(free)}"


def _in_the_way(wanted: Foreign) -> str:
    """Who holds a wanted scope."""
    if wanted["state"] == "awaited":
        return f"free, but {names(wanted['awaited_by'])} came first"
    if not wanted["holders"]:
        return "you hold it" if wanted["state"] == "yours" else "free now"
    return "; ".join(_holder(row, str(wanted["scope"])) for row in wanted["holders"])


def _holder(row: Foreign, wanted: str) -> str:
    verb = "frozen by" if row["frozen"] else "held by"
    part = "" if str(row["scope"]) == wanted else f" ({row['scope']})"
    silent = "" if row["liveness"] == "active" else f", {row['liveness']}"
    left = "" if row["seconds_left"].is_none else f", {_span(row['seconds_left'])} left"
    return f"{verb} {row['agent_id']}{part}{silent}{left}"


def _hot(found: Foreign) -> list[str]:
    """The scopes that many agents want."""
    rows = found.get("hot")
    return [
        f"Much wanted: {row['scope']}, held {styling.counted(int(row['times']), 'time')} by others in the last hour; "
        "release it as soon as you can"
        for row in rows or ()
    ]


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {
    "agent reserve": reserved,
    "agent renew": renewed,
    "agent release": released,
}
