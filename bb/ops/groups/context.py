"""The shared context of a group, and its tasks (CCCC daemon IPC §8.7). `groups/context/batch.py` has the rules for
changes; this module records them."""

from __future__ import annotations

from typing import Any

from bb.groups import context_forms
from bb.groups.context import batch, context, summary, task_view
from bb.groups.context import task_list as context_task_list
from bb.groups.context.batch import Outcome
from bb.groups.context.view import ContextView
from bb.groups.facts import ContextChanged
from bb.kernel import clock
from bb.kernel.errors import Usage
from bb.ledger.index.index import Index
from bb.ops.catalogue import op
from bb.ops.desk import group_desk
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import GroupDesk
from bb.ops.json_params import By, GroupId, Json, JsonText

InvalidDetail = Usage.declare("INVALID_ARGS", "The detail must be full, summary or overview")


class Detail(JsonText):
    """full; summary: short form of tasks; overview: no list of tasks."""

    offered = summary.DETAILS


class Several(Json):
    """Only these values: a list, or one text separated by commas."""


class Status(JsonText):
    """Only tasks with this status."""

    offered = context_forms.STATUSES


class Attention(JsonText):
    """Only tasks that need attention for this reason."""

    offered = task_view.ATTENTIONS


class Rows(Json):
    """The number of tasks to skip (offset), or to show (limit), newest first."""


@op(
    "context_get",
    reads=True,
    examples=("bb call context_get", """bb call context_get --args '{"detail": "overview"}'"""),
)
def context_get(
    desk: Desk, *, group_id: GroupId | None = None, detail: Detail | None = None, by: By | None = None
) -> dict[str, Any]:
    """Show the shared context of a group: vision, brief, milestones, tasks, notes, references and agents' states."""
    group = _shared(desk, group_id, by)
    level = detail or summary.FULL
    if level not in summary.DETAILS:
        raise InvalidDetail(path="$.detail")
    return summary.summary(group.context(), desk.now(), str(level))


@op(
    "context_sync",
    examples=("""bb call context_sync --args '{"ops": [{"op": "task.create", "title": "Parse dates"}]}'""",),
)
def context_sync(
    desk: Desk,
    *,
    ops: Json | None = None,
    dry_run: bool = False,
    if_version: JsonText | None = None,
    group_id: GroupId | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """Change the shared context of a group. Either all operations are applied, in order, or none.

    Parameters:
        ops: The changes, in order: a list of operations such as {"op": "task.create", "title": "…"}.
        dry_run: Show what would change, and change nothing.
        if_version: Refuse the change if the context is no longer at this version.
    """
    group = group_desk.open_group(desk, group_id)
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
    task_id: JsonText | None = None,
    task_ids: Several | None = None,
    status: Status | None = None,
    statuses: Several | None = None,
    query: JsonText | None = None,
    assignee: JsonText | None = None,
    attention: Attention | None = None,
    offset: Rows | None = None,
    limit: Rows | None = None,
    include_index: Json | None = None,
    by: By | None = None,
) -> dict[str, Any]:
    """List the tasks of a group: all of them, one, or those that match the filters; in pages if limit is given.

    Parameters:
        task_id: Only the task with this id, and its direct subtasks.
        query: Only tasks that contain this text.
        assignee: Only tasks of this actor; __unassigned__ for unassigned tasks.
        include_index: true or false.
    """
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
    """Show what the actors of a group report that they are doing."""
    agents = summary.presence(_shared(desk, group_id, by).context(), desk.now())
    return {
        "agents": task_view.first_that_fit(agents, task_view.MOST_BYTES),
        "heartbeat_timeout_seconds": summary.HEARTBEAT_TIMEOUT_SECONDS,
    }


def _version(group: GroupDesk) -> str:
    """The version of the context. The rest of the context is not loaded."""
    return ContextView.of(group.index().states_of(context.NAME, [context.VERSION]).items()).version


def _shared(desk: Desk, group_id: Any, by: Any) -> GroupDesk:
    """The group. Refused if BY may not read its context."""
    group = group_desk.open_group(desk, group_id)
    group.check("context.read", group.by(by))
    return group
