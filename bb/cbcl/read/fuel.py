"""How much work may be done, counted in steps. Never in time: a verdict that depended on how fast a machine is, or on
what else it does, would be another one on the next.

A step is one node of a tree that is looked at, made or written once; reading a text takes one step an octet. Every
reader of the same text therefore counts the same steps. What is declared in milliseconds, as the draft has it, is
turned into steps at one rate. A slow machine takes about that long for them.
"""

from __future__ import annotations

from bb.kernel.errors import Refused

STEPS_A_MS = 1000
STEPS_AN_OCTET = 8  # that a command may take for each octet that it would read
CHECKING = 500  # steps that checking one signature with one key counts as


class ResourceLimit(Refused):
    """It would take more than is granted."""

    code = "RESOURCE_LIMIT"
    hint = "say less at once, or ask for more room where the limit was set"


class Fuel:
    """Steps that are left of those that were GRANTED."""

    __slots__ = ("granted", "left", "why")

    def __init__(self, granted: int, why: str = "") -> None:
        self.granted = self.left = granted
        self.why = why or f"the {granted:,} steps that are granted"

    @property
    def used(self) -> int:
        return self.granted - self.left

    def spend(self, steps: int) -> None:
        """Take so many steps, or refuse."""
        self.left -= steps
        if self.left < 0:
            raise OutOfSteps(f"it takes more than {self.why}", limit="steps", granted=self.granted)

    def less(self, steps: int, why: str) -> None:
        """Grant only so many more steps from here on. More is never granted."""
        if steps < self.left:
            self.granted, self.left, self.why = self.used + steps, steps, why


class OutOfSteps(ResourceLimit):
    """It would take more steps than are granted."""

    code = "RESOURCE_LIMIT"
    hint = "say it in less text; where a command has --max-size, a larger one grants more steps"


def steps_of(milliseconds: int) -> int:
    """How many steps stand for that time, the same on every machine."""
    return milliseconds * STEPS_A_MS


def for_text(size: int) -> Fuel:
    """What a command may spend on texts of at most SIZE octets."""
    return Fuel(size * STEPS_AN_OCTET)


def without_end() -> Fuel:
    """More than any text could use: for what has been judged already, or is bounded elsewhere."""
    return Fuel(1 << 62)
