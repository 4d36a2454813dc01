"""What happened on platforms of chat (C2A): the import of lines and envelopes that a bridge brings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import IO, Any, TypeVar

from bb.attention.acts import confirmation_answers
from bb.attention.facts import Answer, Arranged, AttentionFact, Refusal
from bb.attention.incoming import lines_of_agents, receiving
from bb.attention.messages import envelopes, messages
from bb.attention.messages.message import Message, in_sequence_order
from bb.attention.messages.redaction import redact
from bb.attention.rehearsal.rehearsal import Rehearsal
from bb.attention.state import activity, threads
from bb.attention.state.attention_state import AttentionState, Gathered
from bb.attention.surfaces import SURFACES
from bb.kernel import clock, json_text
from bb.kernel.errors import BbError, Usage
from bb.kernel.escaping import harmless
from bb.kernel.gc_pause import GcPause
from bb.kernel.ids import PERSON
from bb.ledger.index.index import Index
from bb.ledger.records.recordable import must_be_recordable
from bb.ledger.views import attention
from bb.messaging.chat.principals import SERVICE
from bb.ops.agent_params import Name
from bb.ops.attention.attention_desk import C2aDesk
from bb.ops.attention.set_aside import unprocessed
from bb.ops.catalogue import op
from bb.ops.desk.desk import Desk
from bb.ops.json_params import GroupId, Json
from bb.ops.params import Text, invalid

T = TypeVar("T")

AT_ONCE = 4000  # lines that are recorded together
LONGEST_LINE = 1 << 20
MOST_TOLD = 100  # lines whose result is part of the answer
NATIVE, ENVELOPE = "c2a", "envelope"
BRIDGE = f"{SERVICE}bridge"

MOST_KEPT, LONGEST_REASON = 50, 200  # refusals of lines that are recorded within an hour, and their length

NotALine = Usage.declare(
    "INVALID_LINE", "The line is not a JSON object", hint="pass one JSON object per line, as docs/surfaces.md shows"
)


class Format(Text):
    """The input format: lines of bb (c2a), envelopes of `chat/deliver`, or payloads of a platform."""

    metavar = "FORMAT"
    choices = (NATIVE, ENVELOPE, *SURFACES)


@op(
    "chat.ingest",
    screen="attention_host",
    examples=("bb chat ingest < lines.jsonl", "bb chat ingest --format github < payload.json"),
    streams=True,
)
def ingest(
    desk: Desk,
    *,
    format: Format = Format(NATIVE),  # noqa: A002, B008
    lines: Json | None = None,
    headers: Name | None = None,
    secret_env: Text | None = None,
    external: bool = False,
    follow: bool = False,
    group_id: GroupId | None = None,
) -> Any:
    """Import what happened on a platform: messages, edits, deletions, reactions and typing, one JSON object per line.

    A line that was imported before changes nothing. Invalid lines do not stop the import: all valid lines are recorded,
    then the command lists the invalid ones and fails with status 2. Do not import the valid ones again.

    Parameters:
        lines: The lines as a list of objects; read from stdin unless given.
        headers (FILE): The file with the headers of a saved payload, as a JSON object.
        secret_env (NAME): The environment variable with the platform's signing secret. With it, unsigned payloads are
            refused.
        external: Agents' messages in these conversations are posted by a bridge: they wait in the outbox.
        follow: Answer each line of stdin at once with one JSON object, until stdin ends. `code` is that of the first
            refusal, or null.
    """
    at = C2aDesk(desk, desk.principal(), group_id)
    how = {"format": format, "headers": headers, "secret_env": secret_env}
    if follow:
        if lines is not None or headers or desk.stdin is None:
            raise invalid("--follow can only be used with lines on stdin that bring their own headers", "follow")
        return _line_by_line(at, how, desk.stdin, is_external=external)
    took = _Taken(at, is_external=external, is_by_agent=_is_by_agent(desk))
    source = _given(lines, desk) if format in (NATIVE, ENVELOPE) and not secret_env else None
    if source is None:
        from bb.ops.attention import payloads  # noqa: PLC0415  (only needed for payloads of platforms)

        source = payloads.lines(desk, lines, how)
    took.take_all(source, format)
    return took.answer()


def take_from_harness(desk: Desk, agent: str, lines: list[Any]) -> dict[str, Any]:
    """Import lines that the harness of AGENT brings. Because it speaks for an agent, no line is a person's answer."""
    took = _Taken(C2aDesk(desk, desk.principal()), is_external=False, is_by_agent=True, harness=agent)
    took.take_all(iter(lines), NATIVE)
    return took.answer()


def _line_by_line(at: C2aDesk, how: dict[str, Any], stdin: IO[bytes], *, is_external: bool) -> Iterator[dict[str, Any]]:
    """The answer to each line of STDIN."""
    from bb.ops.attention import payloads  # noqa: PLC0415  (only needed for payloads of platforms)

    is_native = how["format"] in (NATIVE, ENVELOPE) and not how["secret_env"]
    is_by_agent = _is_by_agent(at.desk)
    for line in whole_lines(stdin, LONGEST_LINE if is_native else payloads.LARGEST):
        took = _Taken(at, is_external=is_external, is_by_agent=is_by_agent)
        is_read = is_native or isinstance(line, BbError)
        took.take_all(iter([line]) if is_read else payloads.lines_of(at.desk, how, {}, line), how["format"])
        yield took.result()


def whole_lines(stream: IO[bytes], longest: int) -> Iterator[Any]:
    """The lines of STREAM that are not blank; a refusal in the place of each that is longer than LONGEST.

    The rest of a long line is skipped: it is no line of its own, and only a part of it is in memory.
    """
    while line := stream.readline(longest + 1):
        if len(line) <= longest or line.endswith(b"\n"):
            if line.strip():
                yield line
            continue
        while (rest := stream.readline(longest)) and not rest.endswith(b"\n"):
            pass
        yield NotALine(f"the line is longer than {longest:,} bytes")


def _is_by_agent(desk: Desk) -> bool:
    """Whether an agent brings the lines, and not a bridge of the person: in its shell, or in its session of a host."""
    return bool(desk.env.get("BB_AGENT")) or desk.principal() != PERSON


def _given(lines: Any, desk: Desk) -> Iterator[Any]:
    """The lines: those of a request, or those on stdin."""
    if lines is not None:
        if not isinstance(lines, list):
            raise NotALine("lines must be a list of objects", path="$.lines")
        yield from lines
    elif desk.stdin:
        yield from whole_lines(desk.stdin, LONGEST_LINE)


class _Taken:
    """The import: its results so far, batch by batch."""

    def __init__(self, at: C2aDesk, *, is_external: bool, is_by_agent: bool, harness: str = "") -> None:
        self._at = at
        self._is_external = is_external
        self._harness = harness  # the agent whose harness brings the lines
        self._is_by_agent = is_by_agent  # then no line is the person's answer, or says who may read a conversation
        self._kept = 0  # refusals that are recorded for the audit
        self._count = 0
        self.counts: dict[str, int] = {}
        self.told: list[dict[str, Any]] = []
        self.refused: list[dict[str, Any]] = []

    def take_all(self, source: Iterator[Any], format: str) -> None:  # noqa: A002
        """Import everything in SOURCE, in batches."""
        take = self.take_envelopes if format == ENVELOPE else self.take
        count = 0
        while chunk := list(islice(source, AT_ONCE)):
            with GcPause():
                take(chunk)
            count += len(chunk)
            if self._at.desk.progress:
                self._at.desk.progress(count, 0, "lines")

    def take(self, raw: Iterable[Any]) -> None:
        """Import lines in bb's own form."""
        now = self._at.desk.now()
        read = list(self._read(raw, lambda line: envelopes.parse_line(line, now)))
        lines = in_sequence_order(read, lambda numbered: numbered[1].counted)

        def decide(index: Index) -> list[AttentionFact]:
            below = Gathered(index)
            below.gather(messages.NAME, [name for _, line in lines for name in {line.event, line.native}])
            below.gather(threads.NAME, [line.message.window for _, line in lines if line.message])
            over = self._over(index, below, now)
            answers: list[dict[str, Any]] = []
            for number, line in lines:
                by = f"{SERVICE}{line.platform}" if _is_plain(line.platform) else BRIDGE
                taken = self._one(over, number, by, partial(self._receive, over, line, by, now), now)
                answers += [taken] if taken is not None else []
            self._note(answers)
            return [*(fact for _, _, fact in over.lines), *self._set_aside(over.book, now)]

        self._record(decide, now, is_empty=not lines)

    def _receive(self, over: Rehearsal, line: envelopes.Line, by: str, now: int) -> Answer:
        """What one line adds. It may be the person's answer to a request, if no agent brings it."""
        if self._is_by_agent:
            lines_of_agents.must_have_no_authority(over.book, line, self._harness)
        external = self._becoming_external(over, line, by)
        _must_be_recordable(external)
        over.record(external, now)
        answered = None if self._is_by_agent else confirmation_answers.receive_answer(over.book, line, by, now)
        return answered or receiving.receive(over.book, line, by, now)

    def _one(
        self, over: Rehearsal, number: int, by: str, decide: Callable[[], Answer], now: int
    ) -> dict[str, Any] | None:
        """Take one line; None if it is set aside. Whatever is wrong with it, the other lines are taken."""
        before = len(over.lines)
        try:
            facts, answer = decide()
            _must_be_recordable(facts)
            over.record(facts, now)
        except BbError as refusal:
            self._refuse(number, refusal, by)
        except Exception as error:  # a line of a platform must not stop the others, not even by a bug of ours
            self._refuse(number, unprocessed(error), by)
        else:
            return answer
        del over.lines[before:]
        return None

    def _set_aside(self, book: AttentionState, now: int) -> list[AttentionFact]:
        """The refusals to record for the audit: each reason once an hour, and not more than MOST_KEPT."""
        known = {
            (by, code, str(about.get("message"))) for by, code, about, ms in _recent(book) if ms > now - clock.HOUR
        }
        facts: list[AttentionFact] = []
        for row in self.refused[self._kept :]:
            message = redact(harmless(str(row["message"])))[:LONGEST_REASON]
            by = row.get("by") or BRIDGE
            if (by, row["code"], message) in known or len(known) >= MOST_KEPT:
                continue
            known.add((by, row["code"], message))
            facts.append(Refusal(by, row["code"], {"message": message, "line": str(row["line"])}))
        return facts

    def _becoming_external(self, over: Rehearsal, line: envelopes.Line, by: str) -> list[AttentionFact]:
        """What makes the conversation of LINE one in which a bridge posts, if it is told to and is none yet."""
        if not self._is_external or not line.conversation or over.book.conversation(line.conversation).is_external:
            return []
        return [Arranged(by, line.conversation, {"is_external": True})]

    def take_envelopes(self, raw: Iterable[Any]) -> None:
        """Import deliveries of another host. The decisions of that host apply."""
        from bb.attention.incoming import from_hosts  # noqa: PLC0415  (only needed with another host)

        now = self._at.desk.now()
        incoming = list(self._read(raw, _parameters))

        def decide(index: Index) -> list[AttentionFact]:
            over = self._over(index, Gathered(index), now)
            for number, delivery in incoming:

                def delivered(delivery: Any = delivery) -> Answer:
                    agent = self._addressee(over, envelopes.parse_delivery(delivery, now).message)
                    facts, answer = from_hosts.receive_delivery(over.book, agent, delivery, BRIDGE, now)
                    about = {"eventId": delivery["eventId"], "type": envelopes.MESSAGE, "agent": agent}
                    return facts, about | answer

                if (taken := self._one(over, number, BRIDGE, delivered, now)) is not None:
                    self._note([taken])
            return [*(fact for _, _, fact in over.lines), *self._set_aside(over.book, now)]

        self._record(decide, now, is_empty=not incoming)

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
        has_refused = len(self.refused) > self._kept
        if not is_empty or (has_refused and self._at.store.exists):
            who = self._at.agent if self._at.desk.env.get("BB_AGENT") else "user"
            self._at.store.record(decide, by=who, now=now, author=lambda fact: str(getattr(fact, "by", who)))
            self._kept = len(self.refused)

    def _read(self, raw: Iterable[Any], read: Callable[[Any], T]) -> Iterator[tuple[int, T]]:
        """The valid lines, each with its number."""
        for line in raw:
            self._count += 1
            try:
                yield self._count, read(_object(line))
            except BbError as refusal:
                self._refuse(self._count, refusal)
            except Exception as error:  # see `_one`
                self._refuse(self._count, unprocessed(error))

    def _refuse(self, number: int, refusal: BbError, by: str = "") -> None:
        row = {"line": number, "code": refusal.code, "message": refusal.message, **refusal.details}
        self.refused.append(row | ({"by": by} if by else {}))

    def _note(self, answers: list[dict[str, Any]]) -> None:
        for answer in answers:
            status = str(answer.get("status"))
            self.counts[status] = self.counts.get(status, 0) + 1
        self.told += answers[: MOST_TOLD - len(self.told)]

    def result(self) -> dict[str, Any]:
        """The counts, the results and the refusals."""
        code = self.refused[0]["code"] if self.refused else None
        return {"code": code, "counts": self.counts, "events": self.told, "refused": self.refused[:MOST_TOLD]}

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


def _recent(book: AttentionState) -> Iterator[tuple[str, str, dict[str, Any], int]]:
    """The last recorded refusals: author, code, details and time."""
    rows = book.states.newest_first(activity.NAME, activity.REFUSED.strip())
    for _, _, state in islice(rows, MOST_KEPT):
        by, code, about, ms = state["refused"][3]
        yield by, code, about, ms


def _must_be_recordable(facts: Iterable[AttentionFact]) -> None:
    """Refuse a line if one of its facts cannot be recorded. Otherwise that fact would stop the whole batch."""
    for fact in facts:
        must_be_recordable(fact)


def _is_plain(platform: str) -> bool:
    return platform.isascii() and platform.replace("-", "").replace("_", "").isalnum() and platform != "cccc"


def _object(raw: Any) -> Any:
    if isinstance(raw, BbError):  # an invalid payload
        raise raw
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
