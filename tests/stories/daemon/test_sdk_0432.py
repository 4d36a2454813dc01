"""The published client of the specification's dialect, cccc-sdk 0.4.32, runs unchanged (IPC §8).

Each of its methods that has an operation in the specification is driven here; the answers are checked against the
specification's types as they come (`sdk_support`), and refusals by their code.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stories.daemon.ipc_support import Daemon, end, running
from tests.stories.daemon.ipc_types import OPS
from tests.stories.daemon.sdk_support import CLIENTS, Client, Raised
from tests.support import scratch
from tests.waiting import until

VERSION = "0.4.32"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("sdk") / "home") as daemon:
        yield daemon


@pytest.fixture(scope="module")
def client(daemon: Daemon) -> Iterator[Client]:
    with Client(VERSION, daemon.home) as client:
        yield client


@pytest.fixture
def group(client: Client) -> str:
    """A group with a foreman, ada, and a peer, bo."""
    group_id = str(client.group_create(title="Parser")["group_id"])
    client.actor_add(group_id=group_id, actor_id="ada", runner="headless", runtime="claude", title="Ada")
    client.actor_add(group_id=group_id, actor_id="bo", runner="headless", runtime="codex")
    return group_id


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "site"
    made.mkdir()
    return made


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [message["data"].get("text") or message["data"]["title"] for message in messages]


def unread(client: Client, group: str, actor: str, **more: Any) -> list[str]:
    return texts(client.inbox_list(group_id=group, actor_id=actor, **more)["messages"])


# -- whether they fit together


def test_ipc_8_every_operation_that_the_client_has_is_driven_here() -> None:
    path = CLIENTS / f"cccc-sdk-{VERSION}" / "cccc_sdk" / "client.py"
    methods = set(re.findall(r"^    def ([a-z_]+)\(", path.read_text(), re.MULTILINE))
    source = Path(__file__).read_text()
    driven = set(re.findall(r"\bclient\.([a-z_]+)\(", source)) | set(
        re.findall(r'client\.code\(\s*"([a-z_]+)"', source)
    )
    by_name = set(re.findall(r'client\.call\(\s*op="([a-z_]+)"', source))

    assert len(methods & set(OPS)) > 40
    assert (methods & set(OPS)) - driven - {"events_stream"} == set()
    assert set(OPS) - methods - by_name - {"term_attach"} == set(), "what has no method is called by its name"


def test_ipc_8_1_the_client_finds_that_the_daemon_has_all_that_the_specification_names(client: Client) -> None:
    found = client.assert_compatible(
        require_ipc_v=1, require_capabilities={"events_stream": True}, require_ops=list(OPS)
    )

    assert found["ipc_v"] == 1


@pytest.mark.parametrize("op", ["memory_search", "capability_state", "presentation_get", "debug_snapshot"])
def test_ipc_6_1_what_the_specification_does_not_name_is_unknown(client: Client, op: str) -> None:
    assert client.code("call", op=op, args={}) == "unknown_op"
    with pytest.raises(Raised, match="does not support op"):
        client.assert_compatible(require_ops=[op])


def test_ipc_8_1_ping(client: Client, daemon: Daemon) -> None:
    found = client.ping()

    assert found["pid"] == daemon.pid
    assert found["version"]


def test_ipc_8_1_shutdown(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "home").start()
    try:
        with Client(VERSION, daemon.home) as client:
            assert client.shutdown() == {"message": "shutting down"}
        assert daemon.process is not None
        assert daemon.process.wait(30) == 0
        with Client(VERSION, daemon.home) as client, pytest.raises(Raised, match="DaemonUnavailableError"):
            client.ping()
    finally:
        end(daemon)


# -- §8.2


def test_ipc_8_2_what_is_observed_can_be_changed_by_the_person(client: Client) -> None:
    before = client.observability_get()["observability"]

    changed = client.observability_update(patch={"log_level": "DEBUG"})["observability"]

    assert changed == before | {"log_level": "DEBUG"}
    assert client.observability_get()["observability"] == changed
    assert client.observability_update(patch={"log_level": "INFO"})["observability"]["log_level"] == "INFO"


def test_ipc_8_2_nobody_else_changes_what_is_observed(client: Client) -> None:
    assert client.code("observability_update", patch={"log_level": "DEBUG"}, by="ada") == "permission_denied"
    assert client.code("observability_update", patch={"log_level": "LOUD"}) == "observability_update_failed"
    assert client.code("observability_update", patch={}) == "invalid_patch"


# -- §8.3


def test_ipc_8_3_a_directory_is_attached_to_a_group_of_its_own_once(client: Client, folder: Path) -> None:
    first = client.attach(path=str(folder))
    again = client.attach(path=str(folder))

    assert first["group_id"] == again["group_id"]
    assert first["scope_key"] == again["scope_key"]
    assert first["title"] == "site"


def test_ipc_8_3_a_repository_is_attached_and_its_ledger_is_the_groups(client: Client, tmp_path: Path) -> None:
    repo = scratch(tmp_path / "repo")

    group = client.attach(path=str(repo.path))["group_id"]
    client.send(group_id=group, text="said by a client")

    assert repo.bb("init").status == 0
    (said,) = repo.json("chat", "history").data["messages"]
    assert said["data"]["text"] == "said by a client"


def test_ipc_8_3_a_directory_can_join_a_group_that_is_there(client: Client, group: str, folder: Path) -> None:
    joined = client.attach(path=str(folder), group_id=group)

    assert joined["group_id"] == group
    (scope,) = client.group_show(group_id=group)["group"]["scopes"]
    assert scope["scope_key"] == joined["scope_key"]


def test_ipc_8_3_what_cannot_be_attached_is_refused(client: Client, group: str, folder: Path, tmp_path: Path) -> None:
    assert client.code("attach", path="") == "missing_path"
    assert client.code("attach", path=str(tmp_path / "nowhere")) == "invalid_path"
    assert client.code("attach", path=str(folder), group_id="g_nothing") == "group_not_found"
    assert client.code("attach", path=str(folder), group_id=group, by="bo") == "permission_denied"
    assert client.group_show(group_id=group)["group"]["scopes"] == []


def test_ipc_8_3_groups_are_listed_with_what_happened_last_first(client: Client) -> None:
    one = client.group_create(title="One", topic="1")["group_id"]
    two = client.group_create(title="Two")["group_id"]
    client.send(group_id=one, text="news")

    listed = client.groups()["groups"]

    order = [row["group_id"] for row in listed]
    assert order.index(one) < order.index(two)
    row = next(row for row in listed if row["group_id"] == one)
    assert (row["title"], row["topic"], row["running"], row["state"]) == ("One", "1", False, "active")


def test_ipc_8_3_a_group_is_shown(client: Client, group: str) -> None:
    shown = client.group_show(group_id=group)["group"]

    assert (shown["group_id"], shown["title"], shown["state"]) == (group, "Parser", "active")
    assert [actor["id"] for actor in shown["actors"]] == ["ada", "bo"]
    assert client.code("group_show", group_id="g_nothing") == "group_not_found"
    assert client.code("group_show", group_id="") == "missing_group_id"


def test_ipc_8_3_a_group_is_made(client: Client) -> None:
    made = client.group_create(title="Release", topic="What is to be done")

    assert made["event"]["kind"] == "group.create"
    assert made["title"] == "Release"
    shown = client.group_show(group_id=made["group_id"])["group"]
    assert (shown["title"], shown["topic"]) == ("Release", "What is to be done")
    assert client.group_create()["title"] == "working-group"


def test_ipc_8_3_a_groups_title_and_topic_change(client: Client, group: str) -> None:
    changed = client.group_update(group_id=group, patch={"title": "Lexer", "topic": "Tokens"})

    assert (changed["group"]["title"], changed["group"]["topic"]) == ("Lexer", "Tokens")
    assert changed["event"]["by"] == "user"
    for patch in ({}, {"state": "idle"}):
        assert client.code("group_update", group_id=group, patch=patch) == "invalid_patch"
    assert client.code("group_update", group_id=group, patch={"title": "Mine"}, by="bo") == "permission_denied"
    assert client.code("group_update", group_id=group, patch={"title": "x" * 999}) == "group_update_failed"
    assert client.group_show(group_id=group)["group"]["title"] == "Lexer"


def test_ipc_8_3_a_group_is_deleted(client: Client, group: str) -> None:
    assert client.code("group_delete", group_id=group, by="bo") == "permission_denied"

    assert client.group_delete(group_id=group) == {"group_id": group}

    assert client.code("group_show", group_id=group) == "group_not_found"
    assert group not in [row["group_id"] for row in client.groups()["groups"]]


def test_ipc_8_3_one_of_a_groups_directories_is_where_it_works(client: Client, group: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one = client.attach(path=str(tmp_path / "one"), group_id=group)["scope_key"]
    two = client.attach(path=str(tmp_path / "two"), group_id=group)["scope_key"]

    used = client.group_use(group_id=group, path=str(tmp_path / "two"))

    assert used["active_scope_key"] == two != one
    assert client.group_show(group_id=group)["group"]["active_scope_key"] == two
    assert client.send(group_id=group, text="here")["event"]["scope_key"] == two
    assert client.code("group_use", group_id=group, path=str(tmp_path)) == "scope_not_attached"
    assert client.code("group_use", group_id=group, path=str(tmp_path / "one"), by="bo") == "permission_denied"


def test_ipc_8_3_a_directory_is_detached(client: Client, group: str, folder: Path) -> None:
    key = client.attach(path=str(folder), group_id=group)["scope_key"]

    client.group_detach_scope(group_id=group, scope_key=key)

    assert client.group_show(group_id=group)["group"]["scopes"] == []
    assert client.code("group_detach_scope", group_id=group, scope_key="") == "missing_scope_key"
    assert client.code("group_detach_scope", group_id=group, scope_key=key) == "scope_not_attached"


def test_ipc_8_3_a_group_rests_and_pauses(client: Client, group: str) -> None:
    for state in ("idle", "paused", "active"):
        assert client.group_set_state(group_id=group, state=state)["state"] == state
        assert client.group_show(group_id=group)["group"]["state"] == state
    assert client.code("group_set_state", group_id=group, state="") == "missing_state"
    assert client.code("group_set_state", group_id=group, state="asleep") == "group_set_state_failed"
    assert client.code("group_set_state", group_id=group, state="idle", by="bo") == "permission_denied"


@pytest.mark.parametrize(
    ("key", "value", "wrong"),
    [
        ("min_interval_seconds", 30, -1),
        ("nudge_after_seconds", 60, "soon"),
        ("actor_idle_timeout_seconds", 0, None),
        ("keepalive_delay_seconds", 240, [1]),
        ("keepalive_max_per_actor", 5, 1.5),
        ("silence_timeout_seconds", 900, {}),
        ("standup_interval_seconds", 1800, True),
        ("help_nudge_interval_seconds", 1200, "x"),
        ("help_nudge_min_messages", 3, -3),
        ("terminal_transcript_visibility", "all", "some"),
        ("terminal_transcript_notify_tail", False, 1),
        ("terminal_transcript_notify_lines", 50, 0),
    ],
)
def test_ipc_8_3_every_setting_of_the_specification_can_be_set(
    client: Client, group: str, key: str, value: Any, wrong: Any
) -> None:
    changed = client.group_settings_update(group_id=group, patch={key: value})

    assert changed["settings"][key] == value
    assert changed["event"]["by"] == "user"
    assert client.code("group_settings_update", group_id=group, patch={key: wrong}) == "invalid_patch"
    assert client.group_show(group_id=group)["group"]["settings"][key] == value


def test_ipc_8_3_what_is_no_setting_is_refused(client: Client, group: str) -> None:
    for patch in ({}, {"colour": "red"}, {"min_interval_seconds": 5, "colour": "red"}):
        assert client.code("group_settings_update", group_id=group, patch=patch) == "invalid_patch"
    code = client.code("group_settings_update", group_id=group, patch={"min_interval_seconds": 5}, by="bo")
    assert code == "permission_denied"
    assert client.group_show(group_id=group)["group"]["settings"]["min_interval_seconds"] == 0


def test_ipc_8_3_all_of_a_group_start_and_stop(client: Client, group: str) -> None:
    started = client.group_start(group_id=group)

    assert started["started"] == ["ada", "bo"]
    assert [actor["running"] for actor in client.actor_list(group_id=group)["actors"]] == [True, True]
    assert client.group_show(group_id=group)["group"]["running"] is True
    assert client.code("group_stop", group_id=group, by="bo") == "permission_denied"

    assert client.group_stop(group_id=group)["stopped"] == ["ada", "bo"]

    assert [actor["running"] for actor in client.actor_list(group_id=group)["actors"]] == [False, False]
    assert [actor["enabled"] for actor in client.actor_list(group_id=group)["actors"]] == [False, False]


def test_ipc_8_3_a_group_without_a_directory_cannot_start_programs(client: Client) -> None:
    group = client.group_create()["group_id"]
    client.actor_add(group_id=group, actor_id="cat", runtime="custom", command=["cat"])

    assert client.code("group_start", group_id=group) == "group_start_failed"


# -- §8.4


def test_ipc_8_4_actors_are_listed_in_the_order_of_joining_and_the_first_is_the_foreman(
    client: Client, group: str
) -> None:
    listed = client.actor_list(group_id=group)["actors"]

    assert [(actor["id"], actor["title"], actor["role"]) for actor in listed] == [
        ("ada", "Ada", "foreman"),
        ("bo", "bo", "peer"),
    ]
    client.send(group_id=group, text="hello", to=["bo"])
    counted = client.call(op="actor_list", args={"group_id": group, "include_unread": True})["actors"]
    assert [actor["unread_count"] for actor in counted] == [0, 1]


def test_ipc_8_4_an_actor_is_added_as_it_is_described(client: Client, group: str, folder: Path) -> None:
    scope = client.attach(path=str(folder), group_id=group)["scope_key"]

    added = client.actor_add(
        group_id=group,
        actor_id="shell",
        title="A shell",
        runtime="custom",
        runner="pty",
        command=["sh", "-i"],
        env={"TOKEN": "hush"},
        default_scope_key=scope,
        submit="newline",
        by="user",
    )

    actor = added["actor"]
    assert (actor["id"], actor["title"], actor["runner"], actor["submit"]) == ("shell", "A shell", "pty", "newline")
    assert (actor["command"], actor["default_scope_key"], actor["enabled"]) == (["sh", "-i"], scope, True)
    assert "hush" not in repr(added)
    assert client.actor_list(group_id=group)["actors"][-1]["id"] == "shell"


def test_ipc_8_4_an_actor_that_is_not_described_has_an_id_and_a_command_all_the_same(
    client: Client, group: str
) -> None:
    one, two = (client.actor_add(group_id=group)["actor"] for _ in range(2))

    assert one["id"] != two["id"]
    assert one["runner"] == "pty"
    assert one["command"]


def test_ipc_8_4_who_cannot_be_added_is_refused(client: Client, group: str) -> None:
    for args in (
        {"actor_id": "ada"},
        {"actor_id": "user"},
        {"actor_id": "with space"},
        {"actor_id": "x" * 200},
        {"actor_id": "cy", "runtime": "abacus"},
        {"actor_id": "cy", "runner": "paper"},
        {"actor_id": "cy", "runtime": "custom"},
        {"actor_id": "cy", "submit": "shout"},
    ):
        assert client.code("actor_add", group_id=group, **args) == "actor_add_failed", args
    assert client.code("actor_add", group_id=group, actor_id="cy", by="bo") == "permission_denied"
    assert client.code("actor_add", group_id=group, actor_id="cy", by="ada") == "permission_denied"
    assert client.code("actor_add", group_id="g_nothing", actor_id="cy") == "group_not_found"
    assert [actor["id"] for actor in client.actor_list(group_id=group)["actors"]] == ["ada", "bo"]


def test_ipc_8_4_a_foreman_may_add_another_like_itself(client: Client, group: str) -> None:
    added = client.actor_add(group_id=group, actor_id="ada-2", runner="headless", runtime="claude", by="ada")

    assert added["event"]["by"] == "ada"
    assert added["actor"]["role"] == "peer"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("title", "The second"),
        ("runtime", "gemini"),
        ("runner", "pty"),
        ("command", ["codex", "--quiet"]),
        ("submit", "none"),
        ("enabled", False),
    ],
)
def test_ipc_8_4_whatever_the_specification_names_of_an_actor_can_be_changed(
    client: Client, group: str, key: str, value: Any
) -> None:
    changed = client.actor_update(group_id=group, actor_id="bo", patch={key: value})

    assert changed["actor"][key] == value
    assert client.actor_list(group_id=group)["actors"][1][key] == value


def test_ipc_8_4_what_an_actor_is_given_in_its_environment_is_shown_to_nobody(client: Client, group: str) -> None:
    changed = client.actor_update(group_id=group, actor_id="bo", patch={"env": {"TOKEN": "hush-2"}})

    for shown in (changed, client.actor_list(group_id=group), client.group_show(group_id=group)):
        assert "hush-2" not in repr(shown)


def test_ipc_8_4_what_cannot_be_changed_is_refused(client: Client, group: str) -> None:
    for patch in ({}, {"colour": "red"}):
        assert client.code("actor_update", group_id=group, actor_id="bo", patch=patch) == "invalid_patch"
    title = {"title": "Boss"}
    assert client.code("actor_update", group_id=group, actor_id="bo", patch=title, by="bo") == "permission_denied"
    assert client.code("actor_update", group_id=group, actor_id="cy", patch=title) == "actor_not_found"
    assert client.code("actor_update", group_id=group, actor_id="", patch=title) == "missing_actor_id"


def test_ipc_8_4_who_is_disabled_is_no_foreman(client: Client, group: str) -> None:
    client.actor_update(group_id=group, actor_id="ada", patch={"enabled": False})

    roles = {actor["id"]: actor["role"] for actor in client.actor_list(group_id=group)["actors"]}

    assert roles == {"ada": "peer", "bo": "foreman"}


def test_ipc_8_4_an_actor_is_removed(client: Client, group: str) -> None:
    assert client.code("actor_remove", group_id=group, actor_id="ada", by="bo") == "permission_denied"

    removed = client.actor_remove(group_id=group, actor_id="bo", by="bo")

    assert (removed["actor_id"], removed["event"]["by"]) == ("bo", "bo")
    assert [actor["id"] for actor in client.actor_list(group_id=group)["actors"]] == ["ada"]
    assert client.code("actor_remove", group_id=group, actor_id="bo") == "actor_not_found"


def test_ipc_8_4_actors_start_stop_and_start_anew(client: Client, group: str) -> None:
    assert client.actor_start(group_id=group, actor_id="bo")["actor"]["running"] is True
    assert client.actor_restart(group_id=group, actor_id="bo", by="bo")["actor"]["running"] is True
    stopped = client.actor_stop(group_id=group, actor_id="bo", by="ada")["actor"]
    assert (stopped["running"], stopped["enabled"]) == (False, False)
    for method in ("actor_start", "actor_stop", "actor_restart"):
        assert client.code(method, group_id=group, actor_id="cy") == "actor_not_found"
        assert client.code(method, group_id=group, actor_id="ada", by="bo") == "permission_denied"


def test_ipc_8_4_a_program_that_is_not_there_cannot_start(client: Client, group: str, folder: Path) -> None:
    client.attach(path=str(folder), group_id=group)
    client.actor_add(group_id=group, actor_id="ghost", runtime="custom", command=["/no/such/program"])

    assert client.code("actor_start", group_id=group, actor_id="ghost") == "actor_start_failed"
    assert client.actor_list(group_id=group)["actors"][-1]["running"] is False


# -- §8.5


def test_ipc_8_5_what_is_sent_to_nobody_in_particular_is_for_everybody(client: Client, group: str) -> None:
    event = client.send(group_id=group, text="Good morning")["event"]

    assert (event["kind"], event["by"], event["group_id"]) == ("chat.message", "user", group)
    assert event["data"]["text"] == "Good morning"
    assert event["data"].get("to", []) == []
    assert unread(client, group, "ada") == unread(client, group, "bo") == ["Good morning"]


@pytest.mark.parametrize(
    ("to", "stored", "readers"),
    [
        ([], [], {"ada", "bo"}),
        (["@all"], ["@all"], {"ada", "bo"}),
        (["@peers"], ["@peers"], {"bo"}),
        (["@foreman"], ["@foreman"], {"ada"}),
        (["bo"], ["bo"], {"bo"}),
        (["@bo"], ["bo"], {"bo"}),
        (["Ada"], ["ada"], {"ada"}),
        (["user"], ["user"], set()),
        (["@user", "user", "bo"], ["user", "bo"], {"bo"}),
    ],
)
def test_ipc_8_5_a_message_reaches_whom_it_names(
    client: Client, group: str, to: list[str], stored: list[str], readers: set[str]
) -> None:
    event = client.send(group_id=group, text="psst", to=to)["event"]

    assert event["data"].get("to", []) == stored
    assert {actor for actor in ("ada", "bo") if unread(client, group, actor)} == readers


def test_ipc_8_5_a_message_carries_all_that_the_client_can_say(
    client: Client, daemon: Daemon, group: str, folder: Path
) -> None:
    scope = client.attach(path=str(folder), group_id=group)["scope_key"]
    (folder / "src").mkdir()
    octets = b"a picture"
    named = f"state/blobs/{hashlib.sha256(octets).hexdigest()}_plan.png"
    kept = daemon.home / "groups" / group / named
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(octets)

    event = client.send(
        group_id=group,
        text="Look",
        by="ada",
        to=["user", "bo"],
        priority="attention",
        path=str(folder / "src"),
        refs=[{"kind": "url", "url": "https://example.invalid/1", "title": "One"}],
        attachments=[{"kind": "image", "path": named, "title": "plan.png", "mime_type": "image/png"}],
        client_id="ada-1",
        reply_required=True,
        insight="It is urgent.",
        suggested_user_message="Go on",
    )["event"]

    data = event["data"]
    assert (event["by"], event["scope_key"], data["to"]) == ("ada", scope, ["user", "bo"])
    assert (data["priority"], data["client_id"], data["reply_required"]) == ("attention", "ada-1", True)
    assert data["refs"] == [{"kind": "url", "url": "https://example.invalid/1", "title": "One"}]
    assert (data["attachments"][0]["path"], data["attachments"][0]["bytes"]) == (named, len(octets))
    assert (data["insight"], data["suggested_user_message"]) == ("It is urgent.", "Go on")


def test_ipc_8_5_what_cannot_be_sent_is_refused_and_not_said(client: Client, group: str, tmp_path: Path) -> None:
    lost = f"state/blobs/{'0' * 64}_lost.txt"
    for code, args in {
        "missing_text": {"text": "  "},
        "invalid_recipient": {"to": ["nobody"]},
        "invalid_priority": {"priority": "urgent"},
        "scope_not_attached": {"path": str(tmp_path)},
        "invalid_attachments": {"attachments": [{"path": lost}]},
        "invalid_refs": {"refs": [{"kind": "dream"}]},
        "permission_denied": {"by": "cy"},
    }.items():
        assert client.code("send", **({"group_id": group, "text": "Hello"} | args)) == code
    assert client.code("send", group_id="", text="Hello") == "missing_group_id"
    assert client.code("send", group_id="g_nothing", text="Hello") == "group_not_found"
    assert client.code("send", group_id=group, text="Hello", attachments=[{"path": "/etc/passwd"}]) == (
        "invalid_attachments"
    )
    client.actor_update(group_id=group, actor_id="bo", patch={"enabled": False})
    assert client.code("send", group_id=group, text="Hello", to=["bo"]) == "no_enabled_recipients"
    assert client.code("send", group_id=group, text="Hello", to=["@peers"]) == "no_enabled_recipients"
    assert unread(client, group, "ada") == unread(client, group, "bo") == []


def test_cccs_6_1_the_same_client_id_is_the_same_message(client: Client, group: str) -> None:
    first = client.send(group_id=group, text="Once", client_id="one", by="ada")["event"]
    again = client.send(group_id=group, text="Once", client_id="one", by="ada")["event"]
    other = client.send(group_id=group, text="Once", client_id="one", by="user")["event"]

    assert again == first
    assert other["id"] != first["id"]
    assert len(unread(client, group, "bo")) == 2


def test_ipc_8_5_a_reply_goes_to_who_wrote(client: Client, group: str) -> None:
    asked = client.send(group_id=group, text="Which branch? " + "x" * 200, by="bo", to=["ada"])["event"]

    answered = client.reply(group_id=group, reply_to=asked["id"], text="main", by="ada")["event"]

    assert (answered["data"]["reply_to"], answered["data"]["to"]) == (asked["id"], ["bo"])
    assert answered["data"]["quote_text"].startswith("Which branch?")
    assert len(answered["data"]["quote_text"]) < 110
    assert unread(client, group, "bo") == ["main"]


def test_ipc_8_5_a_reply_carries_all_that_the_client_can_say(client: Client, group: str) -> None:
    asked = client.send(group_id=group, text="Which?", to=["bo"])["event"]

    said = {
        "to": ["ada", "user"],
        "priority": "attention",
        "reply_required": True,
        "refs": [{"kind": "commit", "sha": "abc"}],
        "client_id": "bo-1",
        "insight": "It is late.",
    }
    answered = client.reply(group_id=group, reply_to=asked["id"], text="Both", by="bo", **said)["event"]
    again = client.reply(group_id=group, reply_to=asked["id"], text="Both", by="bo", **said)["event"]

    assert {name: answered["data"][name] for name in said} == said
    assert again == answered


def test_ipc_8_5_what_cannot_be_replied_to_is_refused(client: Client, group: str) -> None:
    told = client.system_notify(group_id=group, title="Build failed")["event"]
    assert client.code("reply", group_id=group, reply_to="", text="?") == "missing_reply_to"
    assert client.code("reply", group_id=group, reply_to="nothing.1", text="?") == "event_not_found"
    assert client.code("reply", group_id=group, reply_to=told["id"], text="?") == "invalid_event_kind"
    said = client.send(group_id=group, text="Yes")["event"]["id"]
    assert client.code("reply", group_id=group, reply_to=said, text="") == "missing_text"
    assert client.code("reply", group_id=group, reply_to=said, text="?", to=["nobody"]) == "invalid_recipient"
    assert client.code("reply", group_id=group, reply_to=said, text="?", priority="high") == "invalid_priority"


def test_ipc_8_5_a_message_crosses_into_another_group(client: Client, group: str) -> None:
    other = client.group_create(title="Other")["group_id"]
    client.actor_add(group_id=other, actor_id="cy", runner="headless")

    crossed = client.send_cross_group(
        group_id=group,
        dst_group_id=other,
        text="Release is out",
        by="ada",
        to=["cy"],
        priority="attention",
        refs=[{"kind": "url", "url": "https://example.invalid/1"}],
    )

    kept, arrived = crossed["src_event"], crossed["dst_event"]
    assert (kept["group_id"], kept["by"]) == (group, "ada")
    assert (kept["data"]["dst_group_id"], kept["data"]["dst_to"]) == (other, ["cy"])
    assert (arrived["group_id"], arrived["data"]["src_group_id"]) == (other, group)
    assert (arrived["data"]["src_event_id"], arrived["data"]["text"]) == (kept["id"], "Release is out")
    assert (arrived["data"]["to"], arrived["data"]["priority"]) == (["cy"], "attention")
    assert arrived["data"]["refs"] == kept["data"]["refs"] == [{"kind": "url", "url": "https://example.invalid/1"}]
    assert unread(client, other, "cy") == ["Release is out"]
    assert unread(client, group, "bo") == []


def test_ipc_8_5_what_cannot_cross_is_refused_and_said_nowhere(client: Client, group: str) -> None:
    other = client.group_create(title="Other")["group_id"]
    client.actor_add(group_id=other, actor_id="cy", runner="headless")
    for code, args in {
        "missing_dst_group_id": {"dst_group_id": ""},
        "invalid_dst_group_id": {"dst_group_id": group},
        "group_not_found": {"dst_group_id": "g_nothing"},
        "attachments_not_supported": {"attachments": [{"path": "x"}]},
        "invalid_recipient": {"to": ["bo"]},
        "invalid_priority": {"priority": "high"},
        "missing_text": {"text": " "},
    }.items():
        right = {"group_id": group, "dst_group_id": other, "text": "Hello"}
        assert client.code("send_cross_group", **(right | args)) == code
    assert unread(client, other, "cy") == unread(client, group, "user") == []


def test_ipc_8_5_who_was_asked_for_attention_acknowledges_once(client: Client, group: str) -> None:
    said = client.send(group_id=group, text="Stop!", to=["ada", "bo"], priority="attention")["event"]["id"]

    first = client.chat_ack(group_id=group, actor_id="bo", event_id=said)
    again = client.chat_ack(group_id=group, actor_id="bo", event_id=said)

    assert (first["acked"], first["already"]) == (True, False)
    assert first["event"]["by"] == "bo"
    assert first["event"]["data"] == {"actor_id": "bo", "event_id": said}
    assert (again["acked"], again["already"], again["event"]) == (True, True, None)
    assert unread(client, group, "bo") == ["Stop!"], "an acknowledgement is no read mark"


def test_ipc_8_5_who_may_not_acknowledge_is_refused(client: Client, group: str) -> None:
    said = client.send(group_id=group, text="Stop!", to=["bo"], priority="attention", by="ada")["event"]["id"]
    plain = client.send(group_id=group, text="Hm", to=["bo"])["event"]["id"]
    told = client.system_notify(group_id=group, title="Look", target_actor_id="bo", requires_ack=True)["event"]["id"]
    for code, args in {
        "permission_denied": {"by": "user"},
        "cannot_ack_own_message": {"actor_id": "ada"},
        "event_not_for_actor": {"actor_id": "user"},
        "not_an_attention_message": {"event_id": plain},
        "invalid_event_kind": {"event_id": told},
        "event_not_found": {"event_id": "nothing.1"},
        "missing_event_id": {"event_id": ""},
        "missing_actor_id": {"actor_id": ""},
    }.items():
        right = {"group_id": group, "actor_id": "bo", "event_id": said}
        assert client.code("chat_ack", **(right | args)) == code


# -- §8.6


def test_ipc_8_6_an_inbox_has_what_is_unread_oldest_first(client: Client, group: str) -> None:
    for text in ("one", "two", "three"):
        client.send(group_id=group, text=text, to=["bo"])
    client.system_notify(group_id=group, title="four", target_actor_id="bo")
    client.send(group_id=group, text="five", by="bo")

    listed = client.inbox_list(group_id=group, actor_id="bo")

    assert texts(listed["messages"]) == ["one", "two", "three", "four"]
    assert listed["cursor"] == {"event_id": "", "ts": ""}
    assert unread(client, group, "bo", limit=2) == ["one", "two"]
    assert unread(client, group, "bo", limit=0) == ["one", "two", "three", "four"]
    assert unread(client, group, "bo", kind_filter="chat") == ["one", "two", "three"]
    assert unread(client, group, "bo", kind_filter="notify") == ["four"]
    assert unread(client, group, "bo", by="bo") == unread(client, group, "bo", by="ada") == unread(client, group, "bo")


def test_ipc_8_6_an_inbox_is_not_for_everybody(client: Client, group: str) -> None:
    assert client.code("inbox_list", group_id=group, actor_id="ada", by="bo") == "permission_denied"
    assert client.code("inbox_list", group_id=group, actor_id="") == "missing_actor_id"
    assert client.code("inbox_list", group_id=group, actor_id="cy") == "actor_not_found"
    for method in ("inbox_mark_read", "inbox_mark_all_read"):
        more = {"event_id": "nothing.1"} if method == "inbox_mark_read" else {}
        assert client.code(method, group_id=group, actor_id="ada", by="bo", **more) == "permission_denied"


def test_ipc_8_6_what_was_marked_is_read_up_to_there(client: Client, group: str) -> None:
    one, two, three = (client.send(group_id=group, text=text)["event"] for text in ("one", "two", "three"))

    marked = client.inbox_mark_read(group_id=group, actor_id="bo", event_id=two["id"], by="bo")

    assert marked["event"]["data"] == {"actor_id": "bo", "event_id": two["id"]}
    assert (marked["cursor"]["event_id"], marked["cursor"]["ts"]) == (two["id"], two["ts"])
    assert unread(client, group, "bo") == ["three"]
    back = client.inbox_mark_read(group_id=group, actor_id="bo", event_id=one["id"], by="user")
    assert back["cursor"]["event_id"] == two["id"], "a cursor never goes back"
    assert unread(client, group, "bo") == ["three"]
    assert client.inbox_mark_read(group_id=group, actor_id="bo", event_id=three["id"])["event"]["by"] == "user"
    assert unread(client, group, "bo") == []


def test_ipc_8_6_what_cannot_be_marked_is_refused(client: Client, group: str) -> None:
    ours = client.send(group_id=group, text="for Ada", to=["ada"])["event"]["id"]
    changed = client.group_update(group_id=group, patch={"topic": "Tests"})["event"]["id"]
    for code, event in {
        "event_not_for_actor": ours,
        "invalid_event_kind": changed,
        "event_not_found": "nothing.1",
        "missing_event_id": "",
    }.items():
        assert client.code("inbox_mark_read", group_id=group, actor_id="bo", event_id=event) == code
    assert client.inbox_list(group_id=group, actor_id="bo")["cursor"]["event_id"] == ""


def test_ipc_8_6_all_can_be_marked_at_once(client: Client, group: str) -> None:
    assert client.inbox_mark_all_read(group_id=group, actor_id="bo")["event"] is None
    for text in ("one", "two"):
        last = client.send(group_id=group, text=text)["event"]

    marked = client.inbox_mark_all_read(group_id=group, actor_id="bo")

    assert marked["cursor"]["event_id"] == last["id"]
    assert marked["event"]["data"] == {"actor_id": "bo", "event_id": last["id"]}
    assert unread(client, group, "bo") == []
    assert client.inbox_mark_all_read(group_id=group, actor_id="bo")["event"] is None
    assert unread(client, group, "ada") == ["one", "two"]


def test_cccs_6_2_to_have_read_is_not_to_have_acknowledged(client: Client, group: str) -> None:
    said = client.send(group_id=group, text="Stop!", to=["bo"], priority="attention")["event"]["id"]

    client.inbox_mark_all_read(group_id=group, actor_id="bo", by="bo")

    assert client.chat_ack(group_id=group, actor_id="bo", event_id=said)["already"] is False


# -- §8.7


def context(client: Client, group: str) -> dict[str, Any]:
    return client.context_get(group_id=group)


def test_ipc_8_7_the_context_of_a_group_is_kept(client: Client, group: str) -> None:
    synced = client.context_sync(
        group_id=group,
        by="ada",
        ops=[
            {"op": "vision.update", "vision": "A parser without surprises"},
            {"op": "milestone.create", "name": "Lexer", "description": "Tokens", "status": "active"},
            {
                "op": "task.create",
                "name": "Numbers",
                "goal": "Read 1e9",
                "steps": [{"name": "Test", "acceptance": "y"}],
            },
            {"op": "note.add", "content": "Ask before tabs"},
            {"op": "presence.update", "agent_id": "ada", "status": "Reading"},
        ],
    )

    assert synced["dry_run"] is False
    assert len(synced["changes"]) == 5
    found = context(client, group)
    assert found["version"] == synced["version"]
    assert found["vision"] == "A parser without surprises"
    assert found["milestones"][0]["name"] == "Lexer"
    (task,) = client.task_list(group_id=group)["tasks"]
    assert (task["id"], task["name"]) == ("T001", "Numbers")
    assert client.task_list(group_id=group, task_id="T001")["task"]["id"] == "T001"
    (present,) = client.call(op="presence_get", args={"group_id": group})["agents"]
    assert (present["id"], present["status"]) == ("ada", "Reading")


def test_ipc_8_7_what_is_tried_changes_nothing(client: Client, group: str) -> None:
    before = context(client, group)

    tried = client.context_sync(group_id=group, ops=[{"op": "vision.update", "vision": "Else"}], dry_run=True)

    assert tried["dry_run"] is True
    assert len(tried["changes"]) == 1
    assert context(client, group) == before


def test_ipc_8_7_what_cannot_be_synced_changes_nothing(client: Client, group: str) -> None:
    before = context(client, group)
    half = [{"op": "vision.update", "vision": "Else"}, {"op": "task.update", "task_id": "T404", "name": "x"}]
    unknown = [{"op": "vision.update", "vision": "Else"}, {"op": "weather.update"}]
    for ops in (half, unknown):
        assert client.code("context_sync", group_id=group, ops=ops) == "context_sync_error"
    assert client.code("call", op="context_sync", args={"group_id": group, "ops": "x"}) == "invalid_ops"
    assert client.code("task_list", group_id=group, task_id="T404") == "task_not_found"
    assert client.code("context_get", group_id="g_nothing") == "group_not_found"
    assert context(client, group) == before


def test_ipc_8_7_the_clients_own_words_for_the_context(client: Client, group: str) -> None:
    client.coordination_brief_update(group_id=group, by="ada", objective="Ship", constraints=["no tabs"])
    client.coordination_note_add(group_id=group, by="bo", kind="decision", summary="Use a table")
    client.task_create(group_id=group, by="ada", title="Numbers", outcome="1e9 reads", assignee="bo", priority="high")
    (task,) = client.task_list(group_id=group)["tasks"]
    number = task["id"]
    client.task_update(group_id=group, by="bo", task_id=number, notes="hex too")
    client.task_move(group_id=group, by="bo", task_id=number, status="active")
    client.agent_state_update(group_id=group, by="bo", actor_id="bo", focus="Numbers", active_task_id=number)

    assert (task["title"], task["assignee"]) == ("Numbers", "bo")
    shown = client.task_list(group_id=group, task_id=number)["task"]
    assert (shown["status"], shown["notes"]) == ("active", "hex too")
    found = repr(context(client, group))
    for said in ("Ship", "no tabs", "Use a table"):
        assert said in found

    client.task_move(group_id=group, by="bo", task_id=number, status="archived")
    client.task_restore(group_id=group, by="bo", task_id=number)
    client.agent_state_clear(group_id=group, by="bo", actor_id="bo")
    client.meta_merge(group_id=group, data={"project_status": "green"})
    tried = client.task_create(group_id=group, title="Not yet", dry_run=True)

    assert tried["dry_run"] is True
    assert len(client.task_list(group_id=group)["tasks"]) == 1
    assert client.code("task_move", group_id=group, task_id="T404", status="active") == "context_sync_error"
    assert client.code("agent_state_update", group_id=group, by="bo", actor_id="ada", focus="x") in (
        "permission_denied",
        "context_sync_error",
    )


# -- §8.8


def test_ipc_8_8_an_actor_without_a_terminal_says_what_it_does(client: Client, group: str) -> None:
    assert client.code("headless_status", group_id=group, actor_id="bo") == "session_not_found"
    client.actor_start(group_id=group, actor_id="bo")

    state = client.headless_status(group_id=group, actor_id="bo")["state"]

    assert (state["group_id"], state["actor_id"], state["status"]) == (group, "bo", "idle")
    for status in ("working", "waiting", "stopped", "idle"):
        state = client.headless_set_status(group_id=group, actor_id="bo", status=status, task_id="T001")["state"]
        assert (state["status"], state["current_task_id"]) == (status, "T001")
    assert client.headless_status(group_id=group, actor_id="bo")["state"]["status"] == "idle"
    assert client.code("headless_set_status", group_id=group, actor_id="bo", status="away") == "invalid_status"


def test_ipc_8_8_an_actor_without_a_terminal_takes_its_messages(client: Client, group: str) -> None:
    client.actor_start(group_id=group, actor_id="bo")
    said = client.send(group_id=group, text="hello", to=["bo"])["event"]["id"]

    taken = client.headless_ack_message(group_id=group, actor_id="bo", message_id=said)

    assert taken["message_id"] == said
    assert client.headless_status(group_id=group, actor_id="bo")["state"]["last_message_id"] == said
    assert client.code("headless_ack_message", group_id=group, actor_id="bo", message_id="") == "missing_message_id"
    code = client.code("headless_ack_message", group_id=group, actor_id="ada", message_id=said)
    assert code == "session_not_found"


# -- §8.9


def test_ipc_8_9_a_notification_is_for_one_or_for_all(client: Client, group: str) -> None:
    one = client.system_notify(
        group_id=group,
        kind="error",
        priority="urgent",
        title="Build failed",
        message="3 tests",
        target_actor_id="bo",
        requires_ack=True,
        context={"build": 7},
    )["event"]
    everybody = client.system_notify(group_id=group, message="Lunch", by="svc:canteen")["event"]

    assert (one["kind"], one["by"], one["data"]["kind"]) == ("system.notify", "system", "error")
    assert (one["data"]["priority"], one["data"]["requires_ack"]) == ("urgent", True)
    assert (one["data"]["target_actor_id"], one["data"]["context"]) == ("bo", {"build": 7})
    assert (everybody["by"], everybody["data"]["kind"]) == ("svc:canteen", "info")
    inbox = client.inbox_list(group_id=group, actor_id="ada")["messages"]
    assert [message["data"]["message"] for message in inbox] == ["Lunch"]


def test_ipc_8_9_what_cannot_be_notified_is_refused(client: Client, group: str) -> None:
    assert client.code("system_notify", group_id=group, title="x", priority="attention") == "invalid_priority"
    assert client.code("system_notify", group_id=group, title="x", target_actor_id="cy") == "invalid_recipient"
    assert client.code("system_notify", group_id=group) == "empty_notification"
    assert client.code("system_notify", group_id="g_nothing", title="x") == "group_not_found"


def test_ipc_8_9_a_notification_is_acknowledged_by_whom_it_is_for(client: Client, group: str) -> None:
    told = client.system_notify(group_id=group, title="Look", target_actor_id="bo", requires_ack=True)["event"]["id"]

    first = client.notify_ack(group_id=group, actor_id="bo", notify_event_id=told)["event"]
    again = client.notify_ack(group_id=group, actor_id="bo", notify_event_id=told)["event"]

    assert (first["by"], first["data"]) == ("bo", {"actor_id": "bo", "notify_event_id": told})
    assert again == first
    for code, args in {
        "permission_denied": {"by": "user"},
        "event_not_for_actor": {"actor_id": "ada"},
        "event_not_found": {"notify_event_id": "nothing.1"},
    }.items():
        right = {"group_id": group, "actor_id": "bo", "notify_event_id": told}
        assert client.code("notify_ack", **(right | args)) == code
    said = client.send(group_id=group, text="hello")["event"]["id"]
    assert client.code("notify_ack", group_id=group, actor_id="bo", notify_event_id=said) == "invalid_event_kind"


# -- §8.10


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is a matter of POSIX")
def test_ipc_8_10_a_terminal_can_be_looked_at_and_forgotten(client: Client, group: str, folder: Path) -> None:
    client.attach(path=str(folder), group_id=group)
    program = ["sh", "-c", "printf '\\033[1mhello\\033[0m from %s\\n' \"$CCCC_ACTOR_ID\"; exec cat"]
    client.actor_add(group_id=group, actor_id="cat", runtime="custom", command=program)
    seen = {"group_id": group, "actor_id": "cat"}
    assert client.code("terminal_tail", **seen) == "actor_not_running"
    client.actor_start(**seen)

    until(lambda: "from cat" in client.terminal_tail(**seen)["text"], "what the program says")
    tail = client.terminal_tail(**seen)
    assert (tail["group_id"], tail["actor_id"]) == (group, "cat")
    assert tail["text"].strip() == "hello from cat"
    assert "\x1b[1m" in client.terminal_tail(**seen, strip_ansi=False, compact=False)["text"]
    assert len(client.terminal_tail(**seen, max_chars=5)["text"]) <= 5
    assert client.call(op="term_resize", args={**seen, "cols": 100, "rows": 30}) == {**seen, "cols": 100, "rows": 30}
    assert client.code("call", op="term_resize", args={**seen, "cols": 0, "rows": 30}) not in ("", "internal_error")

    assert client.terminal_clear(**seen) == {**seen, "cleared": True}
    assert client.terminal_tail(**seen)["text"] == ""
    client.actor_stop(**seen)
    assert client.code("terminal_clear", **seen) == "actor_not_running"


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is a matter of POSIX")
def test_ipc_8_10_whose_terminal_is_shown_to_whom_is_for_the_group_to_say(
    client: Client, group: str, folder: Path
) -> None:
    client.attach(path=str(folder), group_id=group)
    client.actor_add(group_id=group, actor_id="cat", runtime="custom", command=["cat"])
    client.actor_start(group_id=group, actor_id="cat")
    shown = {"off": [], "foreman": ["ada"], "all": ["ada", "bo"]}
    for visibility, who in shown.items():
        client.group_settings_update(group_id=group, patch={"terminal_transcript_visibility": visibility})
        for method in ("terminal_tail", "terminal_clear"):
            for by in ("ada", "bo"):
                if by in who:
                    getattr(client, method)(group_id=group, actor_id="cat", by=by)
                else:
                    assert client.code(method, group_id=group, actor_id="cat", by=by) == "permission_denied"
            getattr(client, method)(group_id=group, actor_id="cat", by="cat")
    assert client.code("terminal_tail", group_id=group, actor_id="bo") == "not_pty_actor"
    assert client.code("terminal_tail", group_id=group, actor_id="cy") == "actor_not_found"
    client.actor_stop(group_id=group, actor_id="cat")


# -- §8.11


def test_ipc_8_11_a_ledger_is_looked_after_and_loses_nothing(client: Client, group: str) -> None:
    said = client.send(group_id=group, text="Stop!", to=["bo"], priority="attention")["event"]
    client.inbox_mark_all_read(group_id=group, actor_id="bo")

    snapshot = client.ledger_snapshot(group_id=group, reason="before")["snapshot"]
    skipped = client.ledger_compact(group_id=group)
    done = client.ledger_compact(group_id=group, force=True, reason="test")

    assert Path(snapshot["snapshot_path"]).is_file()
    assert snapshot["last_event"]["kind"] == "chat.read"
    assert (skipped["ok"], skipped["skipped"]) == (True, True)
    assert (done["ok"], done["skipped"]) == (True, False)
    assert client.chat_ack(group_id=group, actor_id="bo", event_id=said["id"])["acked"] is True
    for method in ("ledger_snapshot", "ledger_compact"):
        assert client.code(method, group_id=group, by="bo") == "permission_denied"


# -- §8.12


def test_ipc_8_12_a_group_is_copied_by_its_template(client: Client, group: str, folder: Path) -> None:
    client.group_settings_update(group_id=group, patch={"nudge_after_seconds": 77})
    client.actor_update(group_id=group, actor_id="bo", patch={"env": {"TOKEN": "hush-3"}})
    exported = client.call(op="group_template_export", args={"group_id": group})

    made = client.call(
        op="group_create_from_template",
        args={"path": str(folder), "title": "Copy", "topic": "Again", "template": exported["template"]},
    )

    assert "hush-3" not in exported["template"]
    assert "cccc.group_template" in exported["template"]
    shown = client.group_show(group_id=made["group_id"])["group"]
    assert (shown["title"], shown["topic"]) == ("Copy", "Again")
    assert [actor["id"] for actor in shown["actors"]] == ["ada", "bo"]
    assert shown["settings"]["nudge_after_seconds"] == 77
    args = {"path": str(folder), "title": "Twice", "template": exported["template"]}
    assert client.code("call", op="group_create_from_template", args=args) == "scope_already_attached"


def test_ipc_8_12_a_template_is_looked_at_and_replaces_what_there_is(client: Client, group: str, folder: Path) -> None:
    client.attach(path=str(folder), group_id=group)
    other = client.group_create(title="Other")["group_id"]
    client.actor_add(group_id=other, actor_id="ada", runner="headless", runtime="claude", title="Ada the second")
    client.actor_add(group_id=other, actor_id="cy", runner="headless", runtime="gemini")
    template = client.call(op="group_template_export", args={"group_id": other})["template"]

    preview = client.call(op="group_template_preview", args={"group_id": group, "template": template})
    args = {"group_id": group, "confirm": "yes", "template": template}
    refused = client.code("call", op="group_template_import_replace", args=args)
    done = client.call(op="group_template_import_replace", args=args | {"confirm": group})

    assert preview["scope_root"] == str(folder)
    assert refused == "confirmation_required"
    assert (done["added"], done["removed"], done["updated"]) == (["cy"], ["bo"], ["ada"])
    assert [actor["id"] for actor in client.actor_list(group_id=group)["actors"]] == ["ada", "cy"]


def test_ipc_8_12_what_is_no_template_is_refused(client: Client, group: str, folder: Path) -> None:
    for template in ("{", "kind: other\nv: 1\n", "kind: cccc.group_template\nv: 2\n", "[]"):
        args = {"group_id": group, "template": template, "confirm": group}
        assert client.code("call", op="group_template_preview", args=args) == "invalid_template"
        assert client.code("call", op="group_template_import_replace", args=args) in (
            "invalid_template",
            "invalid_scope",
        )
        args = {"path": str(folder), "template": template}
        assert client.code("call", op="group_create_from_template", args=args) == "invalid_template"
    assert client.code("call", op="group_template_preview", args={"group_id": group}) == "missing_template"
    assert [actor["id"] for actor in client.actor_list(group_id=group)["actors"]] == ["ada", "bo"]


# -- §8.13


def test_ipc_8_13_what_happens_is_pushed(client: Client, group: str) -> None:
    first = client.send(group_id=group, text="before")["event"]
    stream = client.listen("live", group_id=group, since_event_id=first["id"])
    said = client.send(group_id=group, text="Stop!", to=["bo"], priority="attention")["event"]
    acked = client.chat_ack(group_id=group, actor_id="bo", event_id=said["id"])["event"]
    client.inbox_mark_all_read(group_id=group, actor_id="bo")
    told = client.system_notify(group_id=group, title="Look", target_actor_id="bo")["event"]
    noted = client.notify_ack(group_id=group, actor_id="bo", notify_event_id=told["id"])["event"]

    assert stream.events(4) == [said, acked, told, noted]
    assert stream.is_quiet()


def test_ipc_8_13_a_stream_goes_on_where_it_was(client: Client, group: str) -> None:
    events = [client.send(group_id=group, text=str(count))["event"] for count in range(30)]

    after_event = client.listen("event", group_id=group, since_event_id=events[9]["id"])
    after_time = client.listen("time", group_id=group, since_ts="2020-01-01T00:00:00Z")
    after_all = client.listen("later", group_id=group, since_ts="2096-01-01T00:00:00Z")

    assert after_event.events(20) == events[10:]
    assert after_time.events(30) == events
    assert after_all.is_quiet()
    assert after_event.is_quiet(0.1)


def test_ipc_8_13_only_the_kinds_that_are_wanted_come(client: Client, group: str) -> None:
    first = client.send(group_id=group, text="before")["event"]["id"]
    stream = client.listen("kinds", group_id=group, since_event_id=first, kinds=["system.notify", "group.update"])
    client.send(group_id=group, text="not wanted")
    told = client.system_notify(group_id=group, title="wanted")["event"]
    changed = client.group_update(group_id=group, patch={"topic": "wanted"})["event"]

    assert stream.events(2) == [told, changed]


def test_ipc_8_13_an_actor_sees_what_is_for_it_and_not_its_own(client: Client, group: str) -> None:
    first = client.send(group_id=group, text="before")["event"]["id"]
    stream = client.listen("actor", group_id=group, by="bo", since_event_id=first)
    client.send(group_id=group, text="for Ada", to=["ada"])
    client.send(group_id=group, text="my own", by="bo")
    client.send(group_id=group, text="my own, to me too", by="bo", to=["ada", "bo"])
    client.system_notify(group_id=group, title="for Ada", target_actor_id="ada")
    named = client.send(group_id=group, text="for Bo", to=["bo"])["event"]
    everybody = client.send(group_id=group, text="for all", by="ada")["event"]
    peers = client.send(group_id=group, text="for peers", to=["@peers"])["event"]
    told = client.system_notify(group_id=group, title="for all")["event"]

    assert stream.events(4) == [named, everybody, peers, told]
    assert stream.is_quiet()


def test_ipc_8_13_what_cannot_be_listened_to_is_refused(client: Client, group: str) -> None:
    for name, code, args in (
        ("group", "group_not_found", {"group_id": "g_nothing"}),
        ("no group", "missing_group_id", {"group_id": ""}),
        ("event", "event_not_found", {"since_event_id": "nothing.1"}),
        ("who", "permission_denied", {"by": "cy"}),
    ):
        stream = client.listen(name, **({"group_id": group} | args))
        found = stream._next(20)
        assert found["raised"]["code"] == code


def test_ipc_8_13_a_stream_ends_with_the_daemon(tmp_path: Path) -> None:
    with running(tmp_path / "home") as daemon, Client(VERSION, daemon.home) as client:
        group = client.group_create()["group_id"]
        stream = client.listen("end", group_id=group, since_ts="2020-01-01T00:00:00Z")
        client.send(group_id=group, text="last words")
        assert texts([stream.event()]) == ["last words"]
        daemon.stop()

        assert stream.has_ended()
