"""What is known of every writer's signatures: for `bb ledger verify`, `bb ledger log`, `bb doctor` and the pages."""

from __future__ import annotations

from bb.coordination.records import vouching
from bb.kernel import ids
from bb.ledger.signing import verdicts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from bb.coordination.records.vouching import Standing
    from bb.ledger.index.index import Index
    from bb.ledger.records.policy import Known
    from bb.ledger.records.store import Store

NOT_YET = "signed with the next publication"
MOST_WRITERS = 200  # in an answer; those with something to tell come first


def of_writers(store: Store, known: Known, index: Index | None = None) -> list[Standing]:
    """Where each writer's lines stand."""
    index = index or store.caught_up()
    found = index.signatures(store.clone.repo)
    standings = [found.standing(known.policy, writer, n) for writer, n in index.heads().items()]
    return [_of_ours(each, known) if each.writer == store.writer else each for each in standings]


def _of_ours(each: Standing, known: Known) -> Standing:
    """What this clone has recorded and not published yet is signed when it is."""
    return each.but(why=NOT_YET) if each.why and known.is_allowed and not each.forged else each


def shown(store: Store, known: Known, index: Index | None = None) -> dict[str, Any]:
    """The same as an answer has it."""
    found = of_writers(store, known, index)
    first = sorted(found, key=lambda each: (not each.forged, each.verified >= each.lines, each.writer))
    return known.shown() | {
        "lines": verdicts.totals(found),
        "writers": [each.shown() | {"is_ours": each.writer == store.writer} for each in first[:MOST_WRITERS]],
    }


def marked(store: Store, known: Known, events: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """The events, each with its verdict where somebody has said who may write."""
    if known.text is None or known.mode == "off":
        yield from events
        return
    standings = {each.writer: each for each in of_writers(store, known)}
    for event in events:
        writer, n = ids.split_event_id(event["id"])
        each = standings.get(writer)
        verdict = each.verdict(n) if each else vouching.UNVERIFIED
        why = {"why": each.why} if each and verdict != vouching.VERIFIED else {}
        yield event | {"signature": {"verdict": verdict, **why}}
