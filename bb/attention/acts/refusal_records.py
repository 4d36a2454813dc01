"""Refusals as the audit keeps them. Every agent can read it.

Refused look-ups are kept too: an agent asked for an event that does not exist, or that it may not see. The record has
only what the agent asked for, so it does not tell which of the two it was.
"""

from __future__ import annotations

from itertools import islice

from bb.attention.facts import Refusal
from bb.attention.messages.redaction import redact
from bb.attention.state import activity
from bb.attention.state.attention_state import AttentionState
from bb.kernel.clock import MINUTE
from bb.kernel.errors import BbError
from bb.kernel.escaping import harmless

NOT_FOUND = "NOT_FOUND"
MOST = 20  # records of one agent within a minute, so that guessing does not fill the ledger


def refusal_fact(who: str, refusal: BbError) -> Refusal:
    """The fact that records a refusal. What it quotes from the request has no secrets and no control characters."""
    texts = ((name, value) for name, value in refusal.details.items() if isinstance(value, str))
    return Refusal(who, refusal.code, {name: redact(harmless(value)) for name, value in texts})


def may_record(refusal: BbError, book: AttentionState, who: str, now: int) -> bool:
    """Whether a refusal is recorded: each one but look-ups beyond MOST in a minute."""
    if refusal.code != NOT_FOUND:
        return True
    rows = book.states.newest_first(activity.NAME, f"{activity.REFUSED}{who}")
    lately = [state for _, _, state in islice(rows, MOST) if state["refused"][3][3] > now - MINUTE]
    return len(lately) < MOST
