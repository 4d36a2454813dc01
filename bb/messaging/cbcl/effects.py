"""The effects of a CBCL message on an agent, as entries of the fold in `conversation_state`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bb.cbcl.speak import effects
from bb.cbcl.speak.effects import (
    Believed,
    Discharged,
    Effect,
    Entered,
    Expected,
    Greeted,
    Met,
    Obliged,
    Parted,
    Settled,
    Verified,
)
from bb.messaging.cbcl.registers import (
    BELIEF,
    CONVERSATION,
    ENTRY,
    EXPECTED,
    FIRST,
    LAST,
    OBLIGED,
    PEER,
    TAKEN,
    Part,
)


def parts(agent: str, message: str, written: Any) -> Iterator[tuple[str, Part]]:
    """The parts for AGENT of the effects WRITTEN on a line."""
    for place, effect in enumerate(effects.from_line(written)):
        yield from _parts_of(effect, agent, message, place)


def _parts_of(effect: Effect, agent: str, message: str, place: int) -> Iterator[tuple[str, Part]]:
    match effect:
        case Expected(to=other, id=known, thread=thread, timeout=timeout):
            yield f"{EXPECTED} {agent} {other} {known}", ("open", LAST, [other, known, thread, timeout, message])
        case Obliged(from_=other, id=known, thread=thread, timeout=timeout):
            yield f"{OBLIGED} {agent} {other} {known}", ("open", LAST, [other, known, thread, timeout, message])
        case Settled(to=other, id=known, how=how):
            yield f"{EXPECTED} {agent} {other} {known}", ("closed", LAST, how)
        case Discharged(from_=other, id=known, how=how):
            yield f"{OBLIGED} {agent} {other} {known}", ("closed", LAST, how)
        case Met(peer=peer) | Greeted(peer=peer) | Parted(peer=peer):
            yield f"{PEER} {agent} {peer}", (type(effect).__name__.lower(), LAST, peer)
        case Verified(who=who, hash=known):
            yield f"{TAKEN} {agent} {who} {known}", ("taken", FIRST, message)
        case Believed(who=who, text=text):
            yield f"{BELIEF} {agent} {message} {place}", ("said", FIRST, [who, text, message])
        case Entered(thread=thread, sender=sender, performative=performative, id=known, text=text):
            entry = [thread, sender, performative, known, text, message]
            yield f"{ENTRY} {agent} {message} {place}", ("said", FIRST, entry)
            yield f"{CONVERSATION} {agent} {thread}", ("last", LAST, thread)
