"""Beginning a published ledger anew: the only way to be rid of what its earlier commits hold.

A new epoch is a commit without parent that has every line there was, those that were redacted without their payload,
and what publication had settled so far. So nothing is lost with the history: whoever follows checks that each line it
knew is there and the same, and that what it knows to be settled is settled as before. The epoch's charter says where
the one before ended, who ended it and why.
"""

from __future__ import annotations

from bb.coordination.holdings import holdings
from bb.kernel import clock
from bb.ledger.git import git
from bb.ledger.published import layout, settled
from bb.ledger.published.charter import CHARTER, LedgerRewritten, NotALedger, Previous, charter_of
from bb.ledger.travel import intake, publish
from bb.ledger.travel.branch import History
from bb.ledger.travel.publish import Epoch, Unpublished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.coordination.holdings.admission import Admitted
    from bb.ledger.published.charter import Charter
    from bb.ledger.published.tip import Commit, Tip
    from bb.ledger.records.store import Store
    from bb.ledger.signing.keys import Key

LEAP = 1 << 32  # generations


def begin(store: Store, tip: Tip, carried: Admitted, by: str, reason: str, now: int, key: Key | None = None) -> Tip:
    """The first commit of the epoch after that of TIP, at the local ref."""
    previous = Previous(tip.commit, tip.generation, by, reason, clock.text(now))
    charter = tip.charter.but(epoch=tip.charter.epoch + 1, previous=previous)
    wanted = Unpublished(tip.last_lines, tip.events)
    return publish.commit(store, None, wanted, now, key, Epoch(charter, settled.written(carried)))


def must_be_followed(store: Store, tip: Tip, before: Tip, carried: Admitted) -> None:
    """Refuse to publish an epoch that others would refuse: what is not published may be spoilt here, or taken back by
    somebody at this very moment."""
    history = History(store.place.common, None)
    commits = list(history.upto(tip.commit, store.progress))
    check(history, commits, before, carried)
    intake.refuse_wrong_blanks(store.path, commits, {})


def live(store: Store) -> list[str]:
    """The reservations whose order of publication still matters."""
    return [name for name, _ in store.caught_up().found(holdings.NAME, "live")]


def charter_at(git_dir: str, commit: str) -> Charter | None:
    """The charter in a commit that nobody has verified; None when there is none that makes sense."""
    with git.Conversation(["cat-file", "--batch"], git_dir=git_dir) as objects:
        try:
            return charter_of(layout.blob(objects, f"{commit}:{CHARTER}", layout.SMALL))
        except NotALedger:
            return None


def check(history: History, commits: Sequence[Commit], before: Tip, ours: Admitted | None) -> None:
    """Refuse an epoch that lacks what was published BEFORE, or that settles it otherwise than OURS says.

    That the lines themselves are the same is found out when they are taken in.
    """
    after = history.tip
    previous = after.charter.previous
    if after.charter.repo != before.charter.repo or previous is None or not _follows(after.charter, before):
        raise LedgerRewritten("the ledger was begun anew from something else than was published before")
    for writer, n in before.last_lines.items():
        if after.last_lines.get(writer, 0) < n:
            raise LedgerRewritten(f"the ledger was begun anew without all lines of writer {writer}")
    if ours and not _agree(ours.without(commits[0].blanked), history.settled, before.generation):
        raise LedgerRewritten("the ledger was begun anew with other reservations admitted than before")


def _follows(charter: Charter, before: Tip) -> bool:
    """Whether an epoch can be one that came after BEFORE: each has at least a commit, and none leaps so far ahead that
    there could be no other."""
    generations = charter.previous.generation - before.generation if charter.previous else -1
    return 0 < charter.epoch - before.charter.epoch <= generations + 1 and generations < LEAP


def _agree(ours: Admitted, theirs: Admitted, generation: int) -> bool:
    """Whether THEIRS says of what was settled up to a GENERATION what OURS says."""
    for name, grant in ours.grants.items():
        other = theirs.grants.get(name)
        if other is None or other.but(ended=None) != grant.but(ended=None):
            return False
        if other.ended != grant.ended and not (grant.ended is None and (other.ended or 0) > generation):
            return False
    is_new = all(grant.token > generation for name, grant in theirs.grants.items() if name not in ours.grants)
    known = ours.generations
    is_same = all(at == known[name] if name in known else at > generation for name, at in theirs.generations.items())
    return is_new and is_same
