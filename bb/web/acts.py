"""What a person does on a page: each act is an op, called as `user` whatever the form says.

An act is a table: which op it is, which fields of the form it takes, and what it says of itself. No field can name who
acts, so nothing on a page is ever done in an agent's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from bb.kernel import ids
from bb.kernel.errors import NotFound, Usage
from bb.kernel.record import Record
from bb.messaging.mail import mail
from bb.ops import catalogue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.ops.desk.desk import Desk

MOST_FIELDS = 32
SUBJECT = 80  # characters of a comment's first line


class UnknownAct(NotFound):
    """There is no such act."""

    code = "UNKNOWN_ACT"
    hint = "load the page again: it may be from another version of bb"


class InvalidForm(Usage):
    """That is no form of ours."""

    code = "INVALID_FORM"
    hint = "load the page again, and repeat what you did"


class NothingSaid(Usage):
    """There is nothing to send."""

    code = "NOTHING_SAID"
    hint = "write something first"


class Act(Record):
    """One thing that a person can do: the OP it is, WHO of its parameters is the person, the FIELDS it takes."""

    op: str
    who: str
    fields: tuple[str, ...]
    said: str
    repeated: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


ACTS: dict[str, Act] = {
    "seen": Act("agent.read", "agent", ("message",), "Marked as seen."),
    "accepted": Act("agent.ack", "agent", ("message",), "Accepted."),
    "comment": Act("agent.send", "from", ("to", "bead", "body", "category", "key"), "Said."),
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
    "unpause": Act("agent.unpause", "agent", ("name", "all", "key"), "Goes on.", flags=("all",)),
    "resolve": Act("protocol.resolve", "agent", ("event", "as", "note"), "Settled."),
}


def form(octets: bytes) -> dict[str, str]:
    """The fields of a form, as a browser sends them; what was left empty is not there."""
    try:
        found = parse_qsl(
            octets.decode("ascii"), strict_parsing=bool(octets), errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError as error:
        raise InvalidForm from error
    if len({name for name, _ in found}) < len(found):
        raise InvalidForm("a field is there twice")
    return {name: value.replace("\r\n", "\n") for name, value in found if value}


def do(desk: Desk, name: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Do what the form of that NAME asks for, as the person; what to say of it."""
    if name not in ACTS:
        raise UnknownAct(f"there is no act {name[:40]!r}")
    act = ACTS[name]
    op = catalogue.find(act.op)
    wanted: dict[str, Any] = {field: given[field] for field in act.fields if field in given}
    wanted |= {field: [wanted[field]] for field in act.repeated if field in wanted}
    wanted |= {field: True for field in act.flags if field in wanted}
    wanted[act.who] = ids.PERSON
    if name == "comment":
        wanted = _commented(wanted)
    answered = op.answer(desk, catalogue.bind(op, wanted))
    if name == "comment" and "answers" in given:  # whoever has answered a message has seen it
        do(desk, "seen", {"message": given["answers"]})
    desk.sync_later()
    return {"said": act.said, "answer": answered}


def _commented(wanted: dict[str, Any]) -> dict[str, Any]:
    """A comment is a message whose subject is its first line."""
    first = str(wanted.get("body", "")).strip().partition("\n")[0]
    if not first:
        raise NothingSaid
    subject = first if len(first) <= SUBJECT else first[: SUBJECT - 1].rstrip() + "…"
    return {"category": mail.INFO, "subject": subject, **wanted}
