"""Where chat comes from and goes to (C2A): what a bridge hands in, what it has to post, and under which names agents
are known there."""

from __future__ import annotations

from itertools import islice

from bb.attention.acts import configuration, outbox
from bb.attention.incoming import receiving
from bb.attention.messages import envelopes, messages
from bb.attention.messages.message import in_order
from bb.attention.rehearsal.rehearsal import Rehearsal
from bb.attention.state import threads, tuning
from bb.attention.state.cached import Gathered
from bb.attention.surfaces import SURFACES
from bb.attention.words import CONVERSATIONS, SIGNALS
from bb.kernel import json_text
from bb.kernel.errors import BbError, Usage
from bb.kernel.gc_pause import Undisturbed
from bb.ledger.records.store import must_be_recordable
from bb.ledger.views import attention
from bb.messaging.chat.principals import SERVICE
from bb.ops.attention.attention_desk import Attending
from bb.ops.catalogue import op
from bb.ops.params import AgentId, GroupId, Json, Name, Number, Text, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeVar

    from bb.attention.facts import AttentionFact
    from bb.attention.messages.message import Message
    from bb.ledger.index.index import Index
    from bb.ops.desk.desk import Desk

    T = TypeVar("T")

AT_ONCE = 4000  # lines that reach the disk together
LONGEST_LINE = 1 << 20
MOST_TOLD = 100  # lines of which it is said what became of them
FOR_EVER = 10**9  # seconds
NATIVE, ENVELOPE = "c2a", "envelope"
BRIDGE = f"{SERVICE}bridge"


class NotALine(Usage):
    """A line is one JSON object."""

    code = "INVALID_LINE"
    hint = "one JSON object on each line, as docs/surfaces.md shows"


class UnknownSetting(Usage):
    """What is to be set is given as a JSON object."""

    code = "INVALID_SETTING"


class Format(Text):
    """What comes in: lines of our own (c2a), envelopes of `chat/deliver`, or what a platform sends."""

    metavar = "FORMAT"
    choices = (NATIVE, ENVELOPE, *SURFACES)


class Lines(Json):
    """The lines, as a list of objects; they are read from stdin unless given."""


class SecretEnv(Text):
    """The environment variable that holds the secret by which the platform signs; then all must be signed."""

    metavar = "NAME"


class HeadersFile(Name):
    """The file with the headers of a saved payload, as a JSON object."""

    metavar = "FILE"


class Handle(Text):
    """A name on a platform, such as slack:U123 or github:amber-bot. Repeat it for several."""

    metavar = "PLATFORM:ID"


class RoleName(Text):
    """A role or group, such as @backend, or slack:@S123. Repeat it for several."""

    metavar = "ROLE"


class StreamName(Text):
    """A stream of work that it owns. Repeat it for several."""

    metavar = "STREAM"


class ThreadOwned(Text):
    """A thread that it owns, as CONVERSATION/THREAD. Repeat it for several."""

    metavar = "THREAD"


class Private(Text):
    """A private conversation with it, by its id. Repeat it for several."""

    metavar = "CONVERSATION"


class ConversationId(Text):
    """The conversation, by its id."""

    metavar = "CONVERSATION"


class KindOf(Text):
    """dm, channel, thread, system or tool."""

    metavar = "KIND"
    choices = CONVERSATIONS


class Member(AgentId):
    """An agent that may see what is said there, where it is private. Repeat it for several."""


class Lead(AgentId):
    """Who leads it: asked first when somebody has not answered."""


class Owner(AgentId):
    """Who owns the work it is about."""


class Settings(Json):
    """What is to hold from now on, as a JSON object; null sets one back."""


class Glyphs(Json):
    """How signals look here: a JSON object, from the name of a signal to its glyph."""


class MessageId(Text):
    """The message, as the outbox names it."""

    metavar = "ID"


class PlatformId(Text):
    """What it is called where it was posted."""

    metavar = "ID"


class Failure(Text):
    """Why the platform has refused it for good."""

    metavar = "REASON"


class StreamOf(Text):
    """The stream of work that it belongs to."""

    metavar = "STREAM"


class PlatformOf(Text):
    """The platform that it lives on."""

    metavar = "PLATFORM"


class Rows(Number):
    """At most so many, the oldest first."""

    most = 1000


@op(
    "chat.ingest",
    screen="attention_host",
    examples=("bb chat ingest < lines.jsonl", "bb chat ingest --format github < payload.json"),
)
def ingest(
    desk: Desk,
    *,
    format: Format = Format(NATIVE),  # noqa: A002, B008
    lines: Lines | None = None,
    headers: HeadersFile | None = None,
    secret_env: SecretEnv | None = None,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Take in what was said on a surface: messages, edits, deletions, reactions, typing, one JSON object a line.

    What came before comes to nothing new. A line that cannot be understood stops no other: all that can be is recorded,
    and then the command fails and names those that could not.
    """
    at = Attending(desk, desk.principal(), group_id)
    how = {"format": format, "headers": headers, "secret_env": secret_env}
    took = _Taken(at)
    take = took.take_envelopes if format == ENVELOPE else took.take
    source = _given(lines, desk) if format in (NATIVE, ENVELOPE) and not secret_env else None
    if source is None:
        from bb.ops.attention import payloads  # noqa: PLC0415  (what platforms send, and how they sign it)

        source = payloads.lines(desk, lines, how)
    count = 0
    while chunk := list(islice(source, AT_ONCE)):
        with Undisturbed():
            take(chunk)
        count += len(chunk)
        if desk.progress:
            desk.progress(count, 0, "lines")
    return took.answer()


def _given(lines: Any, desk: Desk) -> Iterator[Any]:
    """The lines: those of a request, or those on stdin."""
    if lines is not None:
        if not isinstance(lines, list):
            raise NotALine("lines is a list of objects", path="$.lines")
        yield from lines
    elif desk.stdin:
        yield from (line for line in desk.stdin if line.strip())


class _Taken:
    """What has been taken in, batch by batch."""

    def __init__(self, at: Attending) -> None:
        self._at = at
        self._count = 0
        self.counts: dict[str, int] = {}
        self.told: list[dict[str, Any]] = []
        self.refused: list[dict[str, Any]] = []

    def take(self, raw: Iterable[Any]) -> None:
        """Take in lines of a surface."""
        now = self._at.desk.now()
        read = list(self._read(raw, lambda each: envelopes.line(each, now)))
        lines = in_order(read, lambda each: each[1].counted)

        def decide(index: Index) -> list[AttentionFact]:
            below = Gathered(index)
            below.gather(messages.NAME, [line.event for _, line in lines])
            below.gather(threads.NAME, [line.message.window for _, line in lines if line.message])
            over = self._over(index, below, now)
            answers: list[dict[str, Any]] = []
            for number, line in lines:
                by = f"{SERVICE}{line.platform}" if _is_plain(line.platform) else BRIDGE
                try:
                    facts, answer = receiving.receive(over.book, line, by, now)
                    _must_be_recordable(facts)
                except BbError as refusal:
                    self._refuse(number, refusal)
                    continue
                over.record(facts, now)
                answers.append(answer)
            self._note(answers)
            return [fact for _, _, fact in over.lines]

        self._record(decide, now, is_empty=not lines)

    def take_envelopes(self, raw: Iterable[Any]) -> None:
        """Take in what another host has delivered: what it has decided counts."""
        from bb.attention.incoming import handed_over  # noqa: PLC0415  (whoever has a host besides bb)

        now = self._at.desk.now()
        given = list(self._read(raw, _parameters))

        def decide(index: Index) -> list[AttentionFact]:
            over = self._over(index, Gathered(index), now)
            for number, each in given:
                try:
                    agent = self._addressee(over, envelopes.delivered(each, now).message)
                    facts, answer = handed_over.received(over.book, agent, each, BRIDGE, now)
                    _must_be_recordable(facts)
                except BbError as refusal:
                    self._refuse(number, refusal)
                    continue
                over.record(facts, now)
                self._note([{"eventId": each["eventId"], "type": envelopes.MESSAGE, "agent": agent, **answer}])
            return [fact for _, _, fact in over.lines]

        self._record(decide, now, is_empty=not given)

    def _addressee(self, over: Rehearsal, said: Message) -> str:
        """For whom it is: whom it names, by whatever name, or else the agent that works here."""
        agent = over.book.directory.agent(said.recipient, said.platform) or self._at.desk.env.get("BB_AGENT")
        if not agent or agent not in over.agents:
            raise envelopes.invalid("nobody here is called so, and BB_AGENT is not set", "/target/recipient")
        return agent

    def _over(self, index: Index, below: Gathered, now: int) -> Rehearsal:
        """What is known, and what is taken in on top of it: each line is decided about knowing those before."""
        store = self._at.store
        agents = attention.book(store, index, now, self._at.desk.stale_after_in(index)).agents
        return Rehearsal(below, agents, lambda name: attention.data_of(store, name), "~")

    def _record(self, decide: Callable[[Index], list[AttentionFact]], now: int, *, is_empty: bool) -> None:
        if not is_empty:
            who = self._at.agent if self._at.desk.env.get("BB_AGENT") else "user"
            self._at.store.record(decide, by=who, now=now, author=lambda fact: str(getattr(fact, "by", who)))

    def _read(self, raw: Iterable[Any], read: Callable[[Any], T]) -> Iterator[tuple[int, T]]:
        """What can be understood, each with the number of its line."""
        for line in raw:
            self._count += 1
            try:
                if isinstance(line, BbError):  # a payload that says nothing
                    raise line
                yield self._count, read(_object(line))
            except BbError as refusal:
                self._refuse(self._count, refusal)

    def _refuse(self, number: int, refusal: BbError) -> None:
        told = {"line": number, "code": refusal.code, "message": refusal.message, **refusal.details}
        self.refused.append(told)

    def _note(self, answers: list[dict[str, Any]]) -> None:
        for answer in answers:
            status = str(answer.get("status"))
            self.counts[status] = self.counts.get(status, 0) + 1
        self.told += answers[: MOST_TOLD - len(self.told)]

    def answer(self) -> dict[str, Any]:
        if self.refused:
            first = self.refused[0]
            which = "" if len(self.refused) == 1 and not self.counts else f"line {first['line']}: "
            refusal = envelopes.InvalidEnvelope(
                f"{which}{first['message']}",
                pointer=first.get("pointer"),
                counts=self.counts,
                refused=self.refused[:MOST_TOLD],
            )
            refusal.code = first["code"]
            raise refusal
        return {"counts": self.counts, "events": self.told}


def _must_be_recordable(facts: Iterable[AttentionFact]) -> None:
    """Refuse the facts of one line where any of them would be refused: they would stop all the others with them."""
    for fact in facts:
        must_be_recordable(fact)


def _is_plain(platform: str) -> bool:
    return platform.isascii() and platform.replace("-", "").replace("_", "").isalnum() and platform != "cccc"


def _object(raw: Any) -> Any:
    if not isinstance(raw, bytes):
        return raw
    if len(raw) > LONGEST_LINE:
        raise NotALine(f"a line is longer than {LONGEST_LINE:,} bytes")
    try:
        return json_text.loads(raw.decode())
    except (json_text.NotJson, UnicodeDecodeError):
        raise NotALine("the line is no JSON") from None


def _parameters(given: Any) -> Any:
    """What is delivered, of the whole request or by itself."""
    is_request = isinstance(given, dict) and given.get("method") == "chat/deliver"
    return given.get("params") if is_request else given


@op(
    "chat.bind",
    screen="attention_host",
    examples=(
        "bb chat bind amber-otter --handle slack:U123 --role @backend",
        "bb chat bind amber-otter --stream acme/kettle --conversation slack-D9",
    ),
    remove="Take these names away instead; without any, all of them.",
)
def bind(
    desk: Desk,
    agent: AgentId | None = None,
    *,
    handle: list[Handle] | None = None,
    role: list[RoleName] | None = None,
    stream: list[StreamName] | None = None,
    thread: list[ThreadOwned] | None = None,
    conversation: list[Private] | None = None,
    remove: bool = False,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Say under which names an agent is known on a platform, and what it owns. Without any, what it is bound to."""
    at = Attending(desk, agent, group_id)
    names = {
        "handles": handle,
        "roles": role,
        "streams": stream,
        "threads": [" ".join(each.rsplit("/", 1)) for each in thread or ()],
        "conversations": conversation,
    }
    given = {name: list(listed) for name, listed in names.items() if listed}
    if not given and not remove:
        return configuration.bindings(at.book(), agent)
    by = desk.principal()
    return at.act(lambda book, _: configuration.bind(book, by, at.subject, given, remove=remove), by)


@op(
    "chat.arrange",
    screen="attention_host",
    examples=("bb chat arrange slack-C123 --private --member amber-otter --lead amber-otter",),
    private="Only its members may see what is said there.",
    public="Everybody may.",
    external="What agents say there is posted by a bridge: it waits in the outbox.",
)
def arrange(
    desk: Desk,
    conversation: ConversationId,
    *,
    kind: KindOf | None = None,
    private: bool = False,
    public: bool = False,
    member: list[Member] | None = None,
    lead: Lead | None = None,
    owner: Owner | None = None,
    stream: StreamOf | None = None,
    platform: PlatformOf | None = None,
    external: bool = False,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Say what holds in a conversation: who may see it, who leads it, where it lives. Or see what does."""
    if private and public:
        raise Usage("a conversation is private or public", hint="leave out one of the two")
    at = Attending(desk, desk.principal(), group_id)
    about = {
        "kind": kind,
        "is_private": True if private else False if public else None,
        "members": [str(each) for each in member] if member else None,
        "lead": lead,
        "owner": owner,
        "stream": stream,
        "platform": platform,
        "is_external": True if external else None,
    }
    given = {name: value for name, value in about.items() if value is not None}
    if not given:
        return configuration.conversation(at.book(), conversation)
    by = desk.principal()
    return at.act(lambda book, _: configuration.arrange(book, by, conversation, given), by)


@op(
    "chat.policy",
    screen="attention_host",
    examples=("bb chat policy", """bb chat policy --set '{"compose_ms": 2000}'"""),
)
def policy(desk: Desk, *, set: Settings | None = None, group_id: GroupId | None = None) -> dict[str, Any]:  # noqa: A002
    """How the host weighs things: the default matrix, the rules of this workspace, and every time and limit."""
    at = Attending(desk, desk.principal(), group_id)
    if set is None:
        return configuration.policy(at.book())
    by = desk.principal()
    return at.act(lambda book, _: configuration.tune(book, by, set), by)


@op(
    "chat.signals",
    reads=True,
    screen="attention_host",
    examples=("bb chat signals", """bb chat signals --set '{"done": "🏁"}'"""),
)
def signals(desk: Desk, *, set: Glyphs | None = None, group_id: GroupId | None = None) -> dict[str, Any]:  # noqa: A002
    """The nine signals, what each says, and how it looks here."""
    at = Attending(desk, desk.principal(), group_id)
    if set is not None:
        by = desk.principal()
        at.act(lambda book, _: configuration.tune(book, by, {"glyphs": set}), by)
    tuned = at.book().tuning
    found = {
        name: {"glyph": tuning.glyph_of(name, tuned), "disposition": each.disposition} for name, each in SIGNALS.items()
    }
    return {"signals": found, "own": dict(tuned.signals)}


@op(
    "chat.outbox",
    screen="attention_host",
    output="feed",
    examples=("bb chat outbox", "bb chat outbox --follow", "bb chat outbox ack ID --platform-id 1748.2"),
    streams=True,
    follow="Go on with what comes, one JSON object a line, until interrupted.",
    unknown="It is not known whether it was posted: whoever tries again looks first.",
)
def outbox_(
    desk: Desk,
    action: Text | None = None,
    id: MessageId | None = None,  # noqa: A002
    *,
    platform_id: PlatformId | None = None,
    failed: Failure | None = None,
    unknown: bool = False,
    follow: bool = False,
    limit: Rows = Rows(100),  # noqa: B008
    group_id: GroupId | None = None,
) -> Any:
    """What agents said where somebody else has to post it; `ack ID` says that this was done, or will never be."""
    at = Attending(desk, desk.principal(), group_id)
    if action is None:
        for name, given in (("platform_id", platform_id), ("failed", failed), ("unknown", unknown)):
            if given:
                raise invalid(f"--{name.replace('_', '-')} goes with `ack ID`", name)
        return outbox_rows(at, follow=follow, limit=limit)
    if action != "ack" or not id:
        raise Usage("outbox takes `ack ID`, or nothing", hint="`bb chat outbox ack ID --platform-id …`")
    if follow:
        raise invalid("--follow goes with the list, and not with `ack`", "follow")
    by = desk.principal()
    about = {"platform_id": platform_id, "reason": failed, "unknown": unknown}
    return at.act(lambda book, now: outbox.confirm(book, by, id, about, now), by)


def outbox_rows(at: Attending, *, follow: bool, limit: int) -> Iterator[dict[str, Any]]:
    """What is to be posted; with FOLLOW also what comes, each once."""
    from bb.ledger.records.changes import Watch  # noqa: PLC0415

    seen: set[str] = set()
    for found in islice(outbox.due(at.book()), limit):
        seen.add(str(found["id"]))
        yield found
    if not follow:
        return
    watch = Watch(at.store)
    for _ in watch.changes(FOR_EVER, every_minute=lambda: None, is_over=at.desk.has_left):
        for found in outbox.due(at.book()):
            if found["id"] not in seen:
                seen.add(str(found["id"]))
                yield found
