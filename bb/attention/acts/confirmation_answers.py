"""Answers of a person to a request, given on the platform where the private message came from.

The bridge posts the question in the private conversation. These answer it there:

    a reaction to the question           a signal such as 👍 or ✅ allows, 🙅 refuses
    a reply to it, or in its thread      one word, such as yes or no
    the next message of the conversation the same word, if the conversation is direct, nothing else was written since,
                                         and the agent has no question open there

Only a person counts who takes part in that conversation: the author of the private message, a user who has written
there, or one whom the platform lists as a member. The words are a closed list. Any other text is an ordinary message.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from bb.attention.acts import confirmations
from bb.attention.acts.confirmations import CONFIRM_ITEM
from bb.attention.facts import Answer
from bb.attention.incoming.sources import with_ids_here
from bb.attention.messages.envelopes import MESSAGE, REACTION, Line
from bb.attention.messages.messages import NAME as MESSAGES
from bb.attention.messages.messages import MessageHead
from bb.attention.messages.outbox_states import SENT
from bb.attention.state import confirmations as requests
from bb.attention.state import conversations, tuning
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.confirmations import Request
from bb.attention.state.conversations import CONVERSATION
from bb.attention.words import DM, HUMAN, QUESTION

SIGNALS = {"agree": True, "done": True, "declined": False}
YES = frozenset(
    "yes y yep yeah ok okay sure allow allowed confirm confirmed approve approved ja oui si sí da да はい 是 好".split()  # noqa: SIM905
)
NO = frozenset("no n nope refuse refused deny denied stop nein non nej nie нет いいえ 不 不行".split())  # noqa: SIM905
GLYPHS = {"👍": True, "✅": True, "👎": False, "🙅": False, "⛔": False, "🚫": False, "❌": False}
MOST_LOOKED_THROUGH = 50  # messages that are searched for one of the person
LONGEST = 24  # characters of such an answer


def receive_answer(book: AttentionState, line: Line, by: str, now: int) -> Answer | None:
    """Record the answer that a line gives to a request; None if the line is no such answer."""
    if line.type not in (MESSAGE, REACTION) or line.author_kind != HUMAN:
        return None
    if not book.states.count(requests.NAME, requests.UNANSWERED):  # the usual case
        return None
    line = with_ids_here(book, line)
    allows = _verdict(book, line)
    request = _request(book, line, now) if allows is not None else None
    if request is None or allows is None or not _takes_part(book, request, line):
        return None
    facts, answer = confirmations.answer(book, request.id, by, now, allows=allows, who=f"{line.platform}:{line.author}")
    status = "allowed" if allows else "refused"
    return facts, {"eventId": line.event or None, "type": line.type, "status": status, "confirmation": answer["id"]}


def _verdict(book: AttentionState, line: Line) -> bool | None:
    """Whether a line says yes or no; None if it says neither."""
    if line.type == REACTION:
        if not line.added:
            return None
        signal = line.signal or tuning.signal_of(line.glyph, book.tuning) or ""
        return SIGNALS.get(signal, GLYPHS.get(line.glyph))
    text = line.message.text.strip() if line.message and not line.message.parts else ""
    if not 0 < len(text) <= LONGEST:
        return None
    word = text.casefold().strip(" .!,。！")
    return True if word in YES else False if word in NO else GLYPHS.get(text)


def _request(book: AttentionState, line: Line, now: int) -> Request | None:
    """The open request that a line refers to."""
    waiting = [request for request in confirmations.open_requests(book, now) if _was_posted(book, request)]
    if line.type == REACTION:
        return next((request for request in waiting if request.id == line.event), None)
    said = line.message
    if said is None:
        return None
    for request in waiting:
        if request.id in (said.in_reply_to, said.root):
            return request
    there = [request for request in waiting if request.about.get("conversation") == said.conversation]
    is_alone = len(there) == 1 and not said.in_reply_to and book.conversation(said.conversation).kind == DM
    return there[0] if is_alone and _is_next(book, there[0]) else None


def _was_posted(book: AttentionState, request: Request) -> bool:
    """Whether the question was posted on the platform. A request is answered there only after that."""
    posting = (book.states.state(MESSAGES, request.id) or {}).get("posting")
    state, about = posting[3] if posting else ("", {})
    return bool(state == SENT and about.get("type") == CONFIRM_ITEM)


def _is_next(book: AttentionState, request: Request) -> bool:
    """Whether nothing was written in the conversation since the request, and no question of an agent is open there."""
    last = next(_said_in(book, request), None)
    return last is None or (last.place < request.place and not (last.agent and last.intent == QUESTION))


def _said_in(book: AttentionState, request: Request) -> Iterator[MessageHead]:
    newest = book.newest_messages(f"in {request.about.get('conversation', '')}")
    return (head for head in islice(newest, MOST_LOOKED_THROUGH) if not head.reason)


def _takes_part(book: AttentionState, request: Request, line: Line) -> bool:
    """Whether the author is a person in the private conversation, on its platform."""
    place = str(request.about.get("conversation", ""))
    where = book.conversation(place)
    user = f"{line.platform}:{line.author}"
    if where.platform != line.platform or book.directory.agent(line.author, line.platform):
        return False
    by_user, _ = conversations.users(book.states.state(conversations.NAME, CONVERSATION + place))
    if user in by_user:
        return by_user[user]
    private = book.message(str(request.about.get("event", "")))
    authors = [*([private] if private else []), *_said_in(book, request)]
    return any(head.author == line.author and head.author_kind == HUMAN for head in authors)
