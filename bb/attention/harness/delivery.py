"""The envelope of `chat/deliver` that is handed to a harness (C2A §Event Envelope)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bb.attention.decision import Decision
from bb.attention.facts import AttentionFact, Digested
from bb.attention.judging.cases import case_for_agent, current_message
from bb.attention.judging.content_version import total_version, with_merged_pieces
from bb.attention.messages import unknown_members
from bb.attention.messages.message import HERE, Message
from bb.attention.messages.messages import MessageHead
from bb.attention.state.attention_state import AttentionState
from bb.attention.turns import knocks, rendering, turn_text
from bb.attention.turns.asked_messages import answers_member, asked_message
from bb.attention.turns.offers import CONTENT, KNOCK, Offer
from bb.attention.turns.open_deliveries import OpenDelivery
from bb.attention.words import AMBIENT, BUFFERED, DIGEST, DM, NORMAL, NOTIFY, SIGNALS, SYSTEM, TO_ME
from bb.kernel import clock, escaping, json_text
from bb.kernel.digest import digest
from bb.kernel.record import Record

MOST = 900_000  # bytes of an envelope, which must fit into a line together with its JSON-RPC request
TOO_LONG = "This message is too long to be delivered. Read it with chat.read_thread."
FROM_HOST = "host"  # marks a part that the host wrote, not the author


class Parcel(Record):
    """Messages that are handed over together, in order, under the id EVENT."""

    event: str
    items: tuple[OpenDelivery, ...]
    decision: Decision
    version: int
    is_stale: bool = False
    shape: str = CONTENT
    mode: str = BUFFERED
    attempt: int = 1
    interrupts: bool = False


def parcel(book: AttentionState, agent: str, event: str, events: Iterable[str], shape: str, now: int) -> Parcel:
    """The parcel of EVENT with all EVENTS in it and, if it shows content, the pieces merged into them before."""
    pieces = with_merged_pieces(book, agent, events) if shape == CONTENT else list(events)
    cases = {name: case_for_agent(book, name, agent, now) for name in pieces}
    items = sorted(
        (OpenDelivery(case.standing, case.known) for case in cases.values() if not case.known.is_deleted),
        key=lambda item: item.standing.delivery.place,
    )
    stands = cases[event].standing
    version = version_of(book, pieces if shape == CONTENT else [event], shape)
    return Parcel(event, tuple(items), stands.decision, version, stands.is_stale, shape)


def version_of(book: AttentionState, events: Iterable[str], shape: str) -> int:
    """A number that increases with every piece, edit and deletion. A knock has a lower number than the content."""
    return total_version(book, events) - (shape == KNOCK)


# -- the envelope


def envelope(book: AttentionState, agent: str, given: Parcel, seed: str) -> dict[str, Any]:
    """The parameters of `chat/deliver`."""
    messages = _pieces(book, given)
    members = _head(book, agent, messages[-1], given)
    if given.shape == KNOCK:
        return members | _knocking(book, messages, given)
    offer = Offer(given.items, CONTENT, given.attempt, given.decision.policy)
    before = (
        turn_text.context(book, agent, messages[0], offer) if given.decision.reason in turn_text.WITH_CONTEXT else []
    )
    if before:
        members["injection"]["context"] = "thread_window"
    asked = asked_message(book, agent, messages, given.decision.reason)
    text = rendering.event(
        messages,
        given.decision,
        boundary=escaping.boundary(seed),
        context=before,
        asked=asked,
        is_stale=given.is_stale,
        version=given.version,
    )
    merged = [message.event for message in messages[:-1]]
    content = [part for message in messages for part in _content(message)]
    merging = {"mergedFrom": merged} if merged else {}
    whole = {**members, **merging, **answers_member(asked), "content": content, "rendered": text}
    return _fitting(whole, messages)


def _pieces(book: AttentionState, given: Parcel) -> list[Message]:
    """The messages of the parcel. The last one gets the id of the parcel."""
    messages = [current_message(book, item.known) for item in given.items]
    names = [message.event for message in messages if message.event != given.event]
    return [message.replace(event=name) for message, name in zip(messages, [*names, given.event], strict=True)]


def _head(book: AttentionState, agent: str, last: Message, given: Parcel) -> dict[str, Any]:
    """Everything but the content."""
    decision, head = given.decision, given.items[-1].known
    c2a = book.data(head.line).get("c2a", {})
    name = "" if given.shape == KNOCK else last.author_name  # free text of the author, so a knock must not show it
    return {
        "eventId": given.event,
        "contentVersion": given.version,
        "source": _present({"platform": last.platform, "workspaceId": last.workspace}),
        "conversation": _present(
            {"id": last.conversation, "kind": last.kind, "streamId": last.stream, "threadId": last.thread}
        ),
        "author": _present({"id": last.author, "kind": last.author_kind, "displayName": name})
        | ({"unverified": True} if last.is_unverified else {}),
        "target": _target(book, agent, last, decision),
        "timing": _present({"createdAt": clock.text(last.at), "sequence": last.sequence}),
        "attention": {
            **_present({"policy": decision.policy, "reason": decision.reason, "priority": decision.priority}),
            **_present({"deadlineMs": decision.deadline}),
            **({"defaultResponder": True} if decision.is_default else {}),
            **({"stale": True} if given.is_stale else {}),
        },
        "injection": {
            "mode": given.mode,
            **_present(dict(c2a.get("injection") or {})),
            **({} if given.shape == KNOCK else {"role": _role(c2a)}),
            **({"interrupt": True} if given.interrupts else {}),
        },
        "reliability": {"attempt": given.attempt, "idempotencyKey": key_of(given.event, agent)},
        **_signal(c2a),
    }


def _role(c2a: Mapping[str, Any]) -> str:
    injection = c2a.get("injection")
    return str(injection.get("role", "user")) if isinstance(injection, dict) else "user"


def key_of(event: str, agent: str) -> str:
    """The idempotency key of an event for an agent, the same for every attempt, in the form of C2A's example."""
    address = f"agent:{agent}"
    return f"{event}:{address.replace('-', '_').replace(':', '_')}"


def _target(book: AttentionState, agent: str, last: Message, decision: Decision) -> dict[str, Any]:
    recipient = _address(book, last.recipient, last.platform)
    if not recipient and last.kind == DM and decision.directedness == TO_ME:
        recipient = f"agent:{agent}"
    mentions = [_address(book, mention, last.platform) for mention in last.mentions]
    return {"mentions": mentions, **_present({"recipient": recipient}), "directedness": decision.directedness}


def _address(book: AttentionState, name: str, platform: str) -> str:
    """The agent with that name on the platform, or the name itself if no agent has it."""
    agent = book.directory.agent(name, platform)
    return f"agent:{agent}" if agent else name


def _signal(c2a: Mapping[str, Any]) -> dict[str, Any]:
    """For a reaction: its signal, the message it is on, and its meaning."""
    reaction = c2a.get("signal")
    if not isinstance(reaction, dict):
        return {}
    signal = SIGNALS.get(str(reaction.get("signal")))
    about = {"signal": reaction.get("signal"), "onMessage": reaction.get("onMessage")}
    return _present(about | {"meaning": signal.answers if signal else ""})


def _content(said: Message) -> list[dict[str, Any]]:
    """The content of a message; for a reaction, which has no text, a sentence of the host."""
    if said.text or said.parts or not said.reason.startswith("signal "):  # only the host may set `from`
        return [{name: value for name, value in part.items() if name != "from"} for part in said.content]
    text = f"{knocks.author_of(said)} reacted to {said.linked}: {said.reason.removeprefix('signal ')}"
    return [{"type": "text", "text": text, "from": FROM_HOST}]


def _knocking(book: AttentionState, said: Sequence[Message], given: Parcel) -> dict[str, Any]:
    """A knock; for a harness that takes no knocks, as a text by the host."""
    knock = knocks.knock(book, said, given.decision)
    if len(said) > 1:
        knock["events"] = [message.event for message in said]
    text = rendering.knock(knock, given.event)
    if given.mode == NOTIFY:
        return {"knock": knock, "rendered": text}
    return {"content": [{"type": "text", "text": text, "from": FROM_HOST}], "rendered": text}


def _fitting(found: dict[str, Any], said: Sequence[Message]) -> dict[str, Any]:
    """The largest form of an envelope that fits into a line.

    The forms are: with unknown members, without them, without the rendered text, and with a pointer to the tool that
    reads the message.
    """
    whole = dict(found)
    for message in reversed(said):
        whole = unknown_members.with_unknown_members(whole, message.more)
    plain = {name: value for name, value in found.items() if name != "rendered"}
    last = plain | {"content": [{"type": "text", "text": TOO_LONG, "from": FROM_HOST}]}
    return next((form for form in (whole, found, plain) if len(json_text.dumps(form).encode()) <= MOST), last)


def _present(members: Mapping[str, Any]) -> dict[str, Any]:
    """The members that have a value."""
    return {name: value for name, value in members.items() if value not in ("", None)}


# -- a digest


def digest_name(agent: str, facts: Iterable[AttentionFact]) -> str:
    """The id of a digest, made from the place up to which it goes."""
    upto = next((fact.upto for fact in facts if isinstance(fact, Digested)), "")
    return f"digest:{agent}:{digest(upto.encode())[:12]}"


def digest_envelope(agent: str, event: str, found: Mapping[str, Any], attempt: int) -> dict[str, Any]:
    """The envelope of a digest, which is a message by the host."""
    return {
        "eventId": event,
        "contentVersion": 1,
        "source": {"platform": HERE},
        "conversation": {"id": f"digest:{agent}", "kind": SYSTEM},
        "author": {"id": HERE, "kind": SYSTEM},
        "target": {"mentions": [], "recipient": f"agent:{agent}", "directedness": AMBIENT},
        "timing": {"createdAt": found["at"]},
        "attention": {"policy": found["policy"], "reason": DIGEST, "priority": NORMAL},
        "injection": {"mode": DIGEST, "role": "user"},
        "reliability": {"attempt": attempt, "idempotencyKey": key_of(event, agent)},
        "content": [{"type": "text", "text": found["text"], "from": FROM_HOST}],
        "rendered": found["text"],
    }


# -- events that an agent looks up


def lookup_envelope(book: AttentionState, agent: str, known: MessageHead, now: int) -> dict[str, Any]:
    """The envelope of an event that an agent looks up, with its content."""
    case = case_for_agent(book, known.event, agent, now)
    stands = case.standing
    events = with_merged_pieces(book, agent, [known.event]) or [known.event]
    parcel = Parcel(
        known.event,
        (OpenDelivery(stands, known),),
        stands.decision,
        version_of(book, events, CONTENT),
        stands.is_stale,
        mode=stands.decision.mode,
        attempt=max(stands.delivery.attempt, 1),
    )
    answered = answers_member(asked_message(book, agent, [case.message], stands.decision.reason))
    whole = {**_head(book, agent, case.message, parcel), **answered, "content": _content(case.message)}
    return unknown_members.with_unknown_members(whole, case.message.more)
