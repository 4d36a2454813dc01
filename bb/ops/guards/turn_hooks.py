"""The hooks at the start and the end of an agent's turn. They report news and reminders, each once per session."""

from __future__ import annotations

import os
from itertools import islice

from bb.attention.turns import agent_news as news_rules
from bb.attention.turns.news import MESSAGES
from bb.coordination.agents import roster
from bb.coordination.agents.callers import NotYourName, SessionSuperseded
from bb.coordination.wiring import editors
from bb.coordination.wiring.editors import NotUnderstood
from bb.kernel import escaping
from bb.kernel.errors import BbError
from bb.kernel.foreign import Foreign, quotation
from bb.ledger.git.place import NotARepository
from bb.ledger.local import editor_sessions
from bb.messaging.mail import mailbox
from bb.ops.agents import heartbeat
from bb.ops.catalogue import op
from bb.ops.desk import agent_news, signs_of_life
from bb.ops.guards.editor_requests import EditorAgent, Host, Payload, agent_of, allow, read_payload
from bb.ops.params import AgentId

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from bb.coordination.wiring.editors import HookPayload
    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

DELIVERIES, OPEN = "c2a.delivery", "open {}"  # the fold and the term of an agent's messages that may enter its turn
MOST_MESSAGES = 5  # most messages at one prompt; the rest wait for the next prompt
MOST_SCOPES = 3
SUBJECT_LENGTH = 120

# Pairs of a key, by which a session remembers the news, and the line to show.
News = list[tuple[str, str]]


@op(
    "hook.prompt",
    reads=True,
    output="editor",
    examples=("bb hook prompt < payload.json", "bb hook prompt --host codex --agent amber-otter"),
)
def prompt(
    desk: Desk, *, host: Host | None = None, agent: EditorAgent | None = None, payload: Payload | None = None
) -> dict[str, Any]:
    """At a prompt of the user, tell the agent its news: what `bb turn` would say, and the messages themselves.

    A session is told each piece of news once, by this hook or by `bb turn`. A message stays unread until the agent
    reads it. Without news, the answer is empty.
    """
    return _turn(desk, editors.PROMPT, host, agent, payload, _prompted)


@op(
    "hook.stop",
    reads=True,
    output="editor",
    examples=("bb hook stop < payload.json", "bb hook stop --host gemini --agent amber-otter"),
)
def stop(
    desk: Desk, *, host: Host | None = None, agent: EditorAgent | None = None, payload: Payload | None = None
) -> dict[str, Any]:
    """Before the agent stops, remind it of unread mail, messages to acknowledge, and its reservations. Once each.

    If the agent continues because of a reminder, the next stop does not remind it again.
    """
    return _turn(desk, editors.STOP, host, agent, payload, _stopping)


def _turn(
    desk: Desk,
    moment: str,
    host: str | None,
    named: str | None,
    payload: str | None,
    answer: Callable[[Desk, HookPayload, str], dict[str, Any]],
) -> dict[str, Any]:
    """Run ANSWER for an agent in service. Errors are written to stderr and stop nothing."""
    try:
        heard = read_payload(desk, moment, host, payload)
    except NotUnderstood as error:
        return allow(None, f"bb: the payload was not understood: {error}")
    try:
        if heard.is_going_on or not os.path.isdir(desk.place.store):
            return allow(heard)
        who = agent_of(desk, heard, named)
        if who is None:
            return allow(heard)
        heartbeat.heartbeat(desk, agent=AgentId(who))
        return answer(desk, heard, who)
    except NotARepository.error:
        return allow(heard)
    except (SessionSuperseded.error, NotYourName.error) as error:  # at a stop, the agent has nothing left to do
        news = escaping.sentence(f"bb: {error}. {error.hint}")
        return allow(heard, news, reply=editors.context_answer(heard, news) if moment == editors.PROMPT else None)
    except BbError as error:
        return allow(heard, f"bb: {error}")


def _prompted(desk: Desk, heard: HookPayload, who: str) -> dict[str, Any]:
    """The news of the agent's turn. What is said of messages, and of which, is up to the attention policy."""
    index = desk.store.caught_up()
    memory = agent_news.memory_of(desk, who, is_hook=True)
    found = agent_news.collect(desk, index, who, memory)
    told = news_rules.fit([each for each in found.news if each.member not in MESSAGES])
    injected = _given(desk, index, who, memory.session.told)
    lines = list(news_rules.sentences(Foreign(told.answer)))
    if not injected["blocks"] and not lines:
        return allow(heard)
    names = (*found.old, *told.names, *injected["told"])
    agent_news.remember(desk, memory, names, seen=found.seen)
    if left_out := news_rules.omitted(Foreign(told.answer)):
        lines.append(f"({left_out} at the next prompt)")
    lines = ["bb:", *(f"- {line}" for line in lines)] if lines else []
    if injected["blocks"]:
        more = f" ({injected['more']} more at the next prompt)" if injected["more"] else ""
        lines.append(f"bb: for {who}{more}. {news_rules.LABEL}")
    texts = ["\n".join(lines), *([injected["text"]] if injected["text"] else [])]
    return allow(heard, reply=editors.context_answer(heard, "\n\n".join(texts)))


def _given(desk: Desk, index: Index, who: str, told: tuple[str, ...]) -> dict[str, Any]:
    """The messages that the attention policy allows in this turn. They are recorded as delivered."""

    agent = roster.agent(who, index.state(roster.NAME, who))
    if agent and not agent.is_retired and not index.count(DELIVERIES, OPEN.format(who)):
        return {"blocks": [], "told": (), "text": ""}
    from bb.attention.turns import turn_text  # noqa: PLC0415  (mostly nothing is to be delivered)
    from bb.ledger.views import attention  # noqa: PLC0415

    def decide(index: Index, *, is_peek: bool = False) -> Any:
        book = attention.book(desk.store, index, desk.now(), desk.stale_after_in(index))
        facts, answer = turn_text.inject(book, who, desk.now(), seed, told=told, most=MOST_MESSAGES)
        injected.update(answer)
        return [] if is_peek else facts

    injected: dict[str, Any] = {}
    seed = os.urandom(9).hex()
    decide(index, is_peek=True)
    if injected["blocks"]:
        desk.store.record(decide, by=who, now=desk.now(), author=lambda fact: str(getattr(fact, "by", who)))
    return injected


def _stopping(desk: Desk, heard: HookPayload, who: str) -> dict[str, Any]:
    index = desk.store.caught_up()
    signs_of_life.in_service(index, who)
    memory = agent_news.memory_of(desk, who, is_hook=True)
    held = desk.holdings(index, desk.now())
    news = [entry for entry in _forgotten(index, held, who) if entry[0] not in memory.session.reminded]
    if not news:
        return allow(heard)
    # Saved before it is shown, so that an agent can always stop even if the store cannot be written.
    agent_news.remember_reminders(desk, memory, [name for name, _ in news])
    lines = [line for _, line in news[:MOST_MESSAGES]]
    more = [f"and {len(news) - len(lines)} more: bb inbox --agent {who}"] if len(news) > len(lines) else []
    barred = [f"- {line}" for line in _barred(desk, index, who)]
    reminder = f"bb: {who}, before you stop, handle these points, or stop again. {news_rules.LABEL}"
    return allow(heard, reply=editors.continue_answer(heard, "\n".join([reminder, *barred, *lines, *more])))


def _barred(desk: Desk, index: Index, who: str) -> list[str]:
    """The pause of this agent, and freezes in its scopes, whether it was told of them or not."""
    return list(news_rules.sentences(Foreign(news_rules.fit(agent_news.orders(desk, index, who)).answer)))


def _some(messages: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The first messages, as many as a session can remember."""
    return islice(messages, editor_sessions.MOST)


def _forgotten(index: Index, held: Holdings, who: str) -> News:
    """The messages to acknowledge, the unread messages, and the reservations of an agent."""
    from bb.ledger.views import mail as mails  # noqa: PLC0415  (a prompt does not need it)

    owed = [
        (_event(copy), _head(Foreign(copy), "To be accepted: ")) for copy in _some(mails.unacknowledged(index, who))
    ]
    names = {name for name, _ in owed}
    unread = [
        (_event(copy), _head(Foreign(copy), "Unread: "))
        for copy in _some(mails.inbox(index, who, mailbox.UNREAD))
        if _event(copy) not in names
    ]
    kept = [escaping.name(own.scope.text, SUBJECT_LENGTH) for own in held.reservations_of_agent(who) if not own.is_over]
    still = f"- You still hold {', '.join(kept[:MOST_SCOPES])}{' and more' if len(kept) > MOST_SCOPES else ''}. "
    release = f"Release what you no longer need: bb release SCOPE --agent {who}"
    return [*owed, *unread, *([("held", still + release)] if kept else [])]


def _head(message: Foreign, mark: str = "") -> str:
    doubt = ", unverified," if "signature" in message else ""
    bead = f" about {message['bead_id']}" if message["bead_id"] else ""
    about = f"{message['category']} from {message['from_agent']}{doubt}{bead}"
    event, _, _ = message["message_id"].parted("_")
    return f"- [{event}] {mark}{about}: {quotation(message['subject'], SUBJECT_LENGTH)}"


def _event(message: dict[str, Any]) -> str:
    """The event id of a message, by which its recipient may name it."""
    return str(message["message_id"]).partition("_")[0]
