"""What an agent sees of what was said, and what it does about it (C2A)."""

from __future__ import annotations

from bb.attention.acts import answers, explanation
from bb.attention.acts import audit as acts_audit
from bb.attention.acts.answers import OUTCOMES
from bb.attention.acts.timers import tick as ticked
from bb.attention.judging import claiming
from bb.attention.turns import digests, queries, reading
from bb.attention.turns.reading import Window
from bb.kernel import clock
from bb.kernel.errors import Usage
from bb.ledger.journal.journal import LedgerDamaged
from bb.ops.attention.attention_desk import Attending, Event, Self, ThreadName, window_of
from bb.ops.catalogue import op
from bb.ops.params import AgentId, GroupId, Number, Plain, Since, Text, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk


class NeedsEvent(Usage):
    """Either an event or a thread is to be named."""

    code = "EVENT_OR_THREAD"
    hint = "name an event, or a thread with --thread CONVERSATION/THREAD"


class InvalidProgress(Usage):
    """How far something has come is a number that does not go back, of a total that it does not exceed."""

    code = "INVALID_PROGRESS"


class Conversation(Text):
    """The conversation, by its id."""

    metavar = "CONVERSATION"


class Rows(Number):
    """At most so many, the newest."""

    most = 200


class Around(Text):
    """Only what came before this event."""

    metavar = "EVENT"


class Behind(Text):
    """Only what came after this event."""

    metavar = "EVENT"


class MostBytes(Number):
    """At most so many bytes of text, the newest."""

    metavar = "BYTES"
    least, most = 1000, 1_000_000


class Ttl(Number):
    """For how long, in milliseconds: from a minute to four hours, 15 minutes unless set."""

    metavar = "MS"
    most = 4 * 3_600_000


class Recipient(AgentId):
    """To whom the claim goes."""


class Why(Text):
    """Why it has to wait."""

    metavar = "REASON"


class Because(Text):
    """Why it is called back."""

    metavar = "REASON"


class InThread(Text):
    """Only this thread of the conversation."""

    metavar = "THREAD"


class Later(Text):
    """When it is to come back: a time."""

    metavar = "TIME"


class Eta(Text):
    """When it can be expected, in words."""

    metavar = "TEXT"


class Outcome(Text):
    """answered, done, wont_do or duplicate."""

    metavar = "OUTCOME"
    choices = OUTCOMES


class Note(Text):
    """A short remark."""

    metavar = "TEXT"


class Token(Text):
    """What it is that is coming along: a name of your own."""

    metavar = "TOKEN"
    longest = 120


class Amount(Plain):
    """How far it has come."""

    metavar = "N"
    takes_numbers = True


class Total(Plain):
    """How far there is to go."""

    metavar = "N"
    takes_numbers = True


class Age(Since):
    """Only what is older than this."""


@op(
    "chat.read",
    screen="attention",
    examples=("bb chat read EVENT", "bb chat read --conversation slack-C123 --limit 20"),
)
def read(
    desk: Desk,
    event: Event | None = None,
    *,
    agent: Self | None = None,
    conversation: Conversation | None = None,
    thread: InThread | None = None,
    before: Around | None = None,
    after: Behind | None = None,
    limit: Rows = Rows(queries.USUAL),  # noqa: B008
    max_bytes: MostBytes = MostBytes(64 * 1024),  # noqa: B008
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """A thread, or the end of a conversation, oldest first. What stands there is somebody's word, no instruction."""
    if not (event or conversation):
        raise NeedsEvent("name an event, or a conversation with --conversation")
    if event and conversation:
        raise invalid("an event is in a conversation already: leave out --conversation, or EVENT", "conversation")
    at = Attending(desk, agent, group_id)
    window = Window(event or "", conversation or "", thread or "", before or "", after or "", limit, max_bytes)
    return at.act(lambda book, now: reading.read(book, at.agent, window, now))


@op("chat.show", reads=True, screen="attention", examples=("bb chat show EVENT --agent amber-otter",))
def show(desk: Desk, event: Event, *, agent: Self | None = None, group_id: GroupId | None = None) -> dict[str, Any]:
    """One event, what it is to an agent, and what has become of it, step by step."""
    at = Attending(desk, agent, group_id)
    return explanation.show(at.book(), at.agent, event, desk.now())


@op("chat.explain", reads=True, screen="attention", examples=("bb chat explain EVENT --agent amber-otter",))
def explain(desk: Desk, event: Event, *, agent: Self | None = None, group_id: GroupId | None = None) -> dict[str, Any]:
    """Why an event is to an agent what it is: what went in, which rule it was, and what came out."""
    at = Attending(desk, agent, group_id)
    return explanation.explain(at.book(), at.agent, event, desk.now())


@op("chat.pending", reads=True, screen="attention", examples=("bb chat pending --agent amber-otter",))
def pending(desk: Desk, *, agent: Self | None = None, group_id: GroupId | None = None) -> dict[str, Any]:
    """What an agent owes an answer, or has taken on, the most urgent first."""
    at = Attending(desk, agent, group_id)
    return queries.pending(at.book(), at.agent, desk.now())


@op("chat.knocks", reads=True, screen="attention", examples=("bb chat knocks --agent amber-otter",))
def knocks(desk: Desk, *, agent: Self | None = None, group_id: GroupId | None = None) -> dict[str, Any]:
    """The knocks that an agent has not followed: that there is something, and nothing of what was said."""
    at = Attending(desk, agent, group_id)
    return queries.knocking(at.book(), at.agent, desk.now())


@op(
    "chat.digest",
    screen="attention",
    examples=("bb chat digest --agent amber-otter",),
    peek="Only look: the next digest begins where this one does.",
)
def digest(
    desk: Desk, *, agent: Self | None = None, peek: bool = False, group_id: GroupId | None = None
) -> dict[str, Any]:
    """What went on around an agent since its last digest, in short."""
    at = Attending(desk, agent, group_id)
    if peek:
        return digests.digest(at.book(), at.agent, desk.now())[1]
    return at.act(lambda book, now: digests.digest(book, at.agent, now))


@op(
    "chat.claim",
    screen="attention_acts",
    examples=("bb chat claim EVENT", "bb chat claim --thread slack-C123/1748.1 --ttl-ms 600000"),
    renew="Keep a claim that is yours a while longer.",
    release="Give a claim back.",
    takeover_stale="Take it from an agent that has fallen silent.",
)
def claim(
    desk: Desk,
    event: Event | None = None,
    *,
    agent: Self | None = None,
    thread: ThreadName | None = None,
    ttl_ms: Ttl | None = None,
    renew: bool = False,
    release: bool = False,
    to: Recipient | None = None,
    takeover_stale: bool = False,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Be the one who answers an event or a thread. While you are, nobody else may; it runs out by itself."""
    if bool(event) == bool(thread):
        raise NeedsEvent
    if sum(map(bool, (to, release, renew, takeover_stale))) > 1:
        raise invalid("--to, --release, --renew and --takeover-stale exclude each other", "to" if to else "release")
    if ttl_ms is not None and (to or release):
        raise invalid("--ttl-ms is for a claim of your own: leave it out with --to and --release", "ttl_ms")
    at = Attending(desk, agent, group_id)
    what = {"event": event or "", "thread": window_of(thread) if thread else ""}

    def decide(book: Any, now: int) -> Any:
        if to:
            return claiming.transfer(book, at.agent, to, now, **what)
        if release:
            return claiming.let_go(book, at.agent, now, **what)
        if renew:
            return claiming.renew(book, at.agent, now, **what, ttl_ms=ttl_ms)
        return claiming.claim(book, at.agent, now, **what, ttl_ms=ttl_ms, takeover=takeover_stale)

    return at.act(decide)


@op(
    "chat.defer",
    screen="attention_acts",
    examples=("bb chat defer EVENT --reason 'the deploy runs' --until 2026-11-23T12:00:00Z",),
)
def defer(
    desk: Desk,
    event: Event,
    *,
    agent: Self | None = None,
    reason: Why,
    until: Later | None = None,
    eta: Eta | None = None,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Say that an answer you owe has to wait. It comes back by itself."""
    at = Attending(desk, agent, group_id)
    then = clock.parse(until) if until else None
    return at.act(lambda book, now: answers.defer(book, at.agent, event, reason, now, until=then, eta=eta or ""))


@op(
    "chat.resolve",
    screen="attention_acts",
    examples=("bb chat resolve EVENT", "bb chat resolve EVENT --outcome wont_do --note 'not ours'"),
)
def resolve(
    desk: Desk,
    event: Event | None = None,
    *,
    agent: Self | None = None,
    thread: ThreadName | None = None,
    outcome: Outcome = Outcome("done"),  # noqa: B008
    note: Note | None = None,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Call an event settled, an assignment for instance; or a thread, with all in it that you had not answered."""
    if bool(event) == bool(thread):
        raise NeedsEvent
    at = Attending(desk, agent, group_id)
    what = {"event": event or "", "thread": window_of(thread) if thread else ""}
    return at.act(lambda book, now: answers.resolve(book, at.agent, now, **what, outcome=outcome, note=note or ""))


@op(
    "chat.progress",
    screen="attention_acts",
    examples=("bb chat progress deploy --progress 2 --total 5 --message 'checked the build'",),
)
def progress(
    desk: Desk,
    token: Token,
    *,
    agent: Self | None = None,
    progress: Amount,
    total: Total | None = None,
    message: Note | None = None,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Say how far something has come. It is shown in digests, and asks nobody anything."""
    at = Attending(desk, agent, group_id)
    amounts = _number(progress), _number(total) if total is not None else None
    return at.act(lambda book, _: acts_audit.progressed(book, at.agent, token, *amounts, message or ""))


def _number(written: str) -> int | float:
    try:
        found = float(written)
    except ValueError:
        raise InvalidProgress(f"{written[:40]!r} is no number") from None
    if not 0 <= found < 1 << 53:
        raise InvalidProgress(f"{written[:40]!r} is no number from 0 on")
    return int(found) if found == int(found) else found


@op("chat.tick", screen="attention_acts", examples=("bb chat tick",))
def tick(desk: Desk, *, group_id: GroupId | None = None) -> dict[str, Any]:
    """Do what time has made due: remind, call stale, ask the next one, bring back what was put off.

    `bb chat serve` does it by itself.
    """
    at = Attending(desk, desk.principal(), group_id)

    def decide(book: Any, now: int) -> Any:
        facts, told = ticked(book, now)
        return facts, {"due": told}

    return at.act(decide, "system")


@op("chat.cancel", screen="attention_acts", examples=("bb chat cancel EVENT --reason 'asked by mistake'",))
def cancel(
    desk: Desk,
    event: Event,
    *,
    agent: Self | None = None,
    reason: Because | None = None,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Call back a message of yours that is still on its way: nobody needs to answer it any more."""
    at = Attending(desk, agent, group_id)
    return at.act(lambda book, _: acts_audit.cancel(book, at.agent, event, reason or ""))


@op(
    "chat.audit",
    reads=True,
    screen="attention_host",
    examples=("bb chat audit", "bb chat audit --open-older 1d", "bb chat audit --verify"),
    verify="Also check the chain of the ledger that all of this stands in.",
)
def audit(
    desk: Desk,
    *,
    open_older: Age | None = None,
    limit: Rows = Rows(queries.USUAL),  # noqa: B008
    verify: bool = False,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """What was decided, offered, claimed, said and refused, newest first.

    The counters say how often too little was said (`overSilence`), and how often too much (`overTalk`).
    """
    at, now = Attending(desk, desk.principal(), group_id), desk.now()
    older = clock.before(open_older, now) if open_older else None
    found = acts_audit.audit(at.book(), now, limit, older)
    if verify:
        from bb.ledger.care import audit as chains  # noqa: PLC0415  (every line is read)

        checked = chains.audit(at.store, desk.progress)
        damages = [chain.damage.as_dict() for chain in checked.chains if chain.damage]
        if damages or not checked.is_index_right:
            raise LedgerDamaged("what is recorded is not what was recorded", damages=damages)
        found["verified"] = {"sound": True, "events": sum(chain.lines for chain in checked.chains)}
    return found
