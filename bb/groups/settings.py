"""The settings of a group (IPC §8.3): one table with the valid values and the default of each.

A patch with any invalid entry is refused as a whole. In recorded settings, invalid values are ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from bb.groups.permissions import VISIBILITIES
from bb.kernel.errors import Usage
from bb.kernel.record import Record

Value = int | bool | str

DAY = 86_400

InvalidPatch = Usage.declare("INVALID_PATCH", "The patch is not valid")


class Seconds(Record):
    """A duration in seconds. Fractions are rounded up, so that a small value never becomes 0, which means never."""

    most: int

    def taken(self, value: object) -> Value | None:
        number = _number(value)
        return -int(-number // 1) if number is not None and 0 <= number <= self.most else None

    def __str__(self) -> str:
        return f"a number of seconds from 0 to {self.most}; 0 means never"


class Count(Record):
    """A whole number."""

    least: int
    most: int

    def taken(self, value: object) -> Value | None:
        number = _number(value)
        is_whole = number is not None and self.least <= number <= self.most and number % 1 == 0
        return int(number) if number is not None and is_whole else None

    def __str__(self) -> str:
        return f"a whole number from {self.least} to {self.most}"


class Flag(Record):
    """True or false."""

    def taken(self, value: object) -> Value | None:
        return value if isinstance(value, bool) else None

    def __str__(self) -> str:
        return "true or false"


class Choice(Record):
    """One of some words."""

    words: tuple[str, ...]

    def taken(self, value: object) -> Value | None:
        return value if isinstance(value, str) and value in self.words else None

    def __str__(self) -> str:
        return " or ".join(self.words)


# key -> (valid values, default)
SETTINGS: dict[str, tuple[Seconds | Count | Flag | Choice, Value]] = {
    # Accepted for clients that send it, but without effect: by CCCS §5 a message without recipients is a broadcast.
    "default_send_to": (Choice(("foreman", "broadcast")), "foreman"),
    "nudge_after_seconds": (Seconds(7 * DAY), 300),
    "actor_idle_timeout_seconds": (Seconds(7 * DAY), 600),
    "keepalive_delay_seconds": (Seconds(7 * DAY), 120),
    "keepalive_max_per_actor": (Count(0, 1000), 3),
    "silence_timeout_seconds": (Seconds(7 * DAY), 600),
    "help_nudge_interval_seconds": (Seconds(7 * DAY), 600),
    "help_nudge_min_messages": (Count(0, 100_000), 10),
    "min_interval_seconds": (Seconds(DAY), 0),
    "standup_interval_seconds": (Seconds(7 * DAY), 900),
    "terminal_transcript_visibility": (Choice(tuple(VISIBILITIES)), "foreman"),
    "terminal_transcript_notify_tail": (Flag(), True),
    "terminal_transcript_notify_lines": (Count(1, 1000), 20),
}


def checked_patch(patch: Any) -> dict[str, Value]:
    """The checked changes of PATCH."""
    return {key: _taken(key, value) for key, value in entries(patch, SETTINGS).items()}


def with_defaults(stored: Mapping[str, Any]) -> dict[str, Value]:
    """All settings, from the STORED ones and the defaults. An invalid stored value counts as not set."""
    return {key: _or_default(key, stored.get(key)) for key in SETTINGS}


def entries(patch: Any, known: Collection[str]) -> dict[str, Any]:
    """PATCH, if it is an object that is not empty and has only KNOWN keys."""
    if not isinstance(patch, dict):
        raise InvalidPatch("the patch must be a JSON object", hint=_keys(known), path="$.patch")
    if not patch:
        raise InvalidPatch("the patch changes nothing", hint=_keys(known), path="$.patch")
    for key in patch:
        if key not in known:
            name = str(key)[:60]
            raise InvalidPatch(f"unknown key {name!r} in the patch", hint=_keys(known), path=f"$.patch.{name}")
    return patch


def _number(value: object) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _keys(known: Collection[str]) -> str:
    return f"valid keys: {', '.join(known)}"


def _taken(key: str, value: object) -> Value:
    rule, _ = SETTINGS[key]
    taken = rule.taken(value)
    if taken is None:
        raise InvalidPatch(f"{key} must be {rule}", path=f"$.patch.{key}")
    return taken


def _or_default(key: str, value: object) -> Value:
    rule, default = SETTINGS[key]
    taken = rule.taken(value)
    return default if taken is None else taken
