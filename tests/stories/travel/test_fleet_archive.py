"""The rows of a fleet's engine on the ledger's branch: what the branch says is what the engine said, in every clone."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.facts import Redacted, Released, Renewed, Reserved
from bb.coordination.holdings.admission import Admitted
from bb.coordination.holdings.ordered_admission import take_over
from bb.kernel.errors import BbError
from bb.ledger.carrier.door import Row
from bb.ledger.git import place as places
from bb.ledger.published import layout, pins, tip
from bb.ledger.published.tip import Tip
from bb.ledger.travel import admitted, remote, remote_reader, row_archive, switching
from tests import engine_log
from tests.engine_log import EngineLog
from tests.stories.travel.branch_support import Branch
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, clone, hub, settle
from tests.support import environment

LETTER = {"from": AMBER, "to": COBALT, "bead": "bb-1", "category": "INFO", "subject": "Look"}


@pytest.fixture
def pair(tmp_path: Path) -> list[Clone]:
    return agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)


@pytest.fixture
def branch(tmp_path: Path, pair: list[Clone]) -> Branch:
    return Branch(tmp_path / "hub.git")


@pytest.fixture
def log(pair: list[Clone]) -> EngineLog:
    """The log of a fleet that has begun. Both clones know it."""
    begun = engine_log.begin(pair[0].path)
    pair[1].sync(pull=True)
    return begun


def reserved(agent: str, scope: str, **more: Any) -> Reserved:
    return Reserved(agent, scope, "bb-1", 120, order=engine_log.INCARNATION, **more)


def known(at: Clone) -> pins.Pins:
    return pins.read(str(at.store))


def tip_of(at: Clone) -> Tip:
    found = known(at).remote("origin").tip
    assert found is not None
    return found


def some_work(pair: Sequence[Clone], log: EngineLog, seed: int, rounds: int = 12) -> None:
    """Agents of both clones reserve, renew, release and take over at random, and send it in rows of random length."""
    choose = random.Random(seed)
    mine: list[tuple[str, str]] = []
    for _ in range(rounds):
        place = choose.randrange(2)
        agent, facts = (AMBER, COBALT)[place], []
        for _ in range(choose.randrange(1, 5)):
            name, holder = choose.choice(mine) if mine else ("", "")
            if name and choose.random() < 0.3:
                facts.append(Released(agent, name) if choose.random() < 0.5 else Renewed(agent, name, 120))
                continue
            takes = take_over(name, log.place) if name and holder != agent and choose.random() < 0.5 else None
            facts.append(reserved(agent, choose.choice(("src", "src/a", "docs", "lib/*")), takes=takes))
        events = engine_log.record(pair[place].path, agent, *facts)
        mine += [(name, agent) for name, fact in zip(events, facts, strict=True) if isinstance(fact, Reserved)]
        engine_log.send(pair[place].path, log, most=choose.randrange(1, 4))


def folded(log: EngineLog, begun: Admitted) -> Admitted:
    """The results as a relay computes them from the rows, after what was known when the fleet BEGAN."""
    from bb.coordination.holdings.ordered_admission import OrderedAdmission
    from bb.ledger.travel import row_facts

    fold = OrderedAdmission(begun, log.incarnation)
    for row in log.rows:
        fold.row(row.place, *row_facts.of_row(row.writer, row.first, row.octets))
    return fold.admitted


def test_rows_become_commits_and_their_places_are_the_tokens(tmp_path: Path, pair: list[Clone], log: EngineLog):
    here, there = pair
    (mine,) = engine_log.record(here.path, AMBER, reserved(AMBER, "src"))
    engine_log.send(here.path, log)
    (theirs,) = engine_log.record(there.path, COBALT, reserved(COBALT, "src/parser"))
    (other,) = engine_log.record(there.path, COBALT, reserved(COBALT, "docs"))
    engine_log.send(there.path, log, most=1)
    engine_log.archive(here.path, log.rows)

    there.sync(pull=True)
    newcomer = clone(tmp_path / "hub.git", "newcomer")
    newcomer.sync(pull=True)

    after = tip_of(here)
    assert after.generation == after.place == log.place
    assert after.digest == log.digest
    grants = known(here).admitted.grants
    assert {name: grant.token for name, grant in grants.items()} == {mine: log.first, other: log.place}
    assert known(there).admitted == known(newcomer).admitted == known(here).admitted
    assert tip_of(newcomer) == after
    assert theirs in known(here).admitted.generations


@pytest.mark.parametrize("seed", range(4))
def test_a_fold_from_the_branch_alone_is_the_fold_from_the_engine(
    tmp_path: Path, pair: list[Clone], log: EngineLog, seed: int
):
    begun = known(pair[0]).admitted
    for part in range(3):
        some_work(pair, log, 10 * seed + part)
        engine_log.archive(pair[part % 2].path, log.rows, look=True)

    newcomer = clone(tmp_path / "hub.git", "newcomer")
    newcomer.sync(pull=True)
    for each in pair:
        each.sync(pull=True)

    assert known(newcomer).admitted == folded(log, begun)
    assert known(pair[0]).admitted == known(pair[1]).admitted == known(newcomer).admitted
    assert tip_of(newcomer) == tip_of(pair[0])
    assert (tip_of(newcomer).place, tip_of(newcomer).digest) == (log.place, log.digest)
    assert pair[0].digest == pair[1].digest == newcomer.digest


def test_two_that_archive_at_once_leave_every_row_once(pair: list[Clone], log: EngineLog):
    failures: list[BaseException] = []

    def archive_often(at: Clone) -> None:
        try:
            for _ in range(6):
                rows = list(log.rows)
                engine_log.archive(at.path, rows)
        except BaseException as failure:
            failures.append(failure)

    some_work(pair, log, 1)
    threads = [threading.Thread(target=archive_often, args=(each,)) for each in pair]
    for thread in threads:
        thread.start()
    for part in range(4):
        some_work(pair, log, 2 + part, rounds=3)
    for thread in threads:
        thread.join()
    engine_log.archive(pair[0].path, log.rows, look=True)
    pair[1].sync(pull=True)

    assert not failures
    assert tip_of(pair[0]).place == tip_of(pair[1]).place == log.place
    assert known(pair[0]).admitted == known(pair[1]).admitted
    assert pair[1].ask("ledger.verify", published=True)["published"][0]["generation"] == log.place


def test_one_that_was_slower_goes_on_after_the_rows_that_are_there(pair: list[Clone], log: EngineLog):
    here, there = pair
    some_work(pair, log, 3)
    engine_log.archive(here.path, log.rows[:4])

    after = engine_log.archive(there.path, log.rows).remote("origin").tip  # it has not seen the commit of the other

    assert after is not None
    assert after.place == log.place
    here.sync(pull=True)
    assert tip_of(here) == after


def losing(answers: int, monkeypatch: pytest.MonkeyPatch, arrives: bool = True) -> None:
    """Let so many pushes end without an answer. What they push ARRIVES, or does not."""
    push, left = remote.push, [None] * answers

    def pushed(*given: Any) -> None:
        if not left:
            return push(*given)
        left.pop()
        if arrives:
            push(*given)
        raise remote.Offline("the connection was lost")

    monkeypatch.setattr(remote, "push", pushed)


def test_a_lost_answer_of_the_remote_archives_nothing_twice(
    pair: list[Clone], log: EngineLog, monkeypatch: pytest.MonkeyPatch
):
    here, there = pair
    some_work(pair, log, 15)
    losing(1, monkeypatch)
    engine_log.archive(here.path, log.rows)
    losing(1, monkeypatch)
    engine_log.end(here.path, log)
    there.sync(pull=True)

    assert tip_of(there) == tip_of(here)
    assert tip_of(there).charter.fleet is None
    assert tip_of(there).generation == log.place + 1


def test_rows_that_did_not_arrive_are_archived_another_time(
    branch: Branch, pair: list[Clone], log: EngineLog, monkeypatch: pytest.MonkeyPatch
):
    here, there = pair
    before = branch.tip
    some_work(pair, log, 16)
    losing(1, monkeypatch, arrives=False)
    with pytest.raises(BbError) as refusal:
        engine_log.archive(here.path, log.rows)

    assert refusal.value.code == "OFFLINE"
    assert branch.tip == before
    engine_log.archive(there.path, log.rows)
    here.sync(pull=True)
    assert tip_of(here).place == log.place
    assert known(here).admitted == known(there).admitted


def test_many_rows_are_several_commits(pair: list[Clone], log: EngineLog, monkeypatch: pytest.MonkeyPatch):
    some_work(pair, log, 4)
    monkeypatch.setattr(row_archive, "MOST_BYTES", 2000)

    engine_log.archive(pair[0].path, log.rows)

    assert tip_of(pair[0]).place == log.place
    assert tip_of(pair[0]).commits > 5


def test_rows_that_are_not_the_next_ones_or_of_another_log_are_refused(pair: list[Clone], log: EngineLog):
    here, _ = pair
    some_work(pair, log, 5)
    other = EngineLog(log.repo, log.first, log.heads, "f" * 16)
    for row in log.rows:
        other.append(row.writer, row.first, row.octets)
    engine_log.archive(here.path, log.rows[:3])

    def refused(rows: Sequence[Row]) -> str:
        with pytest.raises(BbError) as refusal:
            engine_log.archive(here.path, rows)
        return refusal.value.code

    assert refused(log.rows[5:]) == "ARCHIVE_GAP"
    assert refused(other.rows[3:]) == "ANOTHER_ENGINE"
    assert refused(other.rows) == "ANOTHER_ENGINE"
    assert tip_of(here).place == log.rows[2].place


def test_a_row_that_does_not_count_keeps_its_place_and_its_lines_stay_out(pair: list[Clone], log: EngineLog):
    here, there = pair
    (event,) = engine_log.record(here.path, AMBER, reserved(AMBER, "src"))
    (row,) = engine_log.send(here.path, log)
    log.append("-", 0, b"")
    log.append("n" * 12, 1, row.octets)
    log.append(row.writer, row.last + 3, row.octets)
    (other,) = engine_log.record(there.path, COBALT, reserved(COBALT, "docs"))
    engine_log.send(there.path, log)

    engine_log.archive(here.path, log.rows)
    there.sync(pull=True)

    assert {name: grant.token for name, grant in known(there).admitted.grants.items()} == {
        event: log.first,
        other: log.place,
    }
    assert tip_of(there).digest == log.digest
    assert "n" * 12 not in tip_of(there).heads


# -- the switch


def test_a_switch_that_comes_too_late_is_tried_again_with_fresh_numbers(pair: list[Clone]):
    here, there = pair
    with engine_log.syncing(there.path) as sync:
        sync.look()
        before = sync.pin.tip
        assert before is not None
        stale = EngineLog(before.charter.repo, before.place + 1).terms
        here.ask("agent.send", **LETTER, body="Meanwhile")
        here.sync()

        with pytest.raises(remote.Moved):
            switching.begin(sync, stale)
        sync.look()
        with pytest.raises(remote.Moved):
            switching.begin(sync, stale)
        switching.begin(sync, stale.replace(first=stale.first + 1))

    assert tip_of(there).charter.fleet == stale.replace(first=stale.first + 1)
    assert (tip_of(there).charter.format, tip_of(there).charter.min_writer) == (2, 2)


def test_lines_are_not_published_without_the_engine(branch: Branch, pair: list[Clone], log: EngineLog):
    before = branch.tip
    here, _ = pair
    here.ask("agent.send", **LETTER, body="Loose")

    engine_log.sync_both(here.path)
    with engine_log.syncing(here.path) as sync, pytest.raises(BbError) as refusal:
        sync.push(sync.wanted())

    assert branch.tip == before
    assert refusal.value.code == "FLEET_IS_ON"


def test_after_the_end_lines_are_published_as_before_and_generations_go_on_after_the_last_place(
    tmp_path: Path, pair: list[Clone], log: EngineLog
):
    here, there = pair
    some_work(pair, log, 6)
    with pytest.raises(BbError) as refusal:
        engine_log.end(here.path, log)
    engine_log.archive(here.path, log.rows)
    engine_log.end(here.path, log)
    granted = {name: grant for name, grant in known(here).admitted.grants.items() if grant.ended is None}

    here.ask("agent.send", **LETTER, body="After")
    settle(pair)
    newcomer = clone(tmp_path / "hub.git", "newcomer")
    newcomer.sync(pull=True)

    assert refusal.value.code == "ROWS_NOT_ARCHIVED"
    assert tip_of(here).generation > log.place + 1
    assert (tip_of(here).charter.fleet, tip_of(here).charter.format, tip_of(here).digest) == (None, 2, "")
    assert granted.items() <= known(newcomer).admitted.grants.items()
    assert here.digest == there.digest == newcomer.digest
    assert tip_of(newcomer) == tip_of(here)


def test_a_grant_of_the_engine_is_ended_on_the_git_remote_and_blocks_until_then(pair: list[Clone], log: EngineLog):
    here, there = pair
    engine_log.record(here.path, AMBER, reserved(AMBER, "src"))
    engine_log.send(here.path, log)
    engine_log.archive(here.path, log.rows)
    engine_log.end(here.path, log)
    settle(pair)

    refused = there.refused("agent.reserve", agent=COBALT, scope=["src/x"], bead="bb-1", **{"global": True})
    here.ask("agent.release", agent=AMBER, scope=["src"])
    here.sync()
    granted = there.ask("agent.reserve", agent=COBALT, scope=["src/x"], bead="bb-1", **{"global": True})

    assert refused.code == "RESERVATION_CONFLICT"
    assert granted["reservations"][0]["token"] > log.place


def test_a_new_incarnation_goes_on_beyond_every_known_place(tmp_path: Path, pair: list[Clone], log: EngineLog):
    here, there = pair
    (old,) = engine_log.record(here.path, AMBER, reserved(AMBER, "src"))
    engine_log.send(here.path, log)
    engine_log.archive(here.path, log.rows)
    again = engine_log.begin(here.path, "a" * 16, beyond=1000)
    (void, new) = engine_log.record(
        there.path, COBALT, reserved(COBALT, "docs"), reserved(COBALT, "lib").replace(order="a" * 16)
    )
    engine_log.send(there.path, again)
    engine_log.archive(there.path, again.rows, look=True)
    newcomer = clone(tmp_path / "hub.git", "newcomer")
    newcomer.sync(pull=True)

    grants = known(newcomer).admitted.grants
    assert {name: grant.token for name, grant in grants.items()} == {old: log.first, new: log.first + 1001}
    assert void in known(newcomer).admitted.generations
    assert known(newcomer).admitted == known(there).admitted
    assert tip_of(newcomer).digest == again.digest


# -- withdrawals


@pytest.mark.parametrize("is_archived_first", [True, False])
def test_a_withdrawn_line_is_without_payload_on_the_branch(
    tmp_path: Path, pair: list[Clone], log: EngineLog, is_archived_first: bool
):
    here, there = pair
    secret = str(here.ask("agent.send", **LETTER, body="xyzzy")["message_id"])
    engine_log.send(here.path, log)
    if is_archived_first:
        engine_log.archive(here.path, log.rows)
    engine_log.record(here.path, AMBER, Redacted(AMBER, secret, "a slip"))
    engine_log.send(here.path, log)
    engine_log.archive(there.path, log.rows, look=True)
    some_work(pair, log, 7, rounds=3)
    engine_log.archive(here.path, log.rows, look=True)
    newcomer = clone(tmp_path / "hub.git", "newcomer")
    newcomer.sync(pull=True)
    there.sync(pull=True)

    files = Branch(tmp_path / "hub.git").files()
    assert not any(b"xyzzy" in file.octets for file in files.values())
    assert here.digest == there.digest == newcomer.digest
    assert tip_of(newcomer).digest == log.digest


def test_a_withdrawn_reservation_decides_on_the_branch_as_it_did_on_the_engine(
    tmp_path: Path, pair: list[Clone], log: EngineLog
):
    here, there = pair
    begun = known(here).admitted
    (event,) = engine_log.record(here.path, AMBER, reserved(AMBER, "src"))
    engine_log.send(here.path, log)
    engine_log.record(here.path, AMBER, Redacted(AMBER, event, "a slip"))
    engine_log.send(here.path, log)
    engine_log.record(there.path, COBALT, reserved(COBALT, "src/x"))
    engine_log.send(there.path, log)

    engine_log.archive(here.path, log.rows)
    newcomer = clone(tmp_path / "hub.git", "newcomer")
    newcomer.sync(pull=True)

    assert known(newcomer).admitted == folded(log, begun) == known(here).admitted
    assert tip_of(here).blanked == tip_of(newcomer).blanked == {event}


# -- snapshots and epochs


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "MOST_LINES", 8)
    monkeypatch.setattr(tip, "AT_LEAST", 20)


@pytest.mark.usefixtures("often")
def test_a_snapshot_in_a_fleet_is_right_and_readers_without_a_clone_begin_with_it(
    tmp_path: Path, pair: list[Clone], log: EngineLog, monkeypatch: pytest.MonkeyPatch
):
    here, there = pair
    some_work(pair, log, 8)
    engine_log.archive(here.path, log.rows)
    made = engine_log.sync_both(here.path).archived
    some_work(pair, log, 9, rounds=4)
    engine_log.archive(there.path, log.rows, look=True)
    monkeypatch.setattr(tip, "AT_LEAST", 10_000)
    some_work(pair, log, 10, rounds=2)
    engine_log.archive(here.path, log.rows, look=True)
    newcomer = clone(tmp_path / "hub.git", "newcomer")
    newcomer.sync(pull=True)

    (checked,) = newcomer.ask("ledger.verify", published=True)["published"]
    fetched: list[str] = []
    fetch = remote_reader._Source.fetch
    monkeypatch.setattr(
        remote_reader._Source,
        "fetch",
        lambda self, how_far: (fetched.append(how_far), fetch(self, how_far))[1],
    )
    with remote_reader.published_ledger(places.find(str(here.path), environment()), "origin") as found:
        read, generation = pins.read(found.store).admitted, found.generation

    assert made
    assert checked["is_snapshot_right"]
    assert len(tip_of(newcomer).compacted.snapshots) == 1
    assert tip_of(newcomer).commits > 0
    assert len(fetched) <= 2
    assert "unshallow" not in " ".join(fetched)
    assert generation == log.place
    live = sorted(read.generations)
    assert read == known(newcomer).admitted.keeping(live)


@pytest.mark.usefixtures("often")
def test_a_clone_that_reads_rows_after_a_snapshot_judges_it_without_the_whole_history(
    pair: list[Clone], log: EngineLog, monkeypatch: pytest.MonkeyPatch
):
    here, there = pair
    some_work(pair, log, 17)
    engine_log.archive(here.path, log.rows)
    engine_log.sync_both(here.path)
    (mine, *_) = (name for name, grant in known(here).admitted.grants.items() if grant.ended is None)
    grant = known(here).admitted.grants[mine]
    holder = pair[(AMBER, COBALT).index(grant.agent)]
    engine_log.record(holder.path, grant.agent, Renewed(grant.agent, mine, 120))  # seen after the snapshot
    engine_log.send(holder.path, log)
    engine_log.archive(here.path, log.rows)
    monkeypatch.setattr(admitted, "of_history", None)

    engine_log.sync_both(there.path)

    judged = known(there).remote("origin").judged
    assert judged is not None
    assert judged.is_right
    assert known(there).admitted.grants[mine].seen == log.place


@pytest.mark.usefixtures("often")
def test_a_new_epoch_in_a_fleet_goes_on_after_the_last_row(tmp_path: Path, pair: list[Clone], log: EngineLog):
    here, there = pair
    some_work(pair, log, 11)
    engine_log.archive(here.path, log.rows)
    before = known(here).admitted
    for _ in range(2):  # in a quiet fleet, two epochs have the same generation
        here.ask("ledger.rotate", reason="smaller", agent="user")
    some_work(pair, log, 12, rounds=4)
    for each in pair:
        engine_log.send(each.path, log)
    engine_log.archive(there.path, log.rows, look=True)
    here.sync(pull=True)
    newcomer = clone(tmp_path / "hub.git", "newcomer")
    newcomer.sync(pull=True)

    assert tip_of(newcomer).charter.epoch == 3
    assert tip_of(newcomer).charter.fleet == log.terms
    assert (tip_of(newcomer).place, tip_of(newcomer).digest) == (log.place, log.digest)
    assert known(newcomer).admitted == known(there).admitted
    assert before.grants.keys() <= known(newcomer).admitted.grants.keys()
    assert there.digest == newcomer.digest


def test_an_epoch_after_a_fleet_can_be_read_by_earlier_versions(pair: list[Clone], log: EngineLog):
    here, there = pair
    some_work(pair, log, 13)
    engine_log.archive(here.path, log.rows)
    engine_log.end(here.path, log)
    here.ask("ledger.rotate", reason="no fleet any more", agent="user")
    settle(pair)

    charter = tip_of(there).charter
    assert (charter.format, charter.min_reader, charter.min_writer, charter.fleet) == (1, 1, 1, None)
    assert tip_of(there).generation > log.place
    assert here.digest == there.digest


# -- others that would change the branch


def test_the_arbiter_does_not_move_while_a_fleet_is_on(tmp_path: Path, pair: list[Clone], log: EngineLog):
    here, _ = pair
    other = hub(tmp_path / "other.git")
    here.git("remote", "add", "other", str(other))
    here.sync(publish=True, remote="other")

    refusal = here.refused("ledger.arbiter", remote="other", reason="a new server", agent="user")

    assert refusal.code == "FLEET_IS_ON"
    assert "bb fleet end" in str(refusal.hint)


def test_a_fleet_is_lost_with_its_arbiter_and_no_place_is_given_again(
    tmp_path: Path, pair: list[Clone], log: EngineLog
):
    here, there = pair
    (kept,) = engine_log.record(here.path, AMBER, reserved(AMBER, "src"))
    engine_log.send(here.path, log)
    engine_log.archive(here.path, log.rows)
    other = hub(tmp_path / "other.git")
    for each in pair:
        each.git("remote", "add", "other", str(other))
    here.sync(publish=True, remote="other")
    (tmp_path / "hub.git").rename(tmp_path / "gone.git")

    here.ask("ledger.arbiter", remote="other", reason="the server burnt", lost=True, agent="user")
    there.sync(publish=True, remote="other")
    refused = there.refused("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1", **{"global": True})
    granted = there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-1", **{"global": True})

    assert known(there).admitted.grants[kept].ended is None
    assert refused.code == "RESERVATION_CONFLICT"
    assert granted["reservations"][0]["token"] > log.place + (1 << 20)


def test_a_branch_that_was_set_back_is_restored_with_its_rows(branch: Branch, pair: list[Clone], log: EngineLog):
    here, there = pair
    some_work(pair, log, 14)
    engine_log.archive(here.path, log.rows[:3])
    old = branch.tip
    engine_log.archive(here.path, log.rows)
    branch.point_at(old)

    refused = here.refused("sync", pull=True)
    here.ask("ledger.restore")
    there.sync(pull=True)

    assert refused.code == "LEDGER_REWRITTEN"
    assert tip_of(there) == tip_of(here)
    assert tip_of(there).place == log.place
