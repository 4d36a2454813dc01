"""The refusals of the chat host, and the JSON-RPC error number of each."""

from __future__ import annotations

from bb.attention.facts import Refusal
from bb.kernel.errors import BbError, Busy, Conflict, NotFound, Refused, Usage


class PolicyForbids(Refused):
    """The response policy of the event does not allow this answer."""

    code = "POLICY_FORBIDS"
    hint = "`bb chat explain EVENT` shows why; if it must be said anyway, send a new message without in_reply_to"


class ClaimedByOther(Refused):
    """Another agent has claimed this event or thread."""

    code = "CLAIMED_BY_OTHER"
    hint = "let that agent answer; you can run `bb chat claim EVENT` after its claim has ended"


class ClaimRequired(Refused):
    """Several agents could answer this event, so you must claim it before you answer."""

    code = "CLAIM_REQUIRED"
    hint = "run `bb chat claim EVENT`, then answer"


class ClaimExpired(Refused):
    """Your claim has expired, and another agent has claimed the event since."""

    code = "CLAIM_EXPIRED"
    hint = "let that agent answer"


class IdempotencyConflict(Conflict):
    """This idempotency key was already used for a different message."""

    code = "IDEMPOTENCY_CONFLICT"
    hint = "to send a new message, use a new key; to retry, send the same message with the same key"


class AlreadyResponded(Conflict):
    """You have already answered this event."""

    code = "ALREADY_RESPONDED"
    hint = "no further answer is required; if you have something to add, send it with --followup"


class StaleCheckRequired(Conflict):
    """The time to answer this event is over, so you must read its thread before you answer."""

    code = "STALE_CHECK_REQUIRED"
    hint = "run `bb chat read EVENT`, then answer if an answer is still useful"


class Superseded(Conflict):
    """The event was edited, deleted, settled, or merged into another one, so it needs nothing any more."""

    code = "SUPERSEDED"
    hint = "`bb chat show EVENT` shows what happened to it"


class NoSuchEvent(NotFound):
    """The event does not exist, or you may not see it."""

    code = "NOT_FOUND"
    hint = "`bb chat list` shows the events that you may see"


def no_event(event: str) -> NoSuchEvent:
    """The refusal of an event that is unknown, or that the agent may not see: the two must look alike."""
    return NoSuchEvent(f"there is no event {event[:80]!r}", event_id=event[:80])


class RateLimited(Busy):
    """You have sent too many messages in a short time."""

    code = "RATE_LIMITED"
    hint = "wait for `retry_after_ms` in the details, then put more into one message"


class CapabilityMissing(Refused):
    """The other side does not support this."""

    code = "CAPABILITY_MISSING"


class ConfirmRequired(Refused):
    """The message would show private content to more people."""

    code = "CONFIRM_REQUIRED"
    hint = "ask the person for permission; then send it again with the `confirm` token from the details"


class DeliveryFailed(Refused):
    """The platform has permanently refused this message."""

    code = "DELIVERY_FAILED"
    hint = "send a different message with a new key"


class NotDeferrable(Refused):
    """You can defer an event only if you owe an answer to it or have claimed it."""

    code = "NOT_DEFERRABLE"


class InvalidSignal(Usage):
    """That is not a reaction signal."""

    code = "INVALID_SIGNAL"


class MissingMember(Usage):
    """The request lacks a required member."""

    code = "MISSING_MEMBER"


class NotInitializedYet(Refused):
    """The session is not initialized yet."""

    code = "NOT_INITIALIZED_SESSION"
    hint = "send `initialize` first"


class UnknownAgent(NotFound):
    """No agent of that name is registered here."""

    code = "UNKNOWN_AGENT"
    hint = "`bb agent list` shows the registered agents"


NUMBERS = {
    "POLICY_FORBIDS": -32050,
    "NOT_INITIALIZED_SESSION": -32051,
    "CLAIMED_BY_OTHER": -32052,
    "CLAIM_REQUIRED": -32053,
    "CLAIM_EXPIRED": -32054,
    "IDEMPOTENCY_CONFLICT": -32055,
    "ALREADY_RESPONDED": -32056,
    "STALE_CHECK_REQUIRED": -32057,
    "SUPERSEDED": -32058,
    "NOT_FOUND": -32059,
    "PERMISSION_DENIED": -32060,
    "RATE_LIMITED": -32061,
    "CAPABILITY_MISSING": -32062,
    "CONFIRM_REQUIRED": -32063,
    "DELIVERY_FAILED": -32064,
    "NOT_DEFERRABLE": -32065,
    "RESYNC_REQUIRED": -32066,
}


def refusal_fact(who: str, refusal: BbError) -> Refusal:
    """The fact that records a refusal. Every agent can read it, so the confirm token is left out."""
    about = {name: each for name, each in refusal.details.items() if isinstance(each, str) and name != "confirm"}
    return Refusal(who, refusal.code, about)
