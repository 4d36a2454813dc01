"""What a sender is told about its addressees: a conversation that is unknown, and names that reach nobody.

A conversation of a platform exists there before anybody can write in it, so an id that was never seen is refused. In a
conversation of bb itself the first message opens it, so the sender is only told that it is new. A name that reaches
nobody is a warning, with the name that was probably meant.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from bb.attention.acts.drafts import Draft
from bb.attention.judging.cases import may_join
from bb.attention.messages.message import HERE, Message
from bb.attention.messages.messages import EVERY
from bb.attention.refusals import NoSuchEvent
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.conversations import CONVERSATION
from bb.attention.state.conversations import NAME as SETTINGS
from bb.attention.state.directory import EVERYBODY
from bb.attention.surfaces import SURFACES
from bb.kernel.escaping import harmless
from bb.kernel.ids import PERSON

MOST_LOOKED_THROUGH = 500  # newest messages whose conversations are compared with an unknown one
ALIKE, ALMOST = 0.75, 0.85  # how much two names must have in common to be taken for one another
NEAR = 3  # names that are suggested


def new_conversation(book: AttentionState, agent: str, draft: Draft) -> dict[str, Any]:
    """Refuse a message to a conversation of a platform that was never seen; say so if one of bb's own is new."""
    name = draft.conversation
    if not name or draft.in_reply_to or draft.recipient or _is_known(book, name):
        return {}
    known = _known_conversations(book, agent)
    near = near_names(name, known)
    meant = f"did you mean {' or '.join(near)}?" if near else ""
    if _is_of_platform(book, name, known):
        raise NoSuchEvent(
            f"there is no conversation {harmless(name[:80])!r}: nothing was ever imported from it",
            hint=meant or "`bb chat list` shows conversations; `bb chat arrange CONVERSATION --external` adds one",
            near=near,
        )
    text = f"{harmless(name[:80])} is a new conversation: nobody has written in it yet{'; ' if meant else ''}{meant}"
    return {"newConversation": {"id": name, "message": text, "near": near}}


def mention_warnings(book: AttentionState, draft: Draft, sent: Message) -> list[dict[str, str]]:
    """Warnings about names that reach nobody."""
    found = []
    for name in sent.mentions:
        shown = harmless(name.removeprefix("@")[:60])
        if _reaches_somebody(book, name, sent.platform):
            continue
        if f"@{name.removeprefix('@').casefold()}" in EVERYBODY:
            text = (
                f"@{shown} in a text reaches no agent; to ask all agents, pass it as a mention (`--mention @{shown}`)"
            )
            found.append({"code": "everybody_not_asked", "message": text})
        elif near := near_agent(book, name, sent.platform):
            found.append({"code": "unknown_mention", "message": f"no agent @{shown}; did you mean {near}?"})
        elif draft.mentions is not None and sent.platform == HERE:
            text = f"no agent and no role has the name @{shown}; `bb agent list` shows the agents"
            found.append({"code": "unknown_mention", "message": text})
    return found


def near_agent(book: AttentionState, name: str, platform: str) -> str:
    """The agent, role or name on the platform that NAME is nearest to; empty if none is near."""
    names = {agent.casefold(): agent for agent in book.agents}
    for agent, binding in book.directory.bindings.items():
        on_platform = [handle.partition(":")[2] for handle in binding.handles if handle.startswith(f"{platform}:")]
        names |= dict(zip(map(str.casefold, on_platform), (f"{own} ({agent})" for own in on_platform), strict=True))
        names |= {role.rpartition(":")[2].removeprefix("@").casefold(): role for role in binding.roles}
        status = book.agents.get(agent)
        names |= {status.role.casefold(): f"@{status.role}"} if status and status.role else {}
    near = near_names(name.removeprefix("@").casefold(), list(names))
    return names[near[0]] if near else ""


def near_names(name: str, known: list[str], least: float = ALIKE) -> list[str]:
    """The names in KNOWN that NAME may have been meant for, the nearest first."""
    import difflib  # noqa: PLC0415  (only needed after a mistake)

    return difflib.get_close_matches(name, known, NEAR, least)


def _reaches_somebody(book: AttentionState, name: str, platform: str) -> bool:
    plain = name.removeprefix("agent:")
    is_agent = plain in book.agents or plain == PERSON or book.directory.agent(name, platform) is not None
    return is_agent or bool(book.directory.role(name, platform))


def _is_known(book: AttentionState, name: str) -> bool:
    has_settings = book.states.state(SETTINGS, CONVERSATION + name) is not None
    is_bound = name in book.directory.by_conversation or name.startswith("dm:")
    return has_settings or is_bound or next(book.newest_messages(f"in {name}"), None) is not None


def _known_conversations(book: AttentionState, agent: str) -> list[str]:
    """The conversations in which AGENT may write."""
    arranged = [
        key.removeprefix(CONVERSATION) for key, _ in book.states.states(SETTINGS) if key.startswith(CONVERSATION)
    ]
    recent = [head.conversation for head in islice(book.newest_messages(EVERY), MOST_LOOKED_THROUGH)]
    return [
        name for name in dict.fromkeys([*arranged, *recent]) if name and may_join(book, agent, book.conversation(name))
    ]


def _is_of_platform(book: AttentionState, name: str, known: list[str]) -> bool:
    """Whether an unknown conversation must be one of a platform: its id says so, or is nearly the id of one."""
    platforms = {*SURFACES, *(book.conversation(other).platform for other in known)} - {"", HERE}
    begins = any(name.startswith((f"{platform}:", f"{platform}-", f"{platform}/")) for platform in platforms)
    almost = near_names(name, known, ALMOST)
    return begins or any(book.conversation(other).platform not in ("", HERE) for other in almost)


def unknown_recipient_hint(book: AttentionState, name: str, platform: str) -> dict[str, Any]:
    """The hint of a refusal because nobody has the name; nothing if no name is near."""
    near = near_agent(book, name, platform)
    return {"hint": f"did you mean {near}? `bb agent list` shows the registered agents"} if near else {}
