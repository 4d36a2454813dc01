"""The index may be lost, spoilt or out of date in any way: what it says is what the journals say."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.agents import roster
from bb.ledger.care import audit as audits
from bb.ledger.index import reader
from bb.ledger.journal import journal as journals
from bb.ledger.journal import kinds
from bb.ledger.records import event_filters
from tests.grids import repeats
from tests.ledger.ledger_support import (
    ADA,
    BO,
    NOW,
    OTHER_WRITER,
    agents,
    audited,
    child,
    damage_line,
    digest,
    every_line,
    forget_index,
    kept,
    look_once,
    make,
    note,
    only_segment,
    opened,
    problems,
    refusal_of,
    register,
    repository,
    segments,
    together,
    written,
)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A ledger with three agents and a dozen facts."""
    path = repository(tmp_path / "here")
    make(path, ADA, BO, "coral-heron")
    with opened(path) as store:
        for turn in range(8):
            note(store, (ADA, BO)[turn % 2], role=f"role {turn}")
    return path


def index_file(path: Path) -> Path:
    return kept(path) / "index.sqlite"


def settle(path: Path) -> None:
    """Bring all of the index into its main file."""
    with sqlite3.connect(index_file(path)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()


def as_rebuilt(path: Path) -> str:
    """What an index says that knows only the journals."""
    return audited(path).state


def bring(path: Path, writer: str, raws: list[bytes]) -> Path:
    """Put another writer's journal into the store at PATH, as a fetch would."""
    folder = kept(path) / "j" / writer
    folder.mkdir(exist_ok=True)
    file = folder / "000000000001.jsonl"
    file.write_bytes(b"".join(raws))
    return file


def roster_of(path: Path) -> dict[str, Any]:
    with opened(path) as store:
        return dict(store.caught_up().states(roster.NAME))


# -- lost or spoilt


def _deleted(path: Path) -> None:
    forget_index(path)


def _main_file_deleted(path: Path) -> None:
    index_file(path).unlink()


def _empty(path: Path) -> None:
    index_file(path).write_bytes(b"")


def _no_database(path: Path) -> None:
    index_file(path).write_bytes(b"this is no database\n" * 1000)


def _header_alone(path: Path) -> None:
    index_file(path).write_bytes(index_file(path).read_bytes()[:100])


def _of_an_older_version(path: Path) -> None:
    _change(path, "pragma user_version = 0")


def _of_a_newer_version(path: Path) -> None:
    _change(path, "pragma user_version = 9999", "drop table state", "create table state (quite text, different text)")


def _without_tables(path: Path) -> None:
    _change(path, "drop table state", "drop table cursor")


def _with_other_columns(path: Path) -> None:
    _change(path, "drop table cursor", "create table cursor (a text, b text)")


def _ahead(path: Path) -> None:
    _change(path, "update cursor set offset = offset + 10000")


def _in_another_file(path: Path) -> None:
    _change(path, "update cursor set inode = inode + 1")


def _in_another_segment(path: Path) -> None:
    _change(path, "update cursor set segment = 999")


def _of_another_writer(path: Path) -> None:
    _change(path, f"update cursor set writer = '{OTHER_WRITER}'")


def _with_foreign_wal(path: Path) -> None:
    Path(f"{index_file(path)}-wal").write_bytes(b"\x37\x7f\x06\x82" + os.urandom(5000))
    Path(f"{index_file(path)}-shm").write_bytes(os.urandom(32768))


def _change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(index_file(path))
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


SPOILT = [
    _deleted,
    _main_file_deleted,
    _empty,
    _no_database,
    _header_alone,
    _of_an_older_version,
    _of_a_newer_version,
    _without_tables,
    _with_other_columns,
    _ahead,
    _in_another_file,
    _in_another_segment,
    _of_another_writer,
    _with_foreign_wal,
]


@pytest.mark.parametrize("spoil", SPOILT, ids=lambda spoil: spoil.__name__.strip("_"))
@pytest.mark.parametrize("first", ["read", "write"])
def test_a_spoilt_index_is_made_again(here: Path, spoil: Callable[[Path], None], first: str):
    settle(here)
    before = as_rebuilt(here)
    spoil(here)

    if first == "read":
        assert digest(here) == before
    make(here, "dusty-wren")

    assert agents(here) == [ADA, BO, "coral-heron", "dusty-wren"]
    assert problems(audited(here)) == []
    with opened(here) as store:
        assert not store.caught_up().is_in_memory


def test_an_index_cut_off_anywhere_is_made_again(here: Path):
    settle(here)
    before, whole = as_rebuilt(here), index_file(here).read_bytes()
    wrong = []

    for cut in range(0, len(whole), 512):
        index_file(here).write_bytes(whole[:cut])
        try:
            assert digest(here) == before
            assert agents(here) == [ADA, BO, "coral-heron"]
        except Exception as error:
            wrong.append((cut, repr(error)[:80]))
        forget_index(here)

    assert wrong == []


def test_an_index_with_any_page_overwritten_does_not_break_a_command(here: Path):
    """What it says may be caught by `ledger verify` only; but it must not end in a bug report."""
    settle(here)
    before, whole = as_rebuilt(here), index_file(here).read_bytes()
    page, wrong = 4096, []
    noise = random.Random(7).randbytes(page)

    for start in range(0, len(whole), page):
        for garbage in (noise, b"\0" * page, b"\xff" * page):
            forget_index(here)
            index_file(here).write_bytes(whole[:start] + garbage + whole[start + page :])
            try:
                assert agents(here) == [ADA, BO, "coral-heron"]
                assert digest(here) == before
                make(here)
            except Exception as error:
                wrong.append((start // page, garbage[:2], repr(error)[:80]))

    assert wrong == []


def test_the_index_of_another_store_is_not_believed(here: Path, tmp_path: Path):
    other = repository(tmp_path / "other")
    make(other, "quiet-otter")
    settle(other)
    forget_index(here)
    shutil.copy(index_file(other), index_file(here))

    assert agents(here) == [ADA, BO, "coral-heron"]
    assert problems(audited(here)) == []


def test_losing_the_index_while_it_is_open_costs_nothing(here: Path):
    with opened(here) as store:
        store.caught_up()
        forget_index(here)
        make(here, "dusty-wren")
        note(store, ADA)

        assert "dusty-wren" in dict(store.caught_up().states(roster.NAME))
    assert problems(audited(here)) == []


def test_what_is_kept_of_a_fold_is_never_taken_for_current_after_the_index_was_closed(here: Path):
    """SQLite counts the changes of others from when it opened the file, and so begins anew."""
    with opened(here) as store:
        versions = [store.caught_up().version_of(roster.NAME)]
        for name in ("dusty-wren", "calm-crane"):
            store.close()
            make(here, name)
            versions.append(store.caught_up().version_of(roster.NAME))
            assert name in dict(store.index.states(roster.NAME))

    assert len(set(versions)) == 3


def test_an_index_that_a_newer_bb_has_made_anew_is_let_be(here: Path):
    """Who was at work before the upgrade goes on in memory: what it folds is not what the newer one would."""
    with opened(here) as store:
        store.caught_up()
        newer = sqlite3.connect(here / ".git" / "bb" / "index.sqlite")
        newer.executescript("pragma user_version = 9999; delete from state")

        assert ADA in dict(store.caught_up().states(roster.NAME))
        assert store.index.is_in_memory
        assert newer.execute("select count(*) from state").fetchone() == (0,)
        newer.close()


@pytest.mark.parametrize("spoil", [_no_database, _header_alone], ids=lambda spoil: spoil.__name__.strip("_"))
def test_an_index_spoilt_while_it_is_open_costs_nothing_to_who_writes(here: Path, spoil: Callable[[Path], None]):
    with opened(here) as store:
        store.caught_up()
        spoil(here)
        note(store, ADA)
        note(store, ADA)
    assert problems(audited(here)) == []


# -- the journal is another one


def test_a_journal_put_back_to_an_older_copy_is_read_anew(here: Path):
    older = only_segment(here).read_bytes()
    make(here, "dusty-wren")
    only_segment(here).write_bytes(older)

    assert agents(here) == [ADA, BO, "coral-heron"]
    make(here, "early-robin")
    assert agents(here) == [ADA, BO, "coral-heron", "early-robin"]
    assert problems(audited(here)) == []


def test_a_journal_put_back_and_grown_past_where_it_was_is_read_anew(here: Path, tmp_path: Path):
    """Of the same inode, and longer than what was read: only the chain tells that it is another."""
    older = only_segment(here).read_bytes()
    make(here, "dusty-wren")
    aside = tmp_path / "index"
    aside.mkdir()
    settle(here)
    shutil.copy(index_file(here), aside)
    only_segment(here).write_bytes(older)
    make(here, "early-robin", "fabled-lynx")
    forget_index(here)
    shutil.copy(aside / "index.sqlite", index_file(here))

    assert agents(here) == [ADA, BO, "coral-heron", "early-robin", "fabled-lynx"]
    assert problems(audited(here)) == []


def test_a_journal_of_the_same_length_but_other_content_is_not_written_to_unnoticed(here: Path):
    """A rule must not decide by what the index remembers of a journal that says something else now."""
    octets = only_segment(here).read_bytes()
    forget_index(here)
    make(here, "dusty-wren")
    settle(here)
    aside = index_file(here).read_bytes()
    only_segment(here).write_bytes(octets)
    make(here, "misty-wren")
    forget_index(here)
    index_file(here).write_bytes(aside)

    code = refusal_of(lambda: make(here, "misty-wren"))

    assert code in ("DUPLICATE_AGENT_ID", "LEDGER_DAMAGED")


def test_a_journal_that_went_away_is_forgotten_with_all_it_said(here: Path):
    folder = bring(here, OTHER_WRITER, written([(1, "actor.add", _adding("dusty-wren"))], OTHER_WRITER)).parent
    assert agents(here) == [ADA, BO, "coral-heron", "dusty-wren"]

    shutil.rmtree(folder)

    assert agents(here) == [ADA, BO, "coral-heron"]


def test_a_segment_that_went_away_is_read_anew(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journals, "SEGMENT_SIZE", 1)
    make(here, "dusty-wren")
    segments(only_folder(here))[-1].unlink()

    assert agents(here) == [ADA, BO, "coral-heron"]


def only_folder(path: Path) -> Path:
    (found,) = (kept(path) / "j").iterdir()
    return found


# -- damage


@pytest.mark.parametrize("knows_it", [False, True], ids=["anew", "having read past it"])
def test_reading_stops_before_a_damage(here: Path, knows_it: bool):
    damage_line(only_segment(here), 4)
    if not knows_it:
        forget_index(here)

    found = audited(here)

    assert [chain.damage.n for chain in found.chains if chain.damage] == [4]
    if not knows_it:
        assert agents(here) == [ADA, BO]


def test_a_known_damage_is_not_read_from_the_start_again_and_again(here: Path):
    damage_line(only_segment(here), 4)
    forget_index(here)
    assert agents(here) == [ADA, BO]

    assert bytes_read_by_the_next_reader(here) < only_segment(here).stat().st_size


@pytest.mark.parametrize("left", [0, 40])
def test_a_known_cut_in_the_middle_is_not_read_from_the_start_again_and_again(
    here: Path, monkeypatch: pytest.MonkeyPatch, left: int
):
    monkeypatch.setattr(journals, "SEGMENT_SIZE", 1)
    make(here, "dusty-wren", "early-robin")
    first = segments(only_folder(here))[0]
    first.write_bytes(first.read_bytes()[: -60 + left])
    forget_index(here)
    agents(here)

    assert bytes_read_by_the_next_reader(here) == 0


def bytes_read_by_the_next_reader(path: Path) -> int:
    """How much of the journals the next command reads, by its own account."""
    counts = [0]
    with opened(path) as store:
        store.progress = lambda done, _: counts.append(done)
        store.caught_up()
    return max(counts)


def test_an_index_rebuilt_after_damage_remembers_the_damage(here: Path):
    damage_line(only_segment(here), 4)
    with opened(here) as store:
        store.index.rebuild(store.journals())

        assert [damage.n for damage in store.index.damages()] == [4]
        assert refusal_of(lambda: register(store, "dusty-wren")) == "LEDGER_DAMAGED"
    with opened(here) as store:
        assert [damage.n for damage in store.caught_up().damages()] == [4]


def test_a_damage_that_was_undone_is_forgotten(here: Path):
    whole = only_segment(here).read_bytes()
    damage_line(only_segment(here), 4)
    forget_index(here)
    assert agents(here) == [ADA, BO]

    only_segment(here).write_bytes(whole)

    assert agents(here) == [ADA, BO, "coral-heron"]
    assert problems(audited(here)) == []


def test_a_damaged_foreign_journal_does_not_stop_our_own(here: Path):
    raws = written([(1, "actor.add", _adding("dusty-wren")), (2, "actor.add", _adding("early-robin"))], OTHER_WRITER)
    raws[1] = raws[1].replace(b"early", b"later")
    bring(here, OTHER_WRITER, raws)

    make(here, "fabled-lynx")

    assert agents(here) == [ADA, BO, "coral-heron", "dusty-wren", "fabled-lynx"]


# -- strange history


def _adding(agent: str, **more: Any) -> dict[str, Any]:
    return {"actor_id": agent, "role": "builder", "title": agent, **more}


STRANGE: list[tuple[str, dict[str, Any]]] = [
    ("x.future.kind", {"anything": [1, {"a": None}]}),
    ("actor.add", {"actor_id": "No Agent Id", "role": "r", "title": "t"}),
    ("actor.add", {"actor_id": "dusty-wren", "role": 7, "title": "t"}),
    ("actor.add", {"actor_id": "dusty-wren"}),
    ("actor.add", {}),
    ("actor.update", {"actor_id": ["dusty-wren"]}),
    ("actor.update", {"actor_id": "never-registered", "role": "r"}),
    ("actor.remove", {"actor_id": None}),
    ("x.bb.seen", {"actor_id": "dusty-wren", "after": {}}),
    ("x.bb.merged", {}),
    ("x.bb.merged", {"heads": 7}),
    ("x.bb.merged", {"heads": {"nobody": "x", "../..": 3, OTHER_WRITER: 10**15, "aaaaaaaaaaaa": -1}}),
    (
        "x.bb.merged",
        {"heads": {f"aaaaaaaa{n:04}".translate(str.maketrans("0189", "abcd")): 2**53 - 1 for n in range(2000)}},
    ),
    ("", {}),
    ('quoted"kind\\', {}),
    ("chat.message", {"text": "\ud83e\udda6".encode("utf-16", "surrogatepass").decode("utf-16")}),
]


def test_strange_lines_of_others_are_kept_and_passed_over(here: Path):
    drafts = [(n, kind, data) for n, (kind, data) in enumerate(STRANGE, 1)]
    bring(here, OTHER_WRITER, written([*drafts, (100, "actor.add", _adding("dusty-wren", color="blue"))], OTHER_WRITER))

    assert agents(here) == [ADA, BO, "coral-heron", "dusty-wren", "never-registered"]
    make(here, "early-robin")

    assert problems(audited(here)) == []
    with opened(here) as store:
        shown = list(event_filters.everything(store, event_filters.Filter()))
        unreadable = [each.reason for each in audits.unreadable_lines(store)]
    assert len(shown) == len(every_line(kept(here)))
    assert unreadable.count("its `kind` is not valid") == 2
    assert unreadable.count("its `actor_id` is not valid") == 4
    assert sorted(event.seq for event in shown if event.seq) == list(range(1, len(shown) + 1))
    assert [event.data["color"] for event in shown if "color" in event.data] == ["blue"]


ODD_TEXTS = [
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"t","x":NaN}',
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"t","x":1e999}',
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"t","x":123456789012345678901234567890}',
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"\\ud800"}',
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"t","\\udfff":1}',
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"first","role":"second","title":"t"}',
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"a\tb"}',
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"t\xff"}',
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"\\u0000"}',
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"t","x":' + b"[" * 950 + b"]" * 950 + b"}",
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"t","x":' + b"[" * 1010 + b"]" * 1010 + b"}",
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"t","x":' + b"[" * 5000 + b"]" * 5000 + b"}",
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"t","x":-0}',
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"t","x":01}',
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"t","x":1.}',
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"t",}',
    b'{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"t"} ',
    b'\xef\xbb\xbf{"_":"saltsalt","actor_id":"dusty-wren","role":"r","title":"t"}',
    b"[]",
    b"null",
    b"null   ",
    b'"text"',
    b"",
    b"9" * 5000,
    b'{"x":' + b"9" * 5000 + b"}",
]


@pytest.mark.parametrize("data", ODD_TEXTS, ids=[str(n) for n in range(len(ODD_TEXTS))])
def test_odd_json_means_the_same_read_singly_or_in_bulk(here: Path, data: bytes, monkeypatch: pytest.MonkeyPatch):
    bring(here, OTHER_WRITER, with_data(data))

    assert by_bulk(here, monkeypatch) == singly(here, monkeypatch)


def with_data(data: bytes) -> list[bytes]:
    """A journal whose second line registers an agent with exactly this data."""
    from tests.ledger.ledger_support import head_of, short_hash

    raws = written(
        [(1, "chat.message", {}), (2, "actor.add", _adding("dusty-wren")), (3, "actor.add", _adding("early-robin"))],
        OTHER_WRITER,
    )
    dh = short_hash(raws[1].partition(b',"data":')[2][:-2]).encode()
    raws[1] = head_of(raws[1]).replace(dh, short_hash(data).encode()) + b',"data":' + data + b"}\n"
    link_before = short_hash(head_of(raws[1])).encode()
    old = json.loads(raws[2])["p"].encode()
    raws[2] = raws[2].replace(old, link_before)
    return raws


def test_a_line_without_data_is_no_line_read_singly_or_in_bulk(here: Path, monkeypatch: pytest.MonkeyPatch):
    """Made by somebody who forges their own journal: all clones must still come to the same verdict."""
    from tests.ledger.ledger_support import short_hash

    first = written([(1, "actor.add", _adding("dusty-wren"))], OTHER_WRITER)[0]
    head = b'{"v":1,"id":"%s.2","l":2,"ts":"","kind":"x","group_id":"","scope_key":"","by":"","p":"%s","dh":"%s}' % (
        OTHER_WRITER.encode(),
        short_hash(first.partition(b',"data":')[0]).encode(),
        short_hash(b"").encode(),
    )
    third = written([(1, "x", {}), (2, "x", {}), (3, "actor.add", _adding("early-robin"))], OTHER_WRITER)[2]
    third = third.replace(json.loads(third)["p"].encode(), short_hash(head).encode())
    bring(here, OTHER_WRITER, [first, head + b"\n", third])

    assert by_bulk(here, monkeypatch) == singly(here, monkeypatch)


def test_lamport_times_with_leading_zeros_mean_the_same_read_singly_or_in_bulk(
    here: Path, monkeypatch: pytest.MonkeyPatch
):
    raws = written([(1, "chat.message", {}), (2, "actor.add", _adding("dusty-wren"))], OTHER_WRITER)
    raws[1] = raws[1].replace(b'"l":2,', b'"l":' + b"0" * 30 + b"2,")
    bring(here, OTHER_WRITER, raws)

    assert by_bulk(here, monkeypatch) == singly(here, monkeypatch)


def by_bulk(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    monkeypatch.setattr(reader, "BULK", 0)
    return _verdict(path)


def singly(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    monkeypatch.setattr(reader, "BULK", 1 << 60)
    return _verdict(path)


def _verdict(path: Path) -> tuple[Any, ...]:
    forget_index(path)
    with opened(path) as store:
        index = store.caught_up()
        return dict(index.states(roster.NAME)), index.heads(), [damage.as_dict() for damage in index.damages()]


# -- Lamport time


@pytest.mark.parametrize(
    "times",
    [(1 << 32,), (1 << 32, 1 << 33), (1 << 32, 1 << 33, 3 << 32)],
    ids=["one leap", "two leaps", "three leaps"],
)
def test_the_clock_of_another_writer_cannot_make_our_own_lines_unreadable(here: Path, times: tuple[int, ...]):
    """A line that is acknowledged must be readable, however far ahead a forged journal claims to be."""
    bring(here, OTHER_WRITER, written([(time, "chat.message", {}) for time in times], OTHER_WRITER))

    code = refusal_of(lambda: make(here, "dusty-wren"))

    assert code is not None or agents(here) == [ADA, BO, "coral-heron", "dusty-wren"]
    assert problems(audited(here)) == []
    assert refusal_of(lambda: make(here, "early-robin")) == code


def test_a_fresh_clone_can_write_after_a_leap_of_another(tmp_path: Path):
    path = repository(tmp_path / "fresh")
    (kept(path) / "j").mkdir(parents=True)
    bring(path, OTHER_WRITER, written([(1 << 32, "actor.add", _adding("dusty-wren"))], OTHER_WRITER))

    make(path, "early-robin")

    assert agents(path) == ["dusty-wren", "early-robin"]
    assert problems(audited(path)) == []


def test_our_lines_come_after_all_that_was_known_when_they_were_written(here: Path):
    bring(here, OTHER_WRITER, written([(500, "actor.add", _adding("dusty-wren"))], OTHER_WRITER))

    with opened(here) as store:
        event = register(store, "early-robin")

        assert event.lamport > 500
        assert [each.id for each in event_filters.latest(store, event_filters.Filter(), 3)][-1] == event.id


# -- many at once


@pytest.mark.parametrize("spoil", [_deleted, _no_database, _of_an_older_version, _ahead], ids=lambda s: s.__name__)
def test_processes_that_open_a_spoilt_index_at_once_all_read_the_same(here: Path, spoil: Callable[[Path], None]):
    for _ in repeats(1, 3):
        settle(here)
        spoil(here)

        said = together([child(look_once, here) for _ in range(8)])

        assert said == [f"{ADA} {BO} coral-heron\n"] * 8
    assert problems(audited(here)) == []


def test_two_stores_catching_up_in_turns_count_nothing_twice(here: Path):
    with opened(here) as one, opened(here) as two:
        for _ in range(5):
            note(one, ADA)
            two.caught_up()
            note(two, ADA)
            one.caught_up()

        assert dict(one.caught_up().states(roster.NAME)) == dict(two.caught_up().states(roster.NAME))
    assert roster_of(here)[ADA]["changes"] == 1 + 4 + 10
    assert problems(audited(here)) == []


def test_every_kind_that_is_written_is_also_read():
    for name, (kind, members) in kinds.BY_FACT.items():
        row = kinds.row(kind)
        assert row
        assert (row[0].__name__, row[1]) == (name, members)
    assert NOW > 0
