"""At whom a message is aimed, and by what: a private conversation, a mention, a role, a thread, a stream of work.

    to_me        a private message, a mention, a question to what the agent itself wrote
    to_my_role   a mention of its role, a thread it writes in, a thread or stream it owns
    to_other     aimed at somebody else, or said by an agent to nobody in particular
    ambient      aimed at nobody

Where several hold, the first does. What the sender declares is honoured: an agent that says it only informs, obliges
nobody. Whoever is not named here is one of the others, who all share one answer.
"""

from __future__ import annotations

from bb.attention.messages import mentions
from bb.attention.words import (
    ADDRESSED_TO_OTHER,
    AGENT,
    AGENT_CHATTER,
    AMBIENT,
    DIRECT_MENTION,
    DIRECT_MESSAGE,
    DM,
    OWNED_STREAM,
    OWNED_THREAD,
    OWNED_WORK,
    PARTICIPATION,
    QUESTION,
    ROLE_MENTION,
    STATUS,
    STATUS_BROADCAST,
    SYSTEM,
    THREAD_QUESTION,
    TO_ME,
    TO_MY_ROLE,
    TO_OTHER,
    TOOL,
    TOOL_OUTPUT,
    UNADDRESSED,
)
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.attention.messages.message import Message
    from bb.attention.state.directory import Directory
    from bb.attention.state.threads import Thread

Aimed = dict[str, tuple[str, str]]  # agent -> directedness and why


class Aim(Record):
    """At whom a message is aimed; the OTHERS are everybody else."""

    at: Aimed
    others: tuple[str, str]
    roles: tuple[str, ...] = ()  # the roles that were called, of which one member is asked first


class Called(Record):
    """Whom a message calls by name."""

    agents: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()  # members of the roles that were called
    roles: tuple[str, ...] = ()
    somebody: bool = False  # whether anybody is called at all, bound here or not


def aim(message: Message, directory: Directory, thread: Thread, asked: str = "", going_on: Aimed | None = None) -> Aim:
    """At whom MESSAGE is aimed, given the THREAD as it was before, whose message in it this one answers: ASKED, and at
    whom that was aimed which it is GOING ON with."""
    called = call(message, directory)
    author = directory.agent(message.author, message.platform)
    if nobody := _for_nobody(message):  # but in private it is there for whoever it was said to
        told = [each for each in _by_privacy(message, directory, called) if each in directory]
        return Aim({agent: nobody for agent in told if agent not in (author, message.author)}, nobody)
    at = {
        **_by_work(message, directory),
        **_by_thread(message, thread, asked),
        **dict.fromkeys(called.groups, (TO_MY_ROLE, ROLE_MENTION)),
        **(going_on or {}),
        **dict.fromkeys(called.agents, (TO_ME, DIRECT_MENTION)),
        **_by_question(message, asked),
        **_by_privacy(message, directory, called),
    }
    at = {agent: found for agent, found in at.items() if agent in directory and agent not in (author, message.author)}
    if message.declared == TO_MY_ROLE:  # it is offered, to whomever it names
        at = {agent: (TO_MY_ROLE, why) for agent, (_, why) in at.items()}
    if called.somebody or message.kind == DM:
        others = (TO_OTHER, ADDRESSED_TO_OTHER)
    elif message.author_kind == AGENT and not message.declared:
        others = (TO_OTHER, AGENT_CHATTER)
    else:
        others = (AMBIENT, UNADDRESSED)
    return Aim(at, others, called.roles)


def _for_nobody(message: Message) -> tuple[str, str] | None:
    """How a message is aimed that obliges nobody, by what it is or by what its sender declares."""
    if message.author_kind in (SYSTEM, TOOL) or message.kind in (SYSTEM, TOOL):
        return AMBIENT, TOOL_OUTPUT if TOOL in (message.kind, message.author_kind) else STATUS_BROADCAST
    if message.intent == STATUS and message.declared:
        return AMBIENT, STATUS_BROADCAST
    return {AMBIENT: (AMBIENT, UNADDRESSED), TO_OTHER: (TO_OTHER, ADDRESSED_TO_OTHER)}.get(message.declared)


def call(message: Message, directory: Directory) -> Called:
    """Whom MESSAGE calls: as the platform says, or as its text does where the platform does not say."""
    names = [*message.mentions, *([message.recipient] if message.recipient and message.kind != DM else [])]
    is_flood = len(set(names)) > mentions.MOST
    agents: dict[str, None] = {}
    groups: dict[str, None] = {}
    roles: dict[str, None] = {}
    for name in dict.fromkeys(names):
        found = None if name.startswith("@") else directory.agent(name, message.platform)
        members = () if found else directory.role(name, message.platform)
        if found and not is_flood:
            agents[found] = None
        elif found or members:
            roles[name] = None
            groups.update(dict.fromkeys([found] if found else members))
    return Called(tuple(agents), tuple(groups), tuple(roles), bool(names))


def _by_work(message: Message, directory: Directory) -> Aimed:
    is_question = message.intent == QUESTION
    found = dict.fromkeys(directory.owners(message.stream), (TO_MY_ROLE, OWNED_STREAM if is_question else OWNED_WORK))
    owner = directory.by_thread.get(message.window) if message.thread else None
    return found | ({owner: (TO_MY_ROLE, OWNED_THREAD if is_question else OWNED_WORK)} if owner else {})


def _by_thread(message: Message, thread: Thread, asked: str) -> Aimed:
    """Who takes part in its thread: by having written there, or what the thread is about."""
    taking_part = [*thread.participants, *([asked] if asked else [])]
    return dict.fromkeys(taking_part, (TO_MY_ROLE, PARTICIPATION)) if message.thread else {}


def _by_question(message: Message, asked: str) -> Aimed:
    """Who is asked without being named: the author of what the question answers."""
    if not message.thread or message.intent != QUESTION or message.mentions:
        return {}
    return {asked: (TO_ME, THREAD_QUESTION)} if asked else {}


def _by_privacy(message: Message, directory: Directory, called: Called) -> Aimed:
    if message.kind != DM:
        return {}
    to = directory.agent(message.recipient, message.platform) if message.recipient else None
    meant = [to] if to else directory.by_conversation.get(message.conversation, called.agents)
    return dict.fromkeys(meant, (TO_ME, DIRECT_MESSAGE))
