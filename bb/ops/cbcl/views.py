"""CBCL messages, expected answers and threads in the form that all faces show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bb.cbcl.facts import Installed
from bb.cbcl.read import grammar, names
from bb.cbcl.read.message import Message, Simple, core_of
from bb.cbcl.read.reader import MAXIMUM_BOUNDS
from bb.cbcl.read.tree import text_of
from bb.cbcl.read.words import CANCEL, ERROR, REPLY
from bb.cbcl.speak import effects as written
from bb.cbcl.speak.effects import Effect
from bb.cbcl.speak.processing import Outcome
from bb.kernel import clock, ids
from bb.kernel.errors import BbError
from bb.kernel.event import Event
from bb.ledger.index.index import Index
from bb.ledger.journal import kinds
from bb.messaging import messages
from bb.messaging.cbcl import conversation_state, registers
from bb.messaging.facts import Sent
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk

LONGEST = 10  # digits of a number of seconds
UNSHOWN = ("event", "text", "signed")  # members of an effect that repeat the message


def reader(desk: Desk, agent: str | None) -> tuple[str, Index]:
    """The caller, and the index to read."""
    who = ids.PERSON if agent == ids.PERSON else desk.subject(agent)
    index = signs_of_life.index_of(desk, who)
    if who != ids.PERSON:
        signs_of_life.registered(index, who)
    return who, index


def sent(who: str, octets: bytes, recorded: Sequence[Event]) -> dict[str, Any]:
    """The result of sending OCTETS, from the events recorded now or by an earlier request with the same key."""
    message = grammar.message(octets, MAXIMUM_BOUNDS)
    facts = [(event, kinds.fact_of(event.kind, event.data, event.by)) for event in recorded]
    event, letter = next(((event, fact) for event, fact in facts if isinstance(fact, Sent)), (None, None))
    installed = [fact for _, fact in facts if isinstance(fact, Installed)]
    effects_of = [*installed, *written.from_line((letter.cbcl or {}).get("effects") if letter else None)]
    return {
        "event_id": event.id if event else None,
        "id": names.id_of(message),
        "from_agent": who,
        "to": list(letter.to) if letter else [],
        "thread_id": letter.thread if letter else None,
        "text": text_of(message.node),
        "effects": effects(effects_of),
        "settles_nothing": _settles_nothing(message, effects_of),
    }


def _settles_nothing(message: Message, happened: Sequence[Effect]) -> bool:
    """Whether MESSAGE is an answer to a question, but no such question is open."""
    core = core_of(message)
    is_to_settle = isinstance(core, Simple) and core.performative in (REPLY, ERROR, CANCEL)
    return is_to_settle and not any(isinstance(effect, written.Discharged | written.Settled) for effect in happened)


def heard(event: str, letter: Sent, found: Outcome, unsent: Sequence[str], proved: dict[str, Any]) -> dict[str, Any]:
    """The result of hearing a message. PROVED is the proof of its sender; the answers to UNSENT could not be sent."""
    return {
        "event_id": event,
        "id": found.id,
        "from": letter.sender,
        "text": letter.body,
        "says": without_wrappers(letter.body),
        "status": found.status,
        "verified": proved,
        **({"code": found.code, "message": found.why} if found.code else {}),
        "comes_to": list(found.comes_to),
        "replies": [text for _, text in found.answers],
        "passed_on": [{"to": to, "text": text} for to, text in found.passed_on if to not in letter.to],
        "unsent": list(dict.fromkeys(unsent)),
        "effects": effects(found.effects),
    }


def effects(happened: Sequence[Effect]) -> list[dict[str, Any]]:
    """The effects, without the members that repeat the message."""
    return [
        {"effect": type(effect).__name__.lower()}
        | {name.rstrip("_"): value for name, value in effect.as_dict().items() if name not in UNSHOWN}
        for effect in happened
    ]


def pending_answer(index: Index, whose: str, entry: list[Any], now: int) -> dict[str, Any]:
    """An expected or owed answer: the other agent under the member WHOSE, the message, its time and its deadline."""
    other, message_id, thread, timeout, event = entry
    state = index.state(messages.NAME, event)
    text, since = (messages.sent(state).body, messages.sent_at(state)) if state else ("", "")
    due = _due(timeout, since)
    return {
        whose: other,
        "id": message_id,
        "thread": thread,
        "event_id": event,
        "text": text,
        "since": since,
        "due_at": None if due is None else clock.text(due),
        "is_overdue": due is not None and due < now,
    }


def _due(timeout: str | None, since: str) -> int | None:
    """The deadline of an answer, or None."""
    began = clock.parse_or(since, 0)
    return began + int(timeout) * 1000 if began and timeout and timeout.isdecimal() and len(timeout) < LONGEST else None


def newest(index: Index, term: str) -> Iterator[tuple[str, list[Any]]]:
    """The time and value of the entries that match TERM, newest first."""
    for _, _, state in index.newest_first(conversation_state.NAME, term):
        ts, value = state["said"][3]
        yield ts, value


def content(index: Index, event: str) -> str:
    """The content of a message; empty if it cannot be read any more."""
    message = _said(body(index, event))
    return text_of(message.content) if message and message.content is not None else ""


def body(index: Index, event: str) -> str:
    """The text of a message as it was sent; empty if it cannot be read any more."""
    state = index.state(messages.NAME, event)
    return messages.sent(state).body if state else ""


def _said(text: str) -> Simple | None:
    try:
        core = core_of(grammar.message(text.encode("utf-8", "surrogatepass"), MAXIMUM_BOUNDS))
    except BbError:
        return None
    return core if isinstance(core, Simple) else None


def thread(index: Index, who: str, ts: str, name: str) -> dict[str, Any]:
    """A conversation: the number of its messages, and the last one."""
    term = f"{registers.ENTRY} {who} {name}"
    last = next((entry(index, *row) for row in newest(index, term)), None)
    return {"thread": name, "at": ts, "messages": index.count(conversation_state.NAME, term), "last": last}


def entry(index: Index, ts: str, said: list[Any]) -> dict[str, Any]:
    """One message of a conversation."""
    _, sender, performative, message_id, text, event = said
    return {
        "from": sender,
        "performative": performative,
        "id": message_id,
        "text": text or without_wrappers(body(index, event)),
        "event_id": event,
        "at": ts,
    }


def without_wrappers(text: str) -> str:
    """A message without its wrappers; the text itself if it is not a message."""
    message = _said(text)
    return text if message is None else text_of(message.node)
