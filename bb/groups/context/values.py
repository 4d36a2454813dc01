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
from bb.kernel.validity import is_unicode

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

    def parse(request: Request, field: str) -> str:
        return _text(request, field, request.fields[field], most, filled=filled)

    return parse


def line(most: int, *, filled: bool = False) -> Parser:
    """A text for one line: each run of white space becomes one space."""

    def parse(request: Request, field: str) -> str:
        return " ".join(_text(request, field, request.fields[field], most, filled=filled).split())

    return parse


def texts(most: int, length: int) -> Parser:
    """A list of texts; blank ones are dropped, null means empty."""

    def parse(request: Request, field: str) -> list[str]:
        listed = elements(request, field, most)
        values = [_text(request, f"{field}[{place}]", value, length) for place, value in enumerate(listed)]
        return [value.strip() for value in values if value.strip()]

    return parse


def choice(choices: tuple[str, ...], *, null: str | None = None) -> Parser:
    """One of CHOICES. NULL is the value for null, if null is allowed."""

    def parse(request: Request, field: str) -> str:
        value = request.fields[field]
        return null if null and value is None else _choice(request, field, value, choices)

    return parse


def status(request: Request, field: str) -> str:
    """The status of a task or a milestone; `pending` is an old word for planned."""
    value = request.fields[field]
    is_old = isinstance(value, str) and value.strip().lower() == PENDING
    return PLANNED if is_old else _choice(request, field, value, STATUSES)


def flag(request: Request, field: str) -> bool:
    if type(value := request.fields[field]) is bool:
        return value
    raise request.refused("the value must be true or false", field)


def actor(request: Request, field: str) -> str:
    """The id of an actor, with the spelling of the group's actor if there is one."""
    value = request.fields[field]
    name = value.strip() if isinstance(value, str) else ""
    if not is_actor(name):
        why = f"an actor's id must have 1 to {ACTOR_LENGTH} letters, digits and - _ . :, not {shown(value)}"
        raise request.refused(why, field)
    return next((known for known in request.actors if known.casefold() == name.casefold()), name)


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
    listed = elements(request, field, MOST_BLOCKERS)
    return [_blocker(request, f"{field}[{place}]", value) for place, value in enumerate(listed)]


def _blocker(request: Request, field: str, value: object) -> Any:
    blocker = _text(request, field, value, BLOCKER_LENGTH, filled=True).strip()
    if key := request.view.find(TASK, blocker):
        return request.view.ref(key)
    letter, digits = COUNTED[TASK][0], blocker.partition("-")[0][1:]
    if blocker.startswith(letter) and digits.isascii() and digits.isdigit():
        raise request.refused(f"no task {shown(blocker)} exists", field)
    return blocker


def elements(request: Request, field: str, most: int) -> list[Any]:
    """The elements of a list; null means an empty list."""
    value = request.fields[field]
    if value is None:
        return []
    if type(value) is not list:
        raise request.refused("the value must be a list", field)
    if len(value) > most:
        raise request.refused(f"the list has {len(value)} elements; at most {most} are allowed", field)
    return value


def member(request: Request, field: str, value: dict[str, Any], name: str, most: int) -> str:
    """A text member of a list's element; empty if missing."""
    return _text(request, f"{field}.{name}", value.get(name), most)


def choice_in(request: Request, field: str, value: dict[str, Any], name: str, choices: tuple[str, ...]) -> str:
    """A member of a list's element that is one of CHOICES; the first choice if missing."""
    return choices[0] if value.get(name) is None else _choice(request, f"{field}.{name}", value[name], choices)


def _text(request: Request, field: str, value: object, most: int, *, filled: bool = False) -> str:
    if value is None and not filled:
        return ""
    if not isinstance(value, str):
        raise request.refused("the value must be a text", field)
    if filled and not value.strip():
        raise request.refused("the value must not be blank", field)
    if len(value) > most:
        raise request.refused(f"the text has {len(value):,} characters; at most {most:,} are allowed", field)
    if not is_unicode(value):
        raise request.refused("the text contains half a surrogate pair, which is not a character", field)
    return value


def _choice(request: Request, field: str, value: object, choices: tuple[str, ...]) -> str:
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
