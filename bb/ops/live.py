"""What only a running daemon can do, as far as ops need it: start and stop actors, look at their terminals.

The daemon brings the thing itself (`daemon/house.py`); ops see this. At a terminal such an op is carried to the daemon
that is running, and refused when there is none.
"""

from __future__ import annotations

from bb.kernel.errors import Busy, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    from bb.kernel.event import Event
    from bb.ops.desk import Desk
    from bb.ops.groupdesk import Actor, GroupDesk

    class Live(Protocol):
        """Actors that run."""

        def start(self, group: GroupDesk, actor: Actor) -> None: ...
        def stop(self, group_id: str, actor_id: str) -> bool: ...
        def is_running(self, group_id: str, actor_id: str) -> bool: ...
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
