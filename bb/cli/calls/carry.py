"""Carrying an op to the daemon that is running, for what only a running daemon can do, or knows.

Which actors run is known to the daemon that runs them. What is asked about them, and what may have to stop them, goes
there if there is one; otherwise none runs, and it is done here.
"""

from __future__ import annotations

from bb.kernel.errors import BbError, Usage
from bb.ledger.local import machine_registry as knowns
from bb.ops.desk import group_desk, signs_of_life
from bb.ops.desk.live_daemon import DaemonUnavailable
from bb.wire import client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.ops.catalogue import Op
    from bb.ops.desk.desk import Desk

STREAMS = ("events_stream", "term_attach")


class NeedsStream(Usage):
    """That op goes on for as long as somebody listens."""

    code = "NEEDS_STREAM"
    hint = "`bb events --follow` shows events as they come, `bb attach ACTOR` an actor's terminal"


def answer(op: Op, desk: Desk, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What the daemon answers to OP."""
    if op.name in STREAMS:
        raise NeedsStream
    return client.ask(knowns.home(desk.env), op.name, request(op, desk, arguments))


def answer_if_any(op: Op, desk: Desk, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the daemon answers to OP; None where none is running, or where it does not know the group."""
    given = request(op, desk, arguments)
    if op.name == "group_delete":
        given.setdefault("confirm", "")  # at a terminal it must be said
    try:
        return client.ask(knowns.home(desk.env), op.name, given)
    except DaemonUnavailable:
        return None
    except BbError as refusal:
        if refusal.code != knowns.GroupNotFound.code:
            raise
        return None


def request(op: Op, desk: Desk, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """ARGUMENTS as the daemon wants them: which group is meant, and in whose name, does not go without saying there."""
    given = {
        parameter.name: arguments[parameter.keyword]
        for parameter in op.parameters
        if arguments.get(parameter.keyword) is not None
    }
    known = {parameter.name for parameter in op.parameters}
    if "group_id" in known and not given.get("group_id"):
        given["group_id"] = group_desk.of(desk, None).id
    if "by" in known and (not given.get("by") or isinstance(given["by"], str)) and (who := desk.actor(given.get("by"))):
        given["by"] = who
        _refuse_another_session(desk, given)
    return given


def _refuse_another_session(desk: Desk, given: Mapping[str, Any]) -> None:
    """Refuse where the caller is known not to be who it says: the daemon, which believes whoever asks, cannot know."""
    try:
        group = group_desk.of(desk, given.get("group_id"))
    except BbError as refusal:
        if refusal.code != knowns.GroupNotFound.code:  # which the daemon says better
            raise
    else:
        signs_of_life.may_act(desk, group.index(), given["by"])
