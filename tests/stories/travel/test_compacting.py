"""The ledger's branch stays small: full files are archived, and a snapshot stands for what they held."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.holdings import holdings
from bb.ledger.git.place import find
from bb.ledger.index.database import VERSION
from bb.ledger.index.index import Index
from bb.ledger.published import layout, pins, tip
from bb.ledger.published.pins import Pins
from bb.ledger.records.store import Store
from bb.ledger.travel import archive, remote, remote_reader, snapshot
from tests.grids import part
from tests.stories.travel.branch_support import Branch, File, Name
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, clone, settle

SECRET = "the word is xyzzy"
LETTER = {"from": AMBER, "to": COBALT, "bead": "bb-1", "category": "INFO", "subject": "Look"}
Files = dict[Name, File]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """What else takes thousands of lines takes a few: files are full with eight, a snapshot is due after twenty."""
    monkeypatch.setattr(layout, "MOST_LINES", 8)
    monkeypatch.setattr(tip, "AT_LEAST", 20)


def write(at: Clone, count: int, body: str = "nothing much") -> list[str]:
    """Record so many messages; their names."""
    return [str(at.ask("agent.send", **LETTER, body=f"{body} {n}")["message_id"]) for n in range(count)]


@pytest.fixture
def archived(origin: Path) -> list[Clone]:
    """Two clones of a branch with an archive and a snapshot."""
    return agents_at_work(origin, AMBER, COBALT, after=compacted)


def compacted(pair: list[Clone]) -> list[Clone]:
    """Both clones, once there are an archive and a snapshot."""
    write(pair[0], 30)
    settle(pair)
    return pair


def starting(files: Mapping[Name, File], folder: str) -> dict[str, File]:
    return {str(path): file for path, file in files.items() if str(path).startswith(folder)}


def snapshots(origin: Path) -> set[str]:
    return {path.split("/")[1] for path in starting(Branch(origin).files(), "snap/")}


def peeked(at: Clone) -> dict[str, Any]:
    """All that is known to whoever only looks at what is published."""
    with remote_reader.published_ledger(find(str(at.path), {}), "origin") as found:
        return {fold: found.index.states(fold) for fold in found.index.folds()}


def known(at: Clone) -> dict[str, Any]:
    """The same as a clone knows it that has read every line."""
    at.sync(pull=True)
    store = at.store
    assert store.exists()
    from bb.ledger.records.store import Store

    index = Store(find(str(at.path), {})).caught_up()
    return {fold: index.states(fold) for fold in index.folds()}


def test_what_is_published_leaves_the_tree_and_a_snapshot_stands_for_it(origin: Path, pair: list[Clone]):
    here, there = pair
    write(here, 30)
    answer = here.sync()
    there.sync()
    fresh = clone(origin, "fresh")
    fresh.sync(pull=True)

    assert answer["archived"] == answer["events"]
    assert not starting(Branch(origin).files(), "w/")
    assert list(starting(Branch(origin).files(), "archive/")) == ["archive/000001.jsonl"]
    assert len(snapshots(origin)) == 1
    assert here.digest == there.digest == fresh.digest
    (published,) = fresh.ask("ledger.verify", published=True)["published"]
    assert (published["archived"], published["is_snapshot_right"]) == (answer["events"], True)


def test_writing_goes_on_behind_what_was_archived(origin: Path, pair: list[Clone]):
    here, there = pair
    for _ in range(4):
        write(here, 13)
        settle(pair)
    fresh = clone(origin, "fresh")
    fresh.sync(pull=True)

    assert len(snapshots(origin)) == 1
    assert len(starting(Branch(origin).files(), "archive/")) > 1
    assert here.digest == there.digest == fresh.digest


def test_a_snapshot_says_exactly_what_the_lines_say(origin: Path, archived: list[Clone]):
    here, there = archived
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-1")
    write(here, 3)
    settle(archived)

    assert peeked(clone(origin, "ci")) == known(there)


GLOBAL = {"global": True}


def order(at: Clone) -> dict[str, Any]:
    """The results of publication order, as whoever only looks at what is published knows them."""
    with remote_reader.published_ledger(find(str(at.path), {}), "origin") as found:
        return live_ones(pins.read(found.store), found.index) | {"generation": found.generation}


def known_order(at: Clone) -> dict[str, Any]:
    """The same as a clone knows it that has read every commit."""
    at.sync(pull=True)
    saved = pins.read(str(at.store))
    tip = saved.remote("origin").tip
    assert tip is not None
    return live_ones(saved, Store(find(str(at.path), {})).caught_up()) | {"generation": tip.generation}


def live_ones(known: Pins, index: Index) -> dict[str, Any]:
    live = [name for name, _ in index.entries_by_term(holdings.NAME, "live")]
    return known.admitted.keeping(live).as_json()


def reserve(at: Clone, scope: str, **how: bool) -> None:
    at.ask("agent.reserve", agent=AMBER if at.path.name == "clone-0" else COBALT, scope=[scope], bead="bb-1", **how)


def never_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_reader, "_everything", lambda *_: pytest.fail("every commit was read"))


def test_a_snapshot_has_the_order_of_publication(origin: Path, pair: list[Clone], monkeypatch: pytest.MonkeyPatch):
    here, there = pair
    reserve(here, "src", **GLOBAL)
    reserve(there, "docs")
    compacted(pair)

    never_read_whole(monkeypatch)
    seen = order(clone(origin, "ci"))
    assert seen == known_order(there)
    assert seen["grants"]
    assert seen["generations"]
    assert peeked(clone(origin, "other")) == known(there)


def test_of_the_order_since_the_snapshot_only_the_commits_since_are_read(
    origin: Path, pair: list[Clone], monkeypatch: pytest.MonkeyPatch
):
    here, there = pair
    reserve(here, "src", **GLOBAL)
    compacted(pair)
    for at, scope in ((here, "a"), (there, "b"), (there, "c")):
        at.sync()
        reserve(at, scope, **GLOBAL)
    reserve(here, "d")
    here.sync()
    there.ask("agent.release", agent=COBALT, scope=["b"])
    there.sync()
    here.sync()

    never_read_whole(monkeypatch)
    seen = order(clone(origin, "ci"))
    assert seen == known_order(here)
    assert len(seen["grants"]) == 4
    assert peeked(clone(origin, "other")) == known(there)


def test_a_wrong_number_of_commits_in_a_message_costs_time_and_changes_nothing(origin: Path, pair: list[Clone]):
    here, there = pair
    compacted(pair)
    for at, scope in ((here, "a"), (there, "b"), (here, "c")):
        at.sync()
        reserve(at, scope, **GLOBAL)
    branch = Branch(origin)
    said = branch.git("cat-file", "commit", "bb-ledger").replace(b"Bb-Generation: ", b"Bb-Generation: 9")
    branch.point_at(branch.write("commit", said))

    fresh = clone(origin, "fresh")
    fresh.sync(pull=True)
    assert order(clone(origin, "ci")) == known_order(fresh)
    assert known_order(fresh)["generation"] < 90


def test_a_snapshot_with_another_order_of_publication_is_replaced(origin: Path, pair: list[Clone]):
    here, there = pair
    reserve(here, "src", **GLOBAL)
    compacted(pair)
    branch = Branch(origin)
    files = branch.files()
    ((path, file),) = starting(files, "snap/").items()
    about, settled, rest = file.octets.split(b"\n", 2)
    assert AMBER.encode() in settled
    branch.put(files | {path: File(b"\n".join([about, settled.replace(AMBER.encode(), COBALT.encode()), rest]))})

    there.sync(pull=True)
    (seen,) = there.ask("ledger.verify", published=True)["published"]
    assert seen["is_snapshot_right"] is False
    assert there.sync()["archived"] is not None
    here.sync()
    assert here.ask("ledger.verify", published=True)["published"][0]["is_snapshot_right"]
    assert order(clone(origin, "ci")) == known_order(here)


def test_what_has_ended_is_forgotten_with_a_snapshot_and_nobody_finds_that_wrong(pair: list[Clone]):
    here = pair[0]
    for scope in ("a", "b", "c"):
        reserve(here, scope)
    settle(pair)
    here.ask("agent.release", agent=AMBER, scope=["a"])
    compacted(pair)
    assert len(pins.read(str(here.store)).admitted.generations) == 2

    here.ask("agent.release", agent=AMBER, scope=["b"])
    settle(pair)
    write(here, 30)
    settle(pair)
    for each in pair:
        assert each.ask("ledger.verify", published=True)["published"][0]["is_snapshot_right"]
        assert each.sync()["archived"] is None


def test_many_commits_with_few_lines_make_a_snapshot_due(
    origin: Path, pair: list[Clone], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tip, "AT_LEAST", 2000)
    monkeypatch.setattr(tip, "AFTER_COMMITS", ((8, 16),))
    here, _ = pair
    found = []
    for _ in range(10):
        write(here, 1)
        found.append(here.sync()["archived"])

    assert [archived is not None for archived in found].count(True) == 1


def test_a_snapshot_that_other_folds_have_made_is_not_used(
    origin: Path, archived: list[Clone], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("bb.ledger.index.database.VERSION", VERSION + 1)

    assert peeked(clone(origin, "ci")) == known(clone(origin, "fresh"))
    assert archived[0].sync()["archived"] is not None, "only earlier versions can use it, so a new one is made"
    never_read_whole(monkeypatch)
    assert peeked(clone(origin, "other")) == known(clone(origin, "again"))


def test_a_snapshot_of_a_later_version_stays(origin: Path, archived: list[Clone], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bb.ledger.index.database.VERSION", VERSION - 1)

    assert peeked(clone(origin, "ci")) == known(clone(origin, "fresh"))
    assert archived[0].sync()["archived"] is None, "nobody can tell that it is wrong"


def test_a_snapshot_that_is_wrong_is_replaced_by_whoever_finds_that(origin: Path, archived: list[Clone]):
    branch = Branch(origin)
    files = branch.files()
    ((path, file),) = starting(files, "snap/").items()
    branch.put(files | {path: File(file.octets.replace(b"cobalt-harbor", b"cobalt-lagoon"))})

    archived[1].sync(pull=True)
    (seen,) = archived[1].ask("ledger.verify", published=True)["published"]
    assert seen["is_snapshot_right"] is False
    assert archived[1].sync()["archived"] is not None
    archived[0].sync()

    assert b"cobalt-lagoon" not in b"".join(each.octets for each in branch.files().values())
    assert archived[0].ask("ledger.verify", published=True)["published"][0]["is_snapshot_right"]


def test_what_is_redacted_does_not_stay_in_a_snapshot(origin: Path, pair: list[Clone]):
    here, _ = pair
    write(here, 15)
    event = write(here, 1, SECRET)[0]
    compacted(pair)

    here.ask("ledger.redact", event=event, reason="a password", agent=AMBER)
    settle(pair)

    assert all(SECRET.encode() not in file.octets for file in Branch(origin).files().values())
    fresh = clone(origin, "fresh")
    fresh.sync(pull=True)
    assert SECRET not in str(fresh.ask("ledger.log"))
    assert fresh.digest == here.digest
    assert here.sync()["attempts"] == 0, "what was archived is in nobody's way and is not published again and again"


def turn_away(at: Clone, monkeypatch: pytest.MonkeyPatch, how: Exception) -> None:
    """The remote takes every commit but those with a snapshot."""
    push = remote.push

    def choosy(place: Any, name: str, commit: str, expected: str | None, *rest: Any) -> None:
        if expected and "snapshot" in at.git("log", "-1", "--format=%s", commit):
            raise how
        push(place, name, commit, expected, *rest)

    monkeypatch.setattr(remote, "push", choosy)


def test_nobody_waits_when_somebody_else_is_faster(origin: Path, pair: list[Clone], monkeypatch: pytest.MonkeyPatch):
    here, there = pair
    write(here, 30)
    turn_away(here, monkeypatch, remote.Moved("stale info"))
    assert here.sync()["archived"] is None
    monkeypatch.undo()

    assert not snapshots(origin)
    settle(pair)
    assert here.digest == there.digest


def test_whoever_learns_of_a_blanking_and_of_the_archiving_at_once_finds_both_right(origin: Path, pair: list[Clone]):
    here, there = pair
    event = write(here, 1, SECRET)[0]
    while int(write(here, 1)[0].partition(".")[2]) % 8:
        here.sync()  # until the last file of this writer is full
    settle(pair)
    there.ask("ledger.redact", event=event, reason="a password", agent="user")
    there.sync()
    for n in range(30):
        there.ask("agent.send", **LETTER | {"from": COBALT, "to": AMBER}, body=str(n))
    assert there.sync()["archived"]

    fresh = clone(origin, "fresh")
    fresh.sync(pull=True)
    assert fresh.digest == there.digest


def test_what_goes_wrong_with_a_snapshot_is_told_and_not_tried_again_at_once(
    pair: list[Clone], monkeypatch: pytest.MonkeyPatch
):
    here, there = pair
    write(here, 30)
    push = remote.push
    turn_away(here, monkeypatch, remote.PushDenied("no snapshots here"))
    assert here.sync()["not_compacted"] == "PUSH_DENIED: no snapshots here"
    monkeypatch.setattr(remote, "push", push)

    write(here, 5)
    assert here.sync()["archived"] is None
    write(here, 20)
    assert here.sync()["archived"] is not None
    settle(pair)
    assert here.digest == there.digest


def test_a_clone_with_a_damaged_journal_makes_no_snapshot(origin: Path, pair: list[Clone]):
    """Else it would replace the right ones of others by its own, and they its own by theirs, for ever."""
    here, there = pair
    compacted(pair)
    received = there.store.glob("received/*/*.jsonl")
    (journal,) = (path for path in received if b"nothing much 5" in path.read_bytes())
    journal.write_bytes(journal.read_bytes().replace(b"nothing much 5", b"nothing less 5"))
    write(here, 20)
    here.sync()

    assert there.sync()["not_compacted"].startswith("LEDGER_DAMAGED")
    assert here.ask("ledger.verify", published=True)["published"][0]["is_snapshot_right"]


def test_a_damaged_line_that_was_archived_is_put_back(archived: list[Clone]):
    here, _ = archived
    writer = next(path.name for path in here.store.glob("j/*") if (path / "lock").exists())
    (journal,) = here.store.glob(f"j/{writer}/*.jsonl")
    octets = journal.read_bytes()
    journal.write_bytes(octets.replace(b"nothing much 5", b"nothing less 5"))

    assert here.refused("ledger.verify").code == "LEDGER_DAMAGED"
    here.ask("doctor", fix=True)

    assert journal.read_bytes() == octets


# -- what an attacker, or an erring program, may not do


def without_its_manifest(files: Files) -> Files:
    return {path: file for path, file in files.items() if not str(path).startswith("archive/")}


def with_another_number(files: Files) -> Files:
    found = {str(path).replace("archive/000001", "archive/000003"): file for path, file in files.items()}
    return dict(found)


def with_a_lie_in_its_manifest(files: Files) -> Files:
    ((path, file),) = starting(files, "archive/").items()
    return files | {path: File(file.octets.replace(b'"first":1,', b'"first":2,'))}


def with_more_in_its_manifest(files: Files) -> Files:
    ((path, file),) = starting(files, "archive/").items()
    return files | {path: File(file.octets + file.octets)}


def with_a_manifest_that_is_none(files: Files) -> Files:
    ((path, _),) = starting(files, "archive/").items()
    return files | {path: File(b"[]\n")}


def without_a_snapshot(files: Files) -> Files:
    return {path: file for path, file in files.items() if not str(path).startswith("snap/")}


def with_a_snapshot_of_other_heads(files: Files) -> Files:
    ((path, _),) = starting(files, "snap/").items()
    name = path.split("/")[1]
    return {str(path).replace(name, name[::-1]): file for path, file in files.items()}


def with_a_strange_part(files: Files) -> Files:
    ((path, file),) = starting(files, "snap/").items()
    return files | {path.replace("0001", "1"): file}


FORGED = [
    without_its_manifest,
    with_another_number,
    with_a_lie_in_its_manifest,
    with_more_in_its_manifest,
    with_a_manifest_that_is_none,
    without_a_snapshot,
    with_a_snapshot_of_other_heads,
    with_a_strange_part,
]


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__)
def test_what_is_archived_otherwise_than_it_should_be_is_refused(origin: Path, pair: list[Clone], forge: Any):
    here, there = pair
    write(here, 30)
    here.sync()
    there.sync(pull=True)
    before, branch = there.digest, Branch(origin)
    right = branch.files()
    parent = branch.parents()[0]
    found = branch.commit(forge(right), [parent])
    branch.point_at(found)
    late = clone(origin, "late")

    assert [each["commit"] for each in late.sync(pull=True)["quarantined"]] == [found], forge
    assert there.refused("sync", pull=True).code == "LEDGER_REWRITTEN", "it had verified the other commit"
    assert there.digest == before


def test_a_file_is_not_archived_without_a_snapshot_of_the_same_commit(origin: Path, archived: list[Clone]):
    write(archived[0], 1)
    archived[0].sync()
    branch = Branch(origin)
    files, parent = branch.files(), branch.tip
    path, last = max(starting(files, "w/").items())
    blob = branch.git("rev-parse", f"{parent}:{path}").decode().strip()
    about = archive.entry(path, blob, last.octets, parent)
    forged: Files = {name: file for name, file in files.items() if name != path}
    branch.put(forged | {"archive/000002.jsonl": File(archive.manifest_bytes([about]))})

    (skipped,) = archived[1].sync(pull=True)["quarantined"]
    assert "a snapshot was added or removed without reason" in skipped["why"]


def test_the_newest_snapshot_may_not_go_without_another(origin: Path, archived: list[Clone]):
    branch = Branch(origin)
    branch.put(without_a_snapshot(branch.files()))

    (skipped,) = archived[1].sync(pull=True)["quarantined"]
    assert "the newest snapshot is missing" in skipped["why"]


def forged(rows: bytes, count: int, settled: bytes = b'{"generations":{},"grants":{}}') -> bytes:
    about = b'{"after":"","format":2,"generation":9,"state":%d,"heads":{},"rows":%d}' % (VERSION, count)
    return b"\n".join([about, settled, rows])


@pytest.mark.parametrize(
    "octets",
    part(
        [
            b"",
            b"nonsense\n",
            forged(b"", 7),
            b'{"after":"","format":2,"generation":9,"state":%d,"heads":{"x":[1]},"rows":0}\n{}\n' % VERSION,
            forged(b'["no such fold","a",{}]\n', 1),
            forged(b'["roster","a","b"]\n', 1),
            forged(b"[1]\n", 1),
            forged(b'["reservation","a.1",{"made":[1]}]\n', 1),
            forged(b'["agent","a",{}]\n["agent","a",{}]\n', 2),
            forged(b'["agent","a",' + b'{"a":' * 2000 + b"1" + b"}" * 2000 + b"]\n", 1),
            forged(b"", 0, b'{"generations":{"aaaaaaaaaaaa.1":10},"grants":{}}'),
            forged(b"", 0, b"[]"),
            b"x" * (snapshot.LARGEST_PART + 1),
        ],
        4,
    ),
    ids=range(13),
)
def test_a_snapshot_that_cannot_be_read_is_not_used(origin: Path, archived: list[Clone], octets: bytes):
    """Whoever only looks reads every commit instead, and the next clone that publishes replaces it."""
    branch = Branch(origin)
    files = branch.files()
    (path,) = starting(files, "snap/")
    branch.put(files | {path: File(octets)})

    assert peeked(clone(origin, "ci")) == known(clone(origin, "fresh"))
    assert archived[1].sync()["archived"] is not None
    assert Branch(origin).files()[path].octets != octets
