"""Commits on the archive of a fleet that no relay makes. They are skipped, nothing of them is imported, and the archive
goes on after the last good commit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bb.ledger.published import order_file, pins
from bb.ledger.published.layout import ORDER
from bb.ledger.published.order_file import ArchivedRow
from tests import engine_log
from tests.engine_log import EngineLog
from tests.stories.travel.branch_support import SYMLINK, Branch, File, Name, chains
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, clone, hub
from tests.support import Scratch

Files = dict[Name, File]
LETTER = {"from": AMBER, "to": COBALT, "bead": "bb-1", "category": "INFO", "subject": "Look"}


@pytest.fixture
def pair(tmp_path: Path) -> list[Clone]:
    return agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)


@pytest.fixture
def branch(tmp_path: Path, pair: list[Clone]) -> Branch:
    return Branch(tmp_path / "hub.git")


@pytest.fixture
def log(pair: list[Clone]) -> EngineLog:
    """A fleet with a few archived rows."""
    log = engine_log.begin(pair[0].path)
    _write(pair, log)
    engine_log.archive(pair[0].path, log.rows)
    pair[1].sync(pull=True)
    return log


def _write(pair: list[Clone], log: EngineLog) -> None:
    pair[0].ask("agent.send", **LETTER, body="one")
    pair[0].ask("agent.send", **LETTER, body="two")
    engine_log.send(pair[0].path, log, most=1)
    pair[1].ask("agent.heartbeat", agent=COBALT)
    engine_log.send(pair[1].path, log)


def with_rows(branch: Branch, log: EngineLog, change: Callable[[list[ArchivedRow]], list[ArchivedRow]]) -> Files:
    """The files with two more forged rows, whose `order` is CHANGED from what is right."""
    files, rows, ahead = branch.files(), [], EngineLog(log.repo, log.first)
    ahead.rows = list(log.rows)
    for chain in chains(files)[:2]:
        raws = [chain.forged(by=AMBER)]
        raws.append(chain.and_then(*raws).forged(by=AMBER))
        octets = b"".join(raw + b"\n" for raw in raws)
        files[chain.path] = File(chain.octets + octets)
        row = ahead.append(chain.writer, len(chain.raws) + 1, octets)
        rows.append(ArchivedRow(row.place, row.writer, row.first, 2, row.digest))
    changed = change(rows)
    return files | {ORDER: File(order_file.to_bytes(changed))} if changed else files


def _first(**members: object) -> Callable[[list[ArchivedRow]], list[ArchivedRow]]:
    return lambda rows: [rows[0].replace(**members), *rows[1:]]


ORDERS: dict[str, Callable[[list[ArchivedRow]], list[ArchivedRow]]] = {
    "no order": lambda _: [],
    "a gap before": lambda rows: [row.replace(place=row.place + 1) for row in rows],
    "a gap between": lambda rows: [rows[0], rows[1].replace(place=rows[1].place + 1)],
    "a place twice": lambda rows: [rows[0], rows[1].replace(place=rows[0].place)],
    "a place that is taken": lambda rows: [row.replace(place=row.place - 1) for row in rows],
    "a huge place": lambda rows: [rows[0], rows[1].replace(place=(1 << 48) - 1)],
    "a place that is no number of ours": lambda rows: [rows[0], rows[1].replace(place=1 << 60)],
    "too few lines": _first(count=1),
    "too many lines": _first(count=3),
    "the digest of something else": _first(digest="0" * 64),
    "the writers exchanged": lambda rows: [
        rows[0].replace(writer=rows[1].writer, first=rows[1].first),
        rows[1].replace(writer=rows[0].writer, first=rows[0].first),
    ],
    "lines of another writer": _first(writer="n" * 12),
    "lines that are published already": _first(first=1),
    "only some of the lines": lambda rows: rows[:1],
    "lines in no row": lambda rows: [rows[0], ArchivedRow(rows[1].place, "-", 0, 0, rows[1].digest)],
}


def _of_order(name: str) -> Callable[[Branch, EngineLog], str]:
    return lambda branch, log: branch.put(with_rows(branch, log, ORDERS[name]))


def _charter(**members: object) -> Callable[[Branch, EngineLog], str]:
    """A commit whose charter has other MEMBERS, or other terms."""

    def put(branch: Branch, log: EngineLog) -> str:
        files = branch.files()
        charter = json.loads(files["bb.json"].octets)
        terms = {name: value for name, value in members.items() if name in charter["fleet"]}
        charter |= {name: value for name, value in members.items() if name not in terms}
        charter["fleet"] |= terms
        return branch.put(files | {"bb.json": File(json.dumps(charter).encode())})

    return put


def _order_is_a_link(branch: Branch, log: EngineLog) -> str:
    return branch.put(branch.files() | {ORDER: File(b"bb.json", SYMLINK)})


def _order_without_lines(branch: Branch, log: EngineLog) -> str:
    row = ArchivedRow(log.place + 1, "-", 0, 1, "0" * 64)
    return branch.put(branch.files() | {ORDER: File(order_file.to_bytes([row]))})


def _order_is_removed(branch: Branch, log: EngineLog) -> str:
    files = branch.files()
    del files[ORDER]
    return branch.put(files)


def _order_is_huge(branch: Branch, log: EngineLog) -> str:
    return branch.put(branch.files() | {ORDER: File(b"1 - 0 0 " + b"0" * (order_file.LARGEST + 1) + b"\n")})


def _ended_with_lines(branch: Branch, log: EngineLog) -> str:
    files = with_rows(branch, log, lambda _: [])
    charter = json.loads(files["bb.json"].octets)
    del charter["fleet"]
    return branch.put(files | {"bb.json": File(json.dumps(charter).encode())})


HOSTILE: dict[str, Callable[[Branch, EngineLog], str]] = {
    **{name: _of_order(name) for name in ORDERS},
    "an order that is a link": _order_is_a_link,
    "an order without lines": _order_without_lines,
    "an order removed": _order_is_removed,
    "a huge order": _order_is_huge,
    "lines at the end of the fleet": _ended_with_lines,
    "an earlier format": _charter(format=1, min_reader=1, min_writer=1),
    "a later first place of the same log": _charter(first=1000),
    "another rule of the same log": _charter(rule=1),
    "a new log from a place that is taken": _charter(incarnation="f" * 16, first=1),
    "a new log from an unreachable place": _charter(incarnation="f" * 16, first=1 << 40),
    "a log with an invalid name": _charter(incarnation="../../etc/passwd"),
    "another arbiter": _charter(
        arbiter={
            "turn": 9,
            "address": "file:/elsewhere",
            "url": "/elsewhere",
            "generation": 1,
            "by": "user",
            "reason": "",
            "ts": "",
        }
    ),
}


def test_nothing_is_taken_of_what_no_relay_publishes(branch: Branch, pair: list[Clone], log: EngineLog):
    there = pair[1]
    good, before, digest = there.tip, pins.read(str(there.store)).remote("origin").tip, there.digest
    for name, forge in HOSTILE.items():
        stray = forge(branch, log)

        answer = there.sync(pull=True)

        assert [one["commit"] for one in answer["quarantined"]] == [stray], name
        assert (pins.read(str(there.store)).remote("origin").tip, there.digest) == (before, digest), name
        Scratch(branch.hub).git("update-ref", "refs/heads/bb-ledger", good)


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_relay_publishes_is_skipped_and_the_archive_goes_on(
    branch: Branch, pair: list[Clone], log: EngineLog, name: str
):
    here, there = pair
    before, digest = pins.read(str(there.store)), there.digest
    stray = HOSTILE[name](branch, log)

    answer = there.sync(pull=True)
    after = pins.read(str(there.store))
    _write(pair, log)
    engine_log.archive(here.path, log.rows, look=True)
    there.sync(pull=True)
    newcomer = clone(branch.hub, "newcomer")
    newcomer.sync(pull=True)

    assert [one["commit"] for one in answer["quarantined"]] == [stray]
    assert after.remote("origin").tip == before.remote("origin").tip
    assert there.digest == newcomer.digest != digest
    tip = pins.read(str(newcomer.store)).remote("origin").tip
    assert tip is not None
    assert (tip.place, tip.digest) == (log.place, log.digest)
    assert tip == pins.read(str(here.store)).remote("origin").tip


def test_a_commit_as_a_relay_makes_it_would_count(branch: Branch, pair: list[Clone], log: EngineLog):
    """What the forger does is wrong only where it is said to be."""
    branch.put(with_rows(branch, log, lambda rows: rows))

    answer = pair[1].sync(pull=True)

    assert not answer["quarantined"]
    assert answer["generation"] == log.place + 2
