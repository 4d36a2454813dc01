"""The host's side for an agent program that `bb chat attach` runs: its session, and the answers sent in its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.attention.acts.tools import TOOLS
from bb.attention.harness import capabilities, prompts
from bb.attention.state import transitions
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.deliveries import Delivery
from bb.attention.words import DEFERRED, MUST
from bb.ops.attention import greeting
from bb.ops.attention.attention_desk import C2aDesk
from bb.ops.attention.serving import Hosting
from bb.ops.desk.desk import Desk

SERVER = "bb"  # the MCP server of the agent's session; it replaces one of this name in the agent's own settings
SEND, REACT = TOOLS["chat.send_message"], TOOLS["chat.react"]


def begin(desk: Desk, agent: str) -> Hosting:
    """Start a session for AGENT with everything that a harness can do. Messages whose turn an earlier session did not
    finish are handed over again."""
    book = C2aDesk(desk, agent).book()
    unfinished = [delivery.event for delivery in book.open_for(agent) if _is_unfinished(delivery)]
    wanted = {section: dict.fromkeys(names, True) for section, names in capabilities.OURS.items()}
    hosting, _ = greeting.begin(desk, {"protocolVersion": greeting.PROTOCOL, "capabilities": wanted}, agent)
    hosting.harness.repeat(unfinished)
    return hosting


def _is_unfinished(delivery: Delivery) -> bool:
    """Whether an earlier session took a message that must be answered, and ended before the turn did."""
    was_working = delivery.turn in ("", transitions.STARTED)
    return delivery.accepted and was_working and _is_owed(delivery)


def owed(book: AttentionState, agent: str, event: str) -> bool:
    """Whether AGENT still has to answer an event: it has sent nothing, and has not put the answer off."""
    delivery = book.delivery(event, agent)
    return delivery is not None and _is_owed(delivery)


def _is_owed(delivery: Delivery) -> bool:
    is_open = delivery.is_open and delivery.disposition != DEFERRED
    return is_open and not delivery.has_spoken and delivery.decision.policy == MUST


def has_spoken(book: AttentionState, agent: str, event: str) -> bool:
    """Whether AGENT has answered an event with a message."""
    delivery = book.delivery(event, agent)
    return delivery is not None and delivery.has_spoken


def answer(hosting: Hosting, envelope: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Send TEXT as the agent's answer to a delivered event."""
    return hosting.call(SEND.name, prompts.answer_to(envelope, text))


def decline(hosting: Hosting, envelope: Mapping[str, Any], note: str) -> dict[str, Any]:
    """React to a delivered event with `declined`, so that its author does not wait."""
    about = {"inReplyTo": envelope["eventId"], "signal": "declined", "note": note}
    return hosting.call(REACT.name, about)
