"""A delivery as a prompt for an agent program, and the text of its turn as an answer.

For agent programs that take only prompts: they have no place for standing rules, and cannot be told about a message
without starting a turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bb.attention.messages.envelopes import LONGEST_TEXT
from bb.attention.turns.rendering import STANDING_RULES
from bb.attention.words import (
    AGENT,
    ANSWER,
    CANCEL,
    CHANNEL,
    CONFIRMATION,
    DIRECT_MENTION,
    DIRECT_MESSAGE,
    DM,
    MAY,
    MUST,
    ROLE_MENTION,
    SIGNALS,
    THREAD,
    TO_MY_ROLE,
    TO_OTHER,
)

# What starts a turn of an idle agent: only what it must answer, or all that it may answer.
WAKE = ("must", "may")
ADDRESSED = (ROLE_MENTION, DIRECT_MESSAGE, DIRECT_MENTION)
CUT = "(The answer ends here: the agent reached its limit.)"
MOST_ANSWERED = LONGEST_TEXT - len(CUT) - 2  # characters of an answer that is cut
NEWS = "Since your last prompt, without a turn of their own:"


def introduction(agent: str, server: str, *, is_text_sent: bool) -> str:
    """The beginning of the first prompt of a session."""
    text_is = (
        "If response_policy is must_respond and you send nothing, the last text of your turn is sent as your answer."
        if is_text_sent
        else "Text that you write without this tool is shown to nobody."
    )
    return f"""\
You are the agent {agent}. People and other agents write to you in chats. Each prompt from bb has one of their messages.

{STANDING_RULES}

To answer, call the tool `chat` of the MCP server `{server}` with tool=send_message and the arguments that stand under
the message. To react without a message, use tool=react with inReplyTo and signal: {", ".join(SIGNALS)}.
{text_is}"""


def prompt(envelope: Mapping[str, Any], *, before: str = "", news: Sequence[str] = ()) -> str:
    """The prompt for a delivered event, with the INTRODUCTION before it, and NEWS that started no turn."""
    parts = [before] if before else []
    if news:
        parts.append("\n\n".join([NEWS, *news]))
    parts.append(rendered(envelope))
    if policy_of(envelope) != "must_not_respond" and "knock" not in envelope:
        parts.append(_arguments(envelope))
    return "\n\n".join(parts)


def rendered(envelope: Mapping[str, Any]) -> str:
    """The event as the host has rendered it; its texts if it was too long for that."""
    text = envelope.get("rendered")
    if isinstance(text, str):
        return text
    return "\n".join(str(part.get("text", "")) for part in envelope.get("content", ()) if isinstance(part, dict))


def _arguments(envelope: Mapping[str, Any]) -> str:
    answer = answer_to(envelope, "…")
    shown = ", ".join(f"{name}={answer[name]}" for name in ("inReplyTo", "visibility", "directedness"))
    return f"To answer: tool=send_message, {shown}, content, and a new idempotencyKey."


def wakes(envelope: Mapping[str, Any], wake: str) -> bool:
    """Whether a delivery starts a turn of an idle agent.

    It does if the agent must answer it, or if it is addressed to the agent or its role. The rest is told with the next
    prompt.
    """
    attention = envelope["attention"]
    policy, reason = policy_of(envelope), attention["reason"]
    if policy != MAY:
        return policy == MUST or reason in (CONFIRMATION, CANCEL)
    return wake == "may" or reason in ADDRESSED or "defaultResponder" in attention


def policy_of(envelope: Mapping[str, Any]) -> str:
    """The response policy of a delivery."""
    return str(envelope["attention"]["policy"])


def is_private(envelope: Mapping[str, Any]) -> bool:
    """Whether the event stands in a private conversation."""
    return bool(envelope["conversation"].get("kind") == DM)


def answer_to(envelope: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The arguments of `chat.send_message` for an answer where the event stands, to no more readers than it has.

    The key follows from the event, so the event is answered once, however often its turn is repeated. An answer to a
    person obliges no other agent. An answer to an agent is offered to that agent and obliges it to nothing: two agents
    that must answer each other would not stop.
    """
    conversation, author = envelope["conversation"], envelope["author"]
    where = DM if is_private(envelope) else THREAD if conversation.get("threadId") else CHANNEL
    answer = {
        "content": text,
        "inReplyTo": envelope["eventId"],
        "idempotencyKey": f"turn:{envelope['eventId']}",
        "visibility": where,
        "directedness": TO_OTHER,
        "contentVersion": envelope.get("contentVersion"),
    }
    if author.get("kind") == AGENT:
        answer |= {"directedness": TO_MY_ROLE, "intent": ANSWER}
        answer |= {} if where == DM else {"mentions": [author["id"]]}
    return answer


def answer_text(text: str, *, is_cut: bool) -> str:
    """The last TEXT of a turn as an answer. It says where it ends if it IS CUT or longer than a message may be."""
    is_cut = is_cut or len(text) > LONGEST_TEXT
    return f"{text[:MOST_ANSWERED].rstrip()}\n\n{CUT}" if is_cut else text
