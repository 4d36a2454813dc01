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
        if not _is_machine(text):
            rule = f"{name} must be at most {LONGEST_MACHINE} lower-case letters, digits, hyphens and underscores"
            lower = text.lower()
            raise invalid(f"{rule}: {lower}, for example" if _is_machine(lower) else rule, name)
        return text


def _is_machine(text: str) -> bool:
    return 0 < len(text) <= LONGEST_MACHINE and not text.strip(IN_MACHINE) and text[0].isalnum()


class Timeout(Seconds):
    """Stop after this many seconds."""

    least = 1
    most = 3600
