"""Whose ledger a directory leads to: a repository's own, or one that its group keeps in the home of the daemon."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.kernel.errors import BbError
from bb.ledger.local import machine_registry as knowns
from bb.ledger.local.machine_registry import RegisteredGroup
from bb.ledger.records.newest_first import newest_first
from bb.ledger.records.store import Store
from bb.ledger.travel import ledger_merge
from bb.ops.chat import chat, reactions, reading
from bb.ops.desk import directories, group_desk
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import GroupDesk
from bb.ops.groups import actors, group
from tests.support import NOON, Scratch, scratch


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "home")


@pytest.fixture
def desk(tmp_path: Path, home: str) -> Iterator[Desk]:
    """A desk as a daemon has one."""
    made = Desk(str(tmp_path), {"CCCC_HOME": home, "BB_NOW": NOON, "HOME": str(tmp_path)}, is_served=True)
    yield made
    made.close()


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return scratch(tmp_path / "site")


def events(of: GroupDesk, kind: str) -> list[dict[str, Any]]:
    found = newest_first(of.store, lambda raw: f'"kind":"{kind}"'.encode() in raw)
    return [event.data for event in found][::-1]


def refusal(desk: Desk, path: Any, group_id: str | None = None, by: Any = None) -> tuple[str, dict[str, Any]]:
    with pytest.raises(BbError) as refused:
        directories.attach(desk, path, group_id, by)
    return refused.value.code, refused.value.details


def attach(desk: Desk, path: Any, group_id: str | None = None, by: Any = None) -> GroupDesk:
    return directories.attach(desk, str(path), group_id, by)[0]


def create(desk: Desk, home: str, title: str = "Release") -> GroupDesk:
    return directories.create(desk, home, title, "what is left", "user")


# -- a repository


def test_ipc_8_3_a_repository_that_is_attached_is_its_own_group(desk: Desk, repo: Scratch, home: str):
    found, key = directories.attach(desk, str(repo.path), None, None)

    assert repo.json("ledger", "status").data["group_id"] == found.id
    assert found.known == RegisteredGroup(found.id, str(repo.path / ".git"), {key: str(repo.path)})
    assert knowns.read(home, found.id) == found.known
    assert (
        events(found, "group.attach") == [{"scope_key": key, "title": "site"}]
        or events(found, "group.attach")[0]["scope_key"] == key
    )
    stands = found.group()
    assert (stands.title, stands.active_scope) == ("site", key)
    assert [scope.title for scope in stands.scopes] == ["site"]


def test_attaching_again_finds_the_same_group_and_records_nothing(desk: Desk, repo: Scratch):
    first, key = directories.attach(desk, str(repo.path), None, None)
    again, same = directories.attach(desk, str(repo.path), None, None)
    named, too = directories.attach(desk, str(repo.path), first.id, None)

    assert (again.id, same) == (named.id, too) == (first.id, key)
    assert len(events(first, "group.attach")) == 1


@pytest.mark.parametrize("inside", [".", "src", "src/deep"])
def test_any_directory_of_a_repository_leads_to_it(desk: Desk, repo: Scratch, inside: str):
    (repo.path / "src" / "deep").mkdir(parents=True)
    found = attach(desk, repo.path / inside)

    assert list(found.known.scopes.values()) == [str(repo.path)]
    assert attach(desk, repo.path).id == found.id


def test_a_way_round_leads_to_the_same(desk: Desk, repo: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "link").symlink_to(repo.path)
    first = attach(desk, repo.path)

    for written in (f"{tmp_path}/link", "site", "./site/../site", "~/site", f"{repo.path}/"):
        assert attach(desk, written).id == first.id
    assert list(first.known.scopes.values()) == [str(repo.path)]


def test_a_linked_worktree_leads_to_the_group_of_its_repository(desk: Desk, repo: Scratch, tmp_path: Path):
    first = attach(desk, repo.path)
    repo.git("worktree", "add", "--quiet", str(tmp_path / "tree"))
    again = attach(desk, tmp_path / "tree")

    assert again.id == first.id
    assert again.known.place.work_tree == str(repo.path), "the repository stays where it is"
    (key,) = again.known.scopes
    assert directories.key_of(again, str(tmp_path / "tree")) == key
    assert len(events(first, "group.attach")) == 1


def test_commands_in_the_repository_see_what_the_daemon_records(desk: Desk, repo: Scratch):
    found = attach(desk, repo.path)
    actors.add(desk, "Peer_1", group_id=found.id, runner="headless")

    assert [agent["agent_id"] for agent in repo.json("agent", "list").data] == ["Peer_1"]
    repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder")
    assert [each["id"] for each in actors.list_actors(desk, group_id=found.id)["actors"]] == ["Peer_1", "amber-otter"]


def test_two_clones_of_a_repository_are_two_groups_with_one_key(desk: Desk, repo: Scratch, tmp_path: Path):
    first, key = directories.attach(desk, str(repo.path), None, None)
    repo.git("clone", "--quiet", str(repo.path), str(tmp_path / "clone"))
    other, same = directories.attach(desk, str(tmp_path / "clone"), None, None)

    assert other.id != first.id
    assert other.id.startswith(first.id)
    assert same == key
    assert attach(desk, tmp_path / "clone").id == other.id
    assert attach(desk, repo.path).id == first.id


def test_another_clone_of_a_repository_that_the_group_has_is_refused(desk: Desk, repo: Scratch, tmp_path: Path):
    found, key = directories.attach(desk, str(repo.path), None, None)
    repo.git("clone", "--quiet", str(repo.path), str(tmp_path / "clone"))

    assert refusal(desk, str(tmp_path / "clone"), found.id) == ("SCOPE_ALREADY_ATTACHED", {"group_id": found.id})
    assert found.known.scopes == {key: str(repo.path)}


def test_a_clone_takes_the_place_of_one_that_is_gone(desk: Desk, home: str, tmp_path: Path):
    found = create(desk, home)
    attach(desk, scratch(tmp_path / "ledger", commit=False).path, found.id)
    repo = scratch(tmp_path / "site")
    attach(desk, repo.path, found.id)
    repo.git("clone", "--quiet", str(repo.path), str(tmp_path / "clone"))
    repo.path.rename(tmp_path / "elsewhere")

    assert str(tmp_path / "clone") in attach(desk, tmp_path / "clone", found.id).known.scopes.values()


def test_a_repository_of_another_group_is_refused_and_the_group_is_named(desk: Desk, repo: Scratch, home: str):
    first = attach(desk, repo.path)
    other = create(desk, home)

    assert refusal(desk, str(repo.path), other.id) == ("SCOPE_ALREADY_ATTACHED", {"group_id": first.id})
    assert other.group().scopes == ()


# -- a directory that is no repository


def test_a_directory_that_is_no_repository_gets_a_group_with_a_ledger_of_its_own(desk: Desk, tmp_path: Path, home: str):
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    found = attach(desk, tmp_path / "notes")

    assert found.known.common == knowns.own_ledger(home, found.id)
    assert found.group().title == "notes"
    assert attach(desk, tmp_path / "notes").id == found.id
    assert attach(desk, tmp_path / "notes" / "deep").id != found.id, "each directory is its own"
    assert os.listdir(tmp_path / "notes") == ["deep"], "nothing is written into it"


def test_the_innermost_directory_counts(desk: Desk, tmp_path: Path):
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    found, outer = directories.attach(desk, str(tmp_path / "notes"), None, None)
    _, inner = directories.attach(desk, str(tmp_path / "notes" / "deep"), found.id, None)

    assert outer != inner
    for path, key in (("notes", outer), ("notes/x.md", outer), ("notes/deep", inner), ("notes/deep/x/y", inner)):
        assert directories.key_of(found, str(tmp_path / path)) == key
        assert directories.scope_of(found, str(tmp_path / path)) == key
    assert directories.scope_of(found, None) == directories.scope_of(found, "") == outer
    for path in ("notes2", "", "/"):
        with pytest.raises(directories.ScopeNotAttached.error):
            directories.key_of(found, str(tmp_path / path))


@pytest.mark.parametrize("path", [7, [], {}, True, "a\0b"])
def test_what_is_no_path_belongs_to_no_scope(desk: Desk, tmp_path: Path, path: Any):
    found = attach(desk, tmp_path)
    with pytest.raises(directories.InvalidPath.error):
        directories.key_of(found, path)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (None, "MISSING_PATH"),
        ("", "MISSING_PATH"),
        ("nowhere", "INVALID_PATH"),
        ("/nowhere/at/all", "INVALID_PATH"),
        ("a-file", "INVALID_PATH"),
        ("a\0b", "INVALID_PATH"),
        (7, "INVALID_PATH"),
        (["site"], "INVALID_PATH"),
        ("x" * 5000, "INVALID_PATH"),
    ],
)
def test_what_is_no_directory_is_refused_and_makes_no_group(
    desk: Desk, tmp_path: Path, home: str, path: Any, code: str
):
    (tmp_path / "a-file").touch()

    found, details = refusal(desk, path)

    assert found == code
    assert details in ({}, {"path": "$.path"})
    assert knowns.all_groups(home) == []


def test_who_may_not_attach_leaves_everything_as_it_is(desk: Desk, tmp_path: Path, home: str):
    found = create(desk, home)
    (tmp_path / "notes").mkdir()
    for name in ("lead", "peer"):
        actors.add(desk, name, group_id=found.id, runner="headless")

    for by in ("peer", "svc:bot", "nobody-here", 7):
        assert refusal(desk, str(tmp_path / "notes"), found.id, by)[0] in ("PERMISSION_DENIED", "INVALID_REQUEST")
    assert found.group().scopes == ()
    assert knowns.read(home, found.id) == found.known
    assert attach(desk, tmp_path / "notes", found.id, "lead").group().scopes


# -- a group that had a ledger of its own moves into its first repository


@pytest.fixture
def told(desk: Desk, home: str) -> tuple[GroupDesk, dict[str, str]]:
    """A group of its own in which something was said, read and acknowledged; its events by what they say."""
    found = create(desk, home)
    for name in ("lead", "Peer_1"):
        actors.add(desk, name, group_id=found.id, runner="headless", env={"A": "b"})
    names = {
        text: chat.send(desk, text, group_id=found.id, priority=priority)["event"]["id"]
        for text, priority in (("one", "attention"), ("two", None), ("three", None))
    }
    names["ack"] = reactions.ack(desk, names["one"], actor_id="lead", by="lead", group_id=found.id)["event"]["id"]
    names["read"] = reading.mark_read(desk, names["two"], actor_id="lead", by="lead", group_id=found.id)["event"]["id"]
    return found, names


def inbox(desk: Desk, group_id: str, who: str) -> list[str]:
    messages = reading.inbox_list(desk, actor_id=who, by=who, group_id=group_id)["messages"]
    return [message["data"]["text"] for message in messages]


def is_as_told(desk: Desk, group_id: str, names: dict[str, str]) -> None:
    found = group_desk.open_group(desk, group_id)
    assert {text: event.id for text, name in names.items() if (event := found.event(name))} == names
    assert [each["id"] for each in actors.list_actors(desk, group_id=group_id)["actors"]] == ["lead", "Peer_1"]
    assert (found.group().title, found.group().topic) == ("Release", "what is left")
    assert inbox(desk, group_id, "lead") == ["three"]
    assert inbox(desk, group_id, "Peer_1") == ["one", "two", "three"]
    assert reactions.ack(desk, names["one"], actor_id="lead", by="lead", group_id=group_id)["already"] is True


def test_a_group_that_gets_a_repository_keeps_every_id_acknowledgement_and_cursor(
    desk: Desk, repo: Scratch, home: str, told: tuple[GroupDesk, dict[str, str]]
):
    before, names = told
    is_as_told(desk, before.id, names)
    found = attach(desk, repo.path, before.id)

    assert found.id == before.id
    assert found.known.common == str(repo.path / ".git")
    assert found.known.env == {"lead": {"A": "b"}, "Peer_1": {"A": "b"}}
    is_as_told(desk, before.id, names)
    assert not os.path.exists(knowns.own_ledger(home, before.id))
    assert [agent["agent_id"] for agent in repo.json("agent", "list").data] == ["Peer_1", "lead"]
    shown = group.show(desk, group_id=before.id)["group"]
    assert (shown["group_id"], [scope["url"] for scope in shown["scopes"]]) == (before.id, [str(repo.path)])
    assert {found.shown(event)["group_id"] for event in map(found.event, names.values()) if event} == {before.id}


def test_it_works_on_there(desk: Desk, repo: Scratch, told: tuple[GroupDesk, dict[str, str]]):
    before, names = told
    attach(desk, repo.path, before.id)

    reply = chat.reply(desk, names["three"], "on it", by="lead", group_id=before.id)["event"]
    assert reply["data"]["reply_to"] == names["three"]
    reading.mark_read(desk, names["three"], actor_id="lead", by="lead", group_id=before.id)
    assert inbox(desk, before.id, "lead") == []
    assert reactions.ack(desk, names["one"], actor_id="Peer_1", by="Peer_1", group_id=before.id)["already"] is False


def test_a_second_directory_does_not_move_it_again(
    desk: Desk, repo: Scratch, tmp_path: Path, told: tuple[GroupDesk, dict[str, str]]
):
    before, names = told
    attach(desk, repo.path, before.id)
    second = scratch(tmp_path / "second", commit=False)
    second.git("commit", "--quiet", "--allow-empty", "-m", "Another beginning")
    (tmp_path / "notes").mkdir()
    for path in (second.path, tmp_path / "notes"):
        found = attach(desk, path, before.id)

    assert found.known.common == str(repo.path / ".git")
    assert [scope.title for scope in found.group().scopes] == ["site", "second", "notes"]
    is_as_told(desk, before.id, names)


def test_a_repository_in_which_others_have_worked_keeps_what_they_said(
    desk: Desk, repo: Scratch, told: tuple[GroupDesk, dict[str, str]]
):
    before, names = told
    repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder")
    attach(desk, repo.path, before.id)

    found = group_desk.open_group(desk, before.id)
    assert {each.id for each in found.actors()} == {"lead", "Peer_1", "amber-otter"}
    assert found.group().title == "Release"
    assert all(found.event(name) for name in names.values())


class Gone(Exception):
    """As if the process had been killed here."""


def gone(*_: Any, **__: Any) -> Any:
    raise Gone


@pytest.mark.parametrize("broken", ["into", "write", "record"])
def test_a_move_that_was_broken_off_is_finished_by_attaching_again(
    desk: Desk,
    repo: Scratch,
    told: tuple[GroupDesk, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    broken: str,
):
    before, names = told
    plain = ledger_merge.merge_into

    def into(source: Any, target: Any) -> int:
        count = plain(source, target)
        monkeypatch.setattr(
            *{"into": (ledger_merge, "merge_into"), "write": (knowns, "write"), "record": (Store, "record")}[broken],
            gone,
        )
        return count if broken != "into" else gone()

    monkeypatch.setattr(ledger_merge, "merge_into", into)
    with pytest.raises(Gone):
        directories.attach(desk, str(repo.path), before.id, None)
    monkeypatch.undo()
    desk.close()

    found = attach(desk, repo.path, before.id)
    assert found.known.common == str(repo.path / ".git")
    assert [scope.title for scope in found.group().scopes] == ["site"]
    is_as_told(desk, before.id, names)


# -- a group made for a directory at once


def test_a_directory_gets_a_group_of_its_own_unless_it_belongs_to_one(desk: Desk, repo: Scratch, tmp_path: Path):
    (tmp_path / "notes").mkdir()
    for path in (repo.path, tmp_path / "notes"):
        found, facts = directories.new_group_for(desk, str(path), "user")
        assert list(found.known.scopes.values()) == [str(path)]
        assert [fact.title for fact in facts] == [path.name]
        with pytest.raises(directories.ScopeAlreadyAttached.error) as refused:
            directories.new_group_for(desk, str(path), "user")
        assert refused.value.details == {"group_id": found.id}


def test_a_repository_in_which_somebody_works_is_nobody_elses_to_begin_with(desk: Desk, repo: Scratch):
    repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder")
    with pytest.raises(directories.ScopeAlreadyAttached.error):
        directories.new_group_for(desk, str(repo.path), "user")


def test_a_group_that_is_forgotten_leaves_its_repository(desk: Desk, repo: Scratch, home: str):
    found = attach(desk, repo.path)
    directories.forget(desk, found)

    assert knowns.all_groups(home) == []
    assert attach(desk, repo.path).id == found.id
