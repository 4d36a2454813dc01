"""Mail, hand-offs, blockers and incursions as C2A messages.

The decision follows from the fact alone, so every clone decides the same and records nothing.

    HANDOFF to one agent      an assignment: must be answered
    BLOCKED to one agent      a blocker: must be answered; immediately if it is urgent
    DECISION, INFO            may be answered; thanks are only acknowledged
    CBCL                      an ask must be answered; ok, hello, bye and cancel are only acknowledged
    any of these to several   one of them may answer after claiming it; a DECISION or INFO any of them may answer
    INCURSION                 a knock for the holder
"""

from __future__ import annotations

from bb.attention.decision import Decision
from bb.attention.messages.intents import filler, intent_of, is_mere_thanks
from bb.attention.messages.message import HERE
from bb.attention.words import (
    ACK_ONLY,
    ADDRESSED_TO_OTHER,
    AGENT,
    ANSWER,
    ASSIGNMENT,
    BLOCKER,
    BUFFERED,
    CHANNEL,
    DIRECT_MENTION,
    DIRECT_MESSAGE,
    DM,
    FILLER,
    HIGH,
    HUMAN,
    IMMEDIATE,
    MAILBOX,
    MAY,
    MUST,
    MUST_NOT,
    NORMAL,
    NOTIFY,
    PLAIN,
    PRIORITIES,
    QUESTION,
    RECEIPT,
    ROLE_MENTION,
    STATUS,
    SYSTEM,
    TO_ME,
    TO_MY_ROLE,
    TO_OTHER,
)
from bb.coordination.protocol.events import BLOCKED, HANDOFF
from bb.kernel.clock import DAY, HOUR, MINUTE
from bb.kernel.ids import PERSON
from bb.kernel.validation import shown_bead
from bb.messaging.chat import recipients
from bb.messaging.facts import Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from bb.coordination.facts import Incurred
    from bb.messaging.chat.recipients import Member

INTENTS = {HANDOFF: ASSIGNMENT, BLOCKED: BLOCKER}
DEADLINES = {HANDOFF: 4 * HOUR, BLOCKED: HOUR}  # a hand-off can wait longer than a question
URGENT_DEADLINE = 15 * MINUTE
BROADCAST, INCURSION, ACKNOWLEDGEMENT = "broadcast", "incursion", "acknowledgement"
OTHERS = Decision(TO_OTHER, MUST_NOT, MAILBOX, ADDRESSED_TO_OTHER).to_json()[:4]


def c2a_of_mail_or_incursion(fact: Sent | Incurred) -> dict[str, Any]:
    """The `c2a` member that FACT would have if it were a C2A message."""
    return _of_mail(fact) if isinstance(fact, Sent) else _of_incursion(fact)


def _of_mail(sent: Sent) -> dict[str, Any]:
    """The `c2a` member of a mail."""
    agents = [agent for agent in dict.fromkeys(sent.to) if agent not in (PERSON, sent.sender)]
    if sent.cbcl is not None:
        return _of_spoken(sent, sent.cbcl, agents)
    is_alone = len(sent.to) == 1
    intent = INTENTS.get(sent.category) or filler(sent.body)
    decided = _alone(sent, intent) if is_alone else _together(sent)
    is_first = sent.category in INTENTS and not is_alone
    by_agent = {
        agent: decided.replace(is_default=is_first and place == 0).to_json() for place, agent in enumerate(agents)
    }
    return {
        "platform": HERE,
        "conversation": sent.thread,
        "kind": DM if is_alone else CHANNEL,
        "author": sent.sender,
        "author_kind": HUMAN if sent.sender == PERSON else AGENT,
        "intent": intent,
        **({} if sent.sender == PERSON else {"agent": sent.sender}),
        **({"for": by_agent} if by_agent else {}),
        "else": OTHERS,
    }


def _of_spoken(sent: Sent, cbcl: Mapping[str, Any], agents: Sequence[str]) -> dict[str, Any]:
    """The `c2a` member of a CBCL message. The performative gives the intent."""
    performative = cbcl.get("performative")
    intent = SPOKEN.get(str(performative), STATUS)
    decided = Decision(TO_ME, MAY, BUFFERED, DIRECT_MESSAGE, NORMAL, DAY)
    if performative == "ask":
        decided = Decision(TO_ME, MUST, BUFFERED, DIRECT_MESSAGE, HIGH, DEADLINES[BLOCKED])
    elif performative in GESTURES:
        decided = Decision(TO_ME, ACK_ONLY, NOTIFY, ACKNOWLEDGEMENT, NORMAL, DAY)
    by_agent = {agent: decided.to_json() for agent in agents}
    return {
        "platform": HERE,
        "conversation": sent.thread,
        "kind": DM if len(sent.to) == 1 else CHANNEL,
        "author": sent.sender,
        "author_kind": HUMAN if sent.sender == PERSON else AGENT,
        "intent": intent,
        **({} if sent.sender == PERSON else {"agent": sent.sender}),
        **({"in_reply_to": cbcl["reply_to"]} if cbcl.get("reply_to") else {}),
        **({"for": by_agent} if by_agent else {}),
        "else": OTHERS,
    }


SPOKEN = {"ask": QUESTION, "reply": ANSWER, "ok": RECEIPT, "tell": PLAIN, "error": BLOCKER}
GESTURES = ("ok", "hello", "bye", "cancel")


def answered_by(sent: Sent) -> str:
    """The message that SENT answers; empty if there is none."""
    is_answer = sent.cbcl is not None and sent.cbcl.get("performative") not in (*GESTURES, "ask", "tell")
    return str(sent.cbcl.get("reply_to") or "") if is_answer and sent.cbcl else ""


def _alone(sent: Sent, intent: str) -> Decision:
    if sent.category == BLOCKED:
        is_urgent = (sent.payload or {}).get("urgency") == HIGH
        mode, deadline = (IMMEDIATE, URGENT_DEADLINE) if is_urgent else (BUFFERED, DEADLINES[BLOCKED])
        return Decision(TO_ME, MUST, mode, BLOCKER, HIGH if is_urgent else NORMAL, deadline)
    if sent.category == HANDOFF:
        return Decision(TO_ME, MUST, BUFFERED, ASSIGNMENT, NORMAL, DEADLINES[HANDOFF])
    if intent in FILLER:
        return Decision(TO_ME, ACK_ONLY, NOTIFY, ACKNOWLEDGEMENT, NORMAL, DAY)
    return Decision(TO_ME, MAY, BUFFERED, DIRECT_MESSAGE, NORMAL, DAY)


def _together(sent: Sent) -> Decision:
    return Decision(TO_MY_ROLE, MAY, NOTIFY, ROLE_MENTION if sent.category in INTENTS else BROADCAST, NORMAL, DAY)


def _of_incursion(fact: Incurred) -> dict[str, Any]:
    """The `c2a` member of an incursion. The holder gets a knock, and settles it with `bb protocol resolve`."""
    knock = Decision(TO_ME, MAY, NOTIFY, INCURSION, NORMAL, DAY)
    return {
        "platform": HERE,
        "conversation": f"bead:{fact.bead}" if shown_bead(fact.bead) else "reservations",
        "kind": SYSTEM,
        "author": fact.incoming,
        "author_kind": SYSTEM,
        "intent": STATUS,
        **({"for": {fact.owner: knock.to_json()}} if fact.owner != PERSON else {}),
        "else": OTHERS,
    }


def c2a_of_cccs_message(
    by: str,
    to: Sequence[str],
    members: Sequence[Member],
    data: Mapping[str, Any],
    *,
    conversation: str,
    answered: str,
    is_asked: bool = False,
) -> dict[str, Any] | None:
    """The `c2a` member of a CCCS message; None if it is aimed at no agent and answers nothing.

    IS ASKED: the answered message is by an agent and asks, and this one is by the person.

    A message to everyone is ambient: it is kept, and it enters a turn only in the ways that CCCS defines.
    """
    actors = [member for member in members if member.id != by]
    named = [actor.id for actor in actors if actor.id in to]
    called = [actor.id for actor in actors if actor.enabled and recipients.SELECTORS.get(actor.role) in to]
    if not named and not called and not answered:
        return None
    intent = intent_of(str(data.get("text", "")))
    by_agent = {agent: _called().replace(is_default=place == 0).to_json() for place, agent in enumerate(called)}
    is_answer = is_asked and not is_mere_thanks(str(data.get("text", "")))
    decided = _answer() if is_answer else _named(data, intent, is_alone=len(to) == 1)
    by_agent |= {agent: decided.to_json() for agent in named}
    is_actor = any(member.id == by for member in members)
    return {
        "platform": HERE,
        "conversation": conversation,
        "kind": DM if len(to) == 1 and named else CHANNEL,
        "author": by,
        "author_kind": AGENT if is_actor else HUMAN if by == PERSON else SYSTEM,
        "intent": intent,
        **({"agent": by} if is_actor else {}),
        **({"in_reply_to": answered} if answered else {}),
        **({"answers": answered} if is_answer else {}),
        **({"for": by_agent} if by_agent else {}),
        "else": OTHERS,
    }


def _answer() -> Decision:
    """The decision about the person's answer to a question of an agent, however short it is."""
    return Decision(TO_ME, MUST, BUFFERED, ANSWER, NORMAL, URGENT_DEADLINE)


def _named(data: Mapping[str, Any], intent: str, *, is_alone: bool) -> Decision:
    """The decision for an agent that is named: it must answer, unless the message is thanks or was sent as mail."""
    reason = DIRECT_MESSAGE if is_alone else DIRECT_MENTION
    is_important = data.get("priority") == "attention"
    is_asked = data.get("reply_required") is True or data.get("message_mode") == "request_reply"
    if intent in FILLER and not (is_asked or is_important):
        return Decision(TO_ME, ACK_ONLY, NOTIFY, ACKNOWLEDGEMENT, NORMAL, DAY)
    if data.get("message_mode") == "mail" and not is_important:
        return Decision(TO_ME, MAY, NOTIFY, reason, NORMAL, DAY)
    return Decision(TO_ME, MUST, BUFFERED, reason, HIGH if is_important else NORMAL, URGENT_DEADLINE)


def _called() -> Decision:
    return Decision(TO_MY_ROLE, MAY, NOTIFY, ROLE_MENTION, NORMAL, DAY)


def c2a_of_notification(data: Mapping[str, Any], by: str, conversation: str) -> dict[str, Any] | None:
    """The `c2a` member of a notification to one actor: a knock. It must be answered if it requires an ack."""
    target = data.get("target_actor_id")
    if not isinstance(target, str) or target == PERSON:
        return None
    is_owed = data.get("requires_ack") is True
    urgency = data.get("priority") if data.get("priority") in PRIORITIES else NORMAL
    decided = Decision(
        TO_ME, MUST if is_owed else ACK_ONLY, NOTIFY, "notification", str(urgency), HOUR if is_owed else DAY
    )
    return {
        "platform": HERE,
        "conversation": conversation,
        "kind": SYSTEM,
        "author": by,
        "author_kind": SYSTEM,
        "intent": STATUS,
        "for": {target: decided.to_json()},
        "else": OTHERS,
    }
