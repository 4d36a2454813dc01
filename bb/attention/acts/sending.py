"""Sending: whether an agent may send a message, which warnings it gets, and what the message means for other agents.

Nothing that affects others has a default: the sender states the target, the visibility, the directedness and the key.
"""

from __future__ import annotations

from collections.abc import Iterator

from bb.attention.acts.addressing import mention_warnings, new_conversation
from bb.attention.acts.drafts import Draft
from bb.attention.acts.fresh_messages import check_fresh
from bb.attention.acts.visibility import check_visibility
from bb.attention.facts import Answer, AttentionFact, Claiming, Moved, Posted
from bb.attention.incoming.receiving import decision_context, decisions_details, decisions_to_json, with_checked_order
from bb.attention.incoming.references import with_references
from bb.attention.judging.cases import Case, case_for_agent, find_message_or_none, require_registered
from bb.attention.judging.content_version import require_current_content
from bb.attention.judging.current_decision import CLAIMED_BY_OTHER
from bb.attention.judging.decide import decide
from bb.attention.judging.stopping import may_not_stop, stop_facts
from bb.attention.messages import intents, mentions, message
from bb.attention.messages.message import HERE, Message
from bb.attention.messages.messages import MessageHead
from bb.attention.messages.outbox_states import FAILED, PENDING, SENT
from bb.attention.refusals import (
    AlreadyResponded,
    ClaimedByOther,
    ClaimExpired,
    ClaimRequired,
    DeliveryFailed,
    IdempotencyConflict,
    PolicyForbids,
    RateLimited,
    StaleCheckRequired,
    Superseded,
)
from bb.attention.state import claims, transitions
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.directory import is_role
from bb.attention.words import (
    ACK_ONLY,
    AGENT,
    AMBIENT,
    CANCEL,
    CHANNEL,
    DM,
    ESCALATED,
    MUST,
    MUST_NOT,
    PLAIN,
    RESPONDED,
    ROLE_MENTION,
    STATUS,
    SUPERSEDED,
    THANKS,
    THREAD,
    TO_ME,
)
from bb.kernel import clock
from bb.kernel.digest import digest
from bb.messaging.chat.recipients import NOBODY

LONGEST_RECEIPT = 140
MOST_LOOKED_THROUGH = 50  # messages that are searched for one that the agent may see


def send(book: AttentionState, agent: str, draft: Draft, now: int) -> Answer:
    """Let AGENT send DRAFT: the facts and the answer. Refused if it may not."""
    require_registered(book, agent)
    draft = _with_target(book, agent, draft)
    if earlier := _earlier(book, agent, draft):
        return earlier
    answered = case_for_agent(book, draft.in_reply_to, agent, now) if draft.in_reply_to else None
    if answered:
        _check_answer(book, answered, draft)
    else:
        check_fresh(book, agent, draft, now)
    check_visibility(book, agent, draft, answered, now)
    _check_rate(book, agent, now)
    sent = with_references(book, _message(book, agent, draft, answered, now), draft.intent)
    warnings = _warnings(book, sent, mention_warnings(book, draft, sent))
    new = new_conversation(book, agent, draft)
    sent, stopped = with_checked_order(book, sent, now)
    if draft.intent == CANCEL != sent.intent:
        raise may_not_stop()
    context = decision_context(book, sent, now)
    decided = decide(sent, context.replace(going_on={**context.going_on, **dict.fromkeys(stopped, (TO_ME, CANCEL))}))
    state = PENDING if book.conversation(sent.conversation).is_external else SENT
    c2a = message.c2a_member(sent) | {"agent": agent, "body": draft.body, "state": state} | decisions_to_json(decided)
    to = (
        tuple(who for who, decision in decided.each.items() if decision.directedness == TO_ME)
        or tuple(decided.each)
        or NOBODY
    )
    facts: list[AttentionFact] = [Posted(agent, c2a, sent.text, to, answered.known.first_line if answered else "")]
    facts += [fact for work in stopped.values() for fact in stop_facts(book, sent.event, work)]
    facts += _renew_thread_claim(book, agent, sent, now)
    if answered:
        facts += _settle(book, answered, now)
    return facts, {
        "messageId": sent.event,
        "state": state,
        "deduplicated": False,
        "disposition": _disposition(answered),
        "effects": decisions_details(decided),
        "warnings": warnings,
        **new,
    }


def sent_event_id(agent: str, key: str) -> str:
    """The event id of a message that AGENT sends under KEY. A retry has the same id in every clone."""
    return f"send:{agent}:{digest(key.encode())[:16]}"


def _earlier(book: AttentionState, agent: str, draft: Draft) -> Answer | None:
    """The answer for a message that was already sent under this key; None if it was not."""
    earlier = book.message(sent_event_id(agent, draft.key))
    if earlier is None:
        return None
    c2a = book.data(earlier.first_line).get("c2a", {})
    if c2a.get("body") != draft.body:
        raise IdempotencyConflict(key=draft.key[:100], message_id=earlier.event)
    if earlier.state == FAILED:
        raise DeliveryFailed(
            str(earlier.posted.get("reason") or f"{DeliveryFailed.message}."), message_id=earlier.event
        )
    return [], {
        "messageId": earlier.event,
        "state": earlier.state or SENT,
        "deduplicated": True,
        "disposition": delivery.disposition if (delivery := book.delivery(earlier.in_reply_to, agent)) else None,
        "effects": {},
        "warnings": [],
    }


def _with_target(book: AttentionState, agent: str, draft: Draft) -> Draft:
    """DRAFT with its destination filled in.

    By default an answer goes to the conversation of the answered event; a private one goes to the author of that event.
    Whether the answered event exists is checked later, with the permission to answer it.
    """
    answered = find_message_or_none(book, draft.in_reply_to) if draft.in_reply_to else None
    draft = draft.replace(in_reply_to=answered.event) if answered else draft
    if answered and not draft.conversation and not draft.recipient:
        thread = answered.thread or (answered.platform_id if draft.visibility == THREAD else "")
        to = (answered.agent or answered.author) if draft.visibility == DM else ""
        return draft.replace(conversation=answered.conversation, thread=draft.thread or thread, recipient=to)
    if draft.conversation or not draft.recipient:
        return draft
    to = book.directory.agent(draft.recipient, HERE) or draft.recipient
    return draft.replace(conversation=f"dm:{'+'.join(sorted([agent, to]))}", recipient=to)


# -- permission


def _check_answer(book: AttentionState, answered: Case, draft: Draft) -> None:
    standing = answered.standing
    delivery = standing.delivery
    if answered.known.is_deleted or delivery.disposition == SUPERSEDED:
        raise Superseded(event_id=answered.event, superseded_by=delivery.superseded_by)
    _check_claim(standing.claim, answered)
    if standing.decision.policy == MUST_NOT:
        reason = standing.decision.reason
        message = f"the policy of {answered.event} for {answered.agent} is {MUST_NOT}: {reason}"
        raise PolicyForbids(message, event_id=answered.event, reason=reason)
    if standing.decision.policy == ACK_ONLY and not is_receipt(draft):
        raise PolicyForbids(
            f"the policy of {answered.event} is {ACK_ONLY}, so an answer must be one line of at most {LONGEST_RECEIPT}"
            " characters without mentions",
            hint="shorten the answer, or send a reaction: `bb chat react EVENT --signal agree`",
            event_id=answered.event,
            reason=standing.decision.reason,
        )
    # If an agent's claim expired and no other agent took it, answering renews it.
    if standing.decision.reason == ROLE_MENTION and answered.agent not in (standing.holder, standing.claim.owner):
        raise ClaimRequired(event_id=answered.event)
    require_current_content(book, answered, draft.content_version)
    if standing.must_check:
        raise StaleCheckRequired(event_id=answered.event)
    if not draft.is_followup and any(answers(book, answered.event, answered.agent)):
        raise AlreadyResponded(event_id=answered.event)


def _check_claim(claim: claims.Claim, answered: Case) -> None:
    """Refuse while another agent holds the claim."""
    holder = answered.standing.holder
    is_shared = (
        answered.standing.delivery.decision.policy != MUST or answered.standing.decision.reason == CLAIMED_BY_OTHER
    )
    if not holder or holder == answered.agent or not is_shared:
        return
    refusal = ClaimExpired if claim.former == answered.agent else ClaimedByOther
    raise refusal(
        f"{holder} has claimed {answered.event} until {clock.text(claim.until)}",
        owner=holder,
        expires_at=clock.text(claim.until),
        event_id=answered.event,
    )


def is_receipt(draft: Draft) -> bool:
    """Whether DRAFT is a mere receipt: one short line without mentions or further parts."""
    text = draft.text.strip()
    is_short = len(text) <= LONGEST_RECEIPT and len(text.splitlines()) <= 1 and "```" not in text
    return is_short and not (draft.parts or draft.mentions or mentions.mentioned_names(text))


def answers(book: AttentionState, event: str, agent: str) -> Iterator[str]:
    """The answers of an agent to an event, without those that failed permanently or were deleted."""
    for head in book.newest_messages(f"answer {event} {agent}"):
        if head.state != FAILED and not head.is_deleted:
            yield head.event


def _check_rate(book: AttentionState, agent: str, now: int) -> None:
    allowed, oldest = book.tuning.agent_per_minute, now - clock.MINUTE
    for count, head in enumerate(book.newest_messages(f"agent {agent}"), 1):
        if head.arrived <= oldest:
            return
        if count >= allowed:
            wait = head.arrived + clock.MINUTE - now
            raise RateLimited(f"{agent} has sent {count} messages within a minute", retry_after_ms=wait)


# -- the message


def _message(book: AttentionState, agent: str, draft: Draft, answered: Case | None, now: int) -> Message:
    where = book.conversation(draft.conversation)
    named = draft.mentions if draft.mentions is not None else mentions.mentioned_names(draft.text)
    named = tuple(_name_on_platform(book, name, where.platform) for name in named)
    kind = DM if draft.visibility == DM else where.kind if where.kind != DM else CHANNEL
    intent = intents.intent_of(draft.text) if draft.intent == PLAIN else draft.intent
    return Message(
        event=sent_event_id(agent, draft.key),
        platform=where.platform or HERE,
        workspace=where.workspace or (answered.known.workspace if answered and not draft.recipient else ""),
        conversation=draft.conversation,
        kind=kind,
        thread=draft.thread,
        stream=where.stream,
        author=agent,
        author_kind=AGENT,
        text=draft.text,
        parts=draft.parts,
        at=now,
        sequence=_last_sequence(book, draft.conversation),
        mentions=named,
        recipient=_name_on_platform(book, draft.recipient, where.platform),
        intent=intent,
        priority=draft.priority,
        deadline=draft.deadline,
        declared=draft.directedness,
        visibility=draft.visibility,
        in_reply_to=draft.in_reply_to,
        key=draft.key,
    )


def _name_on_platform(book: AttentionState, name: str, platform: str) -> str:
    """NAME on a platform. An agent without a name there is called by its id."""
    is_unknown = name in book.agents and not book.directory.agent(name, platform or HERE)
    return f"agent:{name}" if is_unknown else name


def _last_sequence(book: AttentionState, conversation: str) -> int | None:
    """The platform's last sequence number in a conversation. A new message is placed after it."""
    newest = next(book.newest_messages(f"in {conversation}"), None)
    return newest.sequence if newest else None


def _warnings(book: AttentionState, said: Message, warnings: list[dict[str, str]]) -> list[dict[str, str]]:
    """WARNINGS, and those about a better way to send this. In a strict workspace the first one refuses the message."""
    is_naming = bool(said.mentions)
    if is_naming and said.declared == AMBIENT:
        text = "the message mentions a name, but its directedness is ambient; leave out the mention"
        warnings.append(_warning("mention_creates_obligation", text))
    if signal := intents.signal_of(said.text):
        text = f"a reaction is enough: `bb chat react EVENT --signal {signal}`"
        warnings.append(_warning("use_reaction", text) | {"signal": signal})
    if len([name for name in said.mentions if not is_role(name)]) > 1 and said.declared == TO_ME:
        warnings.append(_warning("several_responders", "the message asks several agents; ask one agent, or a role"))
    if said.intent == STATUS and is_naming:
        text = "a status report needs no mention; report it with `bb chat progress`"
        warnings.append(_warning("status_is_progress", text))
    if said.intent == THANKS and is_naming:
        warnings.append(_warning("thanks_with_mention", "thanks need no mention; send a reaction instead"))
    if warnings and book.tuning.is_strict:
        raise PolicyForbids(warnings[0]["message"], reason=warnings[0]["code"])
    return warnings


def _warning(code: str, text: str) -> dict[str, str]:
    return {"code": code, "message": text}


def _settle(book: AttentionState, answered: Case, now: int) -> list[AttentionFact]:
    """What an answer settles besides the event itself: the agent's claim, and escalations to other agents."""
    facts: list[AttentionFact] = []
    claim = answered.standing.claim
    if claim.subject.startswith(claims.EVENT) and claim.held_by(now) == answered.agent:
        facts.append(Claiming(answered.agent, claim.subject, claims.DONE))
    return facts + settle_escalations(book, answered.known, answered.agent, answered.event)


def _renew_thread_claim(book: AttentionState, agent: str, said: Message, now: int) -> list[AttentionFact]:
    """Writing in a claimed thread renews the agent's claim."""
    subject = claims.THREAD + said.window
    claim = book.claim_on(subject)
    about = {"ttl_ms": book.tuning.claim_ms}
    return [Claiming(agent, subject, claims.RENEW, about)] if said.thread and claim.held_by(now) == agent else []


def settle_escalations(book: AttentionState, known: MessageHead, agent: str, by: str) -> list[AttentionFact]:
    """The facts that settle the escalations of an event, or the event that KNOWN was an escalation of."""
    facts: list[AttentionFact] = []
    origin = known.linked if known.reason == ESCALATED else known.event
    for event in dict.fromkeys([origin, *(escalation for escalation in escalation_ids(origin))]):
        if event == known.event:
            continue
        other = book.message(event)
        for who in other.meant if other else ():
            delivery = book.delivery(event, who)
            if delivery and delivery.is_open and (event != origin or who != agent):
                facts.append(Moved("system", event, who, transitions.SETTLED, {"by": by}))
    return facts


MOST_RUNGS = 4


def escalation_ids(origin: str) -> list[str]:
    """The ids of the events that escalate ORIGIN, one for each rung of the ladder."""
    return [f"{origin}~esc{rung}" for rung in range(1, MOST_RUNGS + 1)]


def _disposition(answered: Case | None) -> str | None:
    if answered is None:
        return None
    return "acknowledged" if answered.standing.decision.policy == ACK_ONLY else RESPONDED
