"""Permissions: a program asks the person, in its agent's name, whether it may run one of its own tools.

These are requests like those to show private content, and are answered in the same way. But the program waits for the
answer, so the agent gets no notice of it, and a request that nobody waits for any more is withdrawn. The question goes
to the person at this machine only, never to a chat: a person who may write to an agent may not let it run tools.
"""

from __future__ import annotations

from bb.attention.acts.confirmations import is_tool_request, shown
from bb.attention.facts import Answer, Confirming
from bb.attention.messages.redaction import redact
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.confirmations import ASK, OPEN, TOOL, WITHDRAW
from bb.kernel.digest import digest

LONGEST = 500


def ask(book: AttentionState, agent: str, event: str, title: str, seed: str, now: int) -> Answer:
    """Ask the person whether AGENT's program may run a tool, for an EVENT. SEED is random. The answer has the id."""
    name = f"confirm-{digest(seed.encode())[:12]}"
    head = book.message(event)
    about = {
        "kind": TOOL,
        "event": event,
        "conversation": head.conversation if head else "",
        "message": redact(" ".join(title.split()))[:LONGEST],
        "why": "its program asks for permission",
    }
    return [Confirming(agent, name, ASK, about)], {"id": name, "now": now}


def withdraw(book: AttentionState, agent: str, name: str, now: int) -> Answer:
    """Withdraw a request that nobody waits for any more."""
    request = book.request(name)
    is_mine = is_tool_request(request) and request.agent == agent
    facts = [Confirming(agent, name, WITHDRAW)] if is_mine and request.state_at(now) == OPEN else []
    return [*facts], shown(request, now)
