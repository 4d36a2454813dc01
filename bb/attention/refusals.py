"""The refusals of the chat host, and the JSON-RPC error number of each."""

from __future__ import annotations

from bb.kernel.errors import BbError, Busy, Conflict, NotFound, Refused, Usage

PolicyForbids = Refused.declare(
    "POLICY_FORBIDS",
    "The response policy of the event does not allow this answer",
    hint="`bb chat explain EVENT` shows why; if it must be said anyway, send a new message without in_reply_to",
)

ClaimedByOther = Refused.declare(
    "CLAIMED_BY_OTHER",
    "Another agent has claimed this event or thread",
    hint="let that agent answer; you can run `bb chat claim EVENT` after its claim has ended",
)

ClaimRequired = Refused.declare(
    "CLAIM_REQUIRED",
    "Several agents could answer this event, so you must claim it before you answer",
    hint="run `bb chat claim EVENT`, then answer",
)

ClaimExpired = Refused.declare(
    "CLAIM_EXPIRED",
    "Your claim has expired, and another agent has claimed the event since",
    hint="let that agent answer",
)

IdempotencyConflict = Conflict.declare(
    "IDEMPOTENCY_CONFLICT",
    "This idempotency key was already used for a different message",
    hint="to send a new message, use a new key; to retry, send the same message with the same key",
)

AlreadyResponded = Conflict.declare(
    "ALREADY_RESPONDED",
    "You have already answered this event",
    hint="no further answer is required; if you have something to add, send it with --followup",
)

StaleCheckRequired = Conflict.declare(
    "STALE_CHECK_REQUIRED",
    "The time to answer this event is over, so you must read its thread before you answer",
    hint="run `bb chat read EVENT`, then answer if an answer is still useful",
)

StaleContent = Conflict.declare(
    "STALE_CONTENT",
    "The text of the event has changed since you saw it",
    hint="read the new text in the details; if your answer still fits, send it again with its `contentVersion`",
)

Superseded = Conflict.declare(
    "SUPERSEDED",
    "The event was edited, deleted, settled, or merged into another one, so it needs nothing any more",
    hint="`bb chat show EVENT` shows what happened to it",
)

NoSuchEvent = NotFound.declare(
    "NOT_FOUND",
    "The event does not exist, or you may not see it",
    hint="`bb chat list` shows the events that you may see",
)


def no_event(event: str) -> BbError:
    """The refusal of an event that is unknown, or that the agent may not see: the two must look alike."""
    return NoSuchEvent(f"there is no event {event[:80]!r}", event_id=event[:80])


RateLimited = Busy.declare(
    "RATE_LIMITED",
    "You have sent too many messages in a short time",
    hint="wait for `retry_after_ms` in the details, then put more into one message",
)

CapabilityMissing = Refused.declare("CAPABILITY_MISSING", "The other side does not support this")

ConfirmRequired = Refused.declare(
    "CONFIRM_REQUIRED",
    "The message would show private content to more people",
    hint="wait for the person to allow it (`bb chat confirmations` lists what waits); then send the same message again "
    "with the same key",
)

ConfirmRefused = Refused.declare(
    "CONFIRM_REFUSED",
    "The person has refused to show this private content to more people",
    hint="do not send it; ask the person in the private conversation if you do not know why",
)

NoSuchRequest = NotFound.declare(
    "NO_SUCH_CONFIRMATION",
    "No agent has asked for that",
    hint="`bb chat confirmations` lists the open requests with their ids",
)

RequestExpired = Conflict.declare(
    "CONFIRMATION_EXPIRED",
    "The request is too old to be answered",
    hint="if it is still needed, the agent sends the message again, which makes a new request",
)

DeliveryFailed = Refused.declare(
    "DELIVERY_FAILED",
    "The platform has permanently refused this message",
    hint="send a different message with a new key",
)

NotItsSource = Conflict.declare(
    "NOT_ITS_SOURCE",
    "Only the platform that brought a message can change it",
    hint="name the platform and the workspace of the message in `source`",
)

NotDeferrable = Refused.declare(
    "NOT_DEFERRABLE", "You can defer an event only if you owe an answer to it or have claimed it"
)
InvalidSignal = Usage.declare("INVALID_SIGNAL", "That is not a reaction signal")
MissingMember = Usage.declare("MISSING_MEMBER", "The request lacks a required member")
NotInitializedYet = Refused.declare(
    "NOT_INITIALIZED_SESSION", "The session is not initialized yet", hint="send `initialize` first"
)
UnknownAgent = NotFound.declare(
    "UNKNOWN_AGENT", "No agent of that name is registered here", hint="`bb agent list` shows the registered agents"
)

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
    "CONFIRM_REFUSED": -32070,
    "STALE_CONTENT": -32067,
}
