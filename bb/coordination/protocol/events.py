"""Protocol events (Operative Protocol §6): the common envelope, and the payload of each type.

Writing is strict: a payload with an unknown, missing or invalid field is refused, and nothing is recorded.
"""

from __future__ import annotations

from bb.coordination.agents.liveness import ACTIVE, EVICTED, STALE
from bb.coordination.facts import CONTESTED, REFUSED, TAKEN_OVER, TOUCHED
from bb.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

VERSION = "v1"
HANDOFF, BLOCKED, INCURSION, RESUME = "HANDOFF", "BLOCKED", "INCURSION", "RESUME"
NO_BEAD = ""  # `bead_id` is mandatory; in a RESUME it is empty if no bead is known
ONCE_NO_BEAD = "unknown"  # earlier versions wrote this instead

TEXT, FLAG = "text", "flag"
Field = str | tuple[str | bool, ...]  # TEXT, FLAG, or the allowed values

PAYLOADS: dict[str, dict[str, Field]] = {
    HANDOFF: {"subject": TEXT, "summary": TEXT, "next_action": TEXT, "requires_ack": FLAG},
    BLOCKED: {
        "subject": TEXT,
        "blocker": TEXT,
        "requested_action": TEXT,
        "urgency": ("low", "medium", "high"),
        "requires_ack": (True,),
    },
    INCURSION: {
        "incursion_kind": ("exact", "partial"),
        "owner_agent": TEXT,
        "incoming_agent": TEXT,
        "owner_liveness": (ACTIVE, STALE, EVICTED),
        "resolution_hint": TEXT,
    },
    RESUME: {
        "resume_reason": ("uncommitted_scope", "in_progress_ownership"),
        "prior_session_agent": TEXT,
        "adopted_agent": TEXT,
        "evidence": TEXT,
    },
}
EVENT_TYPES = tuple(PAYLOADS)
SYSTEM_MAY_SEND = (INCURSION, RESUME)

# Labels shown to people (§6.3).
LABELS = {HANDOFF: "Passed to", BLOCKED: "Needs input", INCURSION: "Incursion", RESUME: "Resumed"}
SEEN, ACCEPTED = "Seen", "Accepted"


class InvalidProtocolEvent(Usage):
    """That protocol event is not valid."""

    code = "INVALID_PROTOCOL_EVENT"
    hint = "see the fields of each type in docs/protocol.md"


def validated(event: Mapping[str, Any]) -> dict[str, Any]:
    """EVENT, an envelope without the members that the ledger adds, if all fields conform to §6."""
    event_type = event.get("event_type")
    check_payload(event_type, event.get("payload"))
    for name in ("bead_id", "from_agent", "to_agent"):
        value = event.get(name)
        is_missing = not (isinstance(value, str) and value.strip())
        if name == "bead_id" and value == NO_BEAD and event_type == RESUME:
            continue
        if is_missing and not (value is None and name != "bead_id" and event_type in SYSTEM_MAY_SEND):
            raise InvalidProtocolEvent(f"{event_type} needs {name}", path=f"$.{name}")
    if not (event.get("scope") is None or isinstance(event["scope"], str)):
        raise InvalidProtocolEvent("scope must be text", path="$.scope")
    return {"version": VERSION, **event}


def check_payload(event_type: object, payload: object) -> None:
    """Refuse a payload that does not conform to its type."""
    fields = PAYLOADS.get(event_type) if isinstance(event_type, str) else None
    if fields is None:
        raise InvalidProtocolEvent(f"unknown protocol event type {str(event_type)[:40]!r}", path="$.event_type")
    if not isinstance(payload, dict):
        raise InvalidProtocolEvent("payload must be an object", path="$.payload")
    for name in payload.keys() - fields.keys():
        raise InvalidProtocolEvent(f"{event_type} has no field {name[:40]!r}", path=f"$.payload.{name[:40]}")
    for name, wanted in fields.items():
        if not _fits(wanted, payload.get(name)):
            what = {TEXT: "non-blank text", FLAG: "true or false"}.get(str(wanted)) or " or ".join(map(_text, wanted))
            raise InvalidProtocolEvent(f"{event_type} needs {name}: {what}", path=f"$.payload.{name}")


def may_be_read(event_type: str, payload: dict[str, Any] | None) -> bool:
    """Whether PAYLOAD, as read from the ledger, fits a message of this type. Unknown fields are ignored."""
    if payload is None or event_type not in (HANDOFF, BLOCKED):
        return False
    return all(_fits(wanted, payload.get(name)) for name, wanted in PAYLOADS[event_type].items())


def _text(value: str | bool) -> str:
    return str(value).lower()


def _fits(wanted: Field, value: object) -> bool:
    if wanted == TEXT:
        return isinstance(value, str) and bool(value.strip())
    if wanted == FLAG:
        return isinstance(value, bool)
    return value in wanted and isinstance(value, type(wanted[0]))  # 1 is in (True,), but is not a boolean


def incursion(*, kind: str, owner: str, incoming: str, liveness: str, hint: str) -> dict[str, Any]:
    """The payload of an INCURSION."""
    return {
        "incursion_kind": kind,
        "owner_agent": owner,
        "incoming_agent": incoming,
        "owner_liveness": liveness,
        "resolution_hint": hint,
    }


def incursion_sentence(event: Mapping[str, Any]) -> str:
    """A short sentence about an INCURSION: agent, verb, paths."""
    verb = {CONTESTED: "also reserved", TOUCHED: "changed", REFUSED: "requested", TAKEN_OVER: "took over"}.get(
        event["outcome"], "works in"
    )
    doubt = ", unverified," if "signature" in event else ""
    return f"{event['from_agent']}{doubt} {verb} {event['where']}"


def resume(*, reason: str, prior: str, adopted: str, evidence: str) -> dict[str, Any]:
    """The payload of a RESUME."""
    return {
        "resume_reason": reason,
        "prior_session_agent": prior,
        "adopted_agent": adopted,
        "evidence": evidence,
    }


def envelope(
    event_id: str,
    created_at: str,
    project_root: str,
    event: Mapping[str, Any],
) -> dict[str, Any]:
    """The envelope of §6.1, in its order. The reader adds id, time and project root."""
    return {
        "id": event_id,
        "version": event.get("version", VERSION),
        "event_type": event["event_type"],
        "project_root": project_root,
        "bead_id": event["bead_id"],
        "from_agent": event["from_agent"],
        "to_agent": event["to_agent"],
        "scope": event["scope"],
        "created_at": created_at,
        "payload": event["payload"],
    }
