"""The forms on the pages. Each act calls an op as the person (`user`).

A table names the op of each act, the form fields that it accepts, and its confirmation. No field can name the author,
so a page never acts in an agent's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from bb.kernel import ids
from bb.kernel.errors import NotFound, Usage
from bb.kernel.record import Record
from bb.messaging.mail import mail
from bb.ops import catalogue
from bb.ops.desk.desk import Desk

MOST_FIELDS = 32
SUBJECT = 80  # characters of a comment's first line

UnknownAct = NotFound.declare(
    "UNKNOWN_ACT", "There is no such action", hint="reload the page: it may come from another version of bb"
)
InvalidForm = Usage.declare("INVALID_FORM", "The form data are not valid", hint="reload the page and try again")
EmptyMessage = Usage.declare("NOTHING_SAID", "The message is empty", hint="write a message first")


class Act(Record):
    """One action: its OP, the parameter WHO that names the author, and the FIELDS that it accepts."""

    op: str
    who: str
    fields: tuple[str, ...]
    said: str
    repeated: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


ACTS: dict[str, Act] = {
    "seen": Act("agent.read", "agent", ("message",), "Marked as seen."),
    "accepted": Act("agent.ack", "agent", ("message",), "Accepted."),
    "comment": Act("agent.send", "from", ("to", "bead", "body", "category", "key"), "Comment sent."),
    "send": Act("agent.send", "from", ("to", "bead", "subject", "body", "category", "key"), "Sent."),
    "handoff": Act(
        "protocol.handoff", "from", ("to", "bead", "subject", "summary", "next_action", "key"), "Passed on."
    ),
    "release": Act("agent.release", "agent", ("scope", "key"), "Released.", repeated=("scope",)),
    "transfer": Act(
        "agent.transfer", "agent", ("scope", "to", "from", "why", "key"), "Handed over.", repeated=("scope",)
    ),
    "freeze": Act("freeze", "agent", ("scope", "why", "minutes", "key"), "Frozen.", repeated=("scope",)),
    "thaw": Act("thaw", "agent", ("scope", "key"), "Thawed.", repeated=("scope",)),
    "pause": Act("agent.pause", "agent", ("name", "all", "why", "key"), "Paused.", flags=("all",)),
    "unpause": Act("agent.unpause", "agent", ("name", "all", "key"), "Unpaused.", flags=("all",)),
    "allow": Act("chat.confirm", "agent", ("request",), "Allowed."),
    "disallow": Act("chat.confirm", "agent", ("request", "refuse"), "Refused.", flags=("refuse",)),
    "resolve": Act("protocol.resolve", "agent", ("event", "as", "note"), "Settled."),
}


def form(octets: bytes) -> dict[str, str]:
    """The fields of a submitted form, without empty ones."""
    try:
        pairs = parse_qsl(
            octets.decode("ascii"), strict_parsing=bool(octets), errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError as error:
        raise InvalidForm() from error
    if len({name for name, _ in pairs}) < len(pairs):
        raise InvalidForm("a field occurs twice")
    return {name: value.replace("\r\n", "\n") for name, value in pairs if value}


def do(desk: Desk, name: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Perform the action NAME as the person; its confirmation and the op's answer."""
    if name not in ACTS:
        raise UnknownAct(f"there is no action {name[:40]!r}")
    act = ACTS[name]
    op = catalogue.find(act.op)
    arguments: dict[str, Any] = {field: given[field] for field in act.fields if field in given}
    arguments |= {field: [arguments[field]] for field in act.repeated if field in arguments}
    arguments |= {field: True for field in act.flags if field in arguments}
    arguments[act.who] = ids.PERSON
    if name == "comment":
        arguments = _comment_message(arguments)
    answered = op.run(desk, catalogue.bind(op, arguments))
    if name == "comment" and "answers" in given:  # answering a message marks it as seen
        do(desk, "seen", {"message": given["answers"]})
    desk.sync_later()
    return {"said": act.said, "answer": answered}


def _comment_message(wanted: dict[str, Any]) -> dict[str, Any]:
    """The message for a comment: its subject is the comment's first line."""
    first = str(wanted.get("body", "")).strip().partition("\n")[0]
    if not first:
        raise EmptyMessage()
    subject = first if len(first) <= SUBJECT else first[: SUBJECT - 1].rstrip() + "…"
    return {"category": mail.INFO, "subject": subject, **wanted}
