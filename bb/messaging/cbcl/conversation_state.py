"""The state of each agent's CBCL conversations, as a fold.

An entry is about one agent and one subject: a message it has not heard yet, an answer that it waits for or owes, a peer
it has met, a belief. Whether an entry is open or closed depends on which event is later in the ledger, so lines may
arrive in any order.
"""

from __future__ import annotations

from bb.cbcl.facts import Heard
from bb.kernel.total_order import earliest, event, latest, sortable
from bb.messaging.cbcl.registers import (
    BELIEF,
    CONVERSATION,
    ENTRY,
    EXPECTED,
    FIRST,
    LAST,
    MESSAGE,
    NAMED,
    OBLIGED,
    PEER,
    SENT_IN,
    TAKEN,
    UNHEARD,
)
from bb.messaging.facts import Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from bb.cbcl.speak.effects import Effect
    from bb.kernel.total_order import Place, State
    from bb.messaging.cbcl.registers import Part

NAME = "cbcl"
FACTS = (Sent, Heard)


def keys(fact: Sent | Heard, at: Place) -> list[str]:
    """The entries that FACT is about."""
    return [key for key, _ in parts(fact, at)]


def parts(fact: Sent | Heard, at: Place) -> Iterator[tuple[str, Part]]:
    """The parts of FACT, entry by entry. A message that is not in CBCL has none."""
    if isinstance(fact, Heard):
        about = [fact.outcome, str(fact.about.get("code", "")), str(fact.about.get("why", "")), *_proved(fact)]
        yield f"{MESSAGE} {fact.by} {fact.event_id}", ("heard", FIRST, about)
        yield from _happened(fact.by, fact.event_id, fact.about.get("effects"))
    elif fact.cbcl is not None:
        cbcl = fact.cbcl
        head = [fact.sender, cbcl["id"], cbcl["performative"], cbcl.get("thread", ""), fact.requires_ack]
        for agent in fact.to:
            yield f"{MESSAGE} {agent} {event(at)}", ("sent", FIRST, head)
        yield from _happened(fact.sender, event(at), cbcl.get("effects"))


def _proved(fact: Heard) -> list[str]:
    """The verification of the message's author, as recorded when the message was heard. Old lines have none."""
    verified = fact.about.get("verified")
    if not isinstance(verified, dict) or not isinstance(verified.get("state"), str):
        return []
    return [verified["state"], *(str(verified.get(name) or "") for name in ("key", "why"))]


def proof_in(state: Mapping[str, Any]) -> list[str] | None:
    """The recorded verification of a message: state, key and reason; None if there is none."""
    proved: list[str] = state["heard"][3][1][3:] if "heard" in state else []
    return proved or None


def _happened(agent: str, message: str, written: Any) -> Iterator[tuple[str, Part]]:
    """The parts for AGENT of the effects WRITTEN on the line of a message."""
    if not written:
        return
    from bb.cbcl.speak import effects  # noqa: PLC0415  (rarely needed)

    for place, effect in enumerate(effects.from_line(written)):
        yield from _parts_of(effect, agent, message, place)


def _parts_of(effect: Effect, agent: str, message: str, place: int) -> Iterator[tuple[str, Part]]:
    from bb.cbcl.speak import effects  # noqa: PLC0415  (rarely needed)

    match effect:
        case effects.Expected(to=other, id=known, thread=thread, timeout=timeout):
            yield f"{EXPECTED} {agent} {other} {known}", ("open", LAST, [other, known, thread, timeout, message])
        case effects.Obliged(from_=other, id=known, thread=thread, timeout=timeout):
            yield f"{OBLIGED} {agent} {other} {known}", ("open", LAST, [other, known, thread, timeout, message])
        case effects.Settled(to=other, id=known, how=how):
            yield f"{EXPECTED} {agent} {other} {known}", ("closed", LAST, how)
        case effects.Discharged(from_=other, id=known, how=how):
            yield f"{OBLIGED} {agent} {other} {known}", ("closed", LAST, how)
        case effects.Met(peer=peer) | effects.Greeted(peer=peer) | effects.Parted(peer=peer):
            yield f"{PEER} {agent} {peer}", (type(effect).__name__.lower(), LAST, peer)
        case effects.Verified(who=who, hash=known):
            yield f"{TAKEN} {agent} {who} {known}", ("taken", FIRST, message)
        case effects.Believed(who=who, text=text):
            yield f"{BELIEF} {agent} {message} {place}", ("said", FIRST, [who, text, message])
        case effects.Entered(thread=thread, sender=sender, performative=performative, id=known, text=text):
            entry = [thread, sender, performative, known, text, message]
            yield f"{ENTRY} {agent} {message} {place}", ("said", FIRST, entry)
            yield f"{CONVERSATION} {agent} {thread}", ("last", LAST, thread)


def step(state: State | None, part: Part, at: Place, ts: str) -> State:
    """STATE after one more part of a fact."""
    register, how, value = part
    after = dict(state or {})
    (earliest if how == FIRST else latest)(after, register, at, [ts, value])
    return after


def is_open(state: Mapping[str, Any]) -> bool:
    """Whether the entry was opened and not closed afterwards."""
    return "open" in state and not ("closed" in state and state["open"][:3] < state["closed"][:3])


def terms(key: str, state: State) -> list[tuple[str, str]]:
    """The search terms of an entry: its type and its agent."""
    what, _, rest = key.partition(" ")
    agent = rest.partition(" ")[0]
    if what == MESSAGE:
        return _terms_of_message(agent, state)
    if what in (EXPECTED, OBLIGED):
        return [(f"{what} {agent}", sortable(state["open"][:3]))] if is_open(state) else []
    if what == ENTRY:
        *at, (_, (thread, *_)) = state["said"]
        return [(f"{ENTRY} {agent} {thread}", sortable(at))]
    if what in (BELIEF, CONVERSATION):
        (register,) = state.values()
        return [(f"{what} {agent}", sortable(register[:3]))]
    return []  # PEER and TAKEN entries are looked up by key


def _terms_of_message(agent: str, state: State) -> list[tuple[str, str]]:
    if "sent" not in state:
        return []
    *at, (_, (sender, message_id, _, thread, _)) = state["sent"]
    place = sortable(at)
    always = [(f"{NAMED} {agent} {sender} {message_id}", place), (f"{SENT_IN} {agent} {sender} {thread}", place)]
    return always if "heard" in state else [(f"{UNHEARD} {agent}", place), *always]


def sender_of(state: State) -> str | None:
    """The sender of a message, or None if the message has not arrived in this clone."""
    return state["sent"][3][1][0] if "sent" in state else None


def heard_in(state: State) -> str | None:
    """The id of the event that records that the message was heard."""
    return event(state["heard"][:3]) if "heard" in state else None


def opener(state: State) -> str | None:
    """The message that requires the answer."""
    return state["open"][3][1][-1] if "open" in state else None


def is_met(state: Mapping[str, Any] | None, how: str) -> bool:
    """Whether a peer was met or greeted (HOW), and the session has not ended since."""
    registers = state or {}
    return how in registers and not ("parted" in registers and registers[how][:3] < registers["parted"][:3])
