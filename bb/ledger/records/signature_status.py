"""The signature status of every writer, for `bb ledger verify`, `bb ledger log`, `bb doctor` and the web pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bb.coordination.records import signed_lines
from bb.coordination.records.signed_lines import Verification
from bb.kernel import ids
from bb.ledger.index import counting
from bb.ledger.index.index import Index
from bb.ledger.records.policy import SignerPolicy
from bb.ledger.records.store import Store
from bb.ledger.signing import verdicts

NOT_YET = "signed with the next publication"
MOST_WRITERS = 200  # in an answer; writers with problems come first


def of_writers(store: Store, known: SignerPolicy, index: Index | None = None) -> list[Verification]:
    """The signature status of each writer's lines."""
    index = index or store.caught_up()
    signatures = counting.signatures(index, store.clone.repo)
    standings = [signatures.standing(known.policy, writer, n) for writer, n in index.heads().items()]
    return [_of_ours(standing, known) if standing.writer == store.writer else standing for standing in standings]


def _of_ours(standing: Verification, known: SignerPolicy) -> Verification:
    """STANDING with another reason: lines of this clone that are not published yet are signed at publication."""
    return standing.replace(why=NOT_YET) if standing.why and known.is_allowed and not standing.forged else standing


def as_answer(store: Store, known: SignerPolicy, index: Index | None = None) -> dict[str, Any]:
    """The signature status in the form of an answer."""
    standings = of_writers(store, known, index)
    first = sorted(standings, key=lambda one: (not one.forged, one.verified >= one.lines, one.writer))
    return known.shown() | {
        "lines": verdicts.totals(standings),
        "writers": [one.shown() | {"is_ours": one.writer == store.writer} for one in first[:MOST_WRITERS]],
    }


def with_verdicts(store: Store, known: SignerPolicy, events: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """The events, each with its verdict, if the repository has a list of signers and the mode is not off."""
    if known.text is None or known.mode == "off":
        yield from events
        return
    standings = {standing.writer: standing for standing in of_writers(store, known)}
    for event in events:
        writer, n = ids.split_event_id(event["id"])
        standing = standings.get(writer)
        verdict = standing.verdict(n) if standing else signed_lines.UNVERIFIED
        why = {"why": standing.why} if standing and verdict != signed_lines.VERIFIED else {}
        yield event | {"signature": {"verdict": verdict, **why}}
