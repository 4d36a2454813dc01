"""Turns a message into one decision for each agent that it concerns, and one decision for all other agents.

The default matrix gives the first decision. It is then adjusted in this order: by access to the conversation, by the
rules of the workspace, by the limits for floods and for agents that answer each other, and by the choice of the agent
that is asked first.
"""

from __future__ import annotations

from collections.abc import Callable

from bb.attention.decision import Decision, choose_agent
from bb.attention.judging import default_matrix
from bb.attention.judging.directedness import Aimed, aim_of_message
from bb.attention.judging.replies import Refers
from bb.attention.messages.message import Message
from bb.attention.state.conversations import Conversation
from bb.attention.state.directory import Directory
from bb.attention.state.threads import Thread
from bb.attention.state.tuning import Tuning
from bb.attention.words import (
    AGENT,
    BUFFERED,
    DIRECT_MESSAGE,
    HUMAN,
    IMMEDIATE,
    MAILBOX,
    MAY,
    MUST,
    MUST_NOT,
    NORMAL,
    NOTIFY,
    OFFERED,
    ROLE_MENTION,
    TO_ME,
    URGENT,
)
from bb.kernel.record import Record

LOOP_GUARD, RATE_LIMITED = "loop_guard", "rate_limited"


class DecisionContext(Record):
    """What is known when a message arrives."""

    directory: Directory
    tuning: Tuning
    conversation: Conversation
    thread: Thread
    refers: Refers  # the agents whose messages it refers to
    going_on: Aimed  # the agents that its author has just asked, if this message continues that one
    is_live: Callable[[str], bool]  # whether an agent can be expected to answer
    is_flooding: Callable[[], bool] | None = None  # whether the author has sent too many messages lately
    is_always_urgent: Callable[[], bool] | None = None  # whether the author has marked too many messages as urgent
    audience: frozenset[str] | None = None  # the agents that a direct message can be for, if they are known


class Decisions(Record):
    """The decision for EACH agent that a message concerns; OTHERS is the decision for every other agent."""

    each: dict[str, Decision]
    others: Decision


def decide(message: Message, scene: DecisionContext) -> Decisions:
    """The host's decisions about MESSAGE, for all agents."""
    aims = aim_of_message(message, scene.directory, scene.thread, scene.refers, scene.going_on)
    by_agent = {
        agent: _by_rules(message, default_matrix.default_decision(message, *aimed, scene.tuning), scene.tuning)
        for agent, aimed in _of_audience(message, aims.at, scene).items()
        if _may_be_for(agent, aimed[0], scene)
    }
    scene = scene.replace(is_flooding=_once(scene.is_flooding), is_always_urgent=_once(scene.is_always_urgent))
    others = _by_rules(message, default_matrix.default_decision(message, *aims.others, scene.tuning), scene.tuning)
    by_agent = {agent: _limited(decision, message, scene) for agent, decision in by_agent.items()}
    return Decisions(_with_default(by_agent, message, scene), others)


def _of_audience(message: Message, at: Aimed, scene: DecisionContext) -> Aimed:
    """The aim of a message. A person's direct message that names only others is for all agents of its conversation."""
    audience = scene.audience or frozenset()
    if not audience or audience & at.keys() or message.author_kind != HUMAN or message.declared:
        return at
    author = scene.directory.agent(message.author, message.platform)
    return {**at, **{agent: (TO_ME, DIRECT_MESSAGE) for agent in sorted(audience) if agent != author}}


def _may_be_for(agent: str, directedness: str, scene: DecisionContext) -> bool:
    """Whether a message may be for AGENT: it can see the conversation, or a private one names it and no members."""
    where = scene.conversation
    if (scene.audience is not None and agent not in scene.audience) or agent in where.absent:
        return False
    return where.admits(agent) or (not where.members and not where.is_listed and directedness == TO_ME)


def _once(ask: Callable[[], bool] | None) -> Callable[[], bool] | None:
    """ASK, asked at most once: it counts messages in the ledger, and the answer is the same for all agents."""
    answers: list[bool] = []

    def asked() -> bool:
        if not answers and ask:
            answers.append(ask())
        return answers[0]

    return asked if ask else None


def _by_rules(message: Message, decision: Decision, tuning: Tuning) -> Decision:
    """DECISION as changed by the first workspace rule that matches."""
    for rule in tuning.rules:
        facts = {
            "conversation": message.conversation,
            "author": message.author,
            "platform": message.platform,
            "stream": message.stream,
            "reason": decision.reason,
            "intent": message.intent,
            "directedness": decision.directedness,
        }
        if all(facts[name] == value for name, value in rule["match"].items()):
            wish = rule["set"]
            policy = wish.get("policy", decision.policy)
            deadline = decision.deadline if policy == decision.policy else tuning.time_for(policy)
            return decision.replace(
                policy=policy,
                mode=wish.get("injection", decision.mode),
                priority=wish.get("priority", decision.priority),
                deadline=deadline,
            )
    return decision


def _limited(decision: Decision, message: Message, scene: DecisionContext) -> Decision:
    """DECISION, reduced if agents answer each other in a loop or the author floods the conversation."""
    if message.author_kind == AGENT and scene.thread.run + 1 > scene.tuning.hard_turns:
        return decision.replace(policy=MUST_NOT, mode=MAILBOX, reason=LOOP_GUARD, deadline=None)
    if message.author_kind == AGENT and scene.thread.run + 1 > scene.tuning.soft_turns:
        mode = NOTIFY if decision.mode in (IMMEDIATE, BUFFERED) else decision.mode
        policy = MAY if decision.policy == MUST else decision.policy
        return decision.replace(policy=policy, mode=mode, reason=LOOP_GUARD, deadline=scene.tuning.time_for(policy))
    if message.priority == URGENT and scene.is_always_urgent and scene.is_always_urgent():
        decision = decision.replace(priority=NORMAL, mode=BUFFERED if decision.mode == IMMEDIATE else decision.mode)
    if decision.mode in OFFERED and scene.is_flooding and scene.is_flooding():
        return decision.replace(mode=MAILBOX, reason=RATE_LIMITED)
    return decision


def _with_default(each: dict[str, Decision], message: Message, scene: DecisionContext) -> dict[str, Decision]:
    """Marks one of the agents whose role was mentioned as the one asked first. Every clone chooses the same one."""
    called = [agent for agent, decision in each.items() if decision.reason == ROLE_MENTION]
    if not called or any(decision.directedness == TO_ME and decision.policy == MUST for decision in each.values()):
        return each
    first = choose_agent(called, message.event or message.key, scene.is_live)
    return each | {first: each[first].replace(is_default=True)}
