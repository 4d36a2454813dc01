"""What only a running daemon can do, as far as ops need it: start and stop actors, look at their terminals.

The daemon brings the thing itself (`daemon/actors/supervisor.py`); ops see this. At a terminal such an op is carried
to the daemon that is running, and refused when there is none.
"""

from __future__ import annotations

from bb.kernel.errors import Busy, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    from bb.kernel.event import Event
    from bb.ops.desk.desk import Desk
    from bb.ops.desk.group_desk import Actor, GroupDesk

    class Live(Protocol):
        """Actors that run."""

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
        def shut_down(self) -> None: ...


class DaemonUnavailable(Busy):
    """No daemon is running here."""

    code = "DAEMON_UNAVAILABLE"
    hint = "`bb daemon start` starts one"


class ActorNotRunning(Refused):
    """That actor is not running."""

    code = "ACTOR_NOT_RUNNING"
    hint = "`bb actor start` starts it"


def of(desk: Desk) -> Live:
    """What runs; refused where nothing could."""
    if desk.live is None:
        raise DaemonUnavailable
    return desk.live


def is_running(desk: Desk, group_id: str, actor_id: str) -> bool:
    """Whether an actor runs, as far as can be known here."""
    return desk.live is not None and desk.live.is_running(group_id, actor_id)


def ended(desk: Desk, group_id: str, actor_id: str) -> dict[str, Any] | None:
    """How an actor's program ended, if it did so by itself and has not been started since, as far as is known here."""
    return desk.live.ended(group_id, actor_id) if desk.live is not None else None


def not_running(desk: Desk, group_id: str, actor_id: str) -> ActorNotRunning:
    """The refusal of what needs an actor that runs, with what became of it."""
    how = ended(desk, group_id, actor_id)
    if how is None:
        return ActorNotRunning(f"{actor_id} is not running", actor_id=actor_id)
    why = f"its program ended by itself, with {how_it_ended(how)}"
    return ActorNotRunning(f"{actor_id} is not running: {why}", actor_id=actor_id, exited=how)


def how_it_ended(how: dict[str, Any]) -> str:
    """An exit status or a signal, in words."""
    return f"signal {how['signal']}" if how.get("signal") else f"status {how.get('status')}"
