"""How messages and notices are recorded as CCCS events.

Text and recipients are stored where any CCCS client expects them, with the mail members and the Operative Protocol's
envelope beside them. The envelope's `id`, `created_at` and `project_root` are not stored: the ledger line contains the
first two, and the third is the path of the reader's own clone.

Reading applies the rules of writing (`kernel/validation.py`): a line with a member that bb could not have written is
not a fact.
"""

from __future__ import annotations

from bb.attention.facts import Posted
from bb.attention.messages import message
from bb.cbcl.facts import INSTALLED, REMOVED, Installed, Removed
from bb.coordination.facts import CI, COMMIT, CONTESTED, HOOK, OVERLAPPING, TOUCHED, Incurred, Overridden, Resumed
from bb.coordination.protocol import events
from bb.groups.facts import ContextChanged
from bb.kernel import ids, validation
from bb.kernel.errors import BbError
from bb.messaging.facts import CATEGORIES, CBCL, Acked, Agreed, Read, Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from bb.coordination.facts import GuardFact, NoticeFact
    from bb.messaging.facts import MailFact

FormedFact: TypeAlias = "MailFact | NoticeFact | GuardFact | ContextChanged | Posted | Installed | Removed"

# signals of a reaction for bb, and the emoji that other clients show
SEEN, AGREE = "seen", "agree"
EMOJI = {SEEN: "\N{EYES}", AGREE: "\N{THUMBS UP SIGN}"}

DIGEST_LENGTH = 64
# Members of events written by other CCCS clients that are checked: those that are ids or names.
NAMED = {
    "chat.message": ("reply_to", "client_id", "client_ts", "src_group_id", "src_event_id", "dst_group_id", "format"),
    "chat.reaction": ("event_id", "actor_id"),
    "chat.ack": ("event_id", "actor_id"),
    "system.notify": ("kind", "target_actor_id", "related_event_id"),
}
LISTED = {"chat.message": ("to", "dst_to")}


class InvalidMember(ValueError):
    """A member has a value that no version of bb could have written."""

    def __init__(self, member: str) -> None:
        super().__init__(member)
        self.member = member


def data_of(fact: Any) -> dict[str, Any]:
    """The event data that records FACT."""
    return WRITERS[type(fact)](fact)


def fact_of(kind: str, data: dict[str, Any], by: str) -> FormedFact | None:
    """The fact that an event of one of these kinds records; None if it records none."""
    try:
        fact: FormedFact | None = READERS[kind](data, by)
    except (KeyError, TypeError, ValueError, AttributeError, BbError):
        return None
    return fact


def invalid_member(kind: str, data: dict[str, Any], by: str) -> str:
    """The invalid member of an event that records no fact; "data" if it cannot be determined."""
    try:
        READERS[kind](data, by)
    except InvalidMember as error:
        return f"`{error.member}`"
    except (KeyError, TypeError, ValueError, AttributeError, BbError):
        pass
    return "data"


def is_ours(kind: str, data: dict[str, Any]) -> bool:
    """Whether bb wrote an event, for kinds that other clients write too."""
    if kind == "chat.message":
        return "mail" in data or "c2a" in data
    if kind == "chat.reaction":
        return data.get("signal") in (SEEN, AGREE)
    return "c2a" in data or ("context" in data and data.get("kind") in ("incursion", "resume"))


def out_of_bounds(kind: str, data: dict[str, Any]) -> str | None:
    """The member whose value no CCCS client could have written through bb: an invalid id or name; else None."""
    for member in NAMED[kind]:
        if data.get(member) not in (None, "") and not validation.is_line(data[member]):
            return f"`{member}`"
    for member in LISTED.get(kind, ()):
        listed = data.get(member)
        if listed is not None and not (type(listed) is list and all(map(validation.is_line, listed))):
            return f"`{member}`"
    return None


def _must(is_right: bool, member: str) -> None:
    if not is_right:
        raise InvalidMember(member)


# -- messages


def _sent(fact: Sent) -> dict[str, Any]:
    mail = {
        "category": fact.category,
        "subject": fact.subject,
        "bead_id": fact.bead,
        "thread_id": fact.thread,
        "requires_ack": fact.requires_ack,
        **({"news": fact.news} if fact.news else {}),
    }
    data = {"mail": mail, "priority": "attention" if fact.requires_ack else "normal", "to": list(fact.to)}
    if fact.payload is not None:
        data["protocol"] = events.validated(
            {
                "event_type": fact.category,
                "bead_id": fact.bead,
                "from_agent": fact.sender,
                "to_agent": fact.to[0] if len(fact.to) == 1 else ", ".join(fact.to),
                "scope": fact.scope,
                "payload": fact.payload,
            }
        )
    if fact.cbcl is not None:
        replies = {"reply_to": fact.cbcl["reply_to"]} if fact.cbcl.get("reply_to") else {}
        data |= {"content_type": CBCL, "cbcl": fact.cbcl, **replies}
    return data | {"text": fact.body}


def _is_spoken(about: object) -> bool:
    """Whether the `cbcl` object of a message has valid members."""
    if type(about) is not dict:
        return False
    needed, others = (about.get("id"), about.get("performative")), (about.get("thread", ""), about.get("reply_to", ""))
    return all(map(validation.is_line, needed)) and all(map(validation.is_line_or_nothing, others))


def _read_message(data: dict[str, Any], by: str) -> Sent | Posted | None:
    if "c2a" in data:
        return _read_posted(data, by)
    if not ids.is_principal(by):
        return None
    mail, to, envelope = data["mail"], data["to"], data.get("protocol") or {}
    category, subject, body = mail["category"], mail["subject"], data["text"]
    bead, thread = mail["bead_id"], mail["thread_id"]
    _must(category in CATEGORIES, "category")
    _must(validation.is_subject(subject), "subject")
    _must(bead == "" or validation.is_bead(bead), "bead_id")
    _must(validation.is_thread(thread), "thread_id")
    _must(type(body) is str, "text")
    _must(type(mail["requires_ack"]) is bool, "requires_ack")
    _must(type(to) is list and bool(to) and all(map(ids.is_principal, to)) and len(set(to)) == len(to), "to")
    scope, payload = envelope.get("scope"), envelope.get("payload")
    _must(scope is None or validation.is_unfolded(scope), "scope")
    _must(payload is None or type(payload) is dict, "payload")
    if not events.may_be_read(category, payload):
        payload = None  # a later version may have written it; the message itself is valid
    spoken = data["cbcl"] if data.get("content_type") == CBCL and _is_spoken(data.get("cbcl")) else None
    told = mail.get("news", "")
    return Sent(
        by,
        tuple(to),
        category,
        subject,
        body,
        bead,
        thread,
        mail["requires_ack"],
        scope,
        payload,
        spoken,
        told if validation.is_line_or_nothing(told) else "",
    )


def _posted(fact: Posted) -> dict[str, Any]:
    """`to` and `reply_to` are for CCCS clients; bb reads everything else from `c2a`."""
    reply = {"reply_to": fact.reply_to} if fact.reply_to else {}
    return {"c2a": fact.c2a, "to": list(fact.to), **reply, "text": fact.text}


def _read_posted(data: dict[str, Any], by: str) -> Posted | None:
    _must(message.is_sound(data["c2a"]), "c2a")
    to, texts = data.get("to"), [data.get(member) for member in ("text", "reply_to")]
    listed = tuple(name for name in to if type(name) is str) if type(to) is list else ()
    text, reply_to = (value if type(value) is str else "" for value in texts)
    _must(all(map(validation.is_line, listed)), "to")
    _must(validation.is_line_or_nothing(reply_to), "reply_to")
    return Posted(by, data["c2a"], text, listed, reply_to)


def _gesture(signal: str | None) -> Callable[[Any], dict[str, Any]]:
    def data(fact: Read | Acked | Agreed) -> dict[str, Any]:
        reaction = {"signal": signal, "emoji": EMOJI[signal]} if signal else {}
        return {"event_id": fact.message, "actor_id": fact.agent, **reaction}

    return data


def _read_ack(data: dict[str, Any], by: str) -> Acked | None:
    ids.split_event_id(data["event_id"])
    return Acked(by, data["event_id"]) if data["actor_id"] == by else None  # an agent acknowledges only for itself


def _read_reaction(data: dict[str, Any], by: str) -> Read | Agreed | None:
    ids.split_event_id(data["event_id"])
    fact: Any = {SEEN: Read, AGREE: Agreed}.get(data["signal"])
    return fact(by, data["event_id"]) if fact and data["actor_id"] == by else None


# -- notices


def _incurred(fact: Incurred) -> dict[str, Any]:
    return {
        "kind": "incursion",
        "priority": "high",
        "title": f"{fact.incoming} {OUTCOMES.get(fact.outcome, 'met')} {fact.owner} in {fact.held}",
        "target_actor_id": fact.owner,
        "context": events.validated(events.event_of_fact(fact, fact.incoming, fact.owner)),
        "incident": {
            "reservation_id": fact.reservation,
            "held": fact.held,
            "outcome": fact.outcome,
            **(_discovery(fact) if fact.outcome == TOUCHED else {}),
            **({"others": list(fact.others)} if fact.others else {}),
        },
    }


OUTCOMES = {
    "refused": "wanted what belongs to",
    "overlapping": "works beside",
    "taken_over": "took over from",
    "touched": "changed what belongs to",
    "contested": "reserved at the same time as",
}


def _discovery(fact: Incurred) -> dict[str, Any]:
    """The touched paths, and how they were detected."""
    source = {"commit": fact.commit} if fact.commit else {"mark": fact.mark}
    return {"found_by": fact.found_by, "paths": list(fact.paths), "count": fact.count, **source}


def _resumed(fact: Resumed) -> dict[str, Any]:
    return {
        "kind": "resume",
        "title": f"{fact.agent} goes on as {fact.adopted}",
        "target_actor_id": fact.prior,
        "context": events.validated(events.event_of_fact(fact, fact.agent, fact.prior)),
        "beads": list(fact.beads),
    }


def _read_notice(data: dict[str, Any], by: str) -> Incurred | Resumed | Posted | None:
    if "c2a" in data:
        return _read_posted(data, by)
    if not ids.is_principal(by):
        return None
    if data["kind"] == "incursion":
        return _read_incursion(data["context"], data["incident"], by)
    return _read_resume(data, data["context"], by) if data["kind"] == "resume" else None


def _members(event_type: str, payload: dict[str, Any]) -> dict[str, Any]:
    """The members of a fact that stand in the payload of an INCURSION or RESUME."""
    fields = [field for field in events.PAYLOADS[event_type] if field.is_required or field.name in payload]
    for field in fields:
        _must(field.may_be_read(payload.get(field.name)), field.name)
    return {field.member: payload[field.name] for field in fields}


def _read_incursion(context: dict[str, Any], incident: dict[str, Any], by: str) -> Incurred:
    outcome, scope, held, bead = incident["outcome"], context["scope"], incident["held"], context["bead_id"]
    ids.split_event_id(incident["reservation_id"])
    is_author = outcome not in (TOUCHED, CONTESTED)  # if paths were found changed, the author may be another agent
    payload = context["payload"] | ({"incoming_agent": by} if is_author else {})
    _must(validation.is_unfolded(scope, events.LONGEST_SENTENCE), "scope")
    _must(validation.is_unfolded(held), "held")
    _must(validation.is_bead(bead), "bead_id")
    _must(outcome in OUTCOMES, "outcome")
    members = _members(events.INCURSION, payload) | {"reservation": incident["reservation_id"], "bead": bead}
    others = tuple(_listed(incident.get("others"))) if outcome == OVERLAPPING else ()
    for other in others:
        ids.split_event_id(other)
    fact = Incurred(**members, scope=scope, held=held, outcome=outcome, others=others)
    return _discovered(fact, incident) if outcome == TOUCHED else fact


def _read_resume(data: dict[str, Any], context: dict[str, Any], by: str) -> Resumed:
    beads = tuple(bead for bead in _listed(data.get("beads")) if type(bead) is str)
    is_known = bool(beads) or context["bead_id"] != events.ONCE_NO_BEAD
    bead, scope = context["bead_id"] if is_known else events.NO_BEAD, context.get("scope")
    _must(bead == events.NO_BEAD or validation.is_bead(bead), "bead_id")
    _must(all(map(validation.is_bead, beads)), "beads")
    _must(scope is None or validation.is_unfolded(scope), "scope")
    return Resumed(**_members(events.RESUME, context["payload"]), agent=by, bead=bead, beads=beads, scope=scope)


def _discovered(fact: Incurred, incident: dict[str, Any]) -> Incurred:
    """FACT with the touched paths and how they were detected."""
    paths, count = incident["paths"], incident["count"]
    found_by, commit, mark = incident["found_by"], incident.get("commit", ""), incident.get("mark", "")
    _must(type(paths) is list and all(validation.is_unfolded(path, events.LONGEST_SENTENCE) for path in paths), "paths")
    _must(type(count) is int and count >= len(paths), "count")
    _must(found_by in (HOOK, COMMIT, CI), "found_by")
    for name, value in (("commit", commit), ("mark", mark)):
        is_digest = type(value) is str and len(value) <= DIGEST_LENGTH and not value.strip(ids.LOWER + ids.DIGITS)
        _must(is_digest, name)
    return fact.replace(found_by=found_by, paths=tuple(paths), count=count, commit=commit, mark=mark)


# -- the context of a group


def _read_context(data: dict[str, Any], by: str) -> ContextChanged | None:
    from bb.groups.context import context  # noqa: PLC0415  (it validates each operation)

    return context.fact_of(data, by)


# -- dialects of CBCL


def _dialect(fact: Installed | Removed) -> dict[str, Any]:
    action = REMOVED if isinstance(fact, Removed) else INSTALLED
    return {"action": action, **{name: value for name, value in fact.as_dict().items() if name != "by" and value}}


def _read_dialect(data: dict[str, Any], by: str) -> Installed | Removed | None:
    kind: Any = {INSTALLED: Installed, REMOVED: Removed}[data["action"]]
    members = {"by": by, **{name: data[name] for name in kind.__match_args__[1:] if name in data}}
    members = {"author": "", **members} if kind is Installed else members
    for name, value in members.items():
        is_free = name in ("text", "source")  # the dialect's text; its path or URL
        _must(type(value) is str and (is_free or validation.is_line_or_nothing(value)), name)
    fact: Installed | Removed = kind(**members)
    return fact


# -- overridden guards


def _overridden(fact: Overridden) -> dict[str, Any]:
    return {"reason": fact.reason, "paths": list(fact.paths), "reservation_ids": list(fact.reservations)}


def _read_override(data: dict[str, Any], by: str) -> Overridden | None:
    paths, reservations = data["paths"], data["reservation_ids"]
    _must(type(data["reason"]) is str, "reason")
    _must(type(paths) is list and all(type(path) is str for path in paths), "paths")  # unchanged from git
    _must(type(reservations) is list, "reservation_ids")
    for reservation in reservations:
        ids.split_event_id(reservation)
    return Overridden(by, data["reason"], tuple(paths), tuple(reservations))


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


WRITERS: dict[type, Callable[[Any], dict[str, Any]]] = {
    Sent: _sent,
    Read: _gesture(SEEN),
    Acked: _gesture(None),
    Agreed: _gesture(AGREE),
    Incurred: _incurred,
    Resumed: _resumed,
    Overridden: _overridden,
    ContextChanged: lambda fact: {"ops": list(fact.ops)},
    Posted: _posted,
    Installed: _dialect,
    Removed: _dialect,
}
READERS: dict[str, Callable[[dict[str, Any], str], Any]] = {
    "chat.message": _read_message,
    "chat.ack": _read_ack,
    "chat.reaction": _read_reaction,
    "system.notify": _read_notice,
    "x.bb.override": _read_override,
    "context.sync": _read_context,
    "x.bb.cbcl.dialect": _read_dialect,
}
