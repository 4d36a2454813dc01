"""Parsers for the fields of a requested op: types, lengths and counts (IPC §8.7). They are strict, unlike the readers
of recorded ops.

A parser takes the request and the name of a field, and returns the value or refuses it with its path. A row of a table
has the possible names of a field, the register for its value, and its parser.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bb.groups.context.request import Request
from bb.groups.context_forms import ACTOR_LENGTH, COUNTED, PENDING, PLANNED, STATUSES, TASK, is_actor

Parser = Callable[[Request, str], Any]
Table = tuple[tuple[tuple[str, ...], str, Parser], ...]

MOST_BLOCKERS, BLOCKER_LENGTH = 100, 500
SHOWN = 60  # the number of characters of an invalid value that a refusal shows


def collect(request: Request, table: Table) -> dict[str, Any]:
    """Parse the fields of TABLE that REQUEST has."""
    return {register: parse(request, field) for names, register, parse in table if (field := request.has(*names))}


def needed(request: Request, *names: str) -> str:
    """The name that a required field has in the request. Refused if the field is missing."""
    if field := request.has(*names):
        return field
    raise request.refused(f"{' or '.join(names)} is missing", names[0])


# -- parsers


def text(most: int, *, filled: bool = False) -> Parser:
    """A text of at most MOST characters; null means empty. FILLED: it must not be blank."""
    return lambda request, field: request.members.filled(field, most) if filled else request.members.text(field, most)


def line(most: int, *, filled: bool = False) -> Parser:
    """A text for one line: each run of white space becomes one space."""
    whole = text(most, filled=filled)
    return lambda request, field: " ".join(whole(request, field).split())


def texts(most: int, length: int) -> Parser:
    """A list of texts; blank ones are dropped, null means empty."""

    def parse(request: Request, field: str) -> list[str]:
        listed = request.members.items(field, most)
        values = [listed.text(place, length).strip() for place in listed]
        return [value for value in values if value]

    return parse


def choice(choices: tuple[str, ...], *, null: str | None = None) -> Parser:
    """One of CHOICES. NULL is the value for null, if null is allowed."""

    def parse(request: Request, field: str) -> str:
        value = request.fields[field]
        return null if null and value is None else one_of(request, field, value, choices)

    return parse


def status(request: Request, field: str) -> str:
    """The status of a task or a milestone; `pending` is an old word for planned."""
    value = request.fields[field]
    is_old = isinstance(value, str) and value.strip().lower() == PENDING
    return PLANNED if is_old else one_of(request, field, value, STATUSES)


def flag(request: Request, field: str) -> bool:
    if field not in request.members:
        raise request.refused("the value must be true or false", field)
    return request.members.flag(field)


def actor(request: Request, field: str) -> str:
    """The id of an actor, with the spelling of the group's actor if there is one."""
    value = request.fields[field]
    name = value.strip() if isinstance(value, str) else ""
    if not is_actor(name):
        why = f"an actor's id must have 1 to {ACTOR_LENGTH} letters, digits and - _ . :, not {shown(value)}"
        raise request.refused(why, field)
    return next((actor_id for actor_id in request.actors if actor_id.casefold() == name.casefold()), name)


def actor_or_none(request: Request, field: str) -> str | None:
    """The id of an actor; null or a blank text means none."""
    value = request.fields[field]
    return None if value is None or (isinstance(value, str) and not value.strip()) else actor(request, field)


def reference(kind: str) -> Parser:
    """A reference to an existing entry of this kind, by its id; null or a blank text means none."""

    def parse(request: Request, field: str) -> dict[str, str] | None:
        value = request.fields[field]
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        return request.view.ref(existing_key(request, kind, field))

    return parse


def existing_key(request: Request, kind: str, *names: str) -> str:
    """The key of the entry that the request names. Refused if it does not exist."""
    field = needed(request, *names)
    value = request.fields[field]
    if isinstance(value, str) and (key := request.view.find(kind, value.strip())):
        return key
    raise request.refused(f"no {kind} {shown(value)} exists", field)


def blockers(request: Request, field: str) -> list[Any]:
    """The blockers of a task: other tasks, or descriptions in words."""
    listed = request.members.items(field, MOST_BLOCKERS)
    return [_blocker(request, f"{field}[{place}]", listed.filled(place, BLOCKER_LENGTH)) for place in listed]


def _blocker(request: Request, field: str, value: str) -> Any:
    blocker = value.strip()
    if key := request.view.find(TASK, blocker):
        return request.view.ref(key)
    letter, digits = COUNTED[TASK][0], blocker.partition("-")[0][1:]
    if blocker.startswith(letter) and digits.isascii() and digits.isdigit():
        raise request.refused(f"no task {shown(blocker)} exists", field)
    return blocker


def one_of(request: Request, field: str, value: object, choices: tuple[str, ...]) -> str:
    """VALUE as one of CHOICES, in any case and with any white space around it."""
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in choices:
        return word
    raise request.refused(f"the value must be {' | '.join(choices)}, not {shown(value)}", field)


def shown(value: object) -> str:
    """An invalid value in the form that a refusal shows."""
    return (
        repr(value[:SHOWN])
        if isinstance(value, str)
        else f"a {KINDS_OF_JSON.get(type(value), 'value of unknown type')}"
    )


KINDS_OF_JSON = {dict: "object", list: "list", bool: "truth value", int: "number", float: "number", type(None): "null"}
