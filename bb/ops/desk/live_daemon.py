"""The interface of a running daemon for ops: start and stop actors, read their terminals.

`daemon/actors/supervisor.py` implements it. On the command line, such an op is forwarded to the running daemon, and
refused if no daemon runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from bb.kernel.errors import BbError, Busy, Refused
from bb.kernel.event import Event
from bb.ledger.git.place import Place
from bb.ledger.local import presence
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import Actor, GroupDesk


class Live(Protocol):
    """The running actors of a daemon."""

    def start(self, group: GroupDesk, actor: Actor) -> None: ...
    def stop(self, group_id: str, actor_id: str) -> bool: ...
    def is_running(self, group_id: str, actor_id: str) -> bool: ...
    def ended(self, group_id: str, actor_id: str) -> dict[str, Any] | None: ...
    def is_headless(self, group_id: str, actor_id: str) -> bool: ...
    def tail(self, group_id: str, actor_id: str, most: int, *, strip: bool, compact: bool) -> str: ...
    def clear(self, group_id: str, actor_id: str) -> None: ...
    def resize(self, group_id: str, actor_id: str, cols: int, rows: int) -> bool: ...
    def has_writer(self, group_id: str, actor_id: str) -> bool: ...
    def deliver(self, group: GroupDesk, event: Event, actor_ids: Sequence[str]) -> None: ...
    def headless(self, group_id: str, actor_id: str) -> dict[str, Any]: ...
    def set_headless(self, group_id: str, actor_id: str, *, now: int, **changes: Any) -> dict[str, Any]: ...
    def about(self) -> dict[str, Any]: ...
    def observability(self) -> dict[str, Any]: ...
    def observe(self, patch: dict[str, Any]) -> dict[str, Any]: ...
    def attend(self, place: Place) -> dict[str, Any]: ...
    def shut_down(self) -> None: ...


DaemonUnavailable = Busy.declare("DAEMON_UNAVAILABLE", "No daemon is running here", hint="`bb daemon start` starts one")
ActorNotRunning = Refused.declare("ACTOR_NOT_RUNNING", "That actor is not running", hint="`bb actor start` starts it")


def running_actors(desk: Desk) -> Live:
    """The running actors; refused outside a daemon."""
    live: Live | None = desk.live
    if live is None:
        raise DaemonUnavailable()
    return live


def is_running(group: GroupDesk, actor_id: str) -> bool:
    """Whether an actor runs. Outside a daemon this is unknown and False."""
    live: Live | None = group.desk.live
    return live is not None and live.is_running(group.id, actor_id)


def is_any_running(group: GroupDesk) -> bool:
    """Whether any actor of the group runs."""
    return any(is_running(group, actor.id) for actor in group.actors())


def stop(group: GroupDesk, actor_id: str) -> None:
    """Stop an actor if it runs."""
    if group.desk.live is not None:
        group.desk.live.stop(group.id, actor_id)
    presence.remove(group.store.path, actor_id)


def exit_of(desk: Desk, group_id: str, actor_id: str) -> dict[str, Any] | None:
    """How an actor's program ended, if it exited by itself and was not started again. Only a daemon knows this."""
    return desk.live.ended(group_id, actor_id) if desk.live is not None else None


def not_running(desk: Desk, group_id: str, actor_id: str) -> BbError:
    """The refusal for an actor that is not running, with the exit status of its program if it is known."""
    how = exit_of(desk, group_id, actor_id)
    if how is None:
        return ActorNotRunning(f"{actor_id} is not running", actor_id=actor_id)
    why = f"its program exited with {how_it_ended(how)}"
    return ActorNotRunning(f"{actor_id} is not running: {why}", actor_id=actor_id, exited=how)


def how_it_ended(how: dict[str, Any]) -> str:
    """An exit status or a signal, in words."""
    return f"signal {how['signal']}" if how.get("signal") else f"status {how.get('status')}"
