"""What a host refuses an agent, and under which number JSON-RPC knows it."""

from __future__ import annotations

from bb.attention.facts import Refusal
from bb.kernel.errors import BbError, Busy, Conflict, Forbidden, NotFound, Refused, Usage


class PolicyForbids(Refused):
    """The policy of that event does not admit this answer."""

    code = "POLICY_FORBIDS"
    hint = "`bb chat explain EVENT` says why; what needs saying anyway is a message of its own, without in_reply_to"


class ClaimedByOther(Refused):
    """Another agent is responsible for it."""

    code = "CLAIMED_BY_OTHER"
    hint = "let it answer; `bb chat claim EVENT` works once its claim is over"


class ClaimRequired(Refused):
    """Several could answer: whoever does claims it first."""

    code = "CLAIM_REQUIRED"
    hint = "run `bb chat claim EVENT`, then answer"


class ClaimExpired(Refused):
    """Your claim ran out, and another agent has taken it."""

    code = "CLAIM_EXPIRED"
    hint = "leave the answer to it"


class IdempotencyConflict(Conflict):
    """That key was used for another message."""

    code = "IDEMPOTENCY_CONFLICT"
    hint = "use a fresh key for a new message, and the same text for the same key"


class AlreadyResponded(Conflict):
    """You have answered that event."""

    code = "ALREADY_RESPONDED"
    hint = "say what is new with --followup; nothing more is owed"


class StaleCheckRequired(Conflict):
    """It is old: look at what has been said since, before you answer."""

    code = "STALE_CHECK_REQUIRED"
    hint = "`bb chat read EVENT` shows the thread"


class Superseded(Conflict):
    """There is nothing left to answer: it was edited, deleted, or merged into another."""

    code = "SUPERSEDED"
    hint = "`bb chat show EVENT` says what has become of it"


class NoSuchEvent(NotFound):
    """There is no such event, or it is not for you to see."""

    code = "NOT_FOUND"
    hint = "`bb chat list` shows what there is for you"


class PermissionDenied(Forbidden):
    """That is not yours to do."""

    code = "PERMISSION_DENIED"


class RateLimited(Busy):
    """Too many messages in a short time."""

    code = "RATE_LIMITED"
    hint = "wait as long as the details say, and say more at once"


class CapabilityMissing(Refused):
    """That cannot be done there."""

    code = "CAPABILITY_MISSING"


class ConfirmRequired(Refused):
    """This would show what is private to more people."""

    code = "CONFIRM_REQUIRED"
    hint = "ask the person; then send it again with the confirm token in the details"


class DeliveryFailed(Refused):
    """The platform has refused the message for good."""

    code = "DELIVERY_FAILED"
    hint = "send something else, under a fresh key"


class NotDeferrable(Refused):
    """Only what you owe an answer, or have claimed, can be put off."""

    code = "NOT_DEFERRABLE"


class InvalidSignal(Usage):
    """That is no signal."""

    code = "INVALID_SIGNAL"


class MissingMember(Usage):
    """Something is missing that a message to others cannot do without."""

    code = "MISSING_MEMBER"


class NotInitializedYet(Refused):
    """The session has not begun."""

    code = "NOT_INITIALIZED_SESSION"
    hint = "send `initialize` first"


class UnknownAgent(NotFound):
    """There is no such agent here."""

    code = "UNKNOWN_AGENT"
    hint = "`bb agent list` shows who is here"


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


def refused(who: str, refusal: BbError) -> Refusal:
    """What is recorded of it: everybody may read that, so not what would confirm it."""
    about = {name: each for name, each in refusal.details.items() if isinstance(each, str) and name != "confirm"}
    return Refusal(who, refusal.code, about)
