"""The results of publication order: which published reservations are admitted, and which of them count.

They are kept with the pins, and depend only on the history of the arbiter: on the commits that were made while it was
the arbiter, and on the results that it took over from the arbiter before. They are computed from the first commit on if
another remote is the arbiter than before, or if other lines count.
"""

from __future__ import annotations

from bb.coordination.holdings import admission, holdings
from bb.coordination.holdings.ordered_admission import OrderedAdmission
from bb.kernel import ids
from bb.ledger.index import counting
from bb.ledger.journal import kinds
from bb.ledger.journal import line as lines
from bb.ledger.published.charter import LedgerRewritten, NotALedger
from bb.ledger.travel import numbering, row_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bb.coordination.facts import AgentFact, HoldingFact
    from bb.coordination.holdings.admission import Admitted
    from bb.ledger.published.arbiter import Arbiter
    from bb.ledger.published.pins import Pins
    from bb.ledger.published.tip import Commit, Tip
    from bb.ledger.records.store import Store
    from bb.ledger.signing.verdicts import Counting

RULES = "2"  # raised if these rules decide differently than before


def after_commits(
    pins: Pins, store: Store, name: str, commits: Sequence[Commit], begun: Admitted | None = None
) -> Pins:
    """PINS with the results after some more COMMITS of the remote NAME, the arbiter. If these are all commits of an
    epoch, it has BEGUN with the results of earlier ones."""
    tip, address = pins.remote(name).tip, pins.named.address if pins.named else ""
    basis = f"{RULES} {name} {address}"
    is_another = pins.arbiter not in (None, name) or pins.basis != basis or any(commit.settled for commit in commits)
    after, law = pins.replace(arbiter=name, basis=basis), store.law
    if is_another:
        after = after.replace(counted=None)
    if tip is None:
        return after
    whole = None if begun is None else (commits, begun)
    if is_another or whole:
        whole = whole or whole_history(store, tip)
        after = _with_results(after, whole[1], whole[0], address, tip)
    else:
        after = _with_results(after, after.admitted, commits, address, tip)
    if law is None:
        return after.replace(counted=None, law="")
    counts = law.counting(counting.signatures(store.caught_up(), law.repo))
    if after.counted is None or after.law != law.basis or whole:
        commits, begun = whole or whole_history(store, tip)
        after = after.replace(counted=without_lines_that_do_not_count(begun, commits, counts))
    counted = admit_commits(after.published, commits, address, counts)
    return after.replace(counted=counted, law=law.basis)


def _with_results(pins: Pins, known: Admitted, commits: Sequence[Commit], address: str, tip: Tip) -> Pins:
    """PINS with the results after some more COMMITS up to TIP. The results at the newest snapshot of a fleet are noted,
    if its commit is among them: later ones do not tell what they were."""
    order, snapshot = PublicationOrder(known, address), None
    for commit in commits:
        order.take(commit)
        if commit.incarnation and commit.id == tip.compacted.commit:
            snapshot = commit.id, order.admitted
    return pins.replace(admitted=order.admitted, at_snapshot=snapshot or pins.at_snapshot)


def whole_history(store: Store, tip: Tip) -> tuple[Sequence[Commit], Admitted]:
    """Every commit of the current epoch, and the results of earlier ones."""
    from bb.ledger.travel import quarantine  # noqa: PLC0415

    found = quarantine.read(store.path, store.place.common, None, tip.commit)
    return found.commits, found.settled


def may_have_holdings(octets: bytes) -> bool:
    """Whether one of these lines may be about a reservation, or about who has a name."""
    return any(b'"kind":"%s"' % kind in octets for kind in row_facts.KINDS)


def without_ended(pins: Pins, settled: Admitted, generation: int) -> Pins:
    """PINS without the reservations that had ended at a GENERATION, with the results SETTLED. Those are in a snapshot
    that is right, so the results of later snapshots do not need the others."""
    later = (name for name, at in pins.admitted.generations.items() if at > generation)
    names = [*settled.generations, *later]
    counted = pins.counted and pins.counted.keeping(names)
    return pins.replace(admitted=pins.admitted.keeping(names), counted=counted)


def without_forgotten(pins: Pins, store: Store) -> Pins:
    """PINS without the places of reservations that ended before the floor of a fleet, as the relay does it. Otherwise a
    clone that only fetches would keep them for ever, because it makes no snapshots."""
    index = store.caught_up()
    if list(index.damages()):
        return pins
    live = {name for name, _ in index.entries_by_term(holdings.NAME, "live")}

    def kept(results: Admitted) -> Admitted:
        names = [name for name, at in results.generations.items() if at >= results.floor or name in live]
        return results.keeping(names)

    return pins.replace(admitted=kept(pins.admitted), counted=pins.counted and kept(pins.counted))


def of_history(git_dir: str, commit: str, arbiter: Arbiter | None) -> tuple[Admitted, Tip]:
    """The results of publication order of a whole verified branch up to COMMIT, whose charter names the ARBITER, and
    its tip."""
    from bb.ledger.travel.branch import History  # noqa: PLC0415

    history, address = History(git_dir, None), arbiter.address if arbiter else ""
    order: PublicationOrder | None = None
    try:
        for one in history.upto(commit):  # not as a list: the lines of a long history need much memory
            order = order or PublicationOrder(history.settled, address)
            order.take(one)
    except (NotALedger, LedgerRewritten.error) as refusal:
        from bb.ledger.travel import quarantine  # noqa: PLC0415  (stray commits are rare)

        found = quarantine.sift("", git_dir, None, commit, refusal)
        return admit_commits(found.settled, found.commits, address), found.tip
    return order.admitted if order else history.settled, history.tip


def without_lines_that_do_not_count(known: Admitted, commits: Sequence[Commit], counts: Counting) -> Admitted:
    """The results from before an epoch, without those of lines that do not count."""
    root = next(iter(commits), None)
    return _counting(known, _last_lines(root) if root else {}, counts)


def _last_lines(commit: Commit) -> dict[str, int]:
    return {writer: first + octets.count(b"\n") - 1 for writer, first, octets in commit.added}


def _counting(known: Admitted, lasts: Mapping[str, int], counts: Counting) -> Admitted:
    out = set()
    for name in (*known.grants, *known.generations):
        writer, n = ids.split_event_id(name)
        by = known.grants[name].agent if name in known.grants else ""
        if not counts(writer, n, lasts.get(writer, 0), by):
            out.add(name)
    return known.without(out)


def admit_commits(
    known: Admitted, commits: Iterable[Commit], address: str, counts: Counting | None = None, *, forgets: bool = True
) -> Admitted:
    """The results of publication order after some more commits of the remote at an ADDRESS. With COUNTS, only of the
    lines that count."""
    order = PublicationOrder(known, address, counts, forgets=forgets)
    for commit in commits:
        order.take(commit)
    return order.admitted


class PublicationOrder:
    """The results of publication order on the remote at an ADDRESS, moved forward commit by commit from KNOWN. With
    COUNTS, only of the lines that count.

    A commit counts if its charter names that remote as the arbiter, or no arbiter at all. The rows of a fleet's engine
    are admitted by their own order. A reader that judges the past FORGETS nothing.
    """

    def __init__(self, known: Admitted, address: str, counts: Counting | None = None, *, forgets: bool = True) -> None:
        self._known, self._address, self._counts, self._forgets = known, address, counts, forgets
        self._rows: OrderedAdmission | None = None  # instead of `_known`, after a commit with rows
        self._incarnation = ""
        self._lasts: dict[str, int] = {}

    @property
    def admitted(self) -> Admitted:
        """The results after the last commit."""
        if self._rows:
            self._known, self._rows = self._rows.admitted, None
        return self._known

    def take(self, commit: Commit) -> None:
        """Move forward over the next COMMIT."""
        counts = self._counts
        if counts:
            self._lasts |= _last_lines(commit)
        if commit.settled is not None and commit.arbiter == self._address:
            settled = commit.settled
            self._known, self._rows = (_counting(settled, self._lasts, counts) if counts else settled), None
        if commit.is_carried or commit.arbiter not in ("", self._address):
            return
        if commit.incarnation:
            self._take_rows(commit)
            return
        may_decide = (added for added in commit.added if may_have_holdings(added[2]))
        facts = [fact for added in may_decide for fact in _deciding_facts(*added, counts)]
        self._known = admission.admit(self.admitted, commit.parent, commit.generation, facts)

    def _take_rows(self, commit: Commit) -> None:
        if self._rows is None or self._incarnation != commit.incarnation:
            self._rows = OrderedAdmission(self.admitted, commit.incarnation, forgets=self._forgets)
            self._incarnation = commit.incarnation
        for row, octets in numbering.cut(commit.rows, commit.added):
            if octets:
                facts, recorders = row_facts.of_row(row.writer, row.first, octets, self._counts)
                self._rows.row(row.place, facts, recorders)


def _deciding_facts(
    writer: str, first: int, octets: bytes, counts: Counting | None
) -> Iterator[tuple[str, HoldingFact | AgentFact]]:
    last = first + octets.count(b"\n") - 1
    for n, raw in enumerate(octets.split(b"\n")[:-1], first):
        try:
            if lines.clock_and_kind(raw)[1] in row_facts.KINDS:
                fact = kinds.fact_on(raw)
                if isinstance(fact, row_facts.FACTS) and (counts is None or counts(writer, n, last, fact.agent)):
                    yield ids.event_id(writer, n), fact
        except lines.BadLine:
            continue
