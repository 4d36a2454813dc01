"""A fold from the commits of the branch is the fold from the engine's rows, however the rows were put into commits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bb.coordination.facts import NameSettled, Registered, Released, Renewed, Reserved, Retired
from bb.coordination.holdings.admission import Admitted
from bb.coordination.holdings.ordered_admission import OrderedAdmission, take_over
from bb.kernel.errors import BbError
from bb.kernel.event import Event
from bb.ledger.carrier import sound_rows
from bb.ledger.carrier.door import VOID, Row
from bb.ledger.journal import kinds
from bb.ledger.journal import line as lines
from bb.ledger.journal.line import START, BadLine, Link
from bb.ledger.published import order_file
from bb.ledger.published.charter import Charter, NotALedger
from bb.ledger.published.order_file import ArchivedRow
from bb.ledger.published.tip import Commit
from bb.ledger.travel import numbering, row_facts
from bb.ledger.travel.admitted import PublicationOrder, admit_commits
from bb.ledger.travel.numbering import Numbers
from tests.coordination.soon_forgotten import forgetting_soon
from tests.engine_log import INCARNATION, EngineLog
from tests.support import NOON

REPO = "0fba2ae713d9"
WRITERS = ("aaaabbbbcccc", "ddddeeeeffff", "gggghhhhiiii", "jjjjkkkkmmmm")
AGENTS = ("amber-otter", "cobalt-harbor", "jade-heron", "user")
SCOPES = ("src", "src/a.py", "src/*.py", "docs", "Docs/x.md", "lib/b")
FIRST = 40


class World:
    """Writers that send rows to a log: reservations, take-overs, releases, rival names, signatures, and rubbish."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.log = EngineLog(REPO, FIRST)
        self.links: dict[str, Link] = dict.fromkeys(WRITERS, START)
        self.reserved: list[tuple[str, str]] = []  # events and their agents
        self.registered: list[tuple[str, str]] = []

    def line(self, writer: str, by: str, kind: str, data: dict[str, Any]) -> bytes:
        link = self.links[writer]
        event = Event(f"{writer}.{link.n + 1}", link.lamport + 1, NOON, kind, by, data, group_id="g_test")
        raw, self.links[writer] = lines.write(event, link, "saltsalt")
        return raw

    def fact(self, writer: str) -> bytes:
        choose, by = self.random.choice, self.random.choice(AGENTS)
        event = f"{writer}.{self.links[writer].n + 1}"
        match self.random.randrange(8):
            case 0 | 1 | 2:
                takes = ""
                if self.reserved and self.random.random() < 0.4:
                    takes = take_over(choose(self.reserved)[0], self.log.place - self.random.randrange(6))
                fact: Any = Reserved(
                    by,
                    choose(SCOPES),
                    "bb-1",
                    120,
                    shared=self.random.random() < 0.2,
                    takes=takes or None,
                    order=self.random.choice((INCARNATION, INCARNATION, INCARNATION, None, "f" * 16)),
                )
                self.reserved.append((event, by))
            case 3 if self.reserved:
                name, holder = choose(self.reserved)
                fact = Released(self.random.choice((holder, by)), name)
            case 4 if self.reserved:
                name, holder = choose(self.reserved)
                fact = Renewed(holder, name, 120)
            case 5:
                fact = Registered(choose(AGENTS[:2]), "builder", "agent")
                self.registered.append((event, fact.agent))
            case 6 if self.registered:
                name, agent = choose(self.registered)
                fact = self.random.choice((NameSettled(agent, name, "kept"), Retired(agent)))
            case _:
                return self.line(writer, by, "chat.message", {"text": "hello"})
        kind, data = kinds.kind_and_data(fact)
        return self.line(writer, fact.agent, kind, data)

    def send(self, rows: int) -> None:
        for _ in range(rows):
            writer, before = self.random.choice(WRITERS), dict(self.links)
            first = self.links[writer].n + 1
            octets = b"".join(self.fact(writer) for _ in range(self.random.randrange(1, 5)))
            match self.random.randrange(20):
                case 0:  # the machine sends something else, and its lines come again
                    self.links = before
                    self.log.append(VOID, 0, b"")
                case 1:
                    self.links = before
                    self.log.append("n" * 12, 7, octets)
                case _:
                    self.log.append(writer, first, octets)


def folded(rows: Sequence[Row], known: Admitted | None = None) -> Admitted:
    """The results as a relay computes them, from rows that may not count."""
    fold, links = OrderedAdmission(known or Admitted(), INCARNATION), dict[str, Link]()
    for row in rows:
        try:
            links[row.writer] = sound_rows.link_after(row, links.get(row.writer, START))
        except BadLine:
            continue
        fold.row(row.place, *row_facts.of_row(row.writer, row.first, row.octets))
    return fold.admitted


def commits(rows: Sequence[Row], sizes: Sequence[int]) -> list[Commit]:
    """The same rows in commits of these SIZES, as they are after they were read from the branch."""
    made: list[Commit] = []
    links: dict[str, Link] = {}
    left = list(rows)
    for size in [*sizes, len(rows)]:
        part, left = left[:size], left[size:]
        runs: dict[str, tuple[int, bytes]] = {}
        listed = []
        for row in part:
            try:
                links[row.writer] = sound_rows.link_after(row, links.get(row.writer, START))
            except BadLine:
                listed.append(ArchivedRow(row.place, VOID, 0, 0, row.digest))
                continue
            first, octets = runs.get(row.writer, (row.first, b""))
            runs[row.writer] = first, octets + row.octets
            listed.append(ArchivedRow(row.place, row.writer, row.first, row.octets.count(b"\n"), row.digest))
        if listed:
            added = tuple((writer, *run) for writer, run in sorted(runs.items()))
            rows_read = order_file.read(order_file.to_bytes(listed))
            name = f"{len(made) + 1:040x}"
            made.append(Commit(name, None, part[-1].place, added, (), rows=rows_read, incarnation=INCARNATION))
    return made


CHARTER = Charter(REPO, 2, 2, 2, fleet=EngineLog(REPO, FIRST).terms)
BEGUN = numbering.after(Numbers(FIRST - 1), Charter(REPO), CHARTER, None, ())


def numbered(all_commits: Sequence[Commit]) -> Numbers:
    """The numbers after verified commits."""
    numbers = BEGUN
    for commit in all_commits:
        numbers = numbering.after(numbers, CHARTER, CHARTER, commit.rows, commit.added)
    return numbers


@given(st.integers(0, 1 << 32), st.lists(st.integers(1, 12), max_size=8))
def test_commits_of_any_size_fold_to_what_the_rows_fold_to(seed: int, sizes: list[int]):
    world = World(seed)
    world.send(60)

    published = commits(world.log.rows, sizes)

    assert admit_commits(Admitted(), published, "") == folded(world.log.rows)
    assert numbered(published) == Numbers(world.log.place, world.log.digest)


@settings(max_examples=20)
@given(
    st.integers(0, 1 << 32),
    st.lists(st.integers(1, 12), max_size=8),
    st.lists(st.integers(1, 20), max_size=8),
    st.integers(0, 8),
)
def test_a_relay_the_archive_and_a_newcomer_with_a_snapshot_forget_the_same(
    seed: int, sizes: list[int], other_sizes: list[int], stop: int
):
    world = World(seed)
    world.send(60)
    with forgetting_soon():
        by_rows = folded(world.log.rows)
        published = commits(world.log.rows, sizes)
        before = admit_commits(Admitted(), published[:stop], "")

        assert by_rows.floor
        assert admit_commits(Admitted(), published, "") == by_rows
        assert admit_commits(Admitted(), commits(world.log.rows, other_sizes), "") == by_rows
        assert admit_commits(Admitted.from_dict(before.as_json()), published[stop:], "") == by_rows
    everything = folded(world.log.rows)
    assert admit_commits(Admitted(), published, "", forgets=False) == everything
    assert everything.grants.items() >= by_rows.grants.items()


@given(st.integers(0, 1 << 32), st.lists(st.integers(1, 12), min_size=3, max_size=8), st.integers(0, 8))
def test_a_fold_that_stops_and_goes_on_from_its_saved_form_is_the_whole_fold(seed: int, sizes: list[int], stop: int):
    world = World(seed)
    world.send(60)
    published = commits(world.log.rows, sizes)

    before = admit_commits(Admitted(), published[:stop], "")
    order = PublicationOrder(Admitted.from_dict(before.as_json()), "")
    for commit in published[stop:]:
        order.take(commit)

    assert order.admitted == admit_commits(Admitted(), published, "")


@given(st.integers(0, 1 << 32))
def test_only_lines_that_count_decide_and_all_readers_agree_about_them(seed: int):
    world = World(seed)
    world.send(60)

    def counts(writer: str, n: int, last: int, by: str) -> bool:
        return writer != WRITERS[0] and (n + last) % 3 > 0 and by != AGENTS[1]

    expected, links = OrderedAdmission(Admitted(), INCARNATION), dict[str, Link]()
    for row in world.log.rows:
        try:
            links[row.writer] = sound_rows.link_after(row, links.get(row.writer, START))
        except BadLine:
            continue
        expected.row(row.place, *row_facts.of_row(row.writer, row.first, row.octets, counts))

    assert admit_commits(Admitted(), commits(world.log.rows, [7, 9, 11]), "", counts) == expected.admitted


# -- what is not sound


def published() -> tuple[Commit, Commit]:
    world = World(7)
    for writer in WRITERS[:2]:
        first = world.links[writer].n + 1
        octets = b"".join(world.line(writer, AGENTS[0], "chat.message", {"text": "hello"}) for _ in range(3))
        world.log.append(writer, first, octets)
    one = world.line(WRITERS[0], AGENTS[0], "chat.message", {"text": "again"})
    world.log.append(WRITERS[0], 4, one)
    before, after = commits(world.log.rows, [2])
    return before, after


def changed(commit: Commit, row: int = 0, **members: Any) -> list[ArchivedRow]:
    rows = list(commit.rows)
    rows[row] = rows[row].replace(**members)
    return rows


@pytest.mark.parametrize(
    "members",
    [
        {"place": FIRST + 1},
        {"place": FIRST - 1},
        {"place": 1 << 40},
        {"count": 2},
        {"count": 4},
        {"count": 1 << 40},
        {"first": 2},
        {"writer": WRITERS[2]},
        {"writer": WRITERS[1]},
        {"writer": VOID, "first": 0, "count": 0},
        {"digest": "0" * 64},
    ],
    ids=str,
)
def test_an_order_that_is_not_that_of_the_lines_is_refused(members: dict[str, Any]):
    commit, _ = published()

    with pytest.raises(NotALedger):
        numbering.after(BEGUN, CHARTER, CHARTER, changed(commit, **members), commit.added)


def test_the_rows_of_a_commit_follow_those_of_the_one_before():
    before, after = published()
    numbers = numbering.after(BEGUN, CHARTER, CHARTER, before.rows, before.added)

    assert numbering.after(numbers, CHARTER, CHARTER, after.rows, after.added).generation == FIRST + 2
    for wrong in (BEGUN, numbers.replace(digest="0" * 64)):
        with pytest.raises(NotALedger):
            numbering.after(wrong, CHARTER, CHARTER, after.rows, after.added)


def test_lines_without_rows_rows_without_a_fleet_and_lines_at_a_switch_are_refused():
    commit, _ = published()
    plain = CHARTER.replace(fleet=None)

    for earlier, charter, rows, added in (
        (CHARTER, CHARTER, None, commit.added),
        (CHARTER, CHARTER, commit.rows, ()),
        (CHARTER, CHARTER, commit.rows, commit.added[:1]),
        (CHARTER, CHARTER, commit.rows[:1], commit.added),
        (plain, plain, commit.rows, commit.added),
        (plain, CHARTER, commit.rows, commit.added),
        (plain, CHARTER, None, commit.added),
        (CHARTER, plain, None, commit.added),
    ):
        with pytest.raises(NotALedger):
            numbering.after(BEGUN, earlier, charter, rows, added)


def test_a_row_whose_line_was_withdrawn_is_taken_at_its_word():
    commit, _ = published()
    (writer, first, octets), other = commit.added
    raw = octets.split(b"\n")[1]
    blanked = octets.replace(raw, lines.blanked(raw) or b"")

    numbers = numbering.after(BEGUN, CHARTER, CHARTER, commit.rows, ((writer, first, blanked), other))

    assert numbers.digest == commit.rows[-1].digest


def test_generations_go_on_after_the_last_place_and_commits_without_lines_keep_it():
    commit, _ = published()
    numbers = numbering.after(BEGUN, CHARTER, CHARTER, commit.rows, commit.added)
    plain = CHARTER.replace(fleet=None)

    assert numbers.generation == FIRST + 1
    assert numbering.after(numbers, CHARTER, CHARTER, None, ()) == numbers
    assert numbering.after(numbers, CHARTER, plain, None, ()) == Numbers(FIRST + 2)
    assert numbering.after(Numbers(5), CHARTER, plain, None, ()) == Numbers(
        FIRST
    )  # nobody reuses a place of the engine


@pytest.mark.parametrize(
    "octets",
    [
        b"",
        b"40 aaaabbbbcccc 1 1",
        b"40 aaaabbbbcccc 1 1 %s" % (b"a" * 64),
        b"040 aaaabbbbcccc 1 1 %s\n" % (b"a" * 64),
        b"40 aaaabbbbcccc 1 0 %s\n" % (b"a" * 64),
        b"40 - 0 1 %s\n" % (b"a" * 64),
        b"40 aaaabbbbcccc -1 1 %s\n" % (b"a" * 64),
        b"40 aaaabbbbcccc 1 1 %s\n" % (b"A" * 64),
        b"40  aaaabbbbcccc 1 1 %s\n" % (b"a" * 64),
        b"40 aaaabbbbcccc 1 1 %s\r\n" % (b"a" * 64),
        b"%d aaaabbbbcccc 1 1 %s\n" % (1 << 48, b"a" * 64),
        b"\xff\n",
        b"\n" * 9,
        b"9" * 5000 + b" aaaabbbbcccc 1 1 %s\n" % (b"a" * 64),
    ],
)
def test_an_order_file_has_one_form(octets: bytes):
    with pytest.raises(BbError) as refusal:
        order_file.read(octets)

    assert refusal.value.code == "NOT_A_LEDGER"
