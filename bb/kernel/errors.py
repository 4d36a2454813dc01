"""The six families of refusal. A family carries the exit status; a refusal carries code, message and hint.

A refusal is a class beside the rule that raises it. Its docstring's first line is the message, unless the rule
names the value at hand. Exit status 1 is left for bugs: nothing here has it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class BbError(Exception):
    """bb will not do this."""

    code = "REFUSED"
    exit_status = 4
    hint: str | None = None

    def __init__(
        self, message: str | None = None, *, hint: str | None = None, leaving: Sequence[Any] = (), **details: Any
    ) -> None:
        self.message = message or (type(self).__doc__ or "").strip().split("\n")[0].rstrip(".")
        self.hint = hint or type(self).hint
        self.details = details
        self.leaving = leaving  # facts that are recorded although, or because, it is refused
        super().__init__(self.message)


class Usage(BbError):
    """The request is malformed."""

    code = "USAGE"
    exit_status = 2


class NotFound(BbError):
    """There is no such thing."""

    code = "NOT_FOUND"
    exit_status = 3


class Refused(BbError):
    """A rule forbids it."""

    code = "REFUSED"
    exit_status = 4


class Forbidden(BbError):
    """It belongs to somebody else."""

    code = "FORBIDDEN"
    exit_status = 5


class Busy(BbError):
    """Somebody else is at it; try again."""

    code = "BUSY"
    exit_status = 6


class Conflict(BbError):
    """It contradicts what is already recorded."""

    code = "CONFLICT"
    exit_status = 7
