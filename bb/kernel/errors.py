"""The six families of refusals. A family defines the exit status; a refusal defines code, message and hint.

Each refusal is declared by a call, `NAME = FAMILY.declare(CODE, MESSAGE, hint=...)`, next to the rule that raises it.
`raise NAME(...)` raises it, and `except NAME.error` catches it. Exit status 1 is reserved for bugs.
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
    is_verdict = False  # it is the answer of a command that judges, so a person is not told of an error

    def __init__(
        self, message: str | None = None, *, hint: str | None = None, leaving: Sequence[Any] = (), **details: Any
    ) -> None:
        self.message = message or (type(self).__doc__ or "").strip().split("\n")[0].rstrip(".")
        self.hint = hint or type(self).hint
        self.details = details
        self.leaving = leaving  # facts to record in spite of the refusal, or because of it
        super().__init__(self.message)

    @classmethod
    def declare(cls, code: str, message: str, *, hint: str | None = None) -> Refusal:
        """A refusal of this family. MESSAGE and HINT are used where a raise has none of its own."""
        refusal = Refusal(cls, code, message, hint or cls.hint)
        DECLARED.append(refusal)
        return refusal


class Refusal:
    """A declared refusal. Calling it makes the exception.

    Making a class takes thirty times as long as a declaration, and a process raises or catches few of the refusals that
    it declares. So each exception class is made on first use (docs/decisions/0046).
    """

    __slots__ = ("code", "family", "hint", "message")

    def __init__(self, family: type[BbError], code: str, message: str, hint: str | None) -> None:
        self.family = family
        self.code = code
        self.message = message
        self.hint = hint

    def __call__(
        self, message: str | None = None, *, hint: str | None = None, leaving: Sequence[Any] = (), **details: Any
    ) -> BbError:
        return self.error(message, hint=hint, leaving=leaving, **details)

    @property
    def error(self) -> type[BbError]:
        """The class of its exceptions: AGENT_RETIRED has `AgentRetired`."""
        # If two threads make it at once, both get the one that was kept first.
        return _ERRORS.get(self) or _ERRORS.setdefault(self, self._made())

    def _made(self) -> type[BbError]:
        name = self.code.title().replace("_", "")
        return type(name, (self.family,), {"__doc__": f"{self.message}.", "code": self.code, "hint": self.hint})


DECLARED: list[Refusal] = []  # every refusal of the modules imported so far
_ERRORS: dict[Refusal, type[BbError]] = {}


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


PermissionDenied = Forbidden.declare("PERMISSION_DENIED", "The caller has no permission for this action")
