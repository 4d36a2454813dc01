"""What every engine behind the door must do, beyond what all carriers do (`test_all_carriers.py`): tried with real
servers, real processes, and a proxy in between."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.errors import Refusal
from bb.ledger.carrier import door
from bb.ledger.carrier.door import Machine
from tests import engines
from tests.contracts import carriers
from tests.contracts.carriers import ADA, BOB, FIRST, INCARNATION, REPO, Engine, begun, everything, lines_of
from tests.examples import examples
from tests.waiting import until

if TYPE_CHECKING:
    from bb.ledger.carrier.door import Carrier

pytestmark = pytest.mark.each  # of the engines

WRITERS = [letter * 12 for letter in "abcd"]
BRIEFLY = 0.3  # seconds: the patience of a carrier whose answers are lost on purpose


@pytest.fixture(params=carriers.SHARED)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with carriers.SHARED[request.param]() as made:
        yield begun(made)


@pytest.fixture(params=carriers.OWN)
def own_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with carriers.OWN[request.param]() as made:
        yield begun(made)


@pytest.fixture
def carrier(engine: Engine) -> Iterator[Carrier]:
    with contextlib.closing(engine.carrier()) as made:
        yield made


@pytest.fixture
def other(engine: Engine) -> Iterator[Carrier]:
    with contextlib.closing(engine.carrier()) as made:
        yield made


def test_an_empty_log_is_before_its_first_place(carrier: Carrier) -> None:
    head = carrier.head()

    assert (head.incarnation, head.place, head.oldest) == (INCARNATION, FIRST - 1, FIRST)
    assert head.digest == door.first_digest(REPO, INCARNATION)
    assert not head.is_closed
    assert carrier.read(FIRST - 1) == []


def test_rows_are_read_as_they_were_appended(carrier: Carrier, other: Carrier) -> None:
    lines = ["ü€😀".encode(), b"\x01\xff", b"", b"x" * 70_000]
    assert carrier.append(ADA, 1, lines) == FIRST
    assert carrier.append(BOB, 1, [b"one"]) == FIRST + 1
    assert carrier.append(ADA, 5, [b"five"]) == FIRST + 2

    rows = everything(other)

    assert [(row.writer, row.first, row.last) for row in rows] == [(ADA, 1, 4), (BOB, 1, 1), (ADA, 5, 5)]
    assert rows[0].octets == b"".join(line + b"\n" for line in lines)
    assert other.head().place == FIRST + 2
    assert other.head().digest == rows[-1].digest
    assert abs(rows[-1].at - other.head().now) < 600_000


def test_places_follow_one_order_without_gaps_under_four_processes(engine: Engine, carrier: Carrier) -> None:
    with carriers.appending(engine, WRITERS, rows=25) as processes:
        for each in processes:
            assert each.said() == {"ready": each.writer}
        for each in processes:
            each.go()
        said = {each.writer: each.results() for each in processes}

    rows = everything(carrier)
    assert len(rows) == len(WRITERS) * 25
    at = {row.place: row for row in rows}
    for writer, results in said.items():
        assert len(lines_of(rows, writer)) == sum(each["lines"] for each in results)
        for each in results:
            assert (at[each["place"]].writer, at[each["place"]].first) == (writer, each["first"])


def drop(proxy: engines.Proxy, _: Carrier) -> None:
    """The answer is thrown away, and the connection ends."""
    proxy.change = lambda _: b""


def hold(proxy: engines.Proxy, _: Carrier) -> None:
    """Nothing passes; the connection stays."""
    proxy.is_held = True


def double(proxy: engines.Proxy, _: Carrier) -> None:
    """The answer comes twice."""
    proxy.change = lambda octets: octets + octets


def scramble(proxy: engines.Proxy, _: Carrier) -> None:
    """The parts of the answer come in another order."""
    proxy.change = lambda octets: octets[len(octets) // 2 :] + octets[: len(octets) // 2]


def cut(proxy: engines.Proxy, _: Carrier) -> None:
    """The connection ends, and no other is taken."""
    proxy.cut()


@pytest.mark.parametrize("harm", [drop, hold, double, scramble, cut])
def test_lines_are_taken_once_whatever_becomes_of_the_answer(
    engine: Engine, carrier: Carrier, harm: Callable[[engines.Proxy, Carrier], None]
) -> None:
    with engine.proxy() as proxy:
        far = engine.carrier(engine.address(through=proxy), patience=BRIEFLY)
        with contextlib.closing(far):
            far.append(ADA, 1, [b"one"])
            harm(proxy, far)
            with contextlib.suppress(door.AppendUnknown.error, door.EngineUnreachable.error):
                far.append(ADA, 2, [b"two", b"three"])
            proxy.mend()
            proxy.drop()

            place = until(lambda: sent_again(far, 2, [b"two", b"three"]))

    rows = everything(carrier)
    assert lines_of(rows, ADA) == [b"one", b"two", b"three"]
    assert place == rows[-1].place


def sent_again(carrier: Carrier, first: int, lines: list[bytes]) -> int | None:
    try:
        return carrier.append(ADA, first, lines)
    except (door.AppendUnknown.error, door.EngineUnreachable.error):
        return None


def test_an_answer_that_does_not_come_means_that_nothing_is_known(engine: Engine) -> None:
    with engine.proxy() as proxy:
        far = engine.carrier(engine.address(through=proxy), patience=BRIEFLY)
        with contextlib.closing(far):
            far.append(ADA, 1, [b"one"])
            proxy.loses_answers = True
            with pytest.raises(door.AppendUnknown.error):
                far.append(ADA, 2, [b"two"])


def test_lines_that_are_known_are_not_appended_again(carrier: Carrier) -> None:
    places = [carrier.append(ADA, 1, [b"1", b"2"]), carrier.append(ADA, 3, [b"3"]), carrier.append(ADA, 4, [b"4"])]

    assert carrier.append(ADA, 1, [b"1", b"2"]) == places[0]
    assert carrier.append(ADA, 2, [b"2"]) == places[0]
    assert carrier.append(ADA, 2, [b"2", b"3"]) == places[1]
    assert carrier.append(ADA, 1, [b"1", b"2", b"3", b"4"]) == places[2]
    assert carrier.append(ADA, 3, [b"3", b"4", b"5"]) == FIRST + 3
    assert lines_of(everything(carrier), ADA) == [b"1", b"2", b"3", b"4", b"5"]


def test_lines_that_would_leave_a_gap_are_refused_with_the_expected_number(carrier: Carrier) -> None:
    carrier.append(ADA, 1, [b"1", b"2"])
    for writer, first, expected in ((ADA, 4, 3), (BOB, 2, 1)):
        with pytest.raises(door.Gap.error) as refusal:
            carrier.append(writer, first, [b"x"])
        assert refusal.value.details["next"] == expected
    assert carrier.append(ADA, 3, [b"3"]) == FIRST + 1


@pytest.mark.parametrize(
    ("first", "lines"),
    [
        (1, [b"other"]),
        (2, [b"2", b"other", b"4"]),
        (3, [b"", b"4"]),
        (1, [b"1", b"22", b"3"]),
    ],
)
def test_other_lines_under_known_numbers_are_refused(carrier: Carrier, first: int, lines: list[bytes]) -> None:
    carrier.append(ADA, 1, [b"1", b"2"])
    carrier.append(ADA, 3, [b"3"])
    before = carrier.head()

    with pytest.raises(door.Forked.error):
        carrier.append(ADA, first, lines)

    assert carrier.head().place == before.place


Batches = st.lists(st.tuples(st.integers(1, 9), st.lists(st.sampled_from([b"", b"a", b"b"]), min_size=1, max_size=4)))


@pytest.mark.parametrize("kind", carriers.SHARED)
def test_any_batches_are_taken_as_the_rule_says(kind: str) -> None:
    with carriers.SHARED[kind]() as engine, contextlib.closing(engine.keeper()) as keeper:

        @examples(100)
        @given(batches=Batches)
        def tries(batches: list[tuple[int, list[bytes]]]) -> None:
            incarnation = os.urandom(8).hex()
            keeper.begin(REPO, incarnation, FIRST, {})
            with contextlib.closing(engine.carrier(incarnation=incarnation)) as carrier:
                known: list[bytes] = []
                place_of: list[int] = []
                for first, lines in batches:
                    if (expected := refusal_of(known, first, lines)) is not None:
                        with pytest.raises(expected.error):
                            carrier.append(ADA, first, lines)
                        continue
                    place = carrier.append(ADA, first, lines)
                    place_of += [place] * (first - 1 + len(lines) - len(known))
                    known[first - 1 :] = [*lines, *known[first - 1 + len(lines) :]]
                    assert place == place_of[first - 2 + len(lines)]
                rows = carrier.read(FIRST - 1)
                assert lines_of(rows, ADA) == known

        tries()


def refusal_of(known: list[bytes], first: int, lines: list[bytes]) -> Refusal | None:
    """The refusal of a batch after the lines that are KNOWN; None if it is taken."""
    if first > len(known) + 1:
        return door.Gap
    both = known[first - 1 : first - 1 + len(lines)]
    return None if lines[: len(both)] == both else door.Forked


def test_the_published_lines_of_a_writer_count(engine: Engine) -> None:
    begun(engine, {ADA: 7}, incarnation="f" * 16)
    with contextlib.closing(engine.carrier(incarnation="f" * 16)) as carrier:
        with pytest.raises(door.Gap.error) as refusal:
            carrier.append(ADA, 9, [b"9"])
        assert refusal.value.details["next"] == 8
        assert carrier.append(ADA, 6, [b"6", b"7"]) == FIRST - 1, "published before the log began"
        assert carrier.append(ADA, 7, [b"7", b"8"]) == FIRST
        (row,) = carrier.read(FIRST - 1)
        assert (row.first, row.octets) == (8, b"8\n")


def test_reading_goes_in_pages_from_any_place(carrier: Carrier) -> None:
    for number in range(1, 8):
        carrier.append(ADA, number, [b"%d" % number])

    assert [row.first for row in carrier.read(FIRST - 1, 3)] == [1, 2, 3]
    assert [row.first for row in carrier.read(FIRST + 2, 3)] == [4, 5, 6]
    assert [row.first for row in carrier.read(FIRST + 5, 3)] == [7]
    assert carrier.read(FIRST + 6, 3) == []
    assert carrier.read(FIRST + 600, 3) == []


def test_an_answer_has_a_few_mib_at_most(carrier: Carrier) -> None:
    large = [b"x" * 1_000_000, b"y" * 1_000_000]
    for number in range(1, 13, 2):
        carrier.append(ADA, number, large)

    first = carrier.read(FIRST - 1)

    assert 1 <= sum(row.octets.count(b"\n") for row in first) < 12
    assert [len(line) for line in lines_of(everything(carrier), ADA)] == [1_000_000] * 12, "in 6 rows, or 12"


def test_a_reader_is_woken(carrier: Carrier, other: Carrier) -> None:
    seen: list[int] = []

    def watch() -> None:
        since = FIRST - 1
        while since < FIRST + 4:
            if other.wait(since, 600):
                since = max([since, *(row.place for row in other.read(since))])
                seen.append(since)

    other.head()
    thread = threading.Thread(target=watch)
    thread.start()
    for number in range(1, 6):
        carrier.append(ADA, number, [b"x"])
        until(lambda number=number: seen and seen[-1] >= FIRST - 1 + number, "the row")
    thread.join()


def test_a_wait_ends_when_a_file_can_be_read(carrier: Carrier) -> None:
    reads, writes = os.pipe()
    try:
        while carrier.read(FIRST - 1):
            pass
        os.write(writes, b"x")
        carrier.wait(FIRST - 1, 600, [reads])  # it may return earlier, but not only after 600 seconds
    finally:
        os.close(reads)
        os.close(writes)


def test_machines_are_seen_with_their_agents(engine: Engine, carrier: Carrier, other: Carrier) -> None:
    carrier.beat(Machine("ignored", ADA, FIRST, {"ada": 3, "eve": 900}, 10_000.0))
    other.beat(Machine("ignored", BOB, FIRST - 1))
    carrier.beat(Machine("ignored", ADA, FIRST + 4, {"ada": 0}))

    alive = {machine.writer: machine for machine in other.alive()}

    assert {ADA, BOB} == alive.keys()
    assert (alive[ADA].place, alive[ADA].agents) == (FIRST + 4, {"ada": 0})
    assert alive[ADA].is_alive
    assert 0 <= alive[ADA].age < door.BEAT_IS_VALID


def test_who_yields_the_lead_lets_another_one_archive(carrier: Carrier, other: Carrier) -> None:
    assert carrier.lead()
    assert not other.lead()
    other.yield_lead()  # it has nothing to yield
    assert carrier.lead()

    carrier.yield_lead()

    assert other.lead()
    assert not carrier.lead()


def test_too_many_agents_do_not_stop_the_beat(carrier: Carrier) -> None:
    carrier.beat(Machine("", ADA, FIRST, {f"agent-{number:030}": number for number in range(5000)}))

    (machine,) = carrier.alive()

    assert machine.agents[f"agent-{0:030}"] == 0, "those that were seen last are kept"


def test_a_writer_belongs_to_the_machine_that_used_it_first(engine: Engine) -> None:
    first, second = engine.carrier(engine.machine("m-one")), engine.carrier(engine.machine("m-two"))
    with contextlib.closing(first), contextlib.closing(second):
        first.append(ADA, 1, [b"1"])
        second.append(BOB, 1, [b"1"])
        for carrier, writer in ((second, ADA), (first, BOB)):
            for number in (1, 2, 9):
                with pytest.raises(door.Denied.error):
                    carrier.append(writer, number, [b"1"])
        assert len(everything(first)) == 2


def test_a_writer_that_nobody_has_used_can_be_taken(engine: Engine) -> None:
    """What docs/fleet.md says of a machine in the wrong hands. Its clone goes on under a new writer."""
    first, second = engine.carrier(engine.machine("m-one")), engine.carrier(engine.machine("m-two"))
    with contextlib.closing(first), contextlib.closing(second):
        place = second.append(ADA, 1, [b"forged"])

        with pytest.raises((door.Denied.error, door.Forked.error)):
            first.append(ADA, 1, [b"1"])

        rows = everything(first)
        assert [(row.place, row.writer, row.octets) for row in rows] == [(place, ADA, b"forged\n")]
        assert first.append(BOB, 1, [b"1"]) == place + 1


def test_a_closed_log_takes_nothing_and_can_be_read(engine: Engine, carrier: Carrier) -> None:
    carrier.append(ADA, 1, [b"1"])
    with contextlib.closing(engine.keeper()) as keeper:
        ended = keeper.end(REPO, INCARNATION)
    assert (ended.place, ended.is_closed) == (FIRST, True)

    for writer, number in ((ADA, 2), (ADA, 5), (BOB, 1)):
        with pytest.raises(door.FleetEnded.error):
            carrier.append(writer, number, [b"x"])
    assert carrier.append(ADA, 1, [b"1"]) == FIRST, "what it has, it confirms"
    assert carrier.head().is_closed
    assert len(everything(carrier)) == 1


def test_a_log_that_is_not_there_is_another_engines(engine: Engine) -> None:
    with contextlib.closing(engine.carrier(incarnation="e" * 16)) as carrier:
        for call in (carrier.head, lambda: carrier.append(ADA, 1, [b"x"]), lambda: carrier.read(0)):
            with pytest.raises(door.AnotherEngine.error):
                call()


def test_several_repositories_have_logs_of_their_own(engine: Engine, carrier: Carrier) -> None:
    begun(engine, repo="another")
    with contextlib.closing(engine.carrier(repo="another")) as second:
        carrier.append(ADA, 1, [b"1"])
        assert second.append(ADA, 1, [b"one"]) == FIRST
        assert [row.octets for row in second.read(FIRST - 1)] == [b"one\n"]
        assert [row.octets for row in carrier.read(FIRST - 1)] == [b"1\n"]
        second.beat(Machine("", BOB, FIRST))
        assert carrier.alive() == []
    with contextlib.closing(engine.keeper()) as keeper:
        assert [log.repo for log in keeper.logs()] == sorted(["another", REPO])
        (log,) = keeper.logs(REPO)
        assert (log.first, log.head.place, log.rows, log.writers) == (FIRST, FIRST, 1, 1)
        assert log.octets >= 2, "some engines count what they add to the lines"


def test_beginning_again_is_harmless_and_a_used_log_stays(engine: Engine, carrier: Carrier) -> None:
    with contextlib.closing(engine.keeper()) as keeper:
        keeper.begin(REPO, INCARNATION, FIRST + 5, {ADA: 3})
        assert carrier.append(ADA, 4, [b"4"]) == FIRST + 5
        assert keeper.begin(REPO, INCARNATION, FIRST + 5, {}).place == FIRST + 5
        with pytest.raises(door.LogInUse.error):
            keeper.begin(REPO, INCARNATION, FIRST, {})
    assert carrier.append(ADA, 5, [b"5"]) == FIRST + 6


def test_pruned_rows_are_named_and_their_writers_go_on(engine: Engine, carrier: Carrier) -> None:
    for number in range(1, 6):
        carrier.append(ADA, number, [b"%d" % number])
    before = carrier.read(FIRST - 1)
    with contextlib.closing(engine.keeper()) as keeper:
        assert keeper.prune(REPO, INCARNATION, FIRST + 2) == 3
        assert keeper.prune(REPO, INCARNATION, FIRST + 2) == 0

    with pytest.raises(door.Pruned.error) as refusal:
        carrier.read(FIRST + 1)
    assert refusal.value.details["oldest"] == FIRST + 3
    assert carrier.read(FIRST + 2) == before[3:]
    assert carrier.head().oldest == FIRST + 3
    assert carrier.append(ADA, 1, [b"1"]) == FIRST + 2, "at or before the rows that were removed"
    assert carrier.append(ADA, 3, [b"3", b"4", b"5", b"6"]) == FIRST + 5
    with pytest.raises(door.Forked.error):
        carrier.append(ADA, 3, [b"3", b"other"])
    with contextlib.closing(engine.keeper()) as keeper:
        assert keeper.prune(REPO, INCARNATION, FIRST + 500) == 2, "the last row stays"
    assert carrier.append(ADA, 7, [b"7"]) == FIRST + 6


def test_a_closed_log_can_be_removed_and_no_other_is_touched(engine: Engine, carrier: Carrier) -> None:
    later = "e" * 16
    carrier.append(ADA, 1, [b"1", b"2"])
    carrier.append(BOB, 1, [b"1"])
    with contextlib.closing(engine.keeper()) as keeper:
        keeper.begin(REPO, later, FIRST + 500, {ADA: 2, BOB: 1})
        with contextlib.closing(engine.carrier(incarnation=later)) as new:
            new.append(ADA, 3, [b"3"])
            assert keeper.prune(REPO, later, FIRST + 499) == 0
            assert len(everything(carrier)) == 2, "the rows of another log stay"
            with pytest.raises(door.LogInUse.error):
                keeper.remove(REPO, INCARNATION)

            keeper.end(REPO, INCARNATION)
            assert keeper.last_lines(REPO, INCARNATION) == {ADA: 2, BOB: 1}
            keeper.remove(REPO, INCARNATION)

            with pytest.raises(door.AnotherEngine.error):
                keeper.remove(REPO, INCARNATION)
            with pytest.raises(door.AnotherEngine.error):
                carrier.append(ADA, 3, [b"3"])
            assert [log.head.incarnation for log in keeper.logs(REPO)] == [later]
            assert new.append(ADA, 4, [b"4"]) == FIRST + 501


def test_one_connection_leads_until_it_ends(engine: Engine, carrier: Carrier, other: Carrier) -> None:
    assert carrier.lead()
    assert not other.lead()
    assert carrier.lead()
    carrier.close()
    until(other.lead, "the lock")


def test_health_says_that_the_engine_is_durable(engine: Engine, carrier: Carrier) -> None:
    assert carrier.health()["durable"] is True
    with contextlib.closing(engine.keeper()) as keeper:
        assert keeper.health()["durable"] is True


def test_an_engine_that_is_not_there_is_refused_soon(engine: Engine) -> None:
    with engine.proxy() as proxy:
        far = engine.carrier(engine.address(through=proxy))
        for harm in (proxy.cut, lambda: setattr(proxy, "is_held", True)):
            harm()
            with contextlib.closing(far):
                for call in (far.head, lambda: far.append(ADA, 1, [b"x"]), lambda: far.wait(0, 60)):
                    with pytest.raises(door.EngineUnreachable.error):
                        call()
            proxy.mend()
        assert far.head().place == FIRST - 1, "and it is found again when it is back"
        far.close()


def test_acknowledged_lines_outlive_kills_of_the_server(own_engine: Engine) -> None:
    with carriers.appending(own_engine, WRITERS[:3], rows=40) as processes:
        for each in processes:
            each.said()
            each.go()
        said: dict[str, list[dict[str, int]]] = {each.writer: [] for each in processes}
        for _ in range(2):
            for each in processes:
                for _ in range(8):
                    said[each.writer].append(each.said() or {})
            own_engine.kill_hard()
            own_engine.start_again()
        for each in processes:
            said[each.writer] += each.results()

    with contextlib.closing(own_engine.carrier()) as carrier:
        carriers.must_have(everything(carrier), said, 40)
