"""Reads the payload of a platform, and refuses members of the wrong type with their path.

Members that bb does not need are ignored, and null counts as absent. A wrong guess about the author or place of a
message would be worse than no line, so a needed member must have its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.kernel import members as m
from bb.kernel.errors import Usage
from bb.kernel.members import Form, Members

REASONS = m.REASONS | {
    m.OBJECT: "is not an object",
    m.LIST: "is not a list",
    m.TEXT: "is not a string",
    m.NUMBER: "is not a whole number",
    m.FLAG: "is not true or false",
    m.TIME: "is not a valid time",
}

MalformedPayload = Usage.declare(
    "MALFORMED_PAYLOAD",
    "The payload does not have the form of this platform",
    hint="pass the payload exactly as the platform sent it, and name the platform with --format",
)


def root(payload: Any) -> Part:
    """The whole PAYLOAD."""
    if not isinstance(payload, dict):
        raise MalformedPayload("the payload is not a JSON object", path="$")
    return Part(payload)


def header(headers: Mapping[str, str], name: str) -> str:
    """The value of the header NAME in any case; empty if there is none."""
    values = (value for key, value in headers.items() if key.casefold() == name.casefold() and isinstance(value, str))
    return next(values, "")


class Part(Members):
    """An object in a payload."""

    def __init__(self, value: Any, form: Form | None = None, path: str = "$") -> None:
        super().__init__(value, form or FORM, path)

    def part(self, name: str) -> Part:
        """A required object."""
        return self.object(name, is_needed=True)

    def needed(self, name: str) -> str:
        """A required text that is not empty."""
        return self.text(name, is_needed=True)

    def needed_number(self, name: str) -> int:
        number = self.number(name)
        if number is None:
            raise self.wrong(name, "is missing")
        return number

    def texts(self, name: str) -> list[str]:
        """The strings in an optional list."""
        listed = self.items(name)
        return [listed.text(at, is_needed=True) for at in listed]

    def moment(self, name: str) -> int:
        """A required RFC 3339 time, in milliseconds."""
        self.needed(name)
        return self.time(name) or 0


FORM = Form(
    lambda reason, path: MalformedPayload(f"{path} {reason}", path=path),
    REASONS,
    absent=(None, ""),
    least=None,
    allows_surrogates=True,  # the line that is made of the payload is refused with them
)
