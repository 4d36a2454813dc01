"""Notifications to agents about the person's orders and about transfers. Each is an INFO message."""

from __future__ import annotations

from bb.coordination.facts import Released, Renewed
from bb.kernel import ids
from bb.messaging.facts import Sent
from bb.messaging.mail.mail import INFO, SUBJECT_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from bb.coordination.holdings.held import Held
    from bb.coordination.holdings.holdings import Reservation

PAUSED = (
    "Change nothing until you are unpaused. You may read and answer mail, hand over work, and release reservations."
)
FROZEN = "You keep your reservations there, but no agent may change these paths until the freeze is lifted: {held}."
THAWED = "You may continue in your reservations there: {held}."


def frozen(scopes: Sequence[str], until: str | None, why: str | None, to: Mapping[str, Sequence[Held]]) -> list[Sent]:
    """Notifications that SCOPES are frozen, to the holders of reservations there."""
    ends = f" until {until}" if until else ""
    subject = f"{ids.PERSON} has frozen {', '.join(scopes)}{ends}{_because(why)}"
    return [_about_what_is_held(agent, subject, FROZEN, held) for agent, held in to.items()]


def thawed(scopes: Sequence[str], to: Mapping[str, Sequence[Held]]) -> list[Sent]:
    """Notifications that the freeze of SCOPES is lifted, to the holders of reservations there."""
    subject = f"{ids.PERSON} has thawed {', '.join(scopes)}"
    return [_about_what_is_held(agent, subject, THAWED, held) for agent, held in to.items()]


def paused(why: str | None, agent: str, bead: str) -> Sent:
    """The notification that AGENT is paused."""
    subject = f"{ids.PERSON} has paused you{_because(why)}"
    return _letter(ids.PERSON, (agent,), subject, f"{subject}. {PAUSED}", bead)


def unpaused(agent: str, bead: str) -> Sent:
    """The notification that AGENT is unpaused."""
    subject = f"{ids.PERSON} has unpaused you"
    body = f"{subject}. You may continue. Your reservations may have expired: `bb agent status`."
    return _letter(ids.PERSON, (agent,), subject, body, bead)


def transferred(who: str, scope: str, bead: str, holder: str, to: str, why: str | None) -> list[Sent]:
    """The notification that a reservation was transferred, to its old and new holder, except WHO transferred it."""
    subject = f"{who} has transferred {scope} to {to}{_because(why)}"
    body = f"{subject}. {holder} held it for {bead}; {to} holds it now."
    others = tuple(agent for agent in (to, holder) if agent != who)
    return [_letter(who, others, subject, body, bead)] if others else []


def released(holder: str, scope: str, bead: str) -> Sent:
    """The notification that the person has released the HOLDER's reservation."""
    subject = f"{ids.PERSON} has released your reservation of {scope}"
    body = f"{subject}. Other agents may reserve it now. To continue there, reserve it again: `bb agent reserve`."
    return _letter(ids.PERSON, (holder,), subject, body, bead)


def renewed(holder: str, scope: str, bead: str, ttl: int) -> Sent:
    """The notification that the person has renewed the HOLDER's reservation."""
    subject = f"{ids.PERSON} has renewed your reservation of {scope} for {ttl} minutes"
    return _letter(ids.PERSON, (holder,), subject, f"{subject}.", bead)


def person_notifications(facts: Sequence[Any], holders: Mapping[str, Reservation]) -> list[Sent]:
    """Notifications to the agents whose reservations the person releases or renews in FACTS. HOLDERS maps ids to
    reservations."""
    letters = []
    for fact in facts:
        held = holders.get(fact.reservation) if isinstance(fact, Released | Renewed) else None
        if fact.agent != ids.PERSON or held is None or held.agent == ids.PERSON:
            continue
        if isinstance(fact, Released):
            letters.append(released(held.agent, held.scope, held.bead))
        else:
            letters.append(renewed(held.agent, held.scope, held.bead, fact.ttl))
    return letters


def _about_what_is_held(agent: str, subject: str, body: str, held: Sequence[Held]) -> Sent:
    held_scopes = ", ".join(one.reservation.scope for one in held)
    text = f"{subject}. {body.format(held=held_scopes)}"
    return _letter(ids.PERSON, (agent,), subject, text, held[0].reservation.bead)


def _letter(sender: str, to: tuple[str, ...], subject: str, body: str, bead: str) -> Sent:
    return Sent(sender, to, INFO, subject[:SUBJECT_LENGTH], body, bead, f"bead:{bead}", False)


def _because(why: str | None) -> str:
    return f": {why}" if why else ""
