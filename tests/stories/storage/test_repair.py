"""A damaged ledger stops where the damage is, says where, and is mended without forgetting what is whole."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.ledger.care import repair
from bb.ledger.journal import journal as journals
from bb.ledger.journal import segments as journal_segments
from bb.ledger.journal import writers
from bb.ledger.journal.journal import Journal
from tests.ledger.ledger_support import (
    ADA,
    BO,
    OTHER_WRITER,
    agents,
    audited,
    damage_line,
    digest,
    every_line,
    flip,
    forget_index,
    head_of,
    kept,
    make,
    note,
    only_segment,
    opened,
    problems,
    refusal_of,
    register,
    registrations,
    repository,
    say,
    segments,
    written,
)
from tests.near import Near
from tests.support import NOON, Scratch, environment
from tests.waiting import PATIENCE

AGENTS = [ADA, BO, "coral-heron", "dusty-wren", "early-robin"]


@pytest.fixture
def here(tmp_path: Path) -> Scratch:
    """Line 1 makes the ledger, lines 2 to 6 register five agents."""
    path = repository(tmp_path / "here")
    make(path, *AGENTS)
    return Near(path, {"BB_NOW": NOON})


def known(here: Scratch) -> list[str]:
    return [agent["agent_id"] for agent in here.json("agent", "list").data]


def fix(here: Scratch) -> list[str]:
    """What `bb doctor --fix` says it did."""
    answer = here.json("doctor", "--fix").envelope
    found = answer["data"] or answer["error"]["details"]
    broken = [check for check in found["checks"] if check["state"] == "broken"]
    assert broken == []
    return [str(done) for done in found["mended"]]


def own_lines(here: Scratch) -> list[Path]:
    return sorted(here.store.glob("j/*/*.jsonl"))


def leave(file: Path) -> None:
    """What a process leaves behind that was killed long ago."""
    file.write_bytes(b"half")
    os.utime(file, (1, 1))


# -- damage in the middle


@pytest.mark.parametrize("memory", ["fresh index", "index that has read past it"])
def test_a_damage_in_the_middle_is_found_named_and_mended(here: Scratch, memory: str):
    start = damage_line(here.journal(), 4)
    if memory == "fresh index":
        forget_index(here.path)

    refusal = here.json("ledger", "verify")
    assert refusal.code == "LEDGER_DAMAGED"
    message = refusal.envelope["error"]["message"]
    assert "line 4" in message
    assert str(here.journal()) in message
    assert f"byte {start}" in message
    assert refusal.envelope["error"]["hint"]
    assert here.json("doctor").code == "PROBLEMS_FOUND"

    assert len(fix(here)) > 0

    assert set(known(here)) >= {ADA, BO, "dusty-wren", "early-robin"}
    assert "coral-heron" not in known(here), "that line is the damaged one"
    assert here.json("ledger", "verify").status == 0
    assert here.json("doctor").status == 0
    assert here.json("ledger", "status").data["is_damaged"] is False
    before = [file.read_bytes() for file in own_lines(here)]
    assert fix(here) == []
    assert [file.read_bytes() for file in own_lines(here)] == before
    assert here.json("agent", "register", "--name", "fabled-lynx", "--role", "builder").status == 0
    assert here.json("ledger", "verify").status == 0


def test_until_then_reads_stop_before_it_and_writes_are_refused(here: Scratch):
    damage_line(here.journal(), 4)
    forget_index(here.path)

    assert known(here) == [ADA, BO]
    refusal = here.json("agent", "register", "--name", "fabled-lynx", "--role", "builder")
    assert refusal.code == "LEDGER_DAMAGED"
    assert "doctor --fix" in refusal.envelope["error"]["hint"]
    assert len(here.json("ledger", "log").data) == 3
    assert here.json("ledger", "export", "--raw").status == 0
    assert here.json("ledger", "status").data["is_damaged"] is True


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_whichever_line_is_damaged_all_others_survive(here: Scratch, n: int):
    damage_line(here.journal(), n)
    forget_index(here.path)

    fix(here)

    lost = {} if n == 1 else {AGENTS[n - 2]}
    assert set(known(here)) == set(AGENTS) - set(lost)
    assert here.json("ledger", "verify").status == 0
    assert here.json("agent", "register", "--name", "fabled-lynx", "--role", "builder").status == 0
    assert here.json("agent", "register", "--name", BO if n != 3 else ADA, "--role", "builder").code == (
        "DUPLICATE_AGENT_ID"
    )


def test_a_changed_head_is_found_by_the_line_that_follows(here: Scratch):
    octets = here.journal().read_bytes()
    flip(here.journal(), octets.index(b'"by":"cobalt') + 7)
    forget_index(here.path)

    assert here.json("ledger", "verify").code == "LEDGER_DAMAGED"
    fix(here)

    assert set(known(here)) == set(AGENTS)
    assert here.json("ledger", "verify").status == 0


def test_a_changed_last_head_is_found_while_the_index_remembers_it(here: Scratch):
    raws = here.journal().read_bytes().splitlines(keepends=True)
    start = sum(map(len, raws[:-1]))
    wrong = []

    for offset in range(start, start + len(head_of(raws[-1]))):
        flip(here.journal(), offset)
        if not problems(audited(here.path)):
            wrong.append((offset - start, "not found"))
        if refusal_of(lambda: make(here.path, "fabled-lynx")) is None:
            wrong.append((offset - start, "written behind"))
            break
        flip(here.journal(), offset)
        digest(here.path)

    assert wrong == []


def test_a_salvaged_fact_keeps_its_author_and_says_where_it_comes_from(here: Scratch):
    old = {line["data"].get("actor_id"): line for line in map(json.loads, here.journal().read_bytes().splitlines())}
    damage_line(here.journal(), 4)
    forget_index(here.path)

    fix(here)

    salvaged = {
        event["data"]["salvaged_from"]: event
        for event in here.json("ledger", "log").data
        if "salvaged_from" in event["data"]
    }
    assert list(salvaged) == [old["dusty-wren"]["id"], old["early-robin"]["id"]]
    event = salvaged[old["dusty-wren"]["id"]]
    assert (event["by"], event["kind"]) == ("dusty-wren", "actor.add")
    assert event["data"]["actor_id"] == "dusty-wren"
    assert event["data"]["salvaged_ts"] == old["dusty-wren"]["ts"]


def test_what_was_given_back_or_accepted_behind_the_damage_stays_so(here: Scratch):
    """Releases and acceptances name reservations and messages by the ids they had."""
    about = ["--bead", "bb-1", "--category", "HANDOFF", "--subject", "Parser", "--body", "Dates."]
    for scope in ("kept", "gone"):
        here.json("agent", "reserve", "--agent", ADA, "--scope", scope, "--bead", "bb-1").data  # noqa: B018
    here.json("agent", "release", "--agent", ADA, "--scope", "gone").data  # noqa: B018
    sent = here.json("agent", "send", "--from", ADA, "--to", BO, *about).data["message_id"]
    here.json("agent", "ack", "--agent", BO, "--message", sent).data  # noqa: B018
    before = here.json("agent", "status").data, here.json("agent", "inbox", "--agent", BO).data
    damage_line(here.journal(), 5)
    forget_index(here.path)

    fix(here)

    assert (here.json("agent", "status").data, here.json("agent", "inbox", "--agent", BO).data) == before
    assert here.json("agent", "release", "--agent", ADA, "--scope", "kept").status == 0
    assert here.json("agent", "status").data["summary"]["active"] == 0


def test_what_has_been_mended_is_no_problem_any_more(here: Scratch):
    damage_line(here.journal(), 4)
    forget_index(here.path)
    assert here.json("problems").envelope["error"]["details"]["problems"][0]["kind"] == "damage"

    fix(here)

    assert here.json("problems").data == {"problems": []}
    assert here.json("status").data["is_damaged"] is here.json("ledger", "status").data["is_damaged"] is False


def test_a_salvaged_fact_is_salvaged_once(here: Scratch):
    """What stood before the damage is not recorded again."""
    damage_line(here.journal(), 4)
    forget_index(here.path)

    fix(here)

    found = [line for file in own_lines(here) for line in file.read_bytes().splitlines() if b'"actor.add"' in line]
    assert sum(b'"actor_id":"amber-otter"' in line for line in found) == 1
    assert sum(b'"actor_id":"dusty-wren"' in line for line in found) == 2


def test_what_was_taken_back_behind_the_damage_does_not_come_again_as_an_empty_event(here: Scratch):
    about = ["--bead", "bb-1", "--category", "INFO", "--subject", "Parser", "--body", "a password"]
    sent = here.json("agent", "send", "--from", ADA, "--to", BO, *about).data["message_id"]
    assert here.json("ledger", "redact", sent, "--reason", "oops", "--agent", "user").status == 0
    damage_line(here.journal(), 5)
    forget_index(here.path)

    fix(here)

    said = [event for event in here.json("ledger", "log").data if event["kind"] == "chat.message"]
    assert said == []


def test_doctors_at_work_at_once_salvage_a_fact_once(here: Scratch):
    damage_line(here.journal(), 4)
    forget_index(here.path)
    doctors = [
        subprocess.Popen(
            [sys.executable, "-m", "bb", "doctor", "--fix", "--json"],
            cwd=here.path,
            env=environment(),
            stdout=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    for doctor in doctors:
        doctor.communicate(timeout=PATIENCE)

    raws = [raw for file in own_lines(here) for raw in file.read_bytes().splitlines()]
    assert sum(b'"salvaged_from"' in raw for raw in raws) == 2
    assert here.json("ledger", "verify").status == 0
    assert fix(here) == []


def test_a_key_used_behind_the_damage_is_still_used(tmp_path: Path):
    path = repository(tmp_path / "here")
    make(path, ADA, BO)
    with opened(path) as store:
        register(store, "quiet-heron", key="once")
    damage_line(only_segment(path), 2)
    forget_index(path)

    fix(Near(path, {"BB_NOW": NOON}))

    with opened(path) as store:
        assert refusal_of(lambda: register(store, "quiet-heron", key="once")) is None


def test_a_second_damage_is_mended_like_the_first(here: Scratch):
    damage_line(here.journal(), 6)
    forget_index(here.path)
    fix(here)
    first = set(own_lines(here))
    make(here.path, "fabled-lynx", "gentle-mole")
    (fresh,) = set(own_lines(here)) - first or first - {own_lines(here)[0]}
    damage_line(fresh, 2)
    forget_index(here.path)

    fix(here)

    assert set(known(here)) >= {ADA, BO, "coral-heron", "dusty-wren", "gentle-mole"}
    assert here.json("ledger", "verify").status == 0
    assert fix(here) == []


def test_what_is_very_long_behind_the_damage_is_not_lost_for_its_length(tmp_path: Path):
    """Recorded again it is longer, by the id it had; a line has an upper limit."""
    path = repository(tmp_path / "here")
    make(path, ADA, BO)
    journal = Journal(str(kept(path)), only_segment(path).parent.name)
    say(journal, "x")
    room = (1 << 20) - len(only_segment(path).read_bytes().splitlines(keepends=True)[-1])
    say(journal, "x" * (room + 1))
    make(path, "quiet-heron")
    assert len(only_segment(path).read_bytes().splitlines(keepends=True)[4]) == 1 << 20
    damage_line(only_segment(path), 2)
    forget_index(path)

    fix(Near(path, {"BB_NOW": NOON}))

    assert "quiet-heron" in agents(path)
    assert problems_of_living(path) == []


def problems_of_living(path: Path) -> list[str]:
    """What is wrong with the journal that is written to now."""
    found = audited(path)
    return [str(chain.damage) for chain in found.chains if chain.is_ours and chain.damage]


@pytest.mark.parametrize("left", [b"", b'{"v":1,"id', b"\0" * 300], ids=["empty", "cut", "zeros"])
def test_a_segment_that_lost_its_lines_costs_only_those(tmp_path: Path, left: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journals, "SEGMENT_SIZE", 1)
    path = repository(tmp_path / "here")
    make(path, *AGENTS)
    here = Near(path, {"BB_NOW": NOON})
    segments(next((kept(path) / "j").iterdir()))[3].write_bytes(left)
    forget_index(path)

    assert here.json("ledger", "verify").code == "LEDGER_DAMAGED"
    assert here.json("agent", "register", "--name", "fabled-lynx", "--role", "builder").code == "LEDGER_DAMAGED"
    fix(here)

    assert known(here) == [ADA, BO, "dusty-wren", "early-robin"]
    assert here.json("ledger", "verify").status == 0
    assert here.json("agent", "register", "--name", "fabled-lynx", "--role", "builder").status == 0


@pytest.mark.parametrize("which", [1, 3])
def test_a_segment_that_is_gone_costs_only_its_lines(tmp_path: Path, which: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journals, "SEGMENT_SIZE", 1)
    path = repository(tmp_path / "here")
    make(path, *AGENTS)
    here = Near(path, {"BB_NOW": NOON})
    segments(next((kept(path) / "j").iterdir()))[which].unlink()

    fix(here)

    assert set(known(here)) == set(AGENTS) - {AGENTS[which - 1]}
    assert here.json("ledger", "verify").status == 0


def test_a_damaged_journal_of_another_writer_is_named_and_ours_goes_on(here: Scratch):
    folder = here.store / "j" / OTHER_WRITER
    folder.mkdir()
    (folder / "000000000001.jsonl").write_bytes(
        b"".join(written([(n, "chat.message", {"text": "hello"}) for n in (1, 2, 3)], OTHER_WRITER))
    )
    damage_line(folder / "000000000001.jsonl", 2)

    assert OTHER_WRITER in here.json("ledger", "verify").envelope["error"]["message"]
    assert here.json("agent", "register", "--name", "fabled-lynx", "--role", "builder").status == 0


# -- holes


HOLE = 20 << 30
SPARSE = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="files there may have no holes")


def with_hole(file: Path, before: bytes, after: bytes) -> None:
    with file.open("wb") as made:
        made.write(before)
        made.truncate(len(before) + HOLE)
        made.seek(0, os.SEEK_END)
        made.write(after)


@SPARSE
@pytest.mark.parametrize("memory", ["fresh index", "index that has read past it"])
@pytest.mark.parametrize("lines_before", [0, 3, 6])
def test_a_hole_between_lines_costs_none_and_fills_no_memory(here: Scratch, memory: str, lines_before: int):
    before = here.journal().read_bytes()
    cut = len(b"".join(before.splitlines(keepends=True)[:lines_before]))
    with_hole(here.journal(), before[:cut], before[cut:])
    if memory == "fresh index":
        forget_index(here.path)
    assert here.json("doctor").code == "PROBLEMS_FOUND"

    with limited_memory():
        assert "removed the holes from" in fix(here)[0]

    assert here.journal().read_bytes() == before
    (aside,) = (here.store / "torn").iterdir()
    assert aside.stat().st_size == len(before) + HOLE, "it is kept as it was"
    assert set(known(here)) == set(AGENTS)
    assert here.json("agent", "register", "--name", "fabled-lynx", "--role", "builder").status == 0
    assert here.json("ledger", "verify").status == 0
    assert fix(here) == []


@SPARSE
def test_a_hole_in_the_place_of_lines_costs_those_and_no_others(here: Scratch):
    raws = here.journal().read_bytes().splitlines(keepends=True)
    with_hole(here.journal(), b"".join(raws[:3]) + raws[3][:40], b"".join(raws[5:]))
    forget_index(here.path)

    with limited_memory():
        fix(here)

    assert set(known(here)) == {ADA, BO, "early-robin"}
    assert here.json("ledger", "verify").status == 0
    assert fix(here) == []


@SPARSE
def test_a_file_that_is_nothing_but_a_hole_costs_its_writer(here: Scratch):
    with_hole(here.journal(), b"", b"")
    forget_index(here.path)

    fix(here)

    assert here.json("agent", "register", "--name", "fabled-lynx", "--role", "builder").status == 0
    assert known(here) == ["fabled-lynx"]


def test_what_is_too_large_without_any_hole_is_left_alone_and_says_what_to_do(
    here: Scratch, monkeypatch: pytest.MonkeyPatch
):
    before = here.journal().read_bytes()
    for module in (journal_segments, repair):
        monkeypatch.setattr(module, "LARGEST", 1000)

    refusal = near_by(here).json("doctor", "--fix")

    assert refusal.code == "LEDGER_DAMAGED"
    assert "move the file out of" in refusal.envelope["error"]["hint"]
    assert here.journal().read_bytes() == before


@SPARSE
def test_lines_of_a_retired_writer_are_recorded_again_from_behind_a_hole(here: Scratch):
    """As an older `bb doctor --fix` left it, which retired the writer and could not read on."""
    raws = here.journal().read_bytes().splitlines(keepends=True)
    with_hole(here.journal(), b"".join(raws[:3]), b"".join(raws[4:]))
    forget_index(here.path)
    journals_folder, writer = str(here.store / "j"), here.journal().parent.name
    writers.retire(journals_folder, writer, "line 4: it is longer", f"{here.journal().name}:{len(b''.join(raws[:3]))}")

    with limited_memory():
        fix(here)

    assert {ADA, BO, "dusty-wren", "early-robin"} == set(known(here))
    assert fix(here) == []


@contextlib.contextmanager
def limited_memory() -> Iterator[None]:
    """No more than a gigabyte beyond what there is: children start with that, too."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def near_by(here: Scratch) -> Near:
    return Near(here.path, here.settings)


# -- torn


@pytest.mark.parametrize("missing", [1, 30, 400])
def test_a_torn_line_is_told_and_mended(here: Scratch, missing: int):
    octets = here.journal().read_bytes()
    here.journal().write_bytes(octets[:-missing])

    assert here.json("doctor").status == 0, "the next write repairs it, so it is odd, not broken"
    assert fix(here) == [f"repaired the torn last line of writer {here.journal().parent.name}"]

    assert known(here) == AGENTS[: 5 if missing == 1 else 4 if missing == 30 else 3]
    assert here.json("ledger", "verify").status == 0
    assert fix(here) == []


# -- leftovers and the index


def test_what_killed_processes_left_behind_is_swept_up_and_nothing_else(here: Scratch):
    leave(here.store / ".clone.json.999999.0badcafe.tmp")
    leave(here.store / "presence" / ".amber-otter.json.999999.0badcafe.tmp")
    (here.store / "presence" / "not ours.txt").write_bytes(b"kept")
    (here.store / "presence" / "not ours.txt").chmod(0o600)
    before = known(here)

    assert fix(here) == ["removed 2 left-over temporary files"]

    assert not list(here.store.glob("**/.*.tmp"))
    assert (here.store / "presence" / "not ours.txt").exists()
    assert known(here) == before
    assert fix(here) == []


def test_an_index_that_says_something_else_is_found_and_made_again(here: Scratch):
    import sqlite3

    connection = sqlite3.connect(here.store / "index.sqlite")
    connection.execute("delete from state where key = ?", (BO,))
    connection.commit()
    connection.close()

    assert here.json("ledger", "verify").code == "LEDGER_DAMAGED"
    assert fix(here) == ["rebuilt the index"]

    assert known(here) == AGENTS
    assert here.json("ledger", "verify").status == 0


def test_doctor_changes_nothing_unless_asked(here: Scratch):
    here.journal().write_bytes(here.journal().read_bytes()[:-30])
    leave(here.store / ".clone.json.999999.0badcafe.tmp")
    before = {file: file.read_bytes() for file in here.store.rglob("*") if file.is_file() and "index" not in file.name}

    assert here.json("doctor").status == 0

    after = {file: file.read_bytes() for file in here.store.rglob("*") if file.is_file() and "index" not in file.name}
    assert after == before


def test_a_sound_ledger_has_nothing_to_mend(here: Scratch):
    assert fix(here) == []
    assert problems(audited(here.path)) == []
    assert len(every_line(here.store)) == 6
    assert registrations(here.store, ADA) == [json.loads(here.journal().read_bytes().splitlines()[1])["id"]]
    with opened(here.path) as store:
        note(store, ADA)


# -- files cut short, met by a process of its own (which has loaded no more than it needs)


@pytest.mark.parametrize("cut", ["{", '{"', '{"seen_at":"2026', '{"seen_at":1', '"', "[", "tru", "-"])
def test_a_presence_file_cut_short_counts_as_none(here: Scratch, cut: str):
    (here.store / "presence" / f"{ADA}.json").write_text(cut)

    assert known(here) == AGENTS
    assert here.json("agent", "heartbeat", "--agent", ADA).status == 0


@pytest.mark.parametrize("cut", ["{", '{"machine":"', '"'])
def test_an_owner_file_cut_short_costs_a_writer(here: Scratch, cut: str):
    (owner,) = here.store.glob("j/*/owner.json")
    owner.write_text(cut)

    assert known(here) == AGENTS
    assert here.json("agent", "register", "--name", "fabled-lynx", "--role", "builder").status == 0


@pytest.mark.parametrize("data", [b'{"_":"salt', b"{", b'{"a":1', b'"', b"["])
def test_a_foreign_line_whose_data_is_cut_short_but_sealed_is_passed_over(here: Scratch, data: bytes):
    """Sound in its chain, and no JSON: kept, and skipped by every command."""
    from tests.ledger.ledger_support import short_hash

    raw = written([(1, "actor.add", {"actor_id": "fabled-lynx", "role": "r", "title": "t"})], OTHER_WRITER)[0]
    dh = short_hash(raw.partition(b',"data":')[2][:-2]).encode()
    folder = here.store / "j" / OTHER_WRITER
    folder.mkdir()
    (folder / "000000000001.jsonl").write_bytes(
        head_of(raw).replace(dh, short_hash(data).encode()) + b',"data":' + data + b"}\n"
    )

    assert known(here) == AGENTS
    for words in (("ledger", "log"), ("ledger", "verify"), ("ledger", "export")):
        assert here.json(*words).status == 0, words
    assert here.json("ledger", "show", f"{OTHER_WRITER}.1").code == "EVENT_UNREADABLE"
