"""Reads the payload of a platform, and refuses members of the wrong type with their path.

Members that bb does not need are ignored, and null counts as absent. A wrong guess about the author or place of a
message would be worse than no line, so a needed member must have its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from bb.kernel import clock
from bb.kernel.errors import Usage
from bb.kernel.record import Record

T = TypeVar("T")


class MalformedPayload(Usage):
    """The payload does not have the form of this platform."""

    code = "MALFORMED_PAYLOAD"
    hint = "pass the payload exactly as the platform sent it, and name the platform with --format"


def root(payload: Any) -> Part:
    """The whole PAYLOAD."""
    if not isinstance(payload, dict):
        raise MalformedPayload("the payload is not a JSON object", path="$")
    return Part(payload)


def header(headers: Mapping[str, str], name: str) -> str:
    """The value of the header NAME in any case; empty if there is none."""
    values = (value for key, value in headers.items() if key.casefold() == name.casefold() and isinstance(value, str))
    return next(values, "")


class Part(Record):
    """An object in a payload, and its path."""

    members: Mapping[str, Any]
    path: str = "$"

    def text(self, name: str) -> str:
        """A required string."""
        return self.maybe_text(name) or self._missing(name)

    def maybe_text(self, name: str) -> str:
        return self._typed(name, str, "a string") or ""

    def number(self, name: str) -> int:
        found = self.maybe_number(name)
        return self._missing(name) if found is None else found

    def maybe_number(self, name: str) -> int | None:
        value = self._typed(name, int, "a whole number")
        if isinstance(value, bool):
            raise self.wrong(name, "is not a whole number")
        return value

    def flag(self, name: str, otherwise: bool = False) -> bool:
        value = self._typed(name, bool, "true or false")
        return otherwise if value is None else value

    def part(self, name: str) -> Part:
        """A required object."""
        return self.maybe_part(name) or self._missing(name)

    def maybe_part(self, name: str) -> Part | None:
        value = self._typed(name, dict, "an object")
        return None if value is None else Part(value, self._place(name))

    def parts(self, name: str) -> list[Part]:
        """The objects in an optional list."""
        listed = self._listed(name)
        return [listed.part(at) for at in listed.members]

    def texts(self, name: str) -> list[str]:
        """The strings in an optional list."""
        listed = self._listed(name)
        return [listed.text(at) for at in listed.members]

    def moment(self, name: str) -> int:
        """A required RFC 3339 time, in milliseconds."""
        try:
            return clock.parse(self.text(name))
        except clock.NotATime:
            raise self.wrong(name, "is not a valid time") from None

    def wrong(self, name: str, reason: str) -> MalformedPayload:
        """The refusal of the member NAME for that REASON."""
        path = self._place(name)
        return MalformedPayload(f"{path} {reason}", path=path)

    def _listed(self, name: str) -> Part:
        found: list[Any] = self._typed(name, list, "a list") or []
        return Part({f"[{at}]": value for at, value in enumerate(found)}, self._place(name))

    def _typed(self, name: str, kind: type[T], called: str) -> T | None:
        value = self.members.get(name)
        if value is None or isinstance(value, kind):
            return value
        raise self.wrong(name, f"is not {called}")

    def _missing(self, name: str) -> Any:
        raise self.wrong(name, "is missing")

    def _place(self, name: str) -> str:
        if name.startswith("["):
            return self.path + name
        return f'{self.path}["{name}"]' if "." in name else f"{self.path}.{name}"
