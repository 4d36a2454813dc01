"""Beads: work items of an issue tracker (`bd`, `br`). bb reads them and never writes them."""

from __future__ import annotations

from bb.kernel.record import Record
from bb.kernel.validation import is_bead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

IN_PROGRESS = frozenset(["in_progress", "hooked"])
DELETED = "tombstone"  # written by `br`
TITLE_LENGTH = 500


class Bead(Record):
    """One work item. The assignee is the agent that works on it; `owner` in the tracker's files is a mail address."""

    id: str
    title: str
    status: str
    assignee: str | None
    parent: str | None
    updated_at: str | None


def is_something_else(record: object) -> bool:
    """Whether a RECORD of the tracker is no bead, such as a memory or the mark of a deleted bead."""
    return isinstance(record, dict) and (record.get("_type") not in (None, "issue") or record.get("status") == DELETED)


def bead(record: object) -> Bead | None:
    """The bead that a RECORD of the tracker describes, or None if the record is not a valid bead."""
    if not isinstance(record, dict):
        return None
    name, title, status = record.get("id"), record.get("title"), record.get("status")
    if not (is_bead(name) and _is_text(title) and _is_text(status)):
        return None
    return Bead(
        str(name),
        str(title)[:TITLE_LENGTH],
        str(status),
        assignee=_text(record.get("assignee")),
        parent=_text(record.get("parent")) or _parent(record),
        updated_at=_text(record.get("updated_at")),
    )


def owned_by(beads: Iterable[Bead], agent: str) -> list[Bead]:
    """The beads in progress that AGENT works on."""
    return [bead for bead in beads if bead.assignee == agent and bead.status in IN_PROGRESS]


def epic_of(bead: Bead, known: Mapping[str, Bead]) -> str | None:
    """The topmost parent of BEAD, or None if BEAD has no parent.

    The tracker records parents. If it records none, `demo-a1.2` is part of `demo-a1`, provided that bead exists.
    """
    top, seen = bead, {bead.id}
    while (above := _above(top, known)) and above not in seen:
        seen.add(above)
        top = known[above]
    return top.id if top is not bead else None


def _above(bead: Bead, known: Mapping[str, Bead]) -> str | None:
    if bead.parent in known:
        return bead.parent
    prefix, dot, _ = bead.id.rpartition(".")
    return prefix if dot and prefix in known else None


def _parent(record: Mapping[str, object]) -> str | None:
    """The parent according to the record's dependencies."""
    dependencies = record.get("dependencies")
    for link in dependencies if isinstance(dependencies, list) else ():
        if isinstance(link, dict) and link.get("type") == "parent-child" and link.get("issue_id") == record.get("id"):
            return _text(link.get("depends_on_id"))
    return None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
