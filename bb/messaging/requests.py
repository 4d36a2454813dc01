"""Messages that ask for a reply, and mail that is consumed: the later dialect of CCCC (0.4.40 on).

    open ──reply of that recipient──> fulfilled
      └──cancelled by who asked, or by the person──> cancelled

A request is owed by each concrete recipient on its own. Whichever of reply and cancellation stands first in the ledger
counts, so the state is a set of registers that keep the earliest: facts may arrive in any order.
"""

from __future__ import annotations

from bb.groups.permissions import PermissionDenied
from bb.kernel.errors import Refused
from bb.kernel.order import earliest, event
from bb.messaging import recipients
from bb.messaging.acks import EventNotFound, InvalidEventKind
from bb.messaging.chat import MAIL, MESSAGE, REQUEST_REPLY, mode_of
from bb.messaging.principals import USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from bb.kernel.order import Place, State
    from bb.messaging.recipients import Member

CANCELLED_KIND, MAIL_READ = "chat.reply_request.cancelled", "mail.read"
OPEN, FULFILLED, CANCELLED = "open", "fulfilled", "cancelled"


class NotAReplyRequest(Refused):
    """The message does not ask for a reply."""

    code = "NOT_A_REPLY_REQUEST"
    hint = "only what was sent with message_mode request_reply can be cancelled"


def is_request(data: Any) -> bool:
    """Whether a message on a line of history asks for a reply; the first dialect had a flag for it."""
    return mode_of(data) == REQUEST_REPLY or (isinstance(data, dict) and data.get("reply_required") is True)


def is_mail(data: Any) -> bool:
    """Whether a message on a line of history waits in the inbox instead of being delivered."""
    return mode_of(data) == MAIL


def obligations(to: Sequence[str], members: Sequence[Member], by: str) -> tuple[str, ...]:
    """Who owes a reply to a request that BY sent."""
    return recipients.concrete(to, members, by)


def asked(state: State | None, by: str, owing: Sequence[str], at: Place) -> State:
    """STATE once it is known who asked, and who owes a reply."""
    after = dict(state or {})
    earliest(after, "asked", at, [by, list(owing)])
    return after


def replied(state: State | None, by: str, at: Place) -> State:
    """STATE once it is known that BY replied."""
    after = dict(state or {})
    earliest(after, f"replied {by}", at, event(at))
    return after


def withdrawn(state: State | None, by: str, at: Place) -> State:
    """STATE once it is known that BY cancelled the request; whether BY may is seen when it is known who asked."""
    after = dict(state or {})
    earliest(after, f"cancelled {by}", at, event(at))
    return after


def states(state: State | None) -> dict[str, str]:
    """What became of each recipient's obligation; nothing until it is known here what was asked."""
    if not state or "asked" not in state:
        return {}
    by, owing = state["asked"][3]
    ends = [state[name] for name in (f"cancelled {by}", f"cancelled {USER}") if name in state]
    return {who: _state_of(state.get(f"replied {who}"), ends) for who in owing}


def _state_of(reply: Place | None, ends: Sequence[Place]) -> str:
    if reply is not None and all(reply[:3] < end[:3] for end in ends):
        return FULFILLED
    return CANCELLED if ends else OPEN


def may_cancel(*, by: Any, event: Mapping[str, Any] | None) -> None:
    """Refuse, unless BY may cancel what the message asks for."""
    if event is None:
        raise EventNotFound(path="$.source_event_id")
    if event.get("kind") != MESSAGE:
        raise InvalidEventKind(f"only a {MESSAGE} asks for a reply", path="$.source_event_id")
    if not is_request(event.get("data")):
        raise NotAReplyRequest(path="$.source_event_id")
    if by not in (event.get("by"), USER):
        raise PermissionDenied("a request is cancelled by who asked, or by the person", path="$.by")


def cancellation(source_event_id: str, by: str) -> dict[str, str]:
    """What a `chat.reply_request.cancelled` says."""
    return {"source_event_id": source_event_id, "by": by}
