"""The shared context of a group, and its tasks (CCCC daemon IPC §8.7). What may be changed by whom, and how, is said in
`groups/context/batch.py`; here it is recorded."""

from __future__ import annotations

from bb.groups import context_forms
from bb.groups.context import batch, context, summary, task_view
from bb.groups.context import task_list as context_task_list
from bb.groups.context.view import ContextView
from bb.groups.facts import ContextChanged
from bb.kernel import clock
from bb.kernel.errors import Usage
from bb.ops.catalogue import op
from bb.ops.desk import group_desk
from bb.ops.params import By, GroupId, Json, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.groups.context.batch import Outcome
    from bb.ledger.index.index import Index
    from bb.ops.desk.desk import Desk
    from bb.ops.desk.group_desk import GroupDesk


class InvalidDetail(Usage):
    """The detail of a context is full, summary or overview."""

    code = "INVALID_ARGS"


class Ops(Json):
    """What is to be changed, in order: a list of operations such as {"op": "task.create", "title": "…"}."""


class Version(Word):
    """Only if nobody has changed the context since this version."""


class Detail(Word):
    """full; summary: tasks in brief; overview: no list of tasks."""

    offered = summary.DETAILS


class TaskId(Word):
    """The task, by its id, with the tasks right below it."""


class Several(Json):
    """Only these: a list, or one text with commas."""


class Status(Word):
    """Only tasks of this status."""

    offered = context_forms.STATUSES


class Query(Word):
    """Only tasks that have this in one of their texts."""


class Assignee(Word):
    """Only this actor's tasks; __unassigned__ for those that are nobody's."""


class Attention(Word):
    """Only tasks that want attention for this reason."""

    offered = task_view.ATTENTIONS


class Number(Json):
    """How many tasks to pass over, or to show, newest first."""


class Switch(Json):
    """true or false."""


@op(
    "context_get",
    reads=True,
    examples=("bb call context_get", """bb call context_get --args '{"detail": "overview"}'"""),
)
def context_get(
    desk: Desk, *, group_id: GroupId | None = None, detail: Detail | None = None, by: By | None = None
) -> dict[str, Any]:
    """What a group shares: its vision and brief, milestones, tasks, notes, references, and what everybody is at."""
    group = _shared(desk, group_id, by)
    wanted = detail or summary.FULL
    if wanted not in summary.DETAILS:
        raise InvalidDetail(path="$.detail")
    return summary.summary(group.context(), desk.now(), str(wanted))


@op(
    "context_sync",
    examples=("""bb call context_sync --args '{"ops": [{"op": "task.create", "title": "Parse dates"}]}'""",),
    dry_run="Say what would change, and change nothing.",
)
def context_sync(
    desk: Desk,
    *,
    ops: Ops | None = None,
    dry_run: bool = False,
    if_version: Version | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Change what a group shares: all of the operations, in order, or none."""
    group = group_desk.of(desk, group_id)
    who = group.by(by, "system")
    decided: list[Outcome] = []

    def decide(index: Index) -> list[ContextChanged]:
        group.check("context.sync", who)
        outcome = batch.apply(
            group.context(index),
            ops,
            by=who,
            role=group.role_of(who),
            actors=group.roles(index),
            now_text=clock.text(desk.now()),
            if_version=if_version,
        )
        decided[:] = [outcome]
        return [ContextChanged(who, outcome.ops)] if outcome.ops else []

    if dry_run:
        group.would_record(decide)
    else:
        group.record(decide, who)
    return {"success": True, "dry_run": dry_run, "changes": decided[0].changes, "version": _version(group)}


@op(
    "task_list",
    reads=True,
    examples=("bb call task_list", """bb call task_list --args '{"status": "active", "limit": 10}'"""),
)
def task_list(
    desk: Desk,
    *,
    group_id: GroupId | None = None,
    task_id: TaskId | None = None,
    task_ids: Several | None = None,
    status: Status | None = None,
    statuses: Several | None = None,
    query: Query | None = None,
    assignee: Assignee | None = None,
    attention: Attention | None = None,
    offset: Number | None = None,
    limit: Number | None = None,
    include_index: Switch | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """The tasks of a group: all, one, or those that fit, in pages if wanted."""
    filters: dict[str, object] = {
        "task_id": task_id,
        "task_ids": task_ids,
        "status": status,
        "statuses": statuses,
        "query": query,
        "assignee": assignee,
        "attention": attention,
        "offset": offset,
        "limit": limit,
        "include_index": include_index,
    }
    return context_task_list.listing(_shared(desk, group_id, by).context(), **filters)


@op("presence_get", reads=True, examples=("bb call presence_get",))
def presence_get(desk: Desk, *, group_id: GroupId | None = None, by: By | None = None) -> dict[str, Any]:
    """What the actors of a group say they are doing."""
    agents = summary.presence(_shared(desk, group_id, by).context(), desk.now())
    return {
        "agents": task_view.fitting(agents, task_view.MOST_BYTES),
        "heartbeat_timeout_seconds": summary.HEARTBEAT_TIMEOUT_SECONDS,
    }


def _version(group: GroupDesk) -> str:
    """The version of the context, without the rest of it: what was just changed is looked at when somebody asks."""
    return ContextView.of(group.index().states_of(context.NAME, [context.VERSION]).items()).version


def _shared(desk: Desk, group_id: Any, by: Any) -> GroupDesk:
    """The group, when its context is for BY to see."""
    group = group_desk.of(desk, group_id)
    group.check("context.read", group.by(by))
    return group
