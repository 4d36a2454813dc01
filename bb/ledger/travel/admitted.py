"""The results of publication order: which published reservations are admitted, and which of them count.

They are kept with the pins. They are computed from the first commit on if other lines count than before.
"""

from __future__ import annotations

from bb.coordination.holdings import admission, holdings
from bb.kernel import ids
from bb.ledger.index import counting
from bb.ledger.journal import kinds
from bb.ledger.journal import line as lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bb.coordination.facts import HoldingFact
    from bb.coordination.holdings.admission import Admitted
    from bb.ledger.published.pins import Pins
    from bb.ledger.published.tip import Commit, Tip
    from bb.ledger.records.store import Store
    from bb.ledger.signing.verdicts import Counting

HOLDING_KINDS = frozenset(kinds.BY_FACT[fact.__name__][0].encode() for fact in holdings.FACTS)


def after_commits(pins: Pins, store: Store, tip: Tip | None, commits: Sequence[Commit]) -> Pins:
    """PINS with the results after some more COMMITS, up to TIP."""
    after = pins.replace(admitted=admit_commits(pins.admitted, commits))
    law = store.law
    if law is None or tip is None:
        return after.replace(counted=None, law="")
    counts = law.counting(counting.signatures(store.caught_up(), law.repo))
    if after.counted is None or after.law != law.basis or any(commit.parent is None for commit in commits):
        from bb.ledger.travel.branch import History  # noqa: PLC0415

        history = History(store.place.common, None)
        commits = list(history.upto(tip.commit))
        after = after.replace(counted=without_lines_that_do_not_count(history.settled, commits, counts))
    counted = admit_commits(after.in_force, commits, counts)
    return after.replace(counted=counted, law=law.basis)


def may_have_holdings(octets: bytes) -> bool:
    """Whether one of these lines may be about a reservation."""
    return any(b'"kind":"%s"' % kind in octets for kind in HOLDING_KINDS)


def without_ended(pins: Pins, settled: Admitted, generation: int) -> Pins:
    """PINS without the reservations that had ended at a GENERATION, with the results SETTLED. Those are in a snapshot
    that is right, so the results of later snapshots do not need the others."""
    later = (name for name, at in pins.admitted.generations.items() if at > generation)
    names = [*settled.generations, *later]
    counted = pins.counted and pins.counted.keeping(names)
    return pins.replace(admitted=pins.admitted.keeping(names), counted=counted)


def of_history(git_dir: str, commit: str) -> tuple[Admitted, Tip]:
    """The results of publication order of a whole verified branch up to COMMIT, and its tip."""
    from bb.ledger.travel.branch import History  # noqa: PLC0415

    history = History(git_dir, None)
    known: Admitted | None = None
    for one in history.upto(commit):  # not as a list: the lines of a long history need much memory
        known = admit_commits(history.settled if known is None else known, [one])
    return known or history.settled, history.tip


def without_lines_that_do_not_count(known: Admitted, commits: Sequence[Commit], counts: Counting) -> Admitted:
    """The results from before an epoch, without those of lines that do not count."""
    root = next(iter(commits), None)
    lasts = {writer: first + octets.count(b"\n") - 1 for writer, first, octets in root.added} if root else {}
    out = set()
    for name in (*known.grants, *known.generations):
        writer, n = ids.split_event_id(name)
        by = known.grants[name].agent if name in known.grants else ""
        if not counts(writer, n, lasts.get(writer, 0), by):
            out.add(name)
    return known.without(out)


def admit_commits(known: Admitted, commits: Iterable[Commit], counts: Counting | None = None) -> Admitted:
    """The results of publication order after some more commits. With COUNTS, only of the lines that count."""
    for commit in commits:
        if commit.is_carried:
            continue
        facts = [fact for added in commit.added for fact in _holding_facts(*added, counts)]
        known = admission.admit(known, commit.parent, commit.generation, facts)
    return known


def _holding_facts(
    writer: str, first: int, octets: bytes, counts: Counting | None
) -> Iterator[tuple[str, HoldingFact]]:
    last = first + octets.count(b"\n") - 1
    for n, raw in enumerate(octets.split(b"\n")[:-1], first):
        try:
            if lines.clock_and_kind(raw)[1] in HOLDING_KINDS:
                fact = kinds.fact_on(raw)
                if isinstance(fact, holdings.FACTS) and (counts is None or counts(writer, n, last, fact.agent)):
                    yield ids.event_id(writer, n), fact
        except lines.BadLine:
            continue
