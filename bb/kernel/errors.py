"""The six families of refusals. A family defines the exit status; a refusal defines code, message and hint.

Each refusal is a class next to the rule that raises it. The first line of its docstring is the default message. Exit
status 1 is reserved for bugs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class BbError(Exception):
    """bb refused the request."""

    code = "REFUSED"
    exit_status = 4
    hint: str | None = None

    def __init__(
        self, message: str | None = None, *, hint: str | None = None, leaving: Sequence[Any] = (), **details: Any
    ) -> None:
        self.message = message or (type(self).__doc__ or "").strip().split("\n")[0].rstrip(".")
        self.hint = hint or type(self).hint
        self.details = details
        self.leaving = leaving  # facts to record in spite of the refusal, or because of it
        super().__init__(self.message)


class Usage(BbError):
    """The request is malformed."""

    code = "USAGE"
    exit_status = 2


class NotFound(BbError):
    """The requested object does not exist."""

    code = "NOT_FOUND"
    exit_status = 3


class Refused(BbError):
    """A rule forbids the request."""

    code = "REFUSED"
    exit_status = 4


class Forbidden(BbError):
    """The object belongs to another agent or user."""

    code = "FORBIDDEN"
    exit_status = 5


class Busy(BbError):
    """Another process is using the resource; try again."""

    code = "BUSY"
    exit_status = 6


class Conflict(BbError):
    """The request conflicts with recorded state."""

    code = "CONFLICT"
    exit_status = 7


class PermissionDenied(Forbidden):
    """The caller has no permission for this action."""

    code = "PERMISSION_DENIED"
