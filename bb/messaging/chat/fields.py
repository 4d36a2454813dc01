"""Checks of single members of a request that writes a message.

Requests are untrusted, so any JSON value may appear in any member. Absent members, null and empty texts are omitted
from the event. A value of the wrong type is refused with its path. Values are never converted or truncated.
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
    hint = "see `path` in the details for the member of the request"


def text(value: Any, path: str, refusal: type[BbError] = InvalidRequest, *, longest: int | None = None) -> str | None:
    """VALUE as a text of any length; None if it is absent."""
    if value is None or value == "":
        return None
    if not isinstance(value, str) or not is_unicode(value):
        raise refusal(f"{path} must be a text", path=path)
    if longest is not None and len(value) > longest:
        raise refusal(f"{path} has more than {longest} characters", path=path)
    return value


def name(value: Any, path: str, refusal: type[BbError] = InvalidRequest, *, longest: int = NAME_LENGTH) -> str | None:
    """VALUE as an id or another short text on one line; None if it is absent."""
    line = text(value, path, refusal, longest=longest)
    if line is not None and (not line.strip() or has_control(line)):
        raise refusal(f"{path} is blank or has control characters", path=path)
    return line


def one_of(value: Any, path: str, refusal: type[BbError], among: Sequence[str]) -> str | None:
    """VALUE as one of the words AMONG; None if it is absent."""
    if value is None or value == "":
        return None
    if not isinstance(value, str) or value not in among:
        raise refusal(f"{path} must be one of {', '.join(among)}", path=path)
    return value


def flag(value: Any, path: str, refusal: type[BbError] = InvalidRequest) -> bool | None:
    """VALUE as a boolean; None if it is absent."""
    if value is None or isinstance(value, bool):
        return value
    raise refusal(f"{path} must be true or false", path=path)


def count(value: Any, path: str, refusal: type[BbError] = InvalidRequest) -> int | None:
    """VALUE as a whole number from 0; None if it is absent."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise refusal(f"{path} must be a whole number from 0", path=path)
    return value


def record(value: Any, path: str, refusal: type[BbError] = InvalidRequest) -> dict[str, Any] | None:
    """VALUE as an object with any members; None if it is absent."""
    if value is None:
        return None
    if not isinstance(value, dict) or not is_json(value):
        raise refusal(f"{path} must be a JSON object", path=path)
    return value


def items(value: Any, path: str, refusal: type[BbError] = InvalidRequest) -> Sequence[Any]:
    """VALUE as a list; empty if it is absent."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise refusal(f"{path} must be a list", path=path)
    return value


def present(members: dict[str, Any]) -> dict[str, Any]:
    """MEMBERS without those that are None."""
    return {member: value for member, value in members.items() if value is not None}


def is_json(value: Any) -> bool:
    """Whether VALUE can be written to the ledger as JSON and read again."""
    try:
        json_text.dumps(value).encode()
    except (ValueError, TypeError, RecursionError):
        return False
    return True
