"""Receives lines of a surface: messages, edits, deletions, reactions, typing. Each becomes facts, or nothing if known.

Lines may arrive twice, late, or out of order. A known line changes nothing. An edit or deletion of an unknown message
is kept, and counts when the message arrives.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from bb.attention.decision import Decision
from bb.attention.facts import (
    Answer,
    Arranged,
    AttentionFact,
    Claiming,
    Deleted,
    Edited,
    Moved,
    Posted,
    Posting,
    Typing,
)
from bb.attention.incoming import membership, reactions
from bb.attention.incoming.follow_ups import continued_aim
from bb.attention.incoming.references import with_references
from bb.attention.incoming.sources import must_be_source, with_ids_here
from bb.attention.judging import replies
from bb.attention.judging.audience import audience
from bb.attention.judging.decide import DecisionContext, Decisions, decide
from bb.attention.judging.stopping import Stops, is_in_charge, order_of, stop_facts, stopped_work
from bb.attention.messages import intents, message, messages
from bb.attention.messages.envelopes import CONVERSATION, DELETE, EDIT, MEMBERSHIP, REACTION, TYPING, Line
from bb.attention.messages.message import Message
from bb.attention.messages.messages import NAME as MESSAGES
from bb.attention.messages.messages import MessageHead
from bb.attention.messages.outbox_states import SENT
from bb.attention.state import claims, transitions, tuning
from bb.attention.state.activity import NAME as ASIDES
from bb.attention.state.activity import TYPES, typing
from bb.attention.state.attention_state import AttentionState
from bb.attention.words import (
    AGENT,
    BUFFERED,
    CANCEL,
    FINAL,
    IMMEDIATE,
    MAY,
    MUST_NOT,
    NOTIFY,
    PLAIN,
    RESPONDED,
    SILENT,
    TO_ME,
)
from bb.kernel import clock
from bb.messaging.chat.recipients import NOBODY

URGENT_PER_MINUTE = 5  # messages of one author that are treated as urgent
GITHUB = "github"
EDITED_AFTER = "edited_after_response"


def receive(book: AttentionState, line: Line, by: str, now: int) -> Answer:
    """The facts that LINE adds, and the answer to its sender."""
    line = with_ids_here(book, line)
    match line.type:
        case "message":
            return _message(book, line, by, now)
        case _ if line.type == EDIT:
            return _edit(book, line, by, now)
        case _ if line.type == DELETE:
            return _delete(book, line, by)
        case _ if line.type == REACTION:
            return _reaction(book, line, by, now)
        case _ if line.type == TYPING:
            return _typing(book, line, by, now)
        case _ if line.type in (MEMBERSHIP, CONVERSATION):
            return membership.record(book, line, by)
    return [], {}


# -- messages


def _message(book: AttentionState, line: Line, by: str, now: int) -> Answer:
    received = line.message
    if received is None:
        return [], {}
    if line.marker:
        return _own_message(book, line, by)
    head = book.message(line.event)
    if head is not None:
        if received.version > head.version:
            return _edit(book, line, by, now)
        return [], _answer(line, "duplicate")
    state = _held_before(book, line)
    if "deleted" in state:
        nothing = Decisions({}, Decision(mode=SILENT, reason="deleted"))
        return [_posted(book, received.replace(parts=(), more={}), by, nothing, text="")], _answer(line, "deleted")
    if "edit" in state:  # the edit arrived before the message
        edited = book.data(_line_of(state["edit"]))
        received = received.replace(
            text=str(edited.get("text", received.text)), parts=(), more={}, version=state["edit"][3]
        )
    # Everyone who has the ledger also has the repository, so a GitHub conversation in it is not private.
    facts, answer = record_message(book, received, by, now, is_private=line.is_private and line.platform != GITHUB)
    return facts, {**_answer(line, "recorded"), **answer}


def _held_before(book: AttentionState, line: Line) -> dict[str, Any]:
    """What arrived before the message: a deletion or an edit. Its source may have named no platform."""
    states = [book.states.state(MESSAGES, name) or {} for name in dict.fromkeys((line.event, line.native))]
    return next((state for state in states if state and "said" not in state), {})


def record_message(book: AttentionState, said: Message, by: str, now: int, *, is_private: bool = False) -> Answer:
    """Record a message with the decisions about it.

    With IS_PRIVATE the conversation is private from now on. That it is public again is said by a line of its own.
    """
    settled = conversation_facts(book, said, is_private=is_private)
    said = with_references(book, _with_known_context(book, said))
    said, stopped = with_checked_order(book, said, now)
    context = decision_context(book, said, now)
    context = context.replace(going_on={**context.going_on, **dict.fromkeys(stopped, (TO_ME, CANCEL))})
    if settled and is_private:
        context = context.replace(conversation=context.conversation.replace(is_private=True))
    decided = decide(said, context)
    fact = _posted(book, said, by, decided)
    ended = [fact for work in stopped.values() for fact in stop_facts(book, said.event, work)]
    return [*settled, fact, *ended], {"decisions": decisions_details(decided)}


def with_checked_order(book: AttentionState, said: Message, now: int) -> tuple[Message, Stops]:
    """SAID as an order to stop, with the work that it stops; as an ordinary message if its author may stop nothing."""
    order = order_of(said)
    if order is None:
        return said, {}
    stopped = stopped_work(book, said, order, now)
    if stopped or (said.intent == CANCEL and is_in_charge(book, said)):
        return said.replace(intent=CANCEL), stopped
    return (said.replace(intent=intents.intent_of(said.text)) if said.intent == CANCEL else said), {}


def decision_context(book: AttentionState, said: Message, now: int) -> DecisionContext:
    """What is known when a message arrives."""
    tuned = book.tuning

    lately = messages.author_minute_term(said.author, clock.text(now))

    def is_flooding() -> bool:  # the limit for our own agents is checked when they send
        return not said.declared and book.states.count(MESSAGES, lately) >= tuned.author_per_minute

    def is_always_urgent() -> bool:
        return book.states.count(MESSAGES, messages.urgent_term(lately)) >= URGENT_PER_MINUTE

    thread = replies.thread_with_root(book, said, book.thread(said.window))
    return DecisionContext(
        book.directory,
        tuned,
        book.conversation(said.conversation),
        thread,
        replies.refers(book, said, thread),
        continued_aim(book, said),
        lambda agent: agent in book.agents and book.agents[agent].is_live,
        is_flooding,
        is_always_urgent,
        audience(book, said),
    )


def _with_known_context(book: AttentionState, said: Message) -> Message:
    """SAID, with the author kind and the stream that are known here."""
    where = book.conversation(said.conversation)
    agent = book.directory.agent(said.author, said.platform)
    if agent and said.author_kind != AGENT:
        said = said.replace(author_kind=AGENT)
    return said.replace(stream=where.stream) if where.stream and not said.stream else said


def conversation_facts(book: AttentionState, said: Message, *, is_private: bool = False) -> list[AttentionFact]:
    """The settings to record for a conversation that has none yet, or that has become private."""
    where = book.conversation(said.conversation)
    if where.platform or said.platform == message.HERE:
        return [Arranged("system", said.conversation, {"is_private": True})] if is_private > where.is_private else []
    about = {"platform": said.platform, "workspace": said.workspace, "kind": said.kind, "is_private": is_private}
    return [Arranged("system", said.conversation, {name: value for name, value in about.items() if value})]


def _posted(book: AttentionState, said: Message, by: str, decided: Decisions, text: str | None = None) -> Posted:
    agent = book.directory.agent(said.author, said.platform)
    c2a = message.c2a_member(said.replace(agent=agent) if agent else said) | decisions_to_json(decided)
    return Posted(by, c2a, said.text if text is None else text, _recipients(decided))


def _recipients(decided: Decisions) -> tuple[str, ...]:
    """The CCCS recipients: only the agents that get the content. Others find the message with the C2A tools."""
    return tuple(agent for agent, decision in decided.each.items() if decision.mode in (IMMEDIATE, BUFFERED)) or NOBODY


def decisions_to_json(decided: Decisions) -> dict[str, Any]:
    """The decisions as they are recorded on the line of their message."""
    by_agent = {agent: decision.to_json() for agent, decision in decided.each.items()}
    return {**({"for": by_agent} if by_agent else {}), "else": decided.others.to_json()[:4]}


def decisions_details(decided: Decisions) -> dict[str, Any]:
    """The decisions as people and programs see them."""
    return {agent: decision.details() for agent, decision in decided.each.items()}


def _own_message(book: AttentionState, line: Line, by: str) -> Answer:
    """Handle a message that bb itself posted and that now comes back: record its id on the platform."""
    for head in book.newest_messages(messages.OUTBOX):
        if line.marker in (head.key, head.event):
            about = {"platform_id": line.event}
            return [Posting(by, head.event, SENT, about)], _answer(line, "own")
    return [], _answer(line, "own")


# -- edits and deletions


def _edit(book: AttentionState, line: Line, by: str, now: int) -> Answer:
    received = line.message
    if received is None:
        return [], {}
    head = book.message(line.event)
    version = line.version or (head.version + 1 if head else 2)
    if head is None:
        return [Edited(by, line.event, version, {}, received.text)], _answer(line, "held")
    must_be_source(head, line)
    if head.is_deleted or version <= head.version:
        return [], _answer(line, "duplicate")
    before = book.data(head.first_line)
    latest = book.data(head.line) if head.version > 1 else before
    if _same(str(latest.get("text", "")), received.text):
        return [], _answer(line, "unchanged")
    original = message.message_of_c2a(before.get("c2a", {}), str(before.get("text", "")), line.event)
    received = _with_known_context(book, _edited(original, received, version))
    decided = decide(received, decision_context(book, received, now))
    return _edit_facts(book, by, received, decided, set(head.meant), line)


def _edited(original: Message, said: Message, version: int) -> Message:
    """ORIGINAL with the changes of an edit."""
    return original.replace(
        text=said.text,
        parts=said.parts,
        mentions=said.mentions,
        intent=PLAIN if said.intent == CANCEL else said.intent,  # an edit gives no order
        more=said.more,
        version=version,
    )


def _same(one: str, other: str) -> bool:
    """Whether two texts differ only in white space."""
    return one.split() == other.split()


def _edit_facts(book: AttentionState, by: str, said: Message, decided: Decisions, told: set[str], line: Line) -> Answer:
    """What an edit changes for its recipients. Agents that have already answered get a new event about it."""
    answered: dict[str, Decision] = {}
    for agent in sorted(told | decided.each.keys()):
        delivery = book.delivery(line.event, agent)
        if delivery and delivery.disposition == RESPONDED:
            aimed = decided.each.get(agent, delivery.decision)
            answered[agent] = aimed.replace(
                policy=MAY, mode=NOTIFY, reason=EDITED_AFTER, deadline=book.tuning.time_for(MAY)
            )
    by_agent = {agent: decided.each.get(agent, decided.others) for agent in sorted(told | decided.each.keys())}
    by_agent = {agent: decision for agent, decision in by_agent.items() if agent not in answered}
    c2a = message.c2a_member(said) | decisions_to_json(Decisions(by_agent, decided.others))
    facts: list[AttentionFact] = [Edited(by, line.event, said.version, c2a, said.text)]
    answer = {**_answer(line, "edited"), "decisions": decisions_details(Decisions(by_agent, decided.others))}
    if answered:
        again = said.replace(
            event=_edit_notice_id(line.event, said.version),
            native="",
            reason=EDITED_AFTER,
            linked=line.event,
            version=1,
        )
        # For all other agents there is only the edited message.
        fact = _posted(book, again, by, Decisions(answered, Decision(mode=SILENT, reason=EDITED_AFTER)))
        facts.append(fact)
        answer["again"] = again.event
    return facts, answer


def _edit_notice_id(event: str, version: int) -> str:
    """The id of the event that tells agents that have answered about an edit."""
    return f"{event}~e{version}"


def _delete(book: AttentionState, line: Line, by: str) -> Answer:
    head = book.message(line.event)
    if head is None:
        return [Deleted(by, line.event)], _answer(line, "held")
    must_be_source(head, line)
    if head.is_deleted:
        return [], _answer(line, "duplicate")
    facts: list[AttentionFact] = [Deleted(by, line.event), *deletion_facts(book, head)]
    for again in book.newest_messages(messages.linked_event_term(line.event)):
        if again.reason == EDITED_AFTER and not again.is_deleted:  # events about its edits are deleted, too
            facts += [Deleted(by, again.event), *deletion_facts(book, again)]
    return facts, _answer(line, "deleted")


def deletion_facts(book: AttentionState, known: MessageHead) -> list[AttentionFact]:
    """The facts that follow when a message is deleted. Pieces that were merged into it are restored."""
    facts: list[AttentionFact] = []
    for agent in known.meant:
        delivery = book.delivery(known.event, agent)
        if delivery and (delivery.disposition not in FINAL or delivery.decision.policy == MUST_NOT):
            facts.append(Moved("system", known.event, agent, transitions.DELETED, {"by": "deleted"}))
            if not delivery.has_spoken:
                pieces = [
                    piece for piece in delivery.merged_from if (other := book.message(piece)) and not other.is_deleted
                ]
                facts += [Moved("system", piece, agent, transitions.RESTORED) for piece in pieces]
    subject = claims.EVENT + known.event
    if book.claim_on(subject).owner:
        facts.append(Claiming("system", subject, claims.DONE))
    return facts


# -- reactions and typing


def _reaction(book: AttentionState, line: Line, by: str, now: int) -> Answer:
    head = book.message(line.event)
    if head is None:
        return [], _answer(line, "unknown_target")
    signal = line.signal or tuning.signal_of(line.glyph, book.tuning) or "unknown"
    who = book.directory.agent(line.author, line.platform) or line.author
    name, before, following = reactions.latest_reaction(book, head.event, who, signal)
    is_there = before is not None and not before.is_deleted
    is_late = before is not None and line.at < before.at
    is_known = before is not None and line.at == before.at != now  # a reaction without a time has the time NOW
    if not line.added:
        if before is None or not is_there or is_late:
            return [], _answer(line, "removed")
        return [Deleted(by, name), *deletion_facts(book, before)], _answer(line, "removed")
    if is_there or is_late or is_known or not following:
        return [], _answer(line, "duplicate")
    reaction = message.Message(
        following, line.platform, head.conversation, line.author, "", line.at, author_kind=line.author_kind
    )
    fact, decided = reaction_event(book, head, reaction, signal, line.glyph, by)
    return [fact], {**_answer(line, "recorded"), "eventId": following, "decisions": decisions_details(decided)}


def reaction_event(
    book: AttentionState, known: MessageHead, said: Message, signal: str, glyph: str, by: str
) -> tuple[Posted, Decisions]:
    """The event for a reaction to KNOWN, and the decision about it. SAID holds its author and event id."""
    said = reactions.reaction_message(known, signal, said)
    who = book.directory.agent(said.author, said.platform) or said.author
    decided = reactions.decisions_for_reaction(book, known, signal, who)
    fact = _posted(book, said, by, decided)
    fact.c2a["signal"] = {"signal": signal, "glyph": glyph, "onMessage": known.event}
    return fact, decided


def _typing(book: AttentionState, line: Line, by: str, now: int) -> Answer:
    """Record typing only while a recent message of the author waits for its end; ignore it otherwise."""
    window = f"{line.conversation} {line.thread}"
    is_typing, since = typing(book.states.state(ASIDES, f"{TYPES}{window} {line.author}"))
    waits = False
    for head in islice(book.newest_messages(messages.in_window(window)), MOST_LOOKED_AT):
        if head.author == line.author and head.arrived >= now - book.tuning.merge_ms:
            waits = bool(head.meant)
            is_typing = is_typing and since >= head.arrived  # a message ends the typing that came before it
            break
    if not waits or is_typing == line.is_typing:
        return [], _answer(line, "ignored")
    return [Typing(by, window, line.author, line.is_typing)], _answer(line, "noted")


MOST_LOOKED_AT = 6  # messages that are searched for one of the author who types


def _answer(line: Line, status: str) -> dict[str, Any]:
    return {"eventId": line.event or None, "type": line.type, "status": status}


def _line_of(register: list[Any]) -> str:
    return f"{register[1]}.{register[2]}"
