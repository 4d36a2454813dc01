"""Answers to confirmations that come from a platform: a person says yes or no to the question that a bridge has posted.

The answer is a reaction to the question, a reply to it, a message in its thread or, in a private conversation with one
open question, the next "yes" or "no". In a private channel only the author of the private message may answer.
Everything else, such as "later", is an ordinary message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bb.attention.acts import confirmations
from bb.attention.facts import Answer
from bb.attention.messages.envelopes import MESSAGE, REACTION, Line
from bb.attention.messages.messages import NAME as MESSAGES
from bb.attention.messages.platform_ids import platform_id
from bb.attention.state import tuning
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.confirmations import Request
from bb.attention.words import DM, HUMAN

YES = frozenset(
    ["y", "yes", "ok", "okay", "sure", "allow", "allowed", "approve", "approved", "go ahead", "ja", "oui", "sí"]
)
YES |= frozenset(["si", "sim", "da", "да", "tak", "evet", "はい", "是", "可以"])
NO = frozenset(
    ["n", "no", "nope", "don't", "do not", "deny", "denied", "refuse", "refused", "nein", "non", "não", "нет"]
)
NO |= frozenset(["nie", "hayır", "いいえ", "不", "不可以"])
SIGNALS = {"agree": True, "done": True, "declined": False, "blocked": False}
GLYPHS = {"✔": True, "☑": True, "👌": True, "👎": False, "❌": False, "⛔": False, "🛑": False}


def confirmation_answer(book: AttentionState, line: Line, by: str, now: int) -> Answer | None:
    """What LINE answers, as facts; None if it answers no confirmation."""
    allows = _meaning(book, line)
    if allows is None:
        return None
    asked = list(_open_questions(book, line.platform, now))
    named = [request for request, name in asked if _is_about(line, request, name)]
    if not named and len(alone := [each for each, _ in asked if _is_next_word(book, line, each)]) == 1:
        named = alone
    if not named or not _may_answer(book, line, named[0]):
        return None
    facts, answered = confirmations.answer(book, named[0].id, by, now, allows=allows, who=line.author)
    about = {"eventId": line.event, "type": line.type, "status": answered["state"], "confirmation": named[0].id}
    return facts, about


def _meaning(book: AttentionState, line: Line) -> bool | None:
    """Whether LINE says yes or no; None if it says neither."""
    if line.type == REACTION and line.added and line.author_kind == HUMAN:
        signal = line.signal or tuning.signal_of(line.glyph, book.tuning) or ""
        return SIGNALS.get(signal, GLYPHS.get(line.glyph))
    if line.type != MESSAGE or line.message is None or line.message.author_kind != HUMAN:
        return None
    said = " ".join(line.message.text.casefold().replace("’", "'").split()).rstrip(".!。！")
    return True if said in YES else False if said in NO else None


def _open_questions(book: AttentionState, platform: str, now: int) -> Iterator[tuple[Request, str]]:
    """The requests whose question stands on PLATFORM, each with the id of the question there."""
    for request in confirmations.open_requests(book, now):
        posting: list[Any] = (book.states.state(MESSAGES, request.id) or {}).get("posting", [0, 0, 0, ["", {}]])[3]
        name = posting[1].get("platform_id") if posting[1].get("platform") == platform else None
        if name:
            yield request, str(name)


def _is_about(line: Line, request: Request, name: str) -> bool:
    """Whether LINE reacts to the question NAME, replies to it, or stands in its thread."""
    if line.type == REACTION:
        return line.event == name
    place = str(request.about.get("conversation", ""))
    said = line.message
    own = platform_id(name, line.platform, place, "")
    return said is not None and said.conversation == place and (said.in_reply_to == name or said.thread in (own, name))


def _is_next_word(book: AttentionState, line: Line, request: Request) -> bool:
    """Whether LINE stands in the private conversation of two in which the question was asked, outside of a thread."""
    said, place = line.message, str(request.about.get("conversation", ""))
    if line.type != MESSAGE or said is None or said.conversation != place or said.in_reply_to:
        return False
    return book.conversation(place).kind == DM


def _may_answer(book: AttentionState, line: Line, request: Request) -> bool:
    """Whether the author of LINE is a person who may decide: in a private channel, that of the private message."""
    if book.directory.agent(line.author, line.platform):
        return False
    private = book.message(str(request.about.get("event", "")))
    is_dm = book.conversation(str(request.about.get("conversation", ""))).kind == DM
    return is_dm or (private is not None and private.author == line.author)
