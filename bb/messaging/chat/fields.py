"""What may stand in one member of a request that asks for a message to be written.

A request comes from anywhere, so any JSON value may stand anywhere. What is absent, null or an empty text is left out
of the event; what is of another type is refused with its path; nothing is ever turned into something else or cut.
"""

from __future__ import annotations

from bb.kernel import json_text
from bb.kernel.errors import Usage
from bb.kernel.show import has_control
from bb.kernel.validity import is_unicode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.kernel.errors import BbError

NAME_LENGTH = 200


class InvalidRequest(Usage):
    """The request is malformed."""

    code = "INVALID_REQUEST"
    hint = "`path` in the details says which member of the request is meant"


def text(value: Any, path: str, refusal: type[BbError] = InvalidRequest, *, longest: int | None = None) -> str | None:
    """VALUE as a text of any length; None when there is none."""
    if value is None or value == "":
        return None
    if not isinstance(value, str) or not is_unicode(value):
        raise refusal(f"{path} is no text", path=path)
    if longest is not None and len(value) > longest:
        raise refusal(f"{path} has more than {longest} characters", path=path)
    return value


def name(value: Any, path: str, refusal: type[BbError] = InvalidRequest, *, longest: int = NAME_LENGTH) -> str | None:
    """VALUE as an id or another short text on one line; None when there is none."""
    found = text(value, path, refusal, longest=longest)
    if found is not None and (not found.strip() or has_control(found)):
        raise refusal(f"{path} is blank or has control characters", path=path)
    return found


def one_of(value: Any, path: str, refusal: type[BbError], among: Sequence[str]) -> str | None:
    """VALUE when it is one of the words AMONG which it must be; None when there is none."""
    if value is None or value == "":
        return None
    if not isinstance(value, str) or value not in among:
        raise refusal(f"{path} is one of {', '.join(among)}", path=path)
    return value


def flag(value: Any, path: str, refusal: type[BbError] = InvalidRequest) -> bool | None:
    """VALUE as yes or no; None when there is neither."""
    if value is None or isinstance(value, bool):
        return value
    raise refusal(f"{path} is true or false", path=path)


def count(value: Any, path: str, refusal: type[BbError] = InvalidRequest) -> int | None:
    """VALUE as a whole number from 0; None when there is none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise refusal(f"{path} is a whole number from 0", path=path)
    return value


def record(value: Any, path: str, refusal: type[BbError] = InvalidRequest) -> dict[str, Any] | None:
    """VALUE as an object whose members are nobody's business here; None when there is none."""
    if value is None:
        return None
    if not isinstance(value, dict) or not is_json(value):
        raise refusal(f"{path} is no object that can be kept", path=path)
    return value


def items(value: Any, path: str, refusal: type[BbError] = InvalidRequest) -> Sequence[Any]:
    """VALUE as a list; nothing when there is none."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise refusal(f"{path} is a list", path=path)
    return value


def present(members: dict[str, Any]) -> dict[str, Any]:
    """MEMBERS without those that are absent."""
    return {member: value for member, value in members.items() if value is not None}


def is_json(value: Any) -> bool:
    """Whether VALUE can be kept on a line of the ledger and read again."""
    try:
        json_text.dumps(value).encode()
    except (ValueError, TypeError, RecursionError):
        return False
    return True
