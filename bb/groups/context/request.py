"""One requested op, and its refusals, which have the op's index, name and path (IPC §8.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.groups.context.view import ContextView
from bb.groups.context_forms import Op
from bb.kernel import members as m
from bb.kernel.errors import BbError, Conflict, PermissionDenied, Refused, Usage
from bb.kernel.members import Form, Members
from bb.kernel.record import Record

HINT = "ask the foreman or the user; a task's assignee and the actor it is handed to may change it too"

REASONS = {
    m.MISSING: "the value must be a text",
    m.OBJECT: "the value must be an object",
    m.LIST: "the value must be a list",
    m.MANY: "the list has {length} elements; at most {most} are allowed",
    m.TEXT: "the value must be a text",
    m.UNICODE: "the text contains half a surrogate pair, which is not a character",
    m.LONG: "the text has {length:,} characters; at most {most:,} are allowed",
    m.UNFILLED: "the value must be a text",
    m.BLANK: "the value must not be blank",
    m.FLAG: "the value must be true or false",
}


def _step(path: str, name: str | int) -> str:
    """The path of a field, whose name may be a path itself, such as `data.project_status`; or of an element."""
    return f"{path}[{name}]" if isinstance(name, int) else f"{path}.{name}"


InvalidOps = Usage.declare(
    "INVALID_OPS",
    "`ops` must be a list of objects, each with the name of an operation in `op`",
    hint='for example [{"op": "task.create", "title": "…"}]',
)

ContextSyncError = Refused.declare(
    "CONTEXT_SYNC_ERROR",
    "An operation on the context was refused, so nothing was changed",
    hint="correct the operation at `details.path` and send all operations again",
)

VersionConflict = Conflict.declare(
    "VERSION_CONFLICT",
    "The context has changed since the given version, so nothing was changed",
    hint="`bb call context_get` shows the current context and its version",
)


class Request(Record):
    """One op requested by BY with this ROLE. VIEW is the context after the preceding ops."""

    index: int
    op: str
    fields: dict[str, Any]
    view: ContextView
    by: str
    role: str
    actors: Mapping[str, str]
    now: str

    @property
    def members(self) -> Members:
        """The reader of the fields."""
        form = Form(lambda reason, path: ContextSyncError(f"{self.op}: {reason}", **self._at(path)), REASONS, _step)
        return Members(self.fields, form, self._path)

    def has(self, *names: str) -> str:
        """The first of NAMES that the request has, preferring one with a value over null; empty if it has none."""
        present = [name for name in names if name in self.fields]
        return next((name for name in present if self.fields[name] is not None), present[0] if present else "")

    def change(self, key: str, changes: dict[str, Any]) -> Op:
        """The recorded form of this op, which changes the entry KEY."""
        return {"op": self.op, **self.view.ref(key), "set": changes}

    def refused(self, why: str, field: str = "") -> BbError:
        return ContextSyncError(f"{self.op}: {why}", **self._details(field))

    def forbidden(self, why: str, field: str = "") -> BbError:
        return PermissionDenied(f"{self.op}: {why}", hint=HINT, **self._details(field))

    def _details(self, field: str) -> dict[str, Any]:
        return self._at(self._path + (f".{field}" if field else ""))

    def _at(self, path: str) -> dict[str, Any]:
        return {"index": self.index, "op": self.op, "path": path}

    @property
    def _path(self) -> str:
        return f"$.ops[{self.index}]"
