"""A repository that is copied, moved, or loses a file of its ledger goes on, and no chain ever forks."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.agents import identity, roster
from bb.coordination.facts import Updated
from bb.ledger.files.lock import Lock
from bb.ledger.records import event_filters
from tests.ledger.ledger_support import (
    ADA,
    BO,
    NOW,
    FaultyDisk,
    agents,
    audited,
    child,
    digest,
    every_chain,
    every_line,
    forget_index,
    kept,
    make,
    note,
    opened,
    problems,
    refusal_of,
    register,
    registrations,
    repository,
    take_the_same,
    together,
)
from tests.near import Near, near
from tests.support import NOON, Scratch


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A ledger with two agents."""
    path = repository(tmp_path / "here")
    make(path, ADA, BO)
    return path


def copy(source: Path, target: Path, *options: str) -> Path:
    subprocess.run(["cp", "-r", *options, source, target], check=True)
    return target


def places(path: Path) -> dict[str, int | None]:
    """The position of every event in the order of the clone at PATH."""
    with opened(path) as store:
        return {event.id: event.seq for event in event_filters.everything(store, event_filters.Filter())}


def writer_of(path: Path) -> str:
    """The writer that the next event at PATH is recorded by."""
    with opened(path) as store:
        return note(store, ADA).id.partition(".")[0]


# -- copied


@pytest.mark.parametrize("options", [(), ("-a",)], ids=["cp -r", "cp -a"])
def test_a_copy_writes_under_a_name_of_its_own_and_accounts_for_what_it_was_born_with(
    here: Path, tmp_path: Path, options: tuple[str, ...]
):
    (before,) = every_chain(kept(here)).values()
    there = copy(here, tmp_path / "there", *options)

    make(there, "quiet-heron")
    make(here, "early-robin")

    old = before[0]["id"].partition(".")[0]
    chains = every_chain(kept(there))
    assert len(chains) == 2
    assert chains.pop(old) == before, "nothing was added to the journal it was born with"
    ((new, lines),) = chains.items()
    assert new != old
    assert lines[0]["kind"] == "x.bb.merged"
    assert lines[0]["data"]["heads"] == {old: 3}
    assert [line["kind"] for line in lines] == ["x.bb.merged", "actor.add"]
    assert lines[0]["l"] > before[-1]["l"], "Lamport time rises across writers"
    assert agents(there) == [ADA, BO, "quiet-heron"]
    assert agents(here) == [ADA, BO, "early-robin"]
    assert list(every_chain(kept(here))) == [old]
    assert problems(audited(there)) == problems(audited(here)) == []


def test_a_name_that_was_taken_before_the_copy_is_taken_in_it(here: Path, tmp_path: Path):
    there = copy(here, tmp_path / "there")

    assert refusal_of(lambda: make(there, ADA)) == "DUPLICATE_AGENT_ID"


def test_positions_in_a_copy_are_dense_and_survive_a_rebuild(here: Path, tmp_path: Path):
    there = copy(here, tmp_path / "there")
    make(there, "quiet-heron", "early-robin")
    copied_again = copy(there, tmp_path / "again")
    make(copied_again, "fabled-lynx")
    before = places(copied_again)

    forget_index(copied_again)

    assert places(copied_again) == before
    assert sorted(filter(None, before.values())) == list(range(1, len(every_line(kept(copied_again))) + 1))


def test_positions_do_not_change_as_more_is_recorded(here: Path, tmp_path: Path):
    there = copy(here, tmp_path / "there")
    make(there, "quiet-heron")
    before = places(there)

    make(there, "early-robin")

    assert {event: seq for event, seq in places(there).items() if event in before} == before


def test_a_copy_of_a_copy_has_three_sound_chains(here: Path, tmp_path: Path):
    there = copy(here, tmp_path / "there")
    make(there, "quiet-heron")
    again = copy(there, tmp_path / "again")
    make(again, "early-robin")

    assert len(every_chain(kept(again))) == 3
    assert agents(again) == [ADA, BO, "early-robin", "quiet-heron"]
    assert problems(audited(again)) == []


def test_processes_that_find_themselves_in_a_copy_at_once_become_one_writer(here: Path, tmp_path: Path):
    """One kernel, one writer, one lock: else rules would decide side by side."""
    for turn in range(3):
        there = copy(here, tmp_path / f"there-{turn}")

        said = together([child(take_the_same, there, 1) for _ in range(6)])

        assert sorted(said) == ["DUPLICATE_AGENT_ID\n"] * 5 + ["mine\n"]
        assert len(registrations(kept(there), "wanted-0")) == 1
        assert problems(audited(there)) == []
        assert len(every_chain(kept(there))) == 2


def test_a_name_is_taken_once_by_stores_that_found_themselves_in_a_copy_at_once(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Lock.__init__, "__defaults__", (0.2,))
    there = copy(here, tmp_path / "there")
    with opened(there) as one, opened(there) as other:
        with FaultyDisk().patched() as disk:

            def while_one_becomes_a_writer(_: int, call: str, path: str) -> None:
                if call == "open" and "owner.json" in path and path.endswith(".tmp"):
                    disk.on_call = lambda *_: None
                    refusal_of(lambda: note(other, BO))

            disk.on_call = while_one_becomes_a_writer
            note(one, ADA)

        def decide(index: Any) -> list[Any]:
            present = roster.agent("quiet-heron", index.state(roster.NAME, "quiet-heron"))
            facts = [identity.register(present, "quiet-heron", "builder", None, force=False, state="active")]
            refusal_of(lambda: register(other, "quiet-heron"))
            return facts

        refusal_of(lambda: one.record(decide, by="quiet-heron", now=NOW))

    assert len(registrations(kept(there), "quiet-heron")) == 1


def test_a_store_opened_before_it_was_copied_over_notices(here: Path, tmp_path: Path):
    """A backup put back under a running process: its journals are no longer the ones it wrote to."""
    backup = copy(kept(here), tmp_path / "backup")
    with opened(here) as store:
        note(store, ADA)
        shutil.rmtree(kept(here))
        copy(backup, kept(here))

        register(store, "quiet-heron")

    assert agents(here) == [ADA, BO, "quiet-heron"]
    assert len(every_chain(kept(here))) == 2
    assert problems(audited(here)) == []


# -- moved


def test_a_moved_repository_goes_on_under_its_own_name(here: Path, tmp_path: Path):
    before = writer_of(here)
    here.rename(tmp_path / "elsewhere")

    assert writer_of(tmp_path / "elsewhere") == before
    assert len(every_chain(kept(tmp_path / "elsewhere"))) == 1
    assert problems(audited(tmp_path / "elsewhere")) == []


def test_a_pulled_together_git_directory_keeps_it_too(tmp_path: Path):
    repo = near(tmp_path / "repo")
    make(repo.path, ADA)
    before = writer_of(repo.path)
    repo.git("init", "--quiet", "--separate-git-dir", str(tmp_path / "kept"))

    assert writer_of(repo.path) == before


@pytest.mark.parametrize(
    "command", [("gc", "--quiet"), ("clean", "-ffdxq"), ("stash",), ("checkout", "-q", "-b", "other"), ("prune",)]
)
def test_git_itself_never_touches_the_ledger(tmp_path: Path, command: tuple[str, ...]):
    repo = near(tmp_path / "repo")
    make(repo.path, ADA)
    (repo.path / "file").write_text("untracked")
    before = digest(repo.path)

    repo.git(*command)

    assert digest(repo.path) == before
    assert problems(audited(repo.path)) == []


def test_the_ledger_leaves_the_work_tree_clean(tmp_path: Path):
    repo = near(tmp_path / "repo")
    make(repo.path, ADA)

    assert repo.git("status", "--porcelain", "--ignored") == ""
    assert repo.git("for-each-ref") == repo.git("for-each-ref", "refs/heads")


def test_worktrees_come_and_go_and_the_ledger_stays(tmp_path: Path):
    repo = near(tmp_path / "repo")
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    make(tmp_path / "linked", ADA)
    repo.git("worktree", "remove", "--force", str(tmp_path / "linked"))

    make(repo.path, BO)

    assert agents(repo.path) == [ADA, BO]
    assert len(every_chain(kept(repo.path))) == 1


# -- under a key


def test_a_repetition_under_a_key_records_nothing_and_answers_as_the_first_time(here: Path):
    with opened(here) as store:
        first = register(store, "quiet-heron", key="once")
        lines = len(every_line(kept(here)))

        again = register(store, "quiet-heron", key="once")

        assert again.id == first.id
        assert len(every_line(kept(here))) == lines


def test_a_key_survives_the_loss_of_the_index(here: Path):
    with opened(here) as store:
        first = register(store, "quiet-heron", key="once")
    forget_index(here)
    with opened(here) as store:
        assert register(store, "quiet-heron", key="once").id == first.id


def test_a_key_survives_a_copy(here: Path, tmp_path: Path):
    with opened(here) as store:
        first = register(store, "quiet-heron", key="once")
    there = copy(here, tmp_path / "there")
    with opened(there) as store:
        assert register(store, "quiet-heron", key="once").id == first.id


def test_a_key_used_for_another_request_is_refused(here: Path):
    with opened(here) as store:
        register(store, "quiet-heron", key="once")

        code = refusal_of(
            lambda: store.record(
                lambda _: [Updated("quiet-heron", "r")], by="quiet-heron", now=0, key="once", request="other"
            )
        )

    assert code == "KEY_REUSED"


def test_keys_are_each_agents_own(here: Path):
    with opened(here) as store:
        assert register(store, "quiet-heron", key="1").id != register(store, "early-robin", key="1").id


def test_a_repetition_of_several_facts_answers_with_all_of_them(here: Path):
    with opened(here) as store:

        def both() -> list[str]:
            facts = [Updated(ADA, "one"), Updated(ADA, "two")]
            return [event.id for event in store.record(lambda _: facts, by=ADA, now=0, key="both")]

        assert both() == both()


def test_a_registration_by_force_can_be_repeated_under_its_key(here: Path):
    """The first time it adds the agent; the second time it would change it, but it is the same request."""
    repo = Near(here, {"BB_NOW": NOON})
    words = ("agent", "register", "--name", "quiet-heron", "--role", "builder", "--force-update", "--key", "once")
    first = repo.json(*words).data
    lines = len(every_line(kept(here)))

    again = repo.json(*words)

    assert again.status == 0, again.out
    assert again.data["agent_id"] == first["agent_id"]
    assert len(every_line(kept(here))) == lines


@pytest.mark.parametrize("missing", [1, 2, 100])
def test_a_retry_after_a_kill_in_the_midst_of_a_line_records_it_once(here: Path, missing: int):
    """Also when only the line feed is missing, and so the line was recorded after all."""
    with opened(here) as store:
        register(store, "quiet-heron", key="once")
    (segment,) = kept(here).glob("j/*/*.jsonl")
    segment.write_bytes(segment.read_bytes()[:-missing])

    with opened(here) as store:
        event = register(store, "quiet-heron", key="once")

    assert registrations(kept(here), "quiet-heron") == [event.id]
    assert problems(audited(here)) == []


# -- the small files


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"machine":1}', b'{"machine":"","boot":"","lock":""}']
)
def test_a_damaged_owner_file_costs_a_writer_and_nothing_else(here: Path, content: bytes):
    (owner,) = kept(here).glob("j/*/owner.json")
    owner.write_bytes(content)

    make(here, "quiet-heron")

    assert agents(here) == [ADA, BO, "quiet-heron"]
    assert len(every_chain(kept(here))) == 2
    assert problems(audited(here)) == []
    make(here, "early-robin")
    assert len(every_chain(kept(here))) == 2


def test_a_lost_lock_file_costs_a_writer_and_nothing_else(here: Path):
    (lock,) = kept(here).glob("j/*/lock")
    lock.unlink()

    make(here, "quiet-heron")

    assert agents(here) == [ADA, BO, "quiet-heron"]
    assert len(every_chain(kept(here))) == 2
    assert problems(audited(here)) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"repo":"x"}',
        b"\0" * 100,
        b'{"repo":"../..","writer":"aaaabbbbcccc","format":1,"min_reader":1,"min_writer":1}',
    ],
)
def test_a_damaged_clone_file_is_named_and_written_anew_by_doctor(here: Path, content: bytes):
    repo = Near(here, {"BB_NOW": NOON})
    before = json.loads((kept(here) / "clone.json").read_bytes())
    (kept(here) / "clone.json").write_bytes(content)

    assert repo.json("agent", "list").code == "STORE_UNREADABLE"
    assert repo.json("agent", "heartbeat", "--agent", ADA).code == "STORE_UNREADABLE"
    repo.json("doctor", "--fix")

    assert json.loads((kept(here) / "clone.json").read_bytes()) == before
    assert agents(here) == [ADA, BO]


def test_a_lost_clone_file_is_written_anew_by_doctor(here: Path):
    repo = Near(here, {"BB_NOW": NOON})
    before = json.loads((kept(here) / "clone.json").read_bytes())
    (kept(here) / "clone.json").unlink()

    repo.json("doctor", "--fix")

    assert json.loads((kept(here) / "clone.json").read_bytes()) == before


def test_a_lost_clone_file_does_not_make_it_another_repository(here: Path):
    """Every line of the ledger names its repository; the next write must name the same one."""
    (kept(here) / "clone.json").unlink()

    make(here, "quiet-heron")

    assert len({line["group_id"] for line in every_line(kept(here))}) == 1
    assert agents(here) == [ADA, BO, "quiet-heron"]
    assert len(every_chain(kept(here))) == 1


# -- a newer format


def newer(path: Path, **members: int) -> Scratch:
    """The ledger at PATH as a newer bb would leave it."""
    file = kept(path) / "clone.json"
    file.write_text(json.dumps(json.loads(file.read_bytes()) | {"format": 2, "new_member": {}} | members))
    return Near(path, {"BB_NOW": NOON})


READS = [
    ("agent", "list"),
    ("agent", "show", "--agent", ADA),
    ("ledger", "status"),
    ("ledger", "log"),
    ("ledger", "verify"),
    ("ledger", "export"),
]
WRITES = [
    ("agent", "heartbeat", "--agent", ADA),
    ("agent", "register", "--name", "quiet-heron", "--role", "builder"),
    ("agent", "register", "--name", ADA, "--role", "tester", "--force-update"),
]


def test_a_ledger_that_older_programs_may_read_is_read_and_not_written(here: Path):
    repo = newer(here, min_reader=1, min_writer=2)
    before = every_line(kept(here))

    assert [repo.json(*words).status for words in READS] == [0] * len(READS)
    assert [repo.json(*words).code for words in WRITES] == ["LEDGER_TOO_NEW"] * len(WRITES)

    assert every_line(kept(here)) == before


def test_a_ledger_that_older_programs_must_not_read_is_refused_altogether(here: Path):
    repo = newer(here, min_reader=2, min_writer=2)

    for words in [*READS, *WRITES, ("init",), ("ledger", "rebuild")]:
        assert repo.json(*words).code == "LEDGER_TOO_NEW", words


def test_doctor_leaves_the_journals_of_a_newer_format_alone(here: Path):
    """What looks torn to this program may be whole to the one that wrote it."""
    (segment,) = kept(here).glob("j/*/*.jsonl")
    with segment.open("ab") as file:
        file.write(b"\x00a binary record of format 2")
    before = segment.read_bytes()
    repo = newer(here, min_reader=1, min_writer=2)

    repo.json("doctor", "--fix")

    assert segment.read_bytes() == before
