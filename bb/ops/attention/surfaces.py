"""Platforms of chat (C2A): lines that a bridge brings, messages that it has to post, and the agents' names there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from bb.attention.acts import configuration, outbox
from bb.attention.facts import AttentionFact
from bb.attention.incoming import receiving
from bb.attention.messages import envelopes, messages
from bb.attention.messages.message import Message, in_sequence_order
from bb.attention.rehearsal.rehearsal import Rehearsal
from bb.attention.state import threads, tuning
from bb.attention.state.book import Gathered
from bb.attention.surfaces import SURFACES
from bb.attention.words import CONVERSATIONS, SIGNALS
from bb.kernel import json_text
from bb.kernel.errors import BbError, Usage
from bb.kernel.gc_pause import GcPause
from bb.ledger.index.index import Index
from bb.ledger.records.recordable import must_be_recordable
from bb.ledger.views import attention
from bb.messaging.chat.principals import SERVICE
from bb.ops.attention.attention_desk import C2aDesk
from bb.ops.catalogue import op
from bb.ops.desk.desk import Desk
from bb.ops.params import AgentId, GroupId, Json, Name, Number, Text, invalid

T = TypeVar("T")

AT_ONCE = 4000  # lines that are recorded together
LONGEST_LINE = 1 << 20
MOST_TOLD = 100  # lines whose result is part of the answer
FOR_EVER = 10**9  # seconds
NATIVE, ENVELOPE = "c2a", "envelope"
BRIDGE = f"{SERVICE}bridge"


class NotALine(Usage):
    """The line is not a JSON object."""

    code = "INVALID_LINE"
    hint = "pass one JSON object per line, as docs/surfaces.md shows"


class UnknownSetting(Usage):
    """The settings must be a JSON object."""

    code = "INVALID_SETTING"


class Format(Text):
    """The input format: lines of bb (c2a), envelopes of `chat/deliver`, or payloads of a platform."""

    metavar = "FORMAT"
    choices = (NATIVE, ENVELOPE, *SURFACES)


class KindOf(Text):
    """The kind of conversation: dm, channel, thread, system or tool."""

    metavar = "KIND"
    choices = CONVERSATIONS


class Rows(Number):
    """At most this many messages, the oldest first."""

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
    lines: Json | None = None,
    headers: Name | None = None,
    secret_env: Text | None = None,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Import what happened on a platform: messages, edits, deletions, reactions and typing, one JSON object per line.

    A line that was imported before changes nothing. Invalid lines do not stop the import: all valid lines are recorded,
    then the command fails and lists the invalid ones.

    Parameters:
        lines: The lines as a list of objects; read from stdin unless given.
        headers (FILE): The file with the headers of a saved payload, as a JSON object.
        secret_env (NAME): The environment variable with the platform's signing secret. With it, unsigned payloads are
            refused.
    """
    at = C2aDesk(desk, desk.principal(), group_id)
    how = {"format": format, "headers": headers, "secret_env": secret_env}
    took = _Taken(at)
    take = took.take_envelopes if format == ENVELOPE else took.take
    source = _given(lines, desk) if format in (NATIVE, ENVELOPE) and not secret_env else None
    if source is None:
        from bb.ops.attention import payloads  # noqa: PLC0415  (only needed for payloads of platforms)

        source = payloads.lines(desk, lines, how)
    count = 0
    while chunk := list(islice(source, AT_ONCE)):
        with GcPause():
            take(chunk)
        count += len(chunk)
        if desk.progress:
            desk.progress(count, 0, "lines")
    return took.answer()


def _given(lines: Any, desk: Desk) -> Iterator[Any]:
    """The lines: those of a request, or those on stdin."""
    if lines is not None:
        if not isinstance(lines, list):
            raise NotALine("lines must be a list of objects", path="$.lines")
        yield from lines
    elif desk.stdin:
        yield from (line for line in desk.stdin if line.strip())


class _Taken:
    """The import: its results so far, batch by batch."""

    def __init__(self, at: C2aDesk) -> None:
        self._at = at
        self._count = 0
        self.counts: dict[str, int] = {}
        self.told: list[dict[str, Any]] = []
        self.refused: list[dict[str, Any]] = []

    def take(self, raw: Iterable[Any]) -> None:
        """Import lines in bb's own form."""
        now = self._at.desk.now()
        read = list(self._read(raw, lambda line: envelopes.parse_line(line, now)))
        lines = in_sequence_order(read, lambda numbered: numbered[1].counted)

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
        """Import deliveries of another host. The decisions of that host apply."""
        from bb.attention.incoming import handed_over  # noqa: PLC0415  (only needed with another host)

        now = self._at.desk.now()
        given = list(self._read(raw, _parameters))

        def decide(index: Index) -> list[AttentionFact]:
            over = self._over(index, Gathered(index), now)
            for number, each in given:
                try:
                    agent = self._addressee(over, envelopes.parse_delivery(each, now).message)
                    facts, answer = handed_over.receive_delivery(over.book, agent, each, BRIDGE, now)
                    _must_be_recordable(facts)
                except BbError as refusal:
                    self._refuse(number, refusal)
                    continue
                over.record(facts, now)
                self._note([{"eventId": each["eventId"], "type": envelopes.MESSAGE, "agent": agent, **answer}])
            return [fact for _, _, fact in over.lines]

        self._record(decide, now, is_empty=not given)

    def _addressee(self, over: Rehearsal, message: Message) -> str:
        """The addressee: the recipient that the message names, else BB_AGENT."""
        agent = over.book.directory.agent(message.recipient, message.platform) or self._at.desk.env.get("BB_AGENT")
        if not agent or agent not in over.agents:
            raise envelopes.invalid("no agent here has that name, and BB_AGENT is not set", "/target/recipient")
        return agent

    def _over(self, index: Index, below: Gathered, now: int) -> Rehearsal:
        """The recorded state plus the lines of this batch, so that each line is judged knowing the lines before it."""
        store = self._at.store
        agents = attention.book(store, index, now, self._at.desk.stale_after_in(index)).agents
        return Rehearsal(below, agents, lambda name: attention.event_data(store, name), "~")

    def _record(self, decide: Callable[[Index], list[AttentionFact]], now: int, *, is_empty: bool) -> None:
        if not is_empty:
            who = self._at.agent if self._at.desk.env.get("BB_AGENT") else "user"
            self._at.store.record(decide, by=who, now=now, author=lambda fact: str(getattr(fact, "by", who)))

    def _read(self, raw: Iterable[Any], read: Callable[[Any], T]) -> Iterator[tuple[int, T]]:
        """The valid lines, each with its number."""
        for line in raw:
            self._count += 1
            try:
                if isinstance(line, BbError):  # an invalid payload
                    raise line
                yield self._count, read(_object(line))
            except BbError as refusal:
                self._refuse(self._count, refusal)

    def _refuse(self, number: int, refusal: BbError) -> None:
        row = {"line": number, "code": refusal.code, "message": refusal.message, **refusal.details}
        self.refused.append(row)

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
    """Refuse a line if one of its facts cannot be recorded. Otherwise that fact would stop the whole batch."""
    for fact in facts:
        must_be_recordable(fact)


def _is_plain(platform: str) -> bool:
    return platform.isascii() and platform.replace("-", "").replace("_", "").isalnum() and platform != "cccc"


def _object(raw: Any) -> Any:
    if not isinstance(raw, bytes):
        return raw
    if len(raw) > LONGEST_LINE:
        raise NotALine(f"the line is longer than {LONGEST_LINE:,} bytes")
    try:
        return json_text.loads(raw.decode())
    except (json_text.NotJson, UnicodeDecodeError):
        raise NotALine("the line is not valid JSON") from None


def _parameters(given: Any) -> Any:
    """The parameters of a `chat/deliver` request; GIVEN is the request or only its parameters."""
    is_request = isinstance(given, dict) and given.get("method") == "chat/deliver"
    return given.get("params") if is_request else given


@op(
    "chat.bind",
    screen="attention_host",
    examples=(
        "bb chat bind amber-otter --handle slack:U123 --role @backend",
        "bb chat bind amber-otter --stream acme/kettle --conversation slack-D9",
    ),
)
def bind(
    desk: Desk,
    agent: AgentId | None = None,
    *,
    handle: list[Text] | None = None,
    role: list[Text] | None = None,
    stream: list[Text] | None = None,
    thread: list[Text] | None = None,
    conversation: list[Text] | None = None,
    remove: bool = False,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Set an agent's names on platforms, and what it owns. Without options, show them.

    Parameters:
        handle (PLATFORM:ID): A name on a platform, such as slack:U123 or github:amber-bot. May be repeated.
        role (ROLE): A role or group, such as @backend, or slack:@S123. May be repeated.
        stream (STREAM): A work stream that the agent owns. May be repeated.
        thread (THREAD): A thread that the agent owns, as CONVERSATION/THREAD. May be repeated.
        conversation (CONVERSATION): The id of a private conversation with the agent. May be repeated.
        remove: Remove these names; without any, remove all names.
    """
    at = C2aDesk(desk, agent, group_id)
    names = {
        "handles": handle,
        "roles": role,
        "streams": stream,
        "threads": [" ".join(name.rsplit("/", 1)) for name in thread or ()],
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
)
def arrange(
    desk: Desk,
    conversation: Text,
    *,
    kind: KindOf | None = None,
    private: bool = False,
    public: bool = False,
    member: list[AgentId] | None = None,
    lead: AgentId | None = None,
    owner: AgentId | None = None,
    stream: Text | None = None,
    platform: Text | None = None,
    external: bool = False,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Configure a conversation: its visibility, members, lead and platform. Without options, show its configuration.

    Parameters:
        conversation (CONVERSATION): The id of the conversation.
        private: Only members may see the conversation.
        public: All agents may see the conversation.
        member: A member: an agent that may see the conversation if it is private. May be repeated.
        lead: The agent that leads the conversation. An unanswered message is escalated to the lead first.
        owner: The agent that owns the work discussed there.
        stream (STREAM): The work stream of the conversation.
        platform (PLATFORM): The platform of the conversation.
        external: A bridge posts the agents' messages there. They wait in the outbox.
    """
    if private and public:
        raise Usage("both --private and --public are given", hint="remove one of the two")
    at = C2aDesk(desk, desk.principal(), group_id)
    about = {
        "kind": kind,
        "is_private": True if private else False if public else None,
        "members": [str(name) for name in member] if member else None,
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
def policy(desk: Desk, *, set: Json | None = None, group_id: GroupId | None = None) -> dict[str, Any]:  # noqa: A002
    """Show or change the host's policy: the default matrix, the rules of this workspace, all times and limits.

    Parameters:
        set: The new settings, as a JSON object; null resets a setting to its default.
    """
    at = C2aDesk(desk, desk.principal(), group_id)
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
def signals(desk: Desk, *, set: Json | None = None, group_id: GroupId | None = None) -> dict[str, Any]:  # noqa: A002
    """Show the nine signals with their effect and glyph, or change the glyphs of this workspace.

    Parameters:
        set: The glyphs of this workspace: a JSON object from the name of a signal to its glyph.
    """
    at = C2aDesk(desk, desk.principal(), group_id)
    if set is not None:
        by = desk.principal()
        at.act(lambda book, _: configuration.tune(book, by, {"glyphs": set}), by)
    tuned = at.book().tuning
    rows = {
        name: {"glyph": tuning.glyph_of(name, tuned), "disposition": signal.disposition}
        for name, signal in SIGNALS.items()
    }
    return {"signals": rows, "own": dict(tuned.signals)}


@op(
    "chat.outbox",
    screen="attention_host",
    output="feed",
    examples=("bb chat outbox", "bb chat outbox --follow", "bb chat outbox ack ID --platform-id 1748.2"),
    streams=True,
)
def outbox_(
    desk: Desk,
    action: Text | None = None,
    id: Text | None = None,  # noqa: A002
    *,
    platform_id: Text | None = None,
    failed: Text | None = None,
    unknown: bool = False,
    follow: bool = False,
    limit: Rows = Rows(100),  # noqa: B008
    group_id: GroupId | None = None,
) -> Any:
    """List the messages that a bridge has to post. `ack ID` confirms that a message was posted or failed for good.

    Parameters:
        action: `ack` confirms the message with this ID. Default: list the messages.
        id (ID): The message's id in the outbox.
        platform_id (ID): The message's id on the platform.
        failed (REASON): The platform has refused the message for good, for this reason.
        unknown: With `ack ID`: it is unknown whether the message was posted, so check the platform before posting
            again.
        follow: Keep showing new messages, one JSON object per line, until interrupted.
    """
    at = C2aDesk(desk, desk.principal(), group_id)
    if action is None:
        for name, value in (("platform_id", platform_id), ("failed", failed), ("unknown", unknown)):
            if value:
                raise invalid(f"--{name.replace('_', '-')} can only be used with `ack ID`", name)
        return outbox_rows(at, follow=follow, limit=limit)
    if action != "ack" or not id:
        raise Usage(
            "the only action of the outbox is `ack ID`", hint="run `bb chat outbox ack ID --platform-id PLATFORM-ID`"
        )
    if follow:
        raise invalid("--follow cannot be used with `ack`", "follow")
    by = desk.principal()
    about = {"platform_id": platform_id, "reason": failed, "unknown": unknown}
    return at.act(lambda book, now: outbox.record_result(book, by, id, about, now), by)


def outbox_rows(at: C2aDesk, *, follow: bool, limit: int) -> Iterator[dict[str, Any]]:
    """The messages to post; with FOLLOW also new ones. Each message is returned once."""
    from bb.ledger.records.changes import LedgerWatch  # noqa: PLC0415

    seen: set[str] = set()
    for message in islice(outbox.to_post(at.book()), limit):
        seen.add(str(message["id"]))
        yield message
    if not follow:
        return
    watch = LedgerWatch(at.store)
    for _ in watch.changes(FOR_EVER, every_minute=lambda: None, is_over=at.desk.is_client_gone):
        for message in outbox.to_post(at.book()):
            if message["id"] not in seen:
                seen.add(str(message["id"]))
                yield message
