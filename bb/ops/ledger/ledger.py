"""The ledger itself: look at it, check it, carry it away."""

from __future__ import annotations

import os

from bb.kernel import clock, json_text
from bb.kernel.digest import digest
from bb.kernel.errors import Usage
from bb.ledger.care import audit
from bb.ledger.files import disk
from bb.ledger.journal import kinds, writers
from bb.ledger.journal.journal import LedgerDamaged
from bb.ledger.records import come_to_count, policy, standing
from bb.ledger.records import walk as walks
from bb.ops.catalogue import OLDER, Rows, op
from bb.ops.params import AgentId, Name, Number, Since, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from bb.kernel.event import Event
    from bb.ledger.records.store import Store
    from bb.ops.desk.desk import Desk


class EventId(Text):
    """The event, as `bb ledger log` shows it."""

    metavar = "EVENT"


class Kind(Name):
    """Only events of this kind, such as actor.add; may be given several times."""

    metavar = "KIND"


class Who(AgentId):
    """Only events by or about this agent."""


class Until(Text):
    """Only events before this time, written like --since."""

    metavar = "TIME"


class Limit(Number):
    """Show at most this many events, the latest."""


class RawTakesNoFilter(Usage):
    """--raw gives whole chains, and takes no filters."""

    code = "RAW_TAKES_NO_FILTER"
    hint = "leave --raw out to export some of the events"


class Output(Name):
    """Write to this file instead of standard output."""

    metavar = "FILE"


@op("ledger.status", reads=True, examples=("bb ledger status",))
def status(desk: Desk) -> dict[str, Any]:
    """Where the ledger is, how much it holds, and whether it is well."""
    store = desk.store_or_home
    if not store.exists:
        made_by = "bb init" if store.place.work_tree else "bb init --home"
        return {
            "store": store.path,
            "exists": False,
            "events": 0,
            "writers": [],
            "is_damaged": False,
            "made_by": made_by,
        }
    index = store.caught_up()
    heads = index.heads()
    return {
        "store": store.path,
        "exists": True,
        "repo": store.clone.repo,
        "group_id": store.clone.group_id,
        "format": store.clone.format,
        "writer": store.writer,
        "events": sum(heads.values()),
        "bytes": sum(segment.size() for journal in store.journals() for segment in journal.segments()),
        "writers": [{"writer": writer, "events": n, "is_ours": writer == store.writer} for writer, n in heads.items()],
        "index": "memory" if index.is_in_memory or index.path == ":memory:" else index.path,
        "is_damaged": bool(store.damages()),
    }


@op(
    "ledger.log",
    reads=True,
    examples=("bb ledger log", "bb ledger log --kind actor.add --since 2h --json", "bb ledger log --follow"),
    streams=True,
    follow="Go on with every event as it is appended, until interrupted.",
)
def log(
    desk: Desk,
    *,
    kind: list[Kind] | None = None,
    agent: Who | None = None,
    since: Since | None = None,
    until: Until | None = None,
    limit: Limit = Limit(50),  # noqa: B008  (a number)
    follow: bool = False,
) -> Iterable[dict[str, Any]]:
    """The latest events, oldest first. Where --limit leaves older ones out, the answer says so.

    --follow goes on with every event that any process appends, until interrupted; with --json that is one event
    a line instead of one document.
    """
    wanted = _filter(desk, kind, agent, since, until)
    store = desk.ledger
    if follow:
        return _followed(store, walks.Follower(store, wanted), walks.latest(store, wanted, limit))
    latest = walks.latest(store, wanted, limit + 1)
    found = _judged(store, latest[-limit:])
    return found if len(latest) <= limit else Rows(found, OLDER.format(min(Limit.most, limit * 4)))


def _followed(store: Store, following: walks.Follower, latest: list[Event]) -> Iterator[dict[str, Any]]:
    yield from _judged(store, latest)
    for event in following.forever():
        yield _shown(event)


def _judged(store: Store, events: list[Event]) -> list[dict[str, Any]]:
    """The events, each with what is known of the signature over it."""
    shown = [_shown(event) for event in events]
    known = policy.remembered(store)
    return list(standing.marked(store, known, shown)) if known else shown


def _shown(event: Event) -> dict[str, Any]:
    """An event, marked as unreadable where it could not have been written."""
    return event.but(unreadable=kinds.unreadable(event)).envelope()


@op("ledger.show", reads=True, examples=("bb ledger show k7q2mzp4x3ab.17",))
def show(desk: Desk, event: EventId) -> dict[str, Any]:
    """One event, and its place in its writer's chain."""
    store = desk.ledger
    found = store.event(event)
    raw = store.line(event)
    known = policy.remembered(store)
    envelope = next(iter(standing.marked(store, known, [_shown(found)]))) if known else _shown(found)
    return envelope | {"chain": {"lamport": found.lamport, "key": found.key, "line_bytes": len(raw) + 1}}


@op(
    "ledger.verify",
    reads=True,
    examples=("bb ledger verify", "bb ledger verify --published", "bb ledger verify --json"),
    published="Also what is published: every commit as a new clone would read it, archived files and the snapshot.",
)
def verify(desk: Desk, *, published: bool = False) -> dict[str, Any]:
    """Read every line again: chains, order, digests, and whether the index says what the lines say.

    What could not have been written by any bb is listed as unreadable, by id and reason: it is kept, and counts for
    nothing.

    Refused with LEDGER_DAMAGED when a line cannot be right; the first bad one is named, with what to do. --published
    asks no remote: it is about what this clone has fetched or published itself.
    """
    store = desk.ledger
    found = audit.audit(store, desk.progress)
    retired = writers.retired(os.path.join(store.path, "j")).keys()
    answer: dict[str, Any] = {
        "chains": [
            chain.as_dict() | {"damage": chain.damage and chain.damage.as_dict(), "is_retired": chain.writer in retired}
            for chain in found.chains
        ],
        "events": sum(chain.lines for chain in found.chains),
        "state": found.state,
        "is_index_right": found.is_index_right,
        "put_aside": list(found.put_aside),
        "unreadable": [each.as_dict() for each in audit.unreadable(store)],
    }
    for chain in found.chains:
        if chain.damage and chain.writer not in retired:
            bad = chain.damage
            raise LedgerDamaged(f"line {bad.n} in {bad.path} at byte {bad.offset}: {bad.reason}", **answer)
    if not found.is_index_right:
        raise LedgerDamaged("the index does not say what the journals say", hint="bb ledger rebuild", **answer)
    known = policy.look(store, desk.now())
    late = [each.as_dict() for each in come_to_count.since_last_told(store)]
    answer["signatures"] = standing.shown(store, known) | {"come_to_count": late}
    if published:
        answer["published"] = [each.as_dict() for each in audit.published(store, desk.progress)]
    return answer


@op("ledger.digest", reads=True, examples=("bb ledger digest", "bb ledger digest --json"))
def ledger_digest(desk: Desk) -> dict[str, Any]:
    """One digest for all that is known here: equal in two clones exactly if they know the same lines.

    It covers every writer's chain and the state they add up to.
    """
    store = desk.ledger
    index = store.caught_up()
    heads = {writer: [n, index.position(writer).link.head_digest] for writer, n in index.heads().items()}
    state = audit.state_digest(index)
    return {
        "digest": digest(json_text.canonical([heads, state]).encode()),
        "state": state,
        "events": sum(index.heads().values()),
        "writers": len(heads),
    }


@op(
    "ledger.export",
    reads=True,
    output="documents",
    examples=("bb ledger export > events.jsonl", "bb ledger export --raw --output copy.jsonl"),
    streams=True,
    raw="The stored lines, byte for byte, instead of events.",
)
def export(
    desk: Desk,
    *,
    output: Output | None = None,
    raw: bool = False,
    kind: list[Kind] | None = None,
    agent: Who | None = None,
    since: Since | None = None,
    until: Until | None = None,
) -> Iterator[dict[str, Any] | bytes] | dict[str, Any]:
    """Every event as one JSON object a line, in the ledger's total order; exact data, nothing made harmless.

    What could not have been written by bb or a client of it has a member `unreadable` that says why.

    --raw gives the stored lines instead, byte for byte, writer by writer, so that their chains can be checked
    elsewhere; it takes no filters.
    """
    if raw and any((kind, agent, since, until)):
        raise RawTakesNoFilter
    store = desk.ledger
    if raw:
        found: Iterator[dict[str, Any] | bytes] = (octets for _, octets in walks.raw_lines(store))
    else:
        wanted = _filter(desk, kind, agent, since, until)
        found = map(_shown, walks.everything(store, wanted))
    if output is None:
        return found
    path = os.path.join(desk.cwd, output)
    count = 0
    with disk.Replacement(path) as file:
        for item in found:
            file.write((item if isinstance(item, bytes) else json_text.dumps(item).encode()) + b"\n")
            count += 1
    return {"output": path, "events": count}


@op("ledger.rebuild", examples=("bb ledger rebuild",))
def rebuild(desk: Desk) -> dict[str, Any]:
    """Throw the index away and make it again from the journals. Never needed, always safe."""
    store = desk.ledger
    store.index.rebuild(store.journals(), desk.progress)
    return {"events": sum(store.index.heads().values()), "is_damaged": bool(store.damages())}


def _filter(
    desk: Desk, kind: list[Kind] | None, agent: str | None, since: str | None, until: str | None
) -> walks.Filter:
    now = desk.now()
    return walks.Filter(
        kinds=frozenset(kind or ()),
        agent=agent,
        since=clock.text(clock.before(since, now)) if since is not None else None,
        until=clock.text(clock.before(until, now)) if until is not None else None,
    )
