"""The form of a request that writes a message: how its members are read, and what its refusals say.

Absent members, null and empty texts are omitted from the event.
"""

from __future__ import annotations

from bb.kernel import json_text
from bb.kernel import members as m
from bb.kernel.errors import Usage
from bb.kernel.members import Form, Members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.kernel.errors import Refusal

NAME_LENGTH = 200
REASONS = m.REASONS | {
    m.TEXT: "must be a text",
    m.UNICODE: "must be a text",
    m.LONG: "has more than {most} characters",
    m.BLANK: "is blank or has control characters",
    m.NUMBER: "must be a whole number from 0",
}

InvalidRequest = Usage.declare(
    "INVALID_REQUEST", "The request is malformed", hint="see `path` in the details for the member of the request"
)


class Fields(Members):
    """The members of a request that writes a message, or of an object in it."""

    def __init__(self, value: Mapping[str, Any], form: Form | None = None, path: str = "$") -> None:
        super().__init__(value, form or FORM, path)

    def refusing(self, refusal: Refusal) -> Fields:
        """The same members; a wrong one is refused with REFUSAL."""
        return Fields(self.value, form_of(refusal), self.path)

    def name(self, name: str | int, longest: int = NAME_LENGTH) -> str | None:
        """An id or another short text on one line."""
        return self.line(name, longest) or None

    def record(self, name: str) -> dict[str, Any] | None:
        """An object with any members."""
        value = self.value.get(name)
        if value is not None and (not isinstance(value, dict) or not is_json(value)):
            raise self.wrong(name, "must be a JSON object")
        return value


def form_of(refusal: Refusal) -> Form:
    """The form of a request whose wrong members are refused with REFUSAL."""
    return Form(lambda reason, path: refusal(f"{path} {reason}", path=path), REASONS, absent=(None, ""))


FORM = form_of(InvalidRequest)


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
