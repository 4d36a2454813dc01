"""Sends an op to the running daemon.

Only the daemon knows which actors run. Ops about actors, and ops that may have to stop them, go to the daemon if one is
running. Without a daemon no actor runs, so the op is done in this process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.kernel.errors import BbError, Usage
from bb.ledger.local import machine_registry as knowns
from bb.ops.catalogue import Op
from bb.ops.desk import group_desk, signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.desk.live_daemon import DaemonUnavailable
from bb.wire import cccc, client

NeedsStream = Usage.declare(
    "NEEDS_STREAM",
    "That op is a stream and cannot be called for a single answer",
    hint="`bb events --follow` shows events as they come, `bb attach ACTOR` an actor's terminal",
)


def answer(op: Op, desk: Desk, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The daemon's answer to OP."""
    if op.name in cccc.UPGRADES:
        raise NeedsStream()
    return client.ask(knowns.home(desk.env), op.name, request(op, desk, arguments))


def answer_if_any(op: Op, desk: Desk, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """The daemon's answer to OP; None if no daemon is running or it does not know the group."""
    args = request(op, desk, arguments)
    if op.name == "group_delete":
        args.setdefault("confirm", "")  # the command line requires a confirmation
    try:
        return client.ask(knowns.home(desk.env), op.name, args)
    except DaemonUnavailable.error:
        return None
    except BbError as refusal:
        if refusal.code != knowns.GroupNotFound.code:
            raise
        return None


def request(op: Op, desk: Desk, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """ARGUMENTS as a request to the daemon, with the group and the caller filled in."""
    args = {
        parameter.name: arguments[parameter.keyword]
        for parameter in op.parameters
        if arguments.get(parameter.keyword) is not None
    }
    names = {parameter.name for parameter in op.parameters}
    if "group_id" in names and not args.get("group_id"):
        args["group_id"] = group_desk.open_group(desk, None).id
    if "by" in names and (not args.get("by") or isinstance(args["by"], str)) and (who := desk.actor(args.get("by"))):
        args["by"] = who
        _refuse_another_session(desk, args)
    return args


def _refuse_another_session(desk: Desk, given: Mapping[str, Any]) -> None:
    """Refuse a caller whose session does not hold the name. The daemon trusts its clients, so it cannot check this."""
    try:
        group = group_desk.open_group(desk, given.get("group_id"))
    except BbError as refusal:
        if refusal.code != knowns.GroupNotFound.code:  # the daemon refuses an unknown group itself
            raise
    else:
        signs_of_life.refuse_other_session(desk, group.index(), given["by"])
