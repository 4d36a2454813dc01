"""CBCL between the agents of a repository: what they say travels as mail, and each hears what has come for it."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice

from bb.cbcl.judge.expansion import UnknownDialect
from bb.cbcl.read.fuel import ResourceLimit
from bb.ledger.views import cbcl as ledger
from bb.ledger.views.proofs import Proofs
from bb.messaging.cbcl import conversation_state
from bb.ops.catalogue import op
from bb.ops.cbcl import views
from bb.ops.cbcl.speaker import Talk
from bb.ops.desk import signs_of_life
from bb.ops.mail.mail import text_of as given_text
from bb.ops.params import Key, Number, Plain, Reason, Someone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.ledger.index.index import Index
    from bb.ops.desk.desk import Desk


class Said(Plain):
    """The message, such as '(tell @bob "Done.")'; `-` reads it from stdin."""

    metavar = "MESSAGE"


class Whom(Plain):
    """Whom it goes to, where it does not say so itself. Repeat it for several."""

    metavar = "ID"
    is_agent = True

    @classmethod
    def checked(cls, text: str, name: str) -> Any:
        return text.removeprefix("@")


class Limit(Number):
    """At most so many."""

    most = 1000


class ThreadName(Plain):
    """The conversation, by its thread; all of them unless given."""

    metavar = "THREAD"


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
    message: Said,
    *,
    agent: Someone | None = None,
    to: list[Whom] | None = None,
    key: Key | None = None,
    allow_secret: Reason | None = None,
) -> dict[str, Any]:
    """Say something in CBCL to an agent of this repository, or to @user, the person.

    It is mail as any other: the recipient's inbox shows it. What has come for you is heard first, since an answer is an
    answer to something. A call in a dialect goes to whom it comes to, where the dialect is installed here.
    """
    return say(desk, given_text(desk, message), agent, to or (), key=key, allow_secret=allow_secret)


def say(
    desk: Desk,
    text: str,
    agent: str | None,
    to: Sequence[str] = (),
    *,
    key: str | None = None,
    allow_secret: str | None = None,
) -> dict[str, Any]:
    """Let AGENT say TEXT, once it has heard what has come."""
    talk = Talk(desk, agent)
    octets = talk.signed(text.encode("utf-8", "surrogatepass"))
    if key is None:  # else it may have been said already
        # What cannot be said is refused now: a refusal has no place to show what was heard. Only what comes may teach
        # the dialect, or settle what is too much.
        with suppress(UnknownDialect, ResourceLimit):
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
    agent: Someone | None = None,
    limit: Limit = Limit(100),  # noqa: B008
) -> dict[str, Any]:
    """Take what was said to you in CBCL, oldest first, and answer what is to be answered.

    Each message is verified and then taken whole, or refused whole and answered with an error. A tell is remembered as
    its sender's word, an ask as an answer you owe, a reply settles what you have asked.
    """
    talk = Talk(desk, agent)
    heard: list[dict[str, Any]] = []
    with suppress(KeyboardInterrupt):  # whoever has enough of it is told what was heard until then
        for each in talk.hear_all(limit):
            heard.append(each)  # noqa: PERF402  (one by one: it may end at any of them)
    left = desk.store.caught_up().count(conversation_state.NAME, f"{conversation_state.UNHEARD} {talk.who}")
    return {"agent_id": talk.who, "heard": heard, "left": left}


@op("cbcl.pending", reads=True, screen="cbcl_talk", examples=("bb cbcl pending --agent cobalt-harbor",))
def pending(desk: Desk, *, agent: Someone | None = None) -> dict[str, Any]:
    """The answers that you wait for, and those that you owe. Looking changes nothing."""
    who, index = views.reader(desk, agent)
    expects, owes = (
        ledger.opened(index, what, who) for what in (conversation_state.EXPECTED, conversation_state.OBLIGED)
    )
    return {
        "agent_id": who,
        "expects": [views.opened(index, "to", each, desk.now()) for each in expects],
        "owes": [views.opened(index, "from", each, desk.now()) for each in owes],
        "unheard": index.count(conversation_state.NAME, f"{conversation_state.UNHEARD} {who}"),
    }


@op("cbcl.beliefs", reads=True, screen="cbcl_talk", examples=("bb cbcl beliefs --agent cobalt-harbor",))
def beliefs(
    desk: Desk,
    *,
    agent: Someone | None = None,
    limit: Limit = Limit(100),  # noqa: B008
) -> dict[str, Any]:
    """What you were told and by whom, the newest first; what you have told others is among it.

    It is each sender's word. Nobody has checked that it is true; `verified` says whether it is proved to be the
    sender's.
    """
    who, index = views.reader(desk, agent)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    proofs = Proofs(desk.store, index, desk.env)
    for ts, (teller, text, event) in views.newest(index, f"{conversation_state.BELIEF} {who}"):
        said = text or views.content(index, event)
        if said:  # else it was taken back
            proved = {"verified": proofs.of(who, event, text)}
            found.setdefault((teller, said), {"who": teller, "text": said, "event_id": event, "at": ts, **proved})
        if len(found) > limit:
            break
    return {"agent_id": who, **_up_to(limit, "beliefs", list(found.values()))}


@op(
    "cbcl.conversations",
    reads=True,
    screen="cbcl_talk",
    examples=("bb cbcl conversations --agent cobalt-harbor", "bb cbcl conversations format"),
)
def conversations(
    desk: Desk,
    thread: ThreadName | None = None,
    *,
    agent: Someone | None = None,
    limit: Limit = Limit(100),  # noqa: B008
) -> dict[str, Any]:
    """The threads you take part in, the newest first; or the last that was said in one of them, oldest first."""
    who, index = views.reader(desk, agent)
    if thread is None:
        rows = islice(
            index.newest_first(conversation_state.NAME, f"{conversation_state.CONVERSATION} {who}"), limit + 1
        )
        found = [views.thread(index, who, *state["last"][3]) for _, _, state in rows]
        return {"agent_id": who, **_up_to(limit, "conversations", found)}
    proofs = Proofs(desk.store, index, desk.env)
    entries = islice(views.newest(index, f"{conversation_state.ENTRY} {who} {thread}"), limit + 1)
    messages = [
        views.entry(index, ts, said) | {"verified": proofs.of(who, event, text)}
        for ts, said in entries
        for text, event in [said[-2:]]
    ]
    shown = _up_to(limit, "messages", messages)
    return {"agent_id": who, "thread": thread, **shown, "messages": shown["messages"][::-1]}


def _up_to(limit: int, name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """So many rows under that name; and that there are more, if so."""
    return {name: rows[:limit], **({"has_more": True} if len(rows) > limit else {})}
