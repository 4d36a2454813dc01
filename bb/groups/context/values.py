"""What an op may ask for, field by field: types, lengths and counts (IPC §8.7). Strict, as history is not.

A parser takes the request and the name of a field, and returns the value or refuses it with its path. A row of a table
says under which names a field may come, which register it goes to, and how it is parsed.
"""

from __future__ import annotations

from bb.groups.context_forms import ACTOR_LENGTH, COUNTED, PENDING, PLANNED, STATUSES, TASK, is_actor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bb.groups.context.request import Request

    Parser = Callable[[Request, str], Any]
    Table = tuple[tuple[tuple[str, ...], str, Parser], ...]

MOST_BLOCKERS, BLOCKER_LENGTH = 100, 500
SHOWN = 60  # how much of a wrong value a refusal shows


def collect(request: Request, table: Table) -> dict[str, Any]:
    """What REQUEST says about the fields in TABLE."""
    return {register: parse(request, field) for names, register, parse in table if (field := request.has(*names))}


def needed(request: Request, *names: str) -> str:
    """The name under which a field comes that must not be left out."""
    if field := request.has(*names):
        return field
    raise request.refused(f"{' or '.join(names)} is missing", names[0])


# -- parsers


def text(most: int, *, filled: bool = False) -> Parser:
    """Text of at most so many characters; null empties it. FILLED: it must not be blank."""

    def parse(request: Request, field: str) -> str:
        return _text(request, field, request.fields[field], most, filled=filled)

    return parse


def line(most: int, *, filled: bool = False) -> Parser:
    """Text that is shown on one line, so every run of white space in it is one space."""

    def parse(request: Request, field: str) -> str:
        return " ".join(_text(request, field, request.fields[field], most, filled=filled).split())

    return parse


def texts(most: int, length: int) -> Parser:
    """A list of texts, without the blank ones; null empties it."""

    def parse(request: Request, field: str) -> list[str]:
        listed = elements(request, field, most)
        said = [_text(request, f"{field}[{place}]", value, length) for place, value in enumerate(listed)]
        return [each.strip() for each in said if each.strip()]

    return parse


def choice(choices: tuple[str, ...], *, null: str | None = None) -> Parser:
    """One of some words; what null stands for is said by NULL."""

    def parse(request: Request, field: str) -> str:
        value = request.fields[field]
        return null if null and value is None else _choice(request, field, value, choices)

    return parse


def status(request: Request, field: str) -> str:
    """A status of a task or a milestone; `pending` is an old word for planned."""
    value = request.fields[field]
    is_old = isinstance(value, str) and value.strip().lower() == PENDING
    return PLANNED if is_old else _choice(request, field, value, STATUSES)


def flag(request: Request, field: str) -> bool:
    if type(value := request.fields[field]) is bool:
        return value
    raise request.refused("true or false is expected", field)


def actor(request: Request, field: str) -> str:
    """An actor, spelled as it is in the group if it is there."""
    value = request.fields[field]
    name = value.strip() if isinstance(value, str) else ""
    if not is_actor(name):
        why = f"an actor's id is expected: 1 to {ACTOR_LENGTH} letters, digits and - _ . :, not {shown(value)}"
        raise request.refused(why, field)
    return next((known for known in request.actors if known.casefold() == name.casefold()), name)


def actor_or_none(request: Request, field: str) -> str | None:
    """An actor; null, or nothing at all in a text, for nobody."""
    value = request.fields[field]
    return None if value is None or (isinstance(value, str) and not value.strip()) else actor(request, field)


def thing(kind: str) -> Parser:
    """Something of a kind that is there, by its id; null, or nothing at all in a text, for none."""

    def parse(request: Request, field: str) -> dict[str, str] | None:
        value = request.fields[field]
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        return request.view.ref(found(request, kind, field))

    return parse


def found(request: Request, kind: str, *names: str) -> str:
    """The key of what the request is about."""
    field = needed(request, *names)
    value = request.fields[field]
    if isinstance(value, str) and (key := request.view.find(kind, value.strip())):
        return key
    raise request.refused(f"there is no {kind} {shown(value)}", field)


def blockers(request: Request, field: str) -> list[Any]:
    """What a task waits for: other tasks, or in words what else."""
    listed = elements(request, field, MOST_BLOCKERS)
    return [_blocker(request, f"{field}[{place}]", value) for place, value in enumerate(listed)]


def _blocker(request: Request, field: str, value: object) -> Any:
    said = _text(request, field, value, BLOCKER_LENGTH, filled=True).strip()
    if key := request.view.find(TASK, said):
        return request.view.ref(key)
    letter, digits = COUNTED[TASK][0], said.partition("-")[0][1:]
    if said.startswith(letter) and digits.isascii() and digits.isdigit():
        raise request.refused(f"there is no task {shown(said)}", field)
    return said


def elements(request: Request, field: str, most: int) -> list[Any]:
    """The elements of a list; null is an empty one."""
    value = request.fields[field]
    if value is None:
        return []
    if type(value) is not list:
        raise request.refused("a list is expected", field)
    if len(value) > most:
        raise request.refused(f"at most {most} are allowed, and these are {len(value)}", field)
    return value


def member(request: Request, field: str, value: dict[str, Any], name: str, most: int) -> str:
    """The text that a member of an element of a list is; empty when it is left out."""
    return _text(request, f"{field}.{name}", value.get(name), most)


def choice_in(request: Request, field: str, value: dict[str, Any], name: str, choices: tuple[str, ...]) -> str:
    """The choice that a member of an element is; the first one when it is left out."""
    return choices[0] if value.get(name) is None else _choice(request, f"{field}.{name}", value[name], choices)


def _text(request: Request, field: str, value: object, most: int, *, filled: bool = False) -> str:
    if value is None and not filled:
        return ""
    if not isinstance(value, str):
        raise request.refused("a text is expected", field)
    if filled and not value.strip():
        raise request.refused("it must not be blank", field)
    if len(value) > most:
        raise request.refused(f"at most {most:,} characters are allowed, and these are {len(value):,}", field)
    if not _is_unicode(value):
        raise request.refused("it holds half a surrogate pair, which is no character", field)
    return value


def _choice(request: Request, field: str, value: object, choices: tuple[str, ...]) -> str:
    said = value.strip().lower() if isinstance(value, str) else ""
    if said in choices:
        return said
    raise request.refused(f"{' | '.join(choices)} is expected, not {shown(value)}", field)


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(value: object) -> str:
    """A wrong value, as much of it as a refusal shows."""
    return repr(value[:SHOWN]) if isinstance(value, str) else f"a {KINDS_OF_JSON.get(type(value), 'strange thing')}"


KINDS_OF_JSON = {dict: "object", list: "list", bool: "truth value", int: "number", float: "number", type(None): "null"}
