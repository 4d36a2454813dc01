"""A budget of work, counted in steps. It never counts time, because a verdict must not depend on the machine's speed
or load.

Visiting, building or writing one node of a tree costs one step; reading a text costs one step per octet. So every
machine counts the same steps for the same text. Limits that the draft declares in milliseconds are converted to steps
at a fixed rate, which is about the speed of a slow machine.
"""

from __future__ import annotations

from bb.kernel.errors import Refused

STEPS_A_MS = 1000
STEPS_AN_OCTET = 8  # steps granted to a command per octet of its size limit
CHECKING = 500  # steps for checking one signature with one key


class ResourceLimit(Refused):
    """A resource limit was exceeded."""

    code = "RESOURCE_LIMIT"
    hint = "send a smaller message, or raise the limit that the error names"


class Fuel:
    """The steps GRANTED, and the steps left."""

    __slots__ = ("granted", "left", "why")

    def __init__(self, granted: int, why: str = "") -> None:
        self.granted = self.left = granted
        self.why = why or f"the limit of {granted:,} steps"

    @property
    def used(self) -> int:
        return self.granted - self.left

    def spend(self, steps: int) -> None:
        """Use this many steps, or refuse."""
        self.left -= steps
        if self.left < 0:
            raise OutOfSteps(f"processing needs more than {self.why}", limit="steps", granted=self.granted)

    def limit_to(self, steps: int, why: str) -> None:
        """Reduce the steps left. A larger number has no effect."""
        if steps < self.left:
            self.granted, self.left, self.why = self.used + steps, steps, why


OutOfSteps = ResourceLimit.declare(
    "RESOURCE_LIMIT",
    "The limit of steps was exceeded",
    hint="shorten the text; if the command has --max-size, a larger value grants more steps",
)


def steps_of(milliseconds: int) -> int:
    """The steps that are the equivalent of that time, the same on every machine."""
    return milliseconds * STEPS_A_MS


def for_text(size: int) -> Fuel:
    """The budget of a command for texts of at most SIZE octets."""
    return Fuel(size * STEPS_AN_OCTET)
