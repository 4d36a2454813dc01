"""The groups that a machine knows: written by one, read by any, and never more than what was written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bb.ledger.git import place
from bb.ledger.local import bare_repositories, machine_registry
from bb.ledger.local.machine_registry import GroupUnreadable, RegisteredGroup
from tests.ledger.ledger_support import refusal_of


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "home")


def group(tmp_path: Path, group_id: str = "g_abc", **more: Any) -> RegisteredGroup:
    return RegisteredGroup(group_id, str(tmp_path / "repo" / ".git"), **more)


def file(home: str, group_id: str = "g_abc") -> Path:
    return Path(home) / "groups" / group_id / "group.json"


# -- where the home is


@pytest.mark.parametrize(
    ("env", "where"),
    [
        ({"CCCC_HOME": "/a"}, "/a"),
        ({"CCCC_HOME": " /a "}, "/a"),
        ({"CCCC_HOME": "/a", "BB_HOME": "/b"}, "/a"),
        ({"BB_HOME": "/b"}, "/b"),
        ({"CCCC_HOME": "  ", "BB_HOME": "/b"}, "/b"),
        ({"CCCC_HOME": "~/x"}, os.path.expanduser("~/x")),
        ({}, os.path.expanduser("~/.cccc")),
        ({"CCCC_HOME": "", "BB_HOME": ""}, os.path.expanduser("~/.cccc")),
    ],
)
def test_ipc_3_the_home_is_where_clients_look_for_it(env: dict[str, str], where: str):
    assert machine_registry.home(env) == where


# -- writing and reading


def test_what_was_written_is_read_back(home: str, tmp_path: Path):
    written = group(tmp_path, scopes={"s_1": "/project/site"}, env={"ada": {"TOKEN": "x"}, "Bo": {}})
    machine_registry.write(home, written)

    assert machine_registry.read(home, "g_abc") == written
    assert machine_registry.all_groups(home) == [written]
    assert machine_registry.group_of_ledger(home, written.common) == written
    assert machine_registry.group_of_ledger(home, "/elsewhere") is None


def test_what_actors_are_given_is_for_nobody_else_to_read(home: str, tmp_path: Path):
    before = os.umask(0)
    try:
        machine_registry.write(home, group(tmp_path, env={"ada": {"TOKEN": "x"}}))
    finally:
        os.umask(before)

    assert file(home).stat().st_mode & 0o777 == 0o600


def test_a_group_that_nobody_wrote_down_is_unknown(home: str):
    assert machine_registry.read(home, "g_abc") is None
    assert machine_registry.all_groups(home) == []


def test_something_else_that_is_known_has_another_stamp(home: str, tmp_path: Path):
    assert machine_registry.stamp(machine_registry.group_file(home, "g_abc")) is None
    machine_registry.write(home, group(tmp_path))
    first = machine_registry.stamp(machine_registry.group_file(home, "g_abc"))
    machine_registry.write(home, group(tmp_path, scopes={"s_1": "/x"}))

    assert first is not None
    assert machine_registry.stamp(machine_registry.group_file(home, "g_abc")) not in (None, first)


WHOLE = {"common": "/project/.git", "scopes": {"s_1": "/project"}, "env": {"ada": {"A": "b"}}}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"7",
        b"\0" * 200,
        b"\xff\xfe",
        b"[" * 50_000,
        json.dumps(WHOLE | {"common": 7}).encode(),
        json.dumps(WHOLE | {"common": None}).encode(),
        json.dumps(WHOLE | {"common": "work/.git"}).encode(),
        json.dumps(WHOLE | {"scopes": []}).encode(),
        json.dumps(WHOLE | {"scopes": {"s_1": 7}}).encode(),
        json.dumps(WHOLE | {"scopes": None}).encode(),
        json.dumps(WHOLE | {"env": []}).encode(),
        json.dumps(WHOLE | {"env": {"ada": 7}}).encode(),
        json.dumps(WHOLE | {"env": {"ada": {"A": 1}}}).encode(),
        json.dumps({"common": "/project/.git"}).encode(),
        json.dumps(WHOLE).encode()[:-4],
    ],
    ids=range(19),
)
def test_a_group_that_cannot_be_read_is_refused_by_name_and_passed_over_among_others(
    home: str, tmp_path: Path, content: bytes
):
    machine_registry.write(home, group(tmp_path, "g_abc"))
    machine_registry.write(home, group(tmp_path, "g_other"))
    file(home).write_bytes(content)

    with pytest.raises(GroupUnreadable.error) as refusal:
        machine_registry.read(home, "g_abc")
    assert refusal.value.details == {"path": str(file(home))}
    assert [each.group_id for each in machine_registry.all_groups(home)] == ["g_other"]


def test_members_that_this_version_does_not_know_are_let_be(home: str, tmp_path: Path):
    machine_registry.write(home, group(tmp_path))
    file(home).write_text(json.dumps(WHOLE | {"later": {"x": [1]}}))

    assert machine_registry.read(home, "g_abc") == RegisteredGroup(
        "g_abc", "/project/.git", {"s_1": "/project"}, {"ada": {"A": "b"}}
    )


NO_GROUPS = ["", ".", "..", "../x", "a/b", "/etc", "-x", "_x", "a b", "a\0", "ä", "x" * 65, "g.1", "~", "a\\b", "a\n"]


@pytest.mark.parametrize("name", [*NO_GROUPS, 7, None, True, [], {}, b"g_abc"])
def test_what_cannot_name_a_group_is_no_group_and_leads_nowhere(home: str, name: Any):
    assert not machine_registry.is_group_id(name)
    assert machine_registry.read(home, name) is None


@pytest.mark.parametrize("name", ["g_3f2a91c07be4", "g", "A-1", "x" * 64, "7"])
def test_letters_digits_hyphens_and_underscores_name_a_group(name: str):
    assert machine_registry.is_group_id(name)


def test_folders_that_are_no_groups_are_let_be(home: str, tmp_path: Path):
    machine_registry.write(home, group(tmp_path))
    for name in ("no group", ".hidden", "empty"):
        (Path(home) / "groups" / name).mkdir()
    (Path(home) / "groups" / "a-file").write_text("x")

    assert [each.group_id for each in machine_registry.all_groups(home)] == ["g_abc"]


# -- what else a group is


def test_the_work_tree_is_the_scope_that_the_ledger_lies_in(tmp_path: Path):
    outside = {"s_1": "/elsewhere", "s_2": str(tmp_path / "repository")}
    inside = {"s_3": str(tmp_path / "repo")}

    assert group(tmp_path, scopes=outside).place == place.Place(str(tmp_path / "repo" / ".git"), None)
    assert group(tmp_path, scopes=outside | inside).place.work_tree == str(tmp_path / "repo")


def test_scopes_and_environments_come_and_go(tmp_path: Path):
    one = group(tmp_path, scopes={"s_1": "/a", "s_2": "/b"}, env={"ada": {"A": "1"}})

    assert one.without_scope("s_1").scopes == {"s_2": "/b"}
    assert one.without_scope("s_9").scopes == one.scopes
    assert one.with_env("bob", {"B": "2"}).env == {"ada": {"A": "1"}, "bob": {"B": "2"}}
    assert one.with_env("ada", {"C": "3"}).env == {"ada": {"C": "3"}}
    assert one.with_env("ada", {}).env == one.with_env("ada", None).env == {}


def test_a_repository_has_the_same_key_in_every_clone_and_a_directory_its_own():
    assert machine_registry.scope_key("abc", "/a") == machine_registry.scope_key("abc", "/b") == "s_abc"
    assert machine_registry.scope_key(None, "/a") != machine_registry.scope_key(None, "/b")
    assert machine_registry.scope_key(None, "/a") == machine_registry.scope_key(None, "/a")
    assert machine_registry.is_group_id(machine_registry.scope_key(None, "/a\udcff"))


# -- attachments that clients put into the group's folder by themselves


def test_the_folder_of_attachments_is_the_one_beside_the_ledger(home: str, tmp_path: Path):
    written = group(tmp_path)
    machine_registry.write(home, written)
    (Path(home) / "groups" / "g_abc" / "state" / "blobs" / "a").write_text("x")

    assert (Path(written.store) / "blobs" / "a").read_text() == "x"

    moved = written.replace(common=str(tmp_path / "other" / ".git"))
    machine_registry.write(home, moved)
    (Path(home) / "groups" / "g_abc" / "state" / "blobs" / "b").write_text("y")
    assert (Path(moved.store) / "blobs" / "b").read_text() == "y"


def test_a_folder_of_attachments_that_is_somebody_elses_is_let_be(home: str, tmp_path: Path):
    theirs = Path(home) / "groups" / "g_abc" / "state" / "blobs"
    theirs.mkdir(parents=True)
    (theirs / "a").write_text("x")
    machine_registry.write(home, group(tmp_path))

    assert (theirs / "a").read_text() == "x"
    assert machine_registry.read(home, "g_abc") == group(tmp_path)


# -- forgetting


def test_a_group_that_is_forgotten_leaves_the_ledger_of_its_repository(home: str, tmp_path: Path):
    written = group(tmp_path)
    machine_registry.write(home, written)
    (Path(written.store) / "blobs" / "a").write_text("x")

    machine_registry.remove(home, "g_abc")

    assert machine_registry.read(home, "g_abc") is None
    assert not (Path(home) / "groups" / "g_abc").exists()
    assert (Path(written.store) / "blobs" / "a").read_text() == "x"


def test_a_ledger_that_only_the_group_had_goes_with_it(home: str):
    common = machine_registry.own_ledger(home, "g_abc")
    bare_repositories.make(common)
    machine_registry.write(home, RegisteredGroup("g_abc", common))
    machine_registry.remove(home, "g_abc")

    assert not os.path.exists(common)
    machine_registry.remove(home, "g_abc")


def test_the_size_of_a_group_is_that_of_its_journals(tmp_path: Path):
    one = group(tmp_path)
    assert machine_registry.size(one) == 0
    journal = Path(one.store) / "j" / "aaaabbbbcccc"
    journal.mkdir(parents=True)
    (journal / "000000000001.jsonl").write_bytes(b"x" * 70)
    (Path(one.store) / "index.sqlite").write_bytes(b"x" * 999)

    assert machine_registry.size(one) == 70


# -- deciding together


def test_one_at_a_time_decides_which_group_a_directory_belongs_to(home: str):
    with machine_registry.lock(home):
        other = machine_registry.lock(home)
        other.patience = 0.1
        assert refusal_of(other.__enter__) == "LEDGER_BUSY"
    with machine_registry.lock(home):
        pass


def test_a_ledger_for_what_belongs_to_no_repository_is_one_to_git(home: str, tmp_path: Path):
    import subprocess

    common = str(tmp_path / "own.git")
    bare_repositories.make(common)
    head = Path(common, "HEAD").read_bytes()
    bare_repositories.make(common)

    done = subprocess.run(["git", "-C", common, "fsck"], capture_output=True)
    assert done.returncode == 0
    said = subprocess.run(["git", "-C", common, "rev-parse", "--is-bare-repository"], capture_output=True, text=True)
    assert said.stdout == "true\n"
    assert Path(common, "HEAD").read_bytes() == head
    assert place.find(common, {}).common == common
    bare_repositories.remove(common)
    assert not os.path.exists(common)
