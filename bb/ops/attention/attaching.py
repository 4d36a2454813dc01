"""The host's side for an agent program that `bb chat attach` runs: its session, and the answers sent in its name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from bb.attention.acts import tool_permissions
from bb.attention.acts.tools import TOOLS
from bb.attention.harness import capabilities, prompts
from bb.attention.state import transitions
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.confirmations import ALLOWED, OPEN, TOOL
from bb.attention.state.deliveries import Delivery
from bb.attention.words import CONFIRMATION, DEFERRED, MUST
from bb.kernel import clock
from bb.kernel.ids import PERSON
from bb.ops.attention import confirmations, greeting
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


def turn_lease(hosting: Hosting) -> float:
    """The seconds of silence after which a turn counts as ended."""
    return C2aDesk(hosting.desk, hosting.agent).book().tuning.turn_lease_ms / clock.SECOND


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


# -- the person


def ask_person(hosting: Hosting, event: str, title: str) -> str:
    """Record that the agent's program asks the person whether it may run a tool; the id of the request."""
    seed = os.urandom(12).hex()
    at = C2aDesk(hosting.desk, hosting.agent)
    return str(at.act(lambda book, now: tool_permissions.ask(book, hosting.agent, event, title, seed, now))["id"])


def withdraw(hosting: Hosting, request: str) -> None:
    """Withdraw a request that the program no longer waits for."""
    at = C2aDesk(hosting.desk, hosting.agent)
    at.act(lambda book, now: tool_permissions.withdraw(book, hosting.agent, request, now))


def persons_answer(hosting: Hosting, request: str) -> bool | None:
    """Whether the person has allowed it; None while the person has not answered."""
    at = C2aDesk(hosting.desk, hosting.agent)
    state = at.book().request(request).state_at(hosting.desk.now())
    return None if state == OPEN else state == ALLOWED


def unsent(hosting: Hosting) -> list[dict[str, Any]]:
    """The messages that the agent may send only if the person allows it, and that wait for the person."""
    requests = confirmations.open_requests(C2aDesk(hosting.desk, PERSON))
    return [each for each in requests if each["agent"] == hosting.agent and each["kind"] != TOOL]


def waits_for_person(hosting: Hosting, event: str) -> bool:
    """Whether the agent's answer to an event waits for the person, or the agent has yet to be told what the person
    decided. Another answer would come before that one."""
    book = C2aDesk(hosting.desk, hosting.agent).book()
    heads = [book.message(each.event) for each in book.open_for(hosting.agent) if not each.turn]
    is_to_be_told = any(head and (head.reason, head.linked) == (CONFIRMATION, event) for head in heads)
    return is_to_be_told or any(each["eventId"] == event for each in unsent(hosting))


def answer_for_person(hosting: Hosting, request: str, *, is_allowed: bool) -> None:
    """Record the answer that the person has typed at the terminal of this process."""
    confirmations.answer(C2aDesk(hosting.desk, PERSON), request, allows=is_allowed)
