"""CBCL between the agents of a repository: messages travel as mail, and each agent hears its own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from bb.cbcl.judge.expansion import UnknownDialect
from bb.cbcl.read.fuel import ResourceLimit
from bb.ledger.index.index import Index
from bb.ledger.views import cbcl as ledger
from bb.ledger.views.proofs import Proofs
from bb.messaging.cbcl import conversation_state, registers
from bb.ops.catalogue import op
from bb.ops.cbcl import views
from bb.ops.cbcl.speaker import Talk
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.mail.mail import text_of as given_text
from bb.ops.params import AgentOrPerson, AllowSecretReason, Key, Number, UncheckedAgent, UncheckedText


class CbclRecipient(UncheckedAgent):
    """A recipient, if the message itself does not name one. May be repeated."""

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        return text.removeprefix("@")


class Limit(Number):
    """At most this many."""

    most = 1000


@op(
    "cbcl.send",
    screen="cbcl_talk",
    examples=(
        """bb cbcl send '(tell @cobalt-harbor "The parser is renamed.")'""",
        """bb cbcl send '(ask @cobalt-harbor "Which format?" :thread format)'""",
        """bb cbcl send '(lang planning (propose "x" (list) (list "y")))' --to cobalt-harbor""",
    ),
)
def send(
    desk: Desk,
    message: UncheckedText,
    *,
    agent: AgentOrPerson | None = None,
    to: list[CbclRecipient] | None = None,
    key: Key | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Send a CBCL message to an agent of this repository, or to @user, the person.

    The message is ordinary mail: the recipient's inbox shows it. Your own new messages are heard first, so that an
    answer finds its question. A call in an installed dialect goes to the recipients of its expansion.

    Parameters:
        message (MESSAGE): The message, such as '(tell @bob "Done.")'; `-` reads it from stdin.
    """
    return send_text(desk, given_text(desk, message), agent, to or (), key=key, allow_secret=allow_secret)


def send_text(
    desk: Desk,
    text: str,
    agent: str | None,
    to: Sequence[str] = (),
    *,
    key: str | None = None,
    allow_secret: str | None = None,
) -> dict[str, Any]:
    """Send TEXT as AGENT, after hearing the agent's new messages."""
    talk = Talk(desk, agent)
    octets = talk.signed(text.encode("utf-8", "surrogatepass"))
    if key is None:  # with a key, the message may have been sent already
        # Refuse an invalid message before hearing, because a refusal cannot report the heard messages. An unknown
        # dialect or an exceeded limit is not refused yet: a message to be heard can teach or settle it.
        with suppress(UnknownDialect.error, ResourceLimit):
            talk.speech(desk.store.caught_up(), octets, to)
    heard = list(talk.hear_all(None))

    def decide(index: Index, _: Any) -> list[Any]:
        return talk.spoken(index, talk.speech(index, octets, to))

    recorded = signs_of_life.act(desk, talk.who, decide, key=key, allow_secret=allow_secret)
    return views.sent(talk.who, octets, recorded) | {"heard": heard}


@op(
    "cbcl.hear",
    screen="cbcl_talk",
    examples=("bb cbcl hear --agent cobalt-harbor", "bb cbcl hear --json"),
)
def hear(
    desk: Desk,
    *,
    agent: AgentOrPerson | None = None,
    limit: Limit = Limit(100),  # noqa: B008
) -> dict[str, Any]:
    """Hear your new CBCL messages, oldest first, and send the automatic answers.

    Each message is verified, then accepted as a whole, or refused as a whole and answered with an error. A tell is
    recorded as a belief from its sender, an ask as an answer you owe; a reply settles your question.
    """
    talk = Talk(desk, agent)
    heard: list[dict[str, Any]] = []
    with suppress(KeyboardInterrupt):  # after Ctrl-C, report the messages heard until then
        for message in talk.hear_all(limit):
            heard.append(message)  # noqa: PERF402  (one by one, because Ctrl-C can end the loop)
    left = desk.store.caught_up().count(conversation_state.NAME, f"{registers.UNHEARD} {talk.who}")
    return {"agent_id": talk.who, "heard": heard, "left": left}


@op("cbcl.pending", reads=True, screen="cbcl_talk", examples=("bb cbcl pending --agent cobalt-harbor",))
def pending(desk: Desk, *, agent: AgentOrPerson | None = None) -> dict[str, Any]:
    """List the answers you wait for and the answers you owe. Nothing is changed."""
    who, index = views.reader(desk, agent)
    expects, owes = (ledger.open_answers(index, what, who) for what in (registers.EXPECTED, registers.OBLIGED))
    return {
        "agent_id": who,
        "expects": [views.pending_answer(index, "to", entry, desk.now()) for entry in expects],
        "owes": [views.pending_answer(index, "from", entry, desk.now()) for entry in owes],
        "unheard": index.count(conversation_state.NAME, f"{registers.UNHEARD} {who}"),
    }


@op("cbcl.beliefs", reads=True, screen="cbcl_talk", examples=("bb cbcl beliefs --agent cobalt-harbor",))
def beliefs(
    desk: Desk,
    *,
    agent: AgentOrPerson | None = None,
    limit: Limit = Limit(100),  # noqa: B008
) -> dict[str, Any]:
    """List the statements received and sent with tell, newest first, with their senders.

    bb does not check whether a statement is true. `verified` says whether it is proven to come from its sender.
    """
    who, index = views.reader(desk, agent)
    statements: dict[tuple[str, str], dict[str, Any]] = {}
    proofs = Proofs(desk.store, index, desk.env)
    for ts, (teller, text, event) in views.newest(index, f"{registers.BELIEF} {who}"):
        statement = text or views.content(index, event)
        if statement:  # empty if the statement was redacted
            proved = {"verified": proofs.proof_of(who, event, text)}
            statements.setdefault(
                (teller, statement), {"who": teller, "text": statement, "event_id": event, "at": ts, **proved}
            )
        if len(statements) > limit:
            break
    return {"agent_id": who, **_up_to(limit, "beliefs", list(statements.values()))}


@op(
    "cbcl.conversations",
    reads=True,
    screen="cbcl_talk",
    examples=("bb cbcl conversations --agent cobalt-harbor", "bb cbcl conversations format"),
)
def conversations(
    desk: Desk,
    thread: UncheckedText | None = None,
    *,
    agent: AgentOrPerson | None = None,
    limit: Limit = Limit(100),  # noqa: B008
) -> dict[str, Any]:
    """List your threads, newest first; or show the latest messages of one thread, oldest first.

    Parameters:
        thread (THREAD): The thread of the conversation; all conversations unless given.
    """
    who, index = views.reader(desk, agent)
    if thread is None:
        rows = islice(index.newest_first(conversation_state.NAME, f"{registers.CONVERSATION} {who}"), limit + 1)
        threads = [views.thread(index, who, *state["last"][3]) for _, _, state in rows]
        return {"agent_id": who, **_up_to(limit, "conversations", threads)}
    proofs = Proofs(desk.store, index, desk.env)
    entries = islice(views.newest(index, f"{registers.ENTRY} {who} {thread}"), limit + 1)
    messages = [
        views.entry(index, ts, entry) | {"verified": proofs.proof_of(who, event, text)}
        for ts, entry in entries
        for text, event in [entry[-2:]]
    ]
    answer = _up_to(limit, "messages", messages)
    return {"agent_id": who, "thread": thread, **answer, "messages": answer["messages"][::-1]}


def _up_to(limit: int, name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The first LIMIT rows under NAME, and `has_more` if there are more."""
    return {name: rows[:limit], **({"has_more": True} if len(rows) > limit else {})}
