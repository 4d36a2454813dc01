"""Protocol events (Operative Protocol §6): the common envelope, and the payload of each type.

`PAYLOADS` describes each field once. The rules of writing and reading, the refusals, the options of `bb protocol
handoff` and `blocked`, their help texts and the table in docs/protocol.md come from it, so a new field is one entry.

Writing is strict: a payload with an unknown, missing or invalid field is refused, and nothing is recorded.
"""

from __future__ import annotations

from bb.coordination.agents.liveness import ACTIVE, EVICTED, STALE
from bb.coordination.facts import CONTESTED, REFUSED, TAKEN_OVER, TOUCHED, Incurred
from bb.kernel import ids, validation
from bb.kernel.errors import Usage
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.coordination.facts import Resumed

VERSION = "v1"
HANDOFF, BLOCKED, INCURSION, RESUME = "HANDOFF", "BLOCKED", "INCURSION", "RESUME"
NO_BEAD = ""  # `bead_id` is mandatory; in a RESUME it is empty if no bead is known
ONCE_NO_BEAD = "unknown"  # earlier versions wrote this instead

FLAG = "true or false"
TEXT = "non-blank text"
SENTENCE, AGENT = "a sentence", "an agent"  # written like TEXT; a reader also checks the characters
LONGEST_SENTENCE = 1 << 16  # characters; a sentence may name several scopes


class Field(Record):
    """One field of a payload. KIND is FLAG, TEXT, SENTENCE, AGENT, or the allowed values."""

    name: str
    help: str
    kind: str | tuple[str | bool, ...] = TEXT
    is_required: bool = True
    member: str = ""  # in the fact that records an INCURSION or a RESUME
    default: str | bool | None = None  # in a plain message of this category; if None, the message's text
    label: str | None = None  # before the field's value in the text of the message; if None, the text omits the field

    @property
    def values(self) -> str:
        """The values that may be written, in words."""
        if isinstance(self.kind, tuple):
            return " or ".join(str(value).lower() for value in self.kind)
        return FLAG if self.kind == FLAG else TEXT

    def may_be_written(self, value: object) -> bool:
        """Whether a payload may have VALUE in this field; None means that the field is missing."""
        if value is None:
            return not self.is_required
        if self.kind == FLAG:
            return isinstance(value, bool)
        if isinstance(self.kind, tuple):
            return value in self.kind and isinstance(value, type(self.kind[0]))  # 1 is in (True,), but is no boolean
        return isinstance(value, str) and bool(value.strip())

    def may_be_read(self, value: object) -> bool:
        """Whether the ledger's INCURSION or RESUME may have VALUE in this field. Earlier versions wrote blank texts."""
        if value is None or self.kind == FLAG or isinstance(self.kind, tuple):
            return self.may_be_written(value)
        if self.kind == AGENT:
            return ids.is_principal(value)
        return validation.is_unfolded(value, LONGEST_SENTENCE) if self.kind == SENTENCE else type(value) is str


PAYLOADS: dict[str, tuple[Field, ...]] = {
    HANDOFF: (
        Field("subject", "The subject, in one line."),
        Field("summary", "A summary of the work done and its current state; `-` reads it from stdin.", label=""),
        Field("next_action", "The next step for the recipient.", label="Next: "),
        Field("requires_ack", "Whether the recipient must acknowledge it.", FLAG, default=True),
    ),
    BLOCKED: (
        Field("subject", "The subject, in one line."),
        Field("blocker", "The problem that blocks you; `-` reads it from stdin.", label=""),
        Field("requested_action", "The help that you request.", label="Asked for: "),
        Field("urgency", "The urgency: low, medium or high.", ("low", "medium", "high"), default="medium"),
        Field("requires_ack", "The recipient must acknowledge it.", (True,), default=True),
    ),
    INCURSION: (
        Field("incursion_kind", "How the two scopes overlap.", ("exact", "partial"), member="kind"),
        Field("owner_agent", "The holder of the reservation.", AGENT, member="owner"),
        Field("incoming_agent", "The agent that requested or changed paths in it.", AGENT, member="incoming"),
        Field("owner_liveness", "The holder's liveness.", (ACTIVE, STALE, EVICTED), member="liveness"),
        Field("resolution_hint", "The next step for the two agents.", SENTENCE, member="hint"),
    ),
    RESUME: (
        Field(
            "resume_reason",
            "The reason for the adoption.",
            ("uncommitted_scope", "in_progress_ownership"),
            member="reason",
        ),
        Field("prior_session_agent", "The agent whose work continues.", AGENT, member="prior"),
        Field("adopted_agent", "The name under which it continues.", AGENT, member="adopted"),
        Field("evidence", "The evidence of unfinished work.", member="evidence"),
    ),
}
EVENT_TYPES = tuple(PAYLOADS)
SYSTEM_MAY_SEND = (INCURSION, RESUME)
OF_EACH_MESSAGE = ("subject", "requires_ack")  # fields that each message has; the sender passes the others as options

# Labels shown to people (§6.3).
LABELS = {HANDOFF: "Passed to", BLOCKED: "Needs input", INCURSION: "Incursion", RESUME: "Resumed"}
SEEN, ACCEPTED = "Seen", "Accepted"

InvalidProtocolEvent = Usage.declare(
    "INVALID_PROTOCOL_EVENT",
    "That protocol event is not valid",
    hint="see the fields: `bb handoff --help`, `bb blocked --help`",
)


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
    for name in payload.keys() - {field.name for field in fields}:
        raise InvalidProtocolEvent(f"{event_type} has no field {name[:40]!r}", path=f"$.payload.{name[:40]}")
    for field in fields:
        if not field.may_be_written(payload.get(field.name)):
            verb = "needs" if field.is_required else "may have"
            message = f"{event_type} {verb} {field.name}: {field.values}"
            raise InvalidProtocolEvent(message, path=f"$.payload.{field.name}")


def may_be_read(event_type: str, payload: dict[str, Any] | None) -> bool:
    """Whether PAYLOAD, as read from the ledger, fits a message of this type. Unknown fields are ignored."""
    if payload is None or event_type not in (HANDOFF, BLOCKED):
        return False
    return all(field.may_be_written(payload.get(field.name)) for field in PAYLOADS[event_type])


def options(event_type: str) -> list[Field]:
    """The fields that the sender of a HANDOFF or BLOCKED passes as options."""
    return [field for field in PAYLOADS[event_type] if field.name not in OF_EACH_MESSAGE]


def payload_of(event_type: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The payload with the values GIVEN by field name, in the order of the fields."""
    names = [field.name for field in PAYLOADS[event_type]]
    return {name: given[name] for name in names if given.get(name) is not None}


def event_of_fact(fact: Incurred | Resumed, sender: str, to: str) -> dict[str, Any]:
    """The INCURSION or RESUME that FACT records, as `validated` takes it."""
    event_type = INCURSION if isinstance(fact, Incurred) else RESUME
    payload = payload_of(event_type, {field.name: getattr(fact, field.member) for field in PAYLOADS[event_type]})
    members = {"event_type": event_type, "bead_id": fact.bead, "from_agent": sender, "to_agent": to}
    return members | {"scope": fact.scope, "payload": payload}


def payload_of_message(event_type: str, subject: str, text: str) -> dict[str, Any]:
    """The payload of a HANDOFF or BLOCKED that was sent as a plain message with this TEXT."""
    needed = [field for field in PAYLOADS[event_type] if field.is_required]
    values = {field.name: text if field.default is None else field.default for field in needed}
    return values | {"subject": subject}


def text_of(event_type: str, payload: Mapping[str, Any]) -> str:
    """The text of the message that delivers a HANDOFF or BLOCKED: its labelled fields, a paragraph for each."""
    labelled = [field for field in PAYLOADS[event_type] if field.label is not None and field.name in payload]
    return "\n\n".join(f"{field.label}{payload[field.name]}" for field in labelled)


def incursion_sentence(event: Mapping[str, Any]) -> str:
    """A short sentence about an INCURSION: agent, verb, paths."""
    verb = {CONTESTED: "also reserved", TOUCHED: "changed", REFUSED: "requested", TAKEN_OVER: "took over"}.get(
        event["outcome"], "works in"
    )
    doubt = ", unverified," if "signature" in event else ""
    return f"{event['from_agent']}{doubt} {verb} {event['where']}"


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
