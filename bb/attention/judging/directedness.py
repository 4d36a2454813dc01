"""The agents that a message is aimed at, and why: a private conversation, a mention, a role, a thread, a work stream.

    to_me        a private message, a mention, an answer to the agent's question or other message, words of a person
                 who is talking with the agent in a thread
    to_my_role   a mention of the agent's role, a thread that it takes part in, a thread or stream that it owns
    to_other     aimed at another agent or person, or sent by an agent without naming anyone
    ambient      aimed at no agent

Systems and tools aim a message only by what they state: a mention, a recipient. A name in their text aims it at nobody.

If several apply, the first one wins. A directedness that the sender declares is honoured: an agent that declares that
it only informs obliges no other agent. All agents that are not named here share one result, OTHERS.
"""

from __future__ import annotations

from bb.attention.judging.replies import Refers
from bb.attention.messages import mentions
from bb.attention.messages.message import Message
from bb.attention.state.directory import Directory
from bb.attention.state.threads import Thread
from bb.attention.words import (
    ADDRESSED_TO_OTHER,
    AGENT,
    AGENT_CHATTER,
    AMBIENT,
    ANSWER,
    DIRECT_MENTION,
    DIRECT_MESSAGE,
    DM,
    FOLLOW_UP,
    OWNED_STREAM,
    OWNED_THREAD,
    OWNED_WORK,
    PARTICIPATION,
    QUESTION,
    REPLY,
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

Aimed = dict[str, tuple[str, str]]  # agent -> directedness and reason


class Aim(Record):
    """The agents that a message is aimed at; OTHERS is the result for every other agent."""

    at: Aimed
    others: tuple[str, str]
    roles: tuple[str, ...] = ()  # the roles that were mentioned; one member of a role is asked first


class Mentioned(Record):
    """The agents and roles that a message names."""

    agents: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()  # members of the roles that were mentioned
    roles: tuple[str, ...] = ()
    somebody: bool = False  # whether any name is mentioned, bound to an agent here or not


def aim_of_message(
    message: Message,
    directory: Directory,
    thread: Thread,
    refers: Refers = Refers(),  # noqa: B008
    going_on: Aimed | None = None,
) -> Aim:
    """The agents that MESSAGE is aimed at.

    THREAD is its thread as it was before, REFERS the agents whose messages it refers to, and GOING ON the aim of the
    message that it continues.
    """
    called = mentioned_agents(message, directory)
    author = directory.agent(message.author, message.platform)
    nobody = _obliges_none(message)
    if nobody and not _states_aim(message):  # in a private conversation its recipients still get it
        recipients = [
            recipient for recipient in _by_privacy(message, directory, called, refers, author) if recipient in directory
        ]
        return Aim({agent: nobody for agent in recipients if agent not in (author, message.author)}, nobody)
    at = {
        **({} if nobody else _by_context(message, directory, thread, refers)),
        **dict.fromkeys(called.groups, (TO_MY_ROLE, ROLE_MENTION)),
        **(going_on or {}),
        **dict.fromkeys(called.agents, (TO_ME, DIRECT_MENTION)),
        **_by_reply(message, refers, called),
        **_by_talk(refers, called),
        **_by_question(message, refers.asked),
        **_by_privacy(message, directory, called, refers, author),
    }
    at |= {refers.question: (TO_ME, ANSWER)} if refers.question else {}
    at = {agent: aimed for agent, aimed in at.items() if agent in directory and agent not in (author, message.author)}
    if message.declared == TO_MY_ROLE:  # the sender offers it to the agents it names, and obliges none of them
        at = {agent: (TO_MY_ROLE, why) for agent, (_, why) in at.items()}
    return Aim(at, nobody or _others(message, called), called.roles)


def _others(message: Message, called: Mentioned) -> tuple[str, str]:
    """The result for the agents that a message does not concern."""
    if called.somebody or message.kind == DM:
        return TO_OTHER, ADDRESSED_TO_OTHER
    if message.author_kind == AGENT and not message.declared:
        return TO_OTHER, AGENT_CHATTER
    return AMBIENT, UNADDRESSED


def _obliges_none(message: Message) -> tuple[str, str] | None:
    """The directedness and reason of a message that obliges no agent by itself; None if it may oblige one."""
    if message.intent == STATUS:
        return AMBIENT, STATUS_BROADCAST
    if message.author_kind in (SYSTEM, TOOL) or message.kind in (SYSTEM, TOOL):
        return AMBIENT, TOOL_OUTPUT if TOOL in (message.kind, message.author_kind) else STATUS_BROADCAST
    return {AMBIENT: (AMBIENT, UNADDRESSED), TO_OTHER: (TO_OTHER, ADDRESSED_TO_OTHER)}.get(message.declared)


def _states_aim(message: Message) -> bool:
    """Whether a system or tool states at whom its message is aimed. A status report never obliges."""
    is_addressed = bool(message.mentions or message.recipient)
    return is_addressed and message.intent != STATUS and message.declared not in (AMBIENT, TO_OTHER)


def mentioned_agents(message: Message, directory: Directory) -> Mentioned:
    """The agents and roles that MESSAGE names in its mentions and recipient."""
    names = [*message.mentions, *([message.recipient] if message.recipient and message.kind != DM else [])]
    is_flood = len(set(names)) > mentions.MOST
    agents: dict[str, None] = {}
    groups: dict[str, None] = {}
    roles: dict[str, None] = {}
    for name in dict.fromkeys(names):
        agent = directory.agent(name, message.platform)  # an id may begin with @, as on Matrix
        members = () if agent else directory.role(name, message.platform)
        if agent and not is_flood:
            agents[agent] = None
        elif agent or members:
            roles[name] = None
            groups.update(dict.fromkeys([agent] if agent else members))
    return Mentioned(tuple(agents), tuple(groups), tuple(roles), bool(names))


def _by_context(message: Message, directory: Directory, thread: Thread, refers: Refers) -> Aimed:
    """The agents that own the work or the thread, or take part in it."""
    return {**_by_work(message, directory), **_by_thread(message, thread, refers)}


def _by_work(message: Message, directory: Directory) -> Aimed:
    is_question = message.intent == QUESTION
    aims = dict.fromkeys(directory.owners(message.stream), (TO_MY_ROLE, OWNED_STREAM if is_question else OWNED_WORK))
    owner = directory.by_thread.get(message.window) if message.thread else None
    return aims | ({owner: (TO_MY_ROLE, OWNED_THREAD if is_question else OWNED_WORK)} if owner else {})


def _by_thread(message: Message, thread: Thread, refers: Refers) -> Aimed:
    """The agents that take part in its thread: they wrote in it, or wrote the message that this one answers."""
    taking_part = [*thread.participants, refers.asked] if message.thread else [refers.replied]
    return dict.fromkeys((agent for agent in taking_part if agent), (TO_MY_ROLE, PARTICIPATION))


def _by_reply(message: Message, refers: Refers, called: Mentioned) -> Aimed:
    """The author of the message that this one answers by the platform's own means, unless this one names another."""
    is_meant = message.author_kind != AGENT or message.declared == TO_ME
    return {refers.replied: (TO_ME, REPLY)} if refers.replied and is_meant and not called.somebody else {}


def _by_talk(refers: Refers, called: Mentioned) -> Aimed:
    """The agents that a person is talking with in a thread."""
    return {} if called.somebody else dict.fromkeys(refers.addressed, (TO_ME, FOLLOW_UP))


def _by_question(message: Message, asked: str) -> Aimed:
    """The agent that is asked without being named: it wrote the message that the question answers or follows."""
    if not message.thread or message.intent != QUESTION or message.mentions:
        return {}
    return {asked: (TO_ME, THREAD_QUESTION)} if asked else {}


def _by_privacy(message: Message, directory: Directory, called: Mentioned, refers: Refers, author: str | None) -> Aimed:
    """The agents of a private conversation. If it has several, a message is for those that it names or answers.

    A message there that names nobody is for all of them together, so one of them is asked first, as with a role.
    """
    if message.kind != DM:
        return {}
    to = directory.agent(message.recipient, message.platform) if message.recipient else None
    present = [agent for agent in directory.by_conversation.get(message.conversation, ()) if agent != author]
    if to or len(present) < 2:
        meant = [to] if to else present or called.agents
        return dict.fromkeys(meant, (TO_ME, DIRECT_MESSAGE))
    named = [agent for agent in present if agent in called.agents]
    if named or called.somebody or refers.question or refers.replied:
        return dict.fromkeys(named, (TO_ME, DIRECT_MESSAGE))
    return dict.fromkeys(present, (TO_MY_ROLE, ROLE_MENTION))
