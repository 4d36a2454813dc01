"""Starting a session with a harness: its agent, the negotiated capabilities, and the answer to `initialize`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import bb
from bb.attention.harness import capabilities, session
from bb.attention.harness.session import Harness
from bb.attention.judging.cases import find_message_or_none, require_registered
from bb.attention.messages.envelopes import LONGEST_ID, LONGEST_TEXT, EnvelopeMembers, invalid
from bb.attention.state import tuning
from bb.attention.state.attention_state import AttentionState
from bb.attention.turns.rendering import STANDING_RULES
from bb.attention.words import SIGNALS
from bb.kernel import ids
from bb.kernel.errors import PermissionDenied
from bb.ops.attention.attention_desk import C2aDesk
from bb.ops.attention.serving import Hosting, is_known
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk

PROTOCOL = "2026-06-02"


def begin(desk: Desk, params: Mapping[str, Any], agent: str | None) -> tuple[Hosting, dict[str, Any]]:
    """Start a session with a harness, as AGENT if one is named. Return the session and the answer to the harness."""
    members = EnvelopeMembers(params)
    members.text("protocolVersion", 100, is_needed=True)
    members.object("clientInfo")
    about = members.object("session")
    who = _who(about, agent)
    can = capabilities.negotiate(members.object("capabilities"))
    at = C2aDesk(desk, who)
    require_registered(at.book(), who)
    signs_of_life.record_sign_of_life(desk, who)
    book = at.book()
    glyphs = _glyphs(members, book)
    last = members.object("resume").id("lastAckedEventId")
    if last and (acked := find_message_or_none(book, last)):  # it may name the event without its platform
        last = acked.event
    harness = Harness(who, can)
    if can.takes_deliveries:
        at.act(lambda then, now: (session.begin_facts(then, harness, last, now), {}))
    hosting = Hosting(desk, harness, glyphs)
    return hosting, {
        "protocolVersion": PROTOCOL,
        "serverInfo": {"name": "bb", "version": bb.__version__},
        "capabilities": can.shown(),
        "sessionId": about.text("sessionId", LONGEST_ID) or f"session-{os.urandom(6).hex()}",
        "agent": who,
        "signals": glyphs,
        "limits": _limits(book),
        "instructions": STANDING_RULES,
        "pendingCount": hosting.left(),
        **({"resyncRequired": True} if last and not is_known(book, last) else {}),
    }


def without_session(desk: Desk) -> dict[str, Any]:
    """The answer to a client that calls tools without a session, such as an MCP host: all tools, no deliveries."""
    book = C2aDesk(desk, None).book()
    can = capabilities.Capabilities(frozenset(name for needed in capabilities.TOOLS.values() for name in needed))
    return {
        "protocolVersion": PROTOCOL,
        "serverInfo": {"name": "bb", "version": bb.__version__},
        "capabilities": can.shown(),
        "signals": {name: tuning.glyph_of(name, book.tuning) for name in SIGNALS},
        "limits": _limits(book),
        "instructions": STANDING_RULES,
    }


def _limits(book: AttentionState) -> dict[str, int]:
    tuned = book.tuning
    return {
        "composeMs": tuned.compose_ms,
        "mergeMs": tuned.merge_ms,
        "claimTtlMs": tuned.claim_ms,
        "turnLeaseMs": tuned.turn_lease_ms,
        "maxBody": LONGEST_TEXT,
    }


def _who(about: EnvelopeMembers, agent: str | None) -> str:
    """The agent of the harness. It is set here once and never changes."""
    named = about.id("agent").removeprefix("agent:")
    if agent and named and named != agent:
        raise PermissionDenied(
            f"this connection belongs to {agent}", hint=f"remove session.agent, or set it to {agent}"
        )
    if not (agent or named):
        raise invalid("missing", about.at("agent"))
    return ids.actor_id(agent or named)


def _glyphs(given: EnvelopeMembers, book: AttentionState) -> dict[str, str]:
    """The glyph of each signal in this session."""
    requested = given.object("reactionGlyphs")
    for name in requested.value:
        if name not in SIGNALS:
            raise invalid(f"the signal must be one of {', '.join(SIGNALS)}", requested.at(name))
    glyphs = {name: requested.text(name, tuning.GLYPH_LENGTH) or tuning.glyph_of(name, book.tuning) for name in SIGNALS}
    if len(set(glyphs.values())) < len(glyphs):
        raise invalid("two signals have the same glyph", requested.path)
    return glyphs
