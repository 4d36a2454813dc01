"""Starts a new epoch of a published ledger: the only way to remove the contents of its earlier commits.

A new epoch begins with a commit without a parent. It has every earlier line, redacted ones without their payload, and
the results of publication order so far. So no fact is lost with the history: every clone checks that each line it knew
is there and equal, and that the results are unchanged. The epoch's charter records the end of the previous epoch, the
agent that ended it, and the reason.
"""

from __future__ import annotations

from bb.coordination.holdings import holdings
from bb.coordination.holdings.admission import Admitted
from bb.kernel import clock
from bb.ledger.git import trees
from bb.ledger.journal import clone
from bb.ledger.published import order_file, past_epochs
from bb.ledger.published.charter import LEAP, Charter, LedgerRewritten, Previous
from bb.ledger.published.layout import ORDER
from bb.ledger.published.tip import Tip
from bb.ledger.records.store import Store
from bb.ledger.signing.keys import Key
from bb.ledger.travel import importing, publish, quarantine
from bb.ledger.travel.publish import Epoch, Unpublished
from bb.ledger.travel.quarantine import Sound


def begin(store: Store, tip: Tip, carried: Admitted, by: str, reason: str, now: int, key: Key | None = None) -> Tip:
    """Make the first commit of the next epoch after TIP, at the local ref."""
    previous = Previous(tip.commit, tip.generation, by, reason, clock.text(now))
    charter = tip.charter.replace(epoch=tip.charter.epoch + 1, previous=previous)
    if (
        charter.fleet is None
    ):  # the commits of a fleet go with the earlier epoch, and earlier versions can read this one
        charter = charter.replace(format=clone.FORMAT, min_reader=clone.FORMAT, min_writer=clone.FORMAT)
    all_lines = Unpublished(tip.last_lines, tip.events)
    epoch = Epoch(charter, past_epochs.to_bytes(carried), _last_row(store, tip))
    return publish.commit(store, None, all_lines, now, key, epoch)


def _last_row(store: Store, tip: Tip) -> bytes:
    """The last row of the fleet's engine in TIP, as its file `order` has it. Empty without a fleet, or without rows."""
    terms = tip.charter.fleet
    if terms is None or tip.generation < terms.first:
        return b""
    rows = order_file.read(trees.contents(store.git.objects, f"{tip.commit}:{ORDER}") or b"")
    return order_file.to_bytes(rows[-1:])


def check_before_publishing(store: Store, tip: Tip, before: Tip, carried: Admitted) -> None:
    """Refuse to publish an epoch that other clones would refuse. Local lines may be damaged, or withdrawn meanwhile."""
    found = quarantine.read(store.path, store.place.common, None, tip.commit, store.progress)
    check(found, before, carried)
    importing.refuse_wrong_blanks(store.path, found.commits, {})


def live(store: Store) -> list[str]:
    """The reservations whose order of publication still matters."""
    return [name for name, _ in store.caught_up().entries_by_term(holdings.NAME, "live")]


def check(found: Sound, before: Tip, ours: Admitted | None) -> None:
    """Refuse an epoch that lacks lines published BEFORE, or whose results of publication order differ from OURS.

    Importing the lines checks that they are equal.
    """
    after, root = found.tip, found.commits[0]
    previous = after.charter.previous
    if after.charter.repo != before.charter.repo or previous is None or not _follows(after.charter, before):
        raise LedgerRewritten("the new epoch of the ledger does not continue the published ledger")
    for writer, n in before.last_lines.items():
        if after.last_lines.get(writer, 0) < n:
            raise LedgerRewritten(f"the new epoch of the ledger lacks lines of writer {writer}")
    if root.rows and root.rows[-1].place == before.generation and root.rows[-1].digest != before.digest:
        raise LedgerRewritten("the new epoch of the ledger goes on after other rows of the fleet's engine")
    if ours and not _agree(ours.without(root.blanked), found.settled, before.generation):
        raise LedgerRewritten("the new epoch of the ledger admits other reservations than before")


def _follows(charter: Charter, before: Tip) -> bool:
    """Whether an epoch can be a successor of BEFORE. Each epoch has at least one commit, and a jump of the generation
    is limited, so that further epochs remain possible. In a fleet, the generation is the same in several epochs if the
    engine gave no place meanwhile."""
    generations = charter.previous.generation - before.generation if charter.previous else -1
    most = LEAP if charter.fleet or before.charter.fleet else generations + 1
    return 0 < charter.epoch - before.charter.epoch <= most and 0 <= generations < LEAP


def _agree(ours: Admitted, theirs: Admitted, generation: int) -> bool:
    """Whether THEIRS and OURS have the same results up to a GENERATION. They may have forgotten more since."""
    for name, grant in ours.grants.items():
        other = theirs.grants.get(name)
        if other is None and (grant.ended or generation + 1) < theirs.floor:
            continue
        if other is None or other.replace(ended=None, seen=0) != grant.replace(ended=None, seen=0):
            return False
        if other.seen != grant.seen and other.seen <= generation:
            return False
        if other.ended != grant.ended and not (grant.ended is None and (other.ended or 0) > generation):
            return False
    is_new = all(grant.token > generation for name, grant in theirs.grants.items() if name not in ours.grants)
    generations = ours.generations
    is_same = all(
        at == generations[name] if name in generations else at > generation for name, at in theirs.generations.items()
    )
    return is_new and is_same
