"""The parameters of the verbs about a fleet."""

from __future__ import annotations

from bb.ops.params import Seconds, Text, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

IN_MACHINE = "abcdefghijklmnopqrstuvwxyz0123456789-_"
LONGEST_MACHINE = 40


class Engine(Text):
    """postgres://HOST/DATABASE, service=NAME or nats://HOST:PORT. Default: the clone's, or PGSERVICE's, or PGHOST's."""

    metavar = "ENGINE"


class MachineName(Text):
    """The name of the machine: lower-case letters, digits, `-` and `_`."""

    metavar = "MACHINE"

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        if not text or len(text) > LONGEST_MACHINE or text.strip(IN_MACHINE) or not text[0].isalnum():
            raise invalid(
                f"{name} must be at most {LONGEST_MACHINE} lower-case letters, digits, hyphens and underscores", name
            )
        return text


class Timeout(Seconds):
    """Stop after this many seconds."""

    least = 1
    most = 3600
