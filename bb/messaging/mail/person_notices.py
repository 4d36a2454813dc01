"""What agents are told when the person steps in, or a reservation changes hands. Each of these is an INFO message."""

from __future__ import annotations

from bb.coordination.facts import Released, Renewed
from bb.kernel import ids
from bb.messaging.facts import Sent
from bb.messaging.mail.mail import INFO, SUBJECT_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from bb.coordination.holdings.holdings import Reservation
    from bb.coordination.holdings.reservations import Held

PAUSED = "Change nothing until you are let go on. You may read and answer mail, hand over, and give back what you hold."
FROZEN = "What you hold there stays yours, but no agent may change it until the freeze is lifted: {held}."
THAWED = "You hold there, and may go on: {held}."


def frozen(scopes: Sequence[str], until: str | None, why: str | None, to: Mapping[str, Sequence[Held]]) -> list[Sent]:
    """That these SCOPES are frozen, to who holds something there."""
    ends = f" until {until}" if until else ""
    subject = f"{ids.PERSON} has frozen {', '.join(scopes)}{ends}{_because(why)}"
    return [_about_what_is_held(agent, subject, FROZEN, held) for agent, held in to.items()]


def thawed(scopes: Sequence[str], to: Mapping[str, Sequence[Held]]) -> list[Sent]:
    """That these SCOPES are frozen no more, to who holds something there."""
    subject = f"{ids.PERSON} has thawed {', '.join(scopes)}"
    return [_about_what_is_held(agent, subject, THAWED, held) for agent, held in to.items()]


def paused(why: str | None, agent: str, bead: str) -> Sent:
    """That AGENT is paused."""
    subject = f"{ids.PERSON} has paused you{_because(why)}"
    return _letter(ids.PERSON, (agent,), subject, f"{subject}. {PAUSED}", bead)


def unpaused(agent: str, bead: str) -> Sent:
    """That AGENT may go on."""
    subject = f"{ids.PERSON} lets you go on"
    return _letter(ids.PERSON, (agent,), subject, f"{subject}. What you held may have lapsed: `bb agent status`.", bead)


def transferred(who: str, scope: str, bead: str, holder: str, to: str, why: str | None) -> list[Sent]:
    """That a reservation is another one's now, to both of them but who did it."""
    subject = f"{who} has passed {scope} on to {to}{_because(why)}"
    body = f"{subject}. {holder} held it for {bead}; {to} holds it now, as it is."
    others = tuple(each for each in (to, holder) if each != who)
    return [_letter(who, others, subject, body, bead)] if others else []


def given_back(holder: str, scope: str, bead: str) -> Sent:
    """That the person has given back what the HOLDER had."""
    subject = f"{ids.PERSON} has released your reservation of {scope}"
    body = f"{subject}. It is not yours any more: others may reserve it. To go on there, reserve it again."
    return _letter(ids.PERSON, (holder,), subject, body, bead)


def renewed(holder: str, scope: str, bead: str, ttl: int) -> Sent:
    """That the person has renewed what the HOLDER holds."""
    subject = f"{ids.PERSON} has renewed your reservation of {scope} for {ttl} minutes"
    return _letter(ids.PERSON, (holder,), subject, f"{subject}.", bead)


def of_persons(facts: Sequence[Any], holders: Mapping[str, Reservation]) -> list[Sent]:
    """What the agents are told whose reservations the person ends or renews by these FACTS; HOLDERS by their names."""
    told = []
    for fact in facts:
        held = holders.get(fact.reservation) if isinstance(fact, Released | Renewed) else None
        if fact.agent != ids.PERSON or held is None or held.agent == ids.PERSON:
            continue
        if isinstance(fact, Released):
            told.append(given_back(held.agent, held.scope, held.bead))
        else:
            told.append(renewed(held.agent, held.scope, held.bead, fact.ttl))
    return told


def _about_what_is_held(agent: str, subject: str, body: str, held: Sequence[Held]) -> Sent:
    places = ", ".join(each.reservation.scope for each in held)
    return _letter(ids.PERSON, (agent,), subject, f"{subject}. {body.format(held=places)}", held[0].reservation.bead)


def _letter(sender: str, to: tuple[str, ...], subject: str, body: str, bead: str) -> Sent:
    return Sent(sender, to, INFO, subject[:SUBJECT_LENGTH], body, bead, f"bead:{bead}", False)


def _because(why: str | None) -> str:
    return f": {why}" if why else ""
