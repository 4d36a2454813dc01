"""Ops on the ledger: show, verify, export and rebuild it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bb.kernel import clock, json_text
from bb.kernel.digest import digest
from bb.kernel.errors import Usage
from bb.kernel.event import Event
from bb.ledger.care import audit
from bb.ledger.files import output_files
from bb.ledger.journal import unreadable, writers
from bb.ledger.journal.cursors import Cursor
from bb.ledger.journal.journal import Journal, LedgerDamaged
from bb.ledger.records import counted_lines, policy, signature_status
from bb.ledger.records import event_filters as walks
from bb.ledger.records import events as recorded
from bb.ledger.records.store import Store
from bb.ops.agent_params import Name, Since
from bb.ops.catalogue import TruncatedRows, older_events, op
from bb.ops.desk.desk import Desk
from bb.ops.params import AgentId, Number, Text

WRITERS = 50  # of other clones that `status` lists


class Kind(Name):
    """Only events of this kind, such as actor.add; can be given several times."""

    metavar = "KIND"


class Who(AgentId):
    """Only events by or about this agent."""


class Until(Text):
    """Only events before this time, in the format of --since."""

    metavar = "TIME"


RawTakesNoFilter = Usage.declare(
    "RAW_TAKES_NO_FILTER",
    "--raw exports complete chains and cannot be used with filters",
    hint="leave out --raw to export selected events",
)


@op("ledger.status", reads=True, examples=("bb ledger status", "bb ledger status --all --json"))
def status(desk: Desk, *, all_: bool = False) -> dict[str, Any]:
    """Show where the ledger is, its size and writers, and whether it is damaged.

    Of many writers, those of this clone and the 50 that wrote last are listed. `left_out` has the number of the others.

    Parameters:
        all_: List every writer.
    """
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
    cursors = {writer: cursor for writer, cursor in index.cursors.all().items() if cursor.n}
    listed = list(cursors) if all_ else _latest_writers(cursors)
    return {
        "store": store.path,
        "exists": True,
        "repo": store.clone.repo,
        "group_id": store.clone.group_id,
        "format": store.clone.format,
        "writer": store.writer,
        "events": sum(cursor.n for cursor in cursors.values()),
        "bytes": sum(_size(store, writer, cursor) for writer, cursor in index.cursors.all().items()),
        "writers": [
            {"writer": writer, "events": cursors[writer].n, "is_ours": writer == store.writer} for writer in listed
        ],
        "index": "memory" if index.is_in_memory or index.path == ":memory:" else index.path,
        "is_damaged": bool(store.damages()),
        **({"left_out": {"writers": len(cursors) - len(listed)}} if len(listed) < len(cursors) else {}),
    }


def _latest_writers(cursors: Mapping[str, Cursor]) -> list[str]:
    """The writers of this clone, and those that wrote last, sorted."""
    latest = sorted(cursors, key=lambda writer: (cursors[writer].lamport, writer), reverse=True)[:WRITERS]
    return sorted({*latest, *(writer for writer in cursors if cursors[writer].is_local)})


def _size(store: Store, writer: str, cursor: Cursor) -> int:
    """The size of a writer's journal. The index knows that of a journal of another clone that is one file."""
    if cursor.segment == 1 and not cursor.is_local and cursor.damage is None:
        return cursor.offset
    return sum(segment.size() for segment in Journal(store.path, writer).segments())


@op(
    "ledger.log",
    reads=True,
    examples=("bb ledger log", "bb ledger log --kind actor.add --since 2h --json", "bb ledger log --follow"),
    streams=True,
)
def log(
    desk: Desk,
    *,
    kind: list[Kind] | None = None,
    agent: Who | None = None,
    since: Since | None = None,
    until: Until | None = None,
    limit: Number = Number(50),  # noqa: B008  (a number)
    follow: bool = False,
) -> Iterable[dict[str, Any]]:
    """List the latest events, oldest first. If --limit leaves out older ones, the answer says so.

    --follow continues with the events that any process appends, until interrupted. With --json, it prints one event per
    line instead of one document.

    Parameters:
        limit: The number of latest events to show.
        follow: Continue with new events until interrupted.
    """
    event_filter = _filter(desk, kind, agent, since, until)
    store = desk.ledger
    if follow:
        return _followed(store, walks.Follower(store, event_filter), walks.latest(store, event_filter, limit))
    latest = walks.latest(store, event_filter, limit + 1)
    rows = _judged(store, latest[-limit:])
    return rows if len(latest) <= limit else TruncatedRows(rows, older_events(min(Number.most, limit * 4)))


def _followed(store: Store, following: walks.Follower, latest: list[Event]) -> Iterator[dict[str, Any]]:
    yield from _judged(store, latest)
    for event in following.forever():
        yield _shown(event)


def _judged(store: Store, events: list[Event]) -> list[dict[str, Any]]:
    """The events with their signature verdicts."""
    rows = [_shown(event) for event in events]
    signer_policy = policy.cached(store)
    return list(signature_status.with_verdicts(store, signer_policy, rows)) if signer_policy else rows


def _shown(event: Event) -> dict[str, Any]:
    """An event; marked as unreadable if no bb could have written it."""
    return event.replace(unreadable=unreadable.why(event)).envelope()


@op("ledger.show", reads=True, examples=("bb ledger show k7q2mzp4x3ab.17",))
def show(desk: Desk, event: Text) -> dict[str, Any]:
    """Show one event and its place in its writer's chain.

    Parameters:
        event (EVENT): The event's id, as shown by `bb ledger log`.
    """
    store = desk.ledger
    recorded_event = recorded.event(store, event)
    raw = recorded.line(store, event)
    signer_policy = policy.cached(store)
    envelope = (
        next(iter(signature_status.with_verdicts(store, signer_policy, [_shown(recorded_event)])))
        if signer_policy
        else _shown(recorded_event)
    )
    return envelope | {
        "chain": {"lamport": recorded_event.lamport, "key": recorded_event.key, "line_bytes": len(raw) + 1}
    }


@op(
    "ledger.verify",
    reads=True,
    examples=("bb ledger verify", "bb ledger verify --published", "bb ledger verify --json"),
)
def verify(desk: Desk, *, published: bool = False) -> dict[str, Any]:
    """Verify every line, its chain, its order and its digests, and the index.

    Lines that no bb could have written are listed as unreadable, with id and reason. They are kept but do not count.

    Fails with LEDGER_DAMAGED if a line is damaged; the message names the first one and the next step. --published does
    not contact a remote: it checks what this clone has fetched or published.

    Parameters:
        published: Also verify the published branch: every commit as a new clone reads it, archived files, the snapshot.
    """
    store = desk.ledger
    report = audit.audit(store, desk.progress)
    journals = os.path.join(store.path, writers.JOURNALS)
    answer: dict[str, Any] = {
        "chains": [
            chain.as_dict()
            | {
                "damage": chain.damage and chain.damage.as_dict(),
                "is_retired": writers.is_retired(journals, chain.writer),
            }
            for chain in report.chains
        ],
        "events": sum(chain.lines for chain in report.chains),
        "state": report.state,
        "is_index_right": report.is_index_right,
        "put_aside": list(report.put_aside),
        "unreadable": [line.as_dict() for line in audit.unreadable_lines(store)],
    }
    for chain in report.chains:
        if chain.damage and not writers.is_retired(journals, chain.writer):
            bad = chain.damage
            raise LedgerDamaged(f"line {bad.n} in {bad.path} at byte {bad.offset}: {bad.reason}", **answer)
    if not report.is_index_right:
        raise LedgerDamaged("the index does not match the journals", hint="bb ledger rebuild", **answer)
    signer_policy = policy.refresh(store, desk.now())
    late = [line.as_dict() for line in counted_lines.since_last_report(store)]
    answer["signatures"] = signature_status.as_answer(store, signer_policy) | {"come_to_count": late}
    if published:
        answer["published"] = [branch.as_dict() for branch in audit.check_published(store, desk.progress)]
    return answer


@op("ledger.digest", reads=True, examples=("bb ledger digest", "bb ledger digest --json"))
def ledger_digest(desk: Desk) -> dict[str, Any]:
    """Print one digest of the ledger. Two clones with equal digests have the same lines and give the same verdicts.

    It covers every writer's chain, the resulting state, and the results of the arbiter's order: which reservations were
    admitted, and which was published first. So a clone that does not read the arbiter has another digest. The digest
    of the lines alone is shown too.
    """
    store = desk.ledger
    index = store.caught_up()
    heads = {writer: [n, index.position(writer).link.head_digest] for writer, n in index.heads().items()}
    state = audit.state_digest(index)
    lines = json_text.canonical([heads, state])
    return {
        "digest": digest(f"{lines} {json_text.canonical(audit.settled(store, index))}".encode()),
        "lines": digest(lines.encode()),
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
)
def export(
    desk: Desk,
    *,
    output: Name | None = None,
    raw: bool = False,
    kind: list[Kind] | None = None,
    agent: Who | None = None,
    since: Since | None = None,
    until: Until | None = None,
) -> Iterator[dict[str, Any] | bytes] | dict[str, Any]:
    """Export every event as one JSON object per line, in the ledger's total order.

    The data is exact and not made safe for a terminal. An event that neither bb nor a client of it could have written
    has a member `unreadable` with the reason.

    --raw exports the stored lines instead, byte for byte, writer by writer, so that other programs can check their
    chains. It cannot be used with filters.

    Parameters:
        output (FILE): Write to this file instead of standard output.
        raw: Export the stored lines, byte for byte, instead of events.
    """
    if raw and any((kind, agent, since, until)):
        raise RawTakesNoFilter()
    store = desk.ledger
    if raw:
        rows: Iterator[dict[str, Any] | bytes] = (octets for _, octets in walks.raw_lines(store))
    else:
        event_filter = _filter(desk, kind, agent, since, until)
        rows = map(_shown, walks.everything(store, event_filter))
    if output is None:
        return rows
    path = os.path.join(desk.cwd, output)
    count = 0
    with output_files.Replacement(path) as file:
        for row in rows:
            file.write((row if isinstance(row, bytes) else json_text.dumps(row).encode()) + b"\n")
            count += 1
    return {"output": path, "events": count}


@op("ledger.rebuild", examples=("bb ledger rebuild",))
def rebuild(desk: Desk) -> dict[str, Any]:
    """Delete the index and build it again from the journals. This is always safe and should never be needed."""
    store = desk.ledger
    store.index.rebuild(store.sources(), desk.progress)
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
