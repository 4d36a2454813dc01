"""One op as somebody asks for it, and how it is refused: with its place, its name and the path (IPC §8.7)."""

from __future__ import annotations

from bb.groups.permissions import PermissionDenied
from bb.kernel.errors import Conflict, Refused, Usage
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.groups.context.view import ContextView

HINT = "the foreman or the user may; a task is also its assignee's, and theirs to whom it is handed"


class InvalidOps(Usage):
    """`ops` is a list of objects, each with the name of an operation in `op`."""

    code = "INVALID_OPS"
    hint = 'for example [{"op": "task.create", "title": "…"}]'


class ContextSyncError(Refused):
    """The context cannot be changed like that; nothing was changed."""

    code = "CONTEXT_SYNC_ERROR"
    hint = "all operations of a request are done, or none; `details.path` names what is wrong"


class VersionConflict(Conflict):
    """The context has changed since then; nothing was changed."""

    code = "VERSION_CONFLICT"
    hint = "`context_get` shows the context as it is, and its version"


class Request(Record):
    """One op: what BY, who is a ROLE here, asks of the context as it is after the ops before this one."""

    index: int
    op: str
    fields: dict[str, Any]
    view: ContextView
    by: str
    role: str
    actors: Mapping[str, str]
    now: str

    def has(self, *names: str) -> str:
        """Under which of its names a field comes; a name with a value before one with null. Empty when under none."""
        present = [name for name in names if name in self.fields]
        return next((name for name in present if self.fields[name] is not None), present[0] if present else "")

    def refused(self, why: str, field: str = "") -> ContextSyncError:
        return ContextSyncError(f"{self.op}: {why}", **self._details(field))

    def forbidden(self, why: str, field: str = "") -> PermissionDenied:
        return PermissionDenied(f"{self.op}: {why}", hint=HINT, **self._details(field))

    def _details(self, field: str) -> dict[str, Any]:
        path = f"$.ops[{self.index}]" + (f".{field}" if field else "")
        return {"index": self.index, "op": self.op, "path": path}
