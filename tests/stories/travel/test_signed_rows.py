"""In a fleet with a list of signers, a line counts as of its row, in every clone and in CI: the signature is in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.coordination.facts import Reserved
from bb.coordination.records import signers
from bb.ledger.git import place as places
from bb.ledger.published import pins
from bb.ledger.travel import remote_reader
from tests import engine_log
from tests.engine_log import EngineLog
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, clone, hub
from tests.support import environment


def review(clones: list[Clone], *rows: str) -> None:
    """Let every clone have a reviewed file with these ROWS."""
    for each in clones:
        path = each.path / signers.PATH
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(rows) + "\n")
        each.git("add", "--force", signers.PATH)
        each.git("commit", "--quiet", "--allow-empty", "-m", "Signers")


@pytest.fixture
def pair(tmp_path: Path) -> list[Clone]:
    """Two clones with listed keys. Everything that they have is signed and published."""
    made = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)
    rows = [
        str(each.ask("ledger.key", **{"for": name})["line"])
        for each, name in zip(made, ("laptop", "desk"), strict=True)
    ]
    review(made, *rows, "#bb mode require")
    for each in (*made, *made):
        each.sync()
    return made


def reserve(at: Clone, log: EngineLog, agent: str, scope: str, *, is_signed: bool) -> str:
    """Send a reservation in one row, with its signature if it IS SIGNED."""
    (event,) = engine_log.record(at.path, agent, Reserved(agent, scope, "bb-1", 120, order=log.incarnation))
    if is_signed:
        sign(at)
    engine_log.send(at.path, log)
    return event


def sign(at: Clone) -> None:
    with engine_log.syncing(at.path) as sync:
        sync.signatures.sign()


def test_a_line_counts_if_its_row_has_the_signature(tmp_path: Path, pair: list[Clone]):
    here, there = pair
    log = engine_log.begin(here.path)
    late = reserve(here, log, AMBER, "src", is_signed=False)
    sign(here)
    engine_log.send(here.path, log)  # in a row of its own, which is too late
    good = reserve(there, log, COBALT, "src/lib", is_signed=True)
    engine_log.archive(here.path, log.rows)
    there.sync(pull=True)
    newcomer = clone(tmp_path / "hub.git", "newcomer")
    review([newcomer], (here.path / signers.PATH).read_text().strip())
    newcomer.sync(pull=True)

    for each in (here, there, newcomer):
        known = pins.read(str(each.store))
        assert set(known.admitted.grants) == {late}  # whatever lines count
        assert known.counted is not None
        assert set(known.counted.grants) == {good}
    with engine_log.store_of(here.path) as store:
        law = store.law
    with remote_reader.published_ledger(places.find(str(here.path), environment()), "origin", law) as found:
        assert pins.read(found.store).counted == pins.read(str(here.store)).counted
