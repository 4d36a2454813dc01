"""Notifications to agents about the person's orders and about transfers. Each is an INFO message."""

from __future__ import annotations

from bb.coordination.facts import Released, Renewed
from bb.kernel import ids
from bb.messaging.facts import Sent
from bb.messaging.mail.mail import INFO, NO_BEAD_THREAD, SUBJECT_LENGTH

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
    return [_about_what_is_held(agent, subject, FROZEN, held, news="frozen") for agent, held in to.items()]


def thawed(scopes: Sequence[str], to: Mapping[str, Sequence[Held]]) -> list[Sent]:
    """Notifications that the freeze of SCOPES is lifted, to the holders of reservations there."""
    subject = f"{ids.PERSON} has thawed {', '.join(scopes)}"
    return [_about_what_is_held(agent, subject, THAWED, held) for agent, held in to.items()]


def paused(why: str | None, agent: str, bead: str) -> Sent:
    """The notification that AGENT is paused."""
    subject = f"{ids.PERSON} has paused you{_because(why)}"
    return _letter(ids.PERSON, (agent,), subject, f"{subject}. {PAUSED}", bead, news="paused")


def unpaused(agent: str, bead: str) -> Sent:
    """The notification that AGENT is unpaused."""
    subject = f"{ids.PERSON} has unpaused you"
    body = f"{subject}. You may continue. Your reservations may have expired: `bb agent status`."
    return _letter(ids.PERSON, (agent,), subject, body, bead)


def transferred(who: str, passed: Sequence[Reservation], to: str, why: str | None) -> list[Sent]:
    """The notifications that the reservations PASSED were transferred, to their old holders and to the new one, except
    WHO transferred them: one message for each agent."""
    holders = list(dict.fromkeys(one.agent for one in passed))
    if len(holders) == 1:
        return _transferred(who, (to, *holders), passed, to, why)
    letters = _transferred(who, (to,), passed, to, why)
    for holder in holders:
        letters += _transferred(who, (holder,), [one for one in passed if one.agent == holder], to, why)
    return letters


def _transferred(
    who: str, recipients: tuple[str, ...], passed: Sequence[Reservation], to: str, why: str | None
) -> list[Sent]:
    subject = f"{who} has transferred {_scopes(passed)} to {to}{_because(why)}"
    held = [f"{one.agent} held {one.scope}{f' for {one.bead}' if one.bead else ''}" for one in passed]
    body = f"{subject}. {'; '.join(held)}. {to} holds {'it' if len(passed) == 1 else 'them'} now."
    others = tuple(agent for agent in recipients if agent != who)
    return [_letter(who, others, subject, body, passed[0].bead)] if others else []


def released(holder: str, ended: Sequence[Reservation]) -> Sent:
    """The notification that the person has released these reservations of HOLDER."""
    subject = f"{ids.PERSON} has released your {_reservations(ended)} of {_scopes(ended)}"
    again = "it again" if len(ended) == 1 else "them again"
    body = f"{subject}. Other agents may reserve there now. To continue there, reserve {again}: `bb reserve`."
    return _letter(ids.PERSON, (holder,), subject, body, ended[0].bead, news="lost")


def renewed(holder: str, kept: Sequence[Reservation], ttl: int) -> Sent:
    """The notification that the person has renewed these reservations of HOLDER."""
    subject = f"{ids.PERSON} has renewed your {_reservations(kept)} of {_scopes(kept)} for {ttl} minutes"
    return _letter(ids.PERSON, (holder,), subject, f"{subject}.", kept[0].bead)


def person_notifications(facts: Sequence[Any], holders: Mapping[str, Reservation]) -> list[Sent]:
    """Notifications to the agents whose reservations the person releases or renews in FACTS, one for each agent.
    HOLDERS maps ids to reservations."""
    ended: dict[str, list[Reservation]] = {}
    kept: dict[tuple[str, int], list[Reservation]] = {}
    for fact in facts:
        held = holders.get(fact.reservation) if isinstance(fact, Released | Renewed) else None
        if fact.agent != ids.PERSON or held is None or held.agent == ids.PERSON:
            continue
        if isinstance(fact, Released):
            ended.setdefault(held.agent, []).append(held)
        else:
            kept.setdefault((held.agent, fact.ttl), []).append(held)
    return [
        *(released(holder, its) for holder, its in ended.items()),
        *(renewed(holder, its, ttl) for (holder, ttl), its in kept.items()),
    ]


def _reservations(some: Sequence[Reservation]) -> str:
    return "reservation" if len(some) == 1 else f"{len(some)} reservations"


def _scopes(some: Sequence[Reservation]) -> str:
    return ", ".join(one.scope for one in some)


def _about_what_is_held(agent: str, subject: str, body: str, held: Sequence[Held], news: str = "") -> Sent:
    held_scopes = ", ".join(one.reservation.scope for one in held)
    text = f"{subject}. {body.format(held=held_scopes)}"
    return _letter(ids.PERSON, (agent,), subject, text, held[0].reservation.bead, news)


def _letter(sender: str, to: tuple[str, ...], subject: str, body: str, bead: str | None, news: str = "") -> Sent:
    """An INFO message. NEWS is the member of `bb turn` that tells the same."""
    thread = f"bead:{bead}" if bead else NO_BEAD_THREAD
    return Sent(sender, to, INFO, subject[:SUBJECT_LENGTH], body, bead or "", thread, False, news=news)


def _because(why: str | None) -> str:
    return f": {why}" if why else ""
