"""The published client of today's dialect, cccc-sdk 0.4.41, runs unchanged against the same daemon.

It says with each message how it is to be delivered, has mail that is taken out of an inbox, requests that are owed an
answer, and a context of its own. What it shares with the client of the specification's dialect is driven there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stories.daemon.ipc_support import Daemon, end, running
from tests.stories.daemon.ipc_types import LATER, OPS
from tests.stories.daemon.sdk_support import CLIENTS, Client, Raised
from tests.waiting import until

VERSION, FORMER = "0.4.41", "0.4.32"
OF_ITS_OWN = {"assert_compatible", "ping", "groups", "group_show", "attach", "context_get", "context_sync", "task_list"}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("sdk") / "home") as daemon:
        yield daemon


@pytest.fixture(scope="module")
def client(daemon: Daemon) -> Iterator[Client]:
    with Client(VERSION, daemon.home) as client:
        yield client


@pytest.fixture(scope="module")
def former(daemon: Daemon) -> Iterator[Client]:
    """A client of the other dialect, at the same daemon."""
    with Client(FORMER, daemon.home) as former:
        yield former


@pytest.fixture
def group(client: Client, former: Client) -> str:
    """A group with a foreman, ada, and a peer, bo."""
    group_id = str(client.group_create(title="Parser")["group_id"])
    former.actor_add(group_id=group_id, actor_id="ada", runner="headless", runtime="claude")
    former.actor_add(group_id=group_id, actor_id="bo", runner="headless", runtime="codex")
    return group_id


def texts(answer: dict[str, Any]) -> list[str]:
    return [message["data"]["text"] for message in answer["messages"]]


def mail(client: Client, group: str, actor: str, **more: Any) -> list[str]:
    return texts(client.inbox_peek(group_id=group, actor_id=actor, **more))


# -- whether they fit together


def test_every_method_of_the_dialects_own_is_driven_here() -> None:
    folder = CLIENTS / f"cccc-sdk-{VERSION}" / "cccc_sdk"
    methods = {
        name
        for module in ("client.py", "client_chat_ops.py")
        for name in re.findall(r"^    def ([a-z_]+)\(", (folder / module).read_text(), re.MULTILINE)
    }
    source = Path(__file__).read_text()
    driven = set(re.findall(r"\bclient\.([a-z_]+)\(", source))

    own = methods & ({*LATER, "send", "reply", "send_cross_group", "task_delete"} | OF_ITS_OWN)
    assert len(own) > 14
    assert own - driven == set()


def test_the_client_finds_that_the_daemon_has_all_that_both_dialects_name(client: Client) -> None:
    found = client.assert_compatible(
        require_ipc_v=1, require_capabilities={"events_stream": True}, require_ops=[*OPS, *LATER]
    )

    assert found["ipc_v"] == 1


@pytest.mark.parametrize("op", ["memory_search", "tracked_send", "terminal_snapshot", "group_copy_export"])
def test_the_client_finds_what_the_daemon_does_not_have(client: Client, op: str) -> None:
    with pytest.raises(Raised, match=r"does not support op|cannot safely verify op"):
        client.assert_compatible(require_ops=[op])


def test_the_client_looks_anew_for_a_daemon_that_has_moved(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "home").start()
    try:
        with Client(VERSION, daemon.home) as client:
            first = client.ping()["pid"]
            daemon.stop()
            daemon.start(CCCC_DAEMON_TRANSPORT="tcp", BB_DAEMON_ALLOW_ANONYMOUS_TCP="1")

            assert client.ping()["pid"] == daemon.pid != first
            assert client.groups()["groups"] == []
    finally:
        end(daemon)


def test_a_message_as_long_as_the_client_lets_through_has_an_answer(client: Client, group: str) -> None:
    said = client.send(group_id=group, text="word " * 100_000, message_mode="send")["event"]
    assert len(said["data"]["text"]) == 500_000

    assert client.code("send", group_id=group, text="x" * 1_999_000, message_mode="send") != "internal_error"
    with pytest.raises(Raised, match="RequestTooLargeError"):
        client.send(group_id=group, text="x" * 2_000_000, message_mode="send")
    assert len(texts(client.message_history(group_id=group, actor_id="ada"))) == 1


def test_groups_and_actors_are_as_in_the_other_dialect(client: Client, former: Client, tmp_path: Path) -> None:
    group = client.attach(path=str(tmp_path))["group_id"]

    added = client.actor_add(group_id=group, actor_id="cy", runtime="codex", title="Cy")["actor"]
    client.group_settings_update(group_id=group, patch={"nudge_after_seconds": 10})
    client.actor_update(group_id=group, actor_id="cy", patch={"title": "Cyrus"})

    assert (added["runner"], added["role"]) == ("pty", "foreman")
    assert client.group_show(group_id=group) == former.group_show(group_id=group)
    assert client.group_show(group_id=group)["group"]["actors"][0]["title"] == "Cyrus"


# -- how a message is delivered


@pytest.mark.parametrize("mode", ["send", "request_reply", "mail"])
def test_a_message_says_how_it_is_to_be_delivered(client: Client, group: str, mode: str) -> None:
    event = client.send(group_id=group, text="Hello", message_mode=mode, to=["bo"])["event"]

    assert event["data"]["message_mode"] == mode
    assert event["data"]["to"] == ["bo"]
    found = client.message_history(group_id=group, actor_id="bo", mode=mode)
    assert found["messages"] == [event]
    others = {"send", "request_reply", "mail"} - {mode}
    assert all(client.message_history(group_id=group, actor_id="bo", mode=other)["messages"] == [] for other in others)


def test_a_message_carries_all_that_the_client_can_say(client: Client, group: str, tmp_path: Path) -> None:
    scope = client.attach(path=str(tmp_path), group_id=group)["scope_key"]

    event = client.send(
        group_id=group,
        text="Look",
        message_mode="send",
        by="ada",
        to=["user", "bo"],
        path=str(tmp_path),
        refs=[{"kind": "task_ref", "task_id": "T001", "title": "Numbers"}],
        attachments=[],
        client_id="ada-1",
        suggested_user_message="Go on",
        insight="It is urgent.",
        require_peer_insight=True,
    )["event"]

    data = event["data"]
    assert (event["by"], event["scope_key"], data["to"]) == ("ada", scope, ["user", "bo"])
    assert data["refs"] == [{"kind": "task_ref", "task_id": "T001", "title": "Numbers"}]
    assert (data["client_id"], data["suggested_user_message"]) == ("ada-1", "Go on")
    assert data["insight"] == "It is urgent."


@pytest.mark.parametrize("mode", ["send", "request_reply", "mail"])
def test_the_same_client_id_is_the_same_message(client: Client, group: str, mode: str) -> None:
    said = {"group_id": group, "text": "Once", "message_mode": mode, "to": ["bo"], "by": "ada", "client_id": "one"}

    first, again = client.send(**said)["event"], client.send(**said)["event"]

    assert again == first
    assert client.message_history(group_id=group, actor_id="bo")["messages"] == [first]


def test_a_mode_that_there_is_not_is_refused(client: Client, group: str) -> None:
    args = {"group_id": group, "text": "Hello", "message_mode": "shout"}
    assert client.code("call", op="send", args=args) == "invalid_message_mode"
    assert client.message_history(group_id=group, actor_id="user")["messages"] == []


@pytest.mark.parametrize("mode", ["send", "mail"])
def test_a_reply_says_so_too(client: Client, group: str, mode: str) -> None:
    asked = client.send(group_id=group, text="Which?", message_mode="request_reply", by="ada", to=["bo"])["event"]

    said = {"group_id": group, "reply_to": asked["id"], "text": "main", "message_mode": mode, "by": "bo"}
    answered = client.reply(**said, client_id="bo-1", refs=[{"kind": "commit", "sha": "abc"}], insight="Late")["event"]

    data = answered["data"]
    assert (data["reply_to"], data["message_mode"], data["to"]) == (asked["id"], mode, ["ada"])
    assert (data["quote_text"], data["insight"]) == ("Which?", "Late")
    assert client.reply(**said, client_id="bo-1")["event"] == answered
    assert client.code("reply", group_id=group, reply_to="nothing.1", text="?") == "event_not_found"


def test_a_message_crosses_with_its_mode(client: Client, group: str) -> None:
    other = client.group_create(title="Other")["group_id"]
    client.actor_add(group_id=other, actor_id="cy", runtime="codex")

    crossed = client.send_cross_group(
        group_id=group, dst_group_id=other, text="Out", message_mode="mail", by="ada", to=["cy"], insight="At last"
    )

    assert crossed["dst_event"]["data"]["message_mode"] == "mail"
    assert crossed["dst_event"]["data"]["insight"] == "At last"
    assert crossed["dst_event"]["data"]["src_event_id"] == crossed["src_event"]["id"]
    assert mail(client, other, "cy") == ["Out"]
    code = client.code("send_cross_group", group_id=group, dst_group_id=group, text="x", message_mode="send")
    assert code == "invalid_dst_group_id"


# -- mail


def test_mail_waits_until_it_is_taken_out_of_the_inbox(client: Client, group: str) -> None:
    for text in ("one", "two", "three"):
        client.send(group_id=group, text=text, message_mode="mail", to=["bo"])
    client.send(group_id=group, text="now", message_mode="send", to=["bo"])

    assert mail(client, group, "bo") == mail(client, group, "bo") == ["one", "two", "three"]
    assert mail(client, group, "bo", limit=1) == ["one"]
    assert mail(client, group, "ada") == []

    taken = client.inbox_read(group_id=group, actor_id="bo", limit=2)

    assert texts(taken) == ["one", "two"]
    assert mail(client, group, "bo") == ["three"]
    assert texts(client.inbox_read(group_id=group, actor_id="bo")) == ["three"]
    assert texts(client.inbox_read(group_id=group, actor_id="bo")) == []
    assert texts(client.message_history(group_id=group, actor_id="bo", mode="mail")) == ["three", "two", "one"]


def test_mail_is_taken_once_by_whoever_is_first(client: Client, group: str, daemon: Daemon) -> None:
    for count in range(10):
        client.send(group_id=group, text=str(count), message_mode="mail", to=["bo"])

    with Client(VERSION, daemon.home) as other:
        found = [texts(each.inbox_read(group_id=group, actor_id="bo", limit=3)) for each in (client, other) * 3]

    assert [text for each in found for text in each] == [str(count) for count in range(10)]


def test_mail_is_for_its_owner(client: Client, group: str) -> None:
    client.send(group_id=group, text="for Ada", message_mode="mail", to=["ada"])

    for method in ("inbox_peek", "inbox_read", "message_history"):
        assert client.code(method, group_id=group, actor_id="ada", by="bo") == "permission_denied"
        assert client.code(method, group_id=group, actor_id="cy") == "actor_not_found"
        assert client.code(method, group_id=group, actor_id="") == "missing_actor_id"
        assert client.code(method, group_id="g_nothing", actor_id="ada") == "group_not_found"
    assert mail(client, group, "ada", by="ada") == mail(client, group, "ada", by="user") == ["for Ada"]


def test_both_dialects_see_the_same_messages(client: Client, former: Client, group: str) -> None:
    plain = former.send(group_id=group, text="as ever", to=["bo"])["event"]
    letter = client.send(group_id=group, text="a letter", message_mode="mail", to=["bo"])["event"]

    assert former.inbox_list(group_id=group, actor_id="bo")["messages"] == [plain, letter]
    assert client.message_history(group_id=group, actor_id="bo")["messages"] == [letter, plain]
    assert client.message_history(group_id=group, actor_id="bo", mode="send")["messages"] == [plain]

    client.inbox_read(group_id=group, actor_id="bo")

    assert former.inbox_list(group_id=group, actor_id="bo")["messages"] == [plain]
    former.inbox_mark_all_read(group_id=group, actor_id="bo")
    assert former.inbox_list(group_id=group, actor_id="bo")["messages"] == []


# -- what was said


def test_history_is_looked_through_page_by_page(client: Client, group: str) -> None:
    said = [
        client.send(group_id=group, text=f"{count} {'odd' if count % 2 else 'even'}", message_mode="send")["event"]
        for count in range(25)
    ]

    pages, before = [], ""
    while True:
        page = client.message_history(group_id=group, actor_id="bo", limit=10, before_event_id=before)
        pages.append(page["messages"])
        if not page["has_more"]:
            break
        before = page["messages"][-1]["id"]

    assert [len(page) for page in pages] == [10, 10, 5]
    assert [message for page in pages for message in page] == said[::-1]
    odd = client.message_history(group_id=group, actor_id="bo", query="ODD", limit=3)
    assert texts(odd) == ["23 odd", "21 odd", "19 odd"]
    assert client.code("message_history", group_id=group, actor_id="bo", before_event_id="no.1") == "event_not_found"
    args = {"group_id": group, "actor_id": "bo", "mode": "loud"}
    assert client.code("call", op="message_history", args=args) == "invalid_mode"


def test_history_has_what_an_actor_could_see_and_looking_reads_nothing(
    client: Client, former: Client, group: str
) -> None:
    client.send(group_id=group, text="for Ada", message_mode="send", to=["ada"])
    client.send(group_id=group, text="for Bo", message_mode="send", to=["bo"])
    client.send(group_id=group, text="by Bo", message_mode="send", by="bo", to=["ada"])

    assert texts(client.message_history(group_id=group, actor_id="bo")) == ["by Bo", "for Bo"]
    assert texts(client.message_history(group_id=group, actor_id="ada")) == ["by Bo", "for Ada"]
    assert [message["data"]["text"] for message in former.inbox_list(group_id=group, actor_id="bo")["messages"]] == [
        "for Bo"
    ]


# -- requests


def test_a_request_is_withdrawn_by_who_asked(client: Client, group: str) -> None:
    asked = client.send(group_id=group, text="Which?", message_mode="request_reply", by="ada", to=["bo"])["event"]["id"]
    assert client.code("reply_request_cancel", group_id=group, source_event_id=asked, by="bo") == "permission_denied"

    first = client.reply_request_cancel(group_id=group, source_event_id=asked, by="ada")
    again = client.reply_request_cancel(group_id=group, source_event_id=asked)

    assert (first["cancelled"], first["source_event_id"]) == (True, asked)
    assert first["event"]["kind"] == "chat.reply_request.cancelled"
    assert again["event"] is None


def test_what_is_no_request_cannot_be_withdrawn(client: Client, group: str) -> None:
    plain = client.send(group_id=group, text="Hm", message_mode="send")["event"]["id"]
    told = client.system_notify(group_id=group, title="Look")["event"]["id"]

    for event, code in {
        plain: "not_a_reply_request",
        told: "invalid_event_kind",
        "no.1": "event_not_found",
        "": "missing_event_id",
    }.items():
        assert client.code("reply_request_cancel", group_id=group, source_event_id=event) == code


# -- what is typed


def test_mail_is_typed_when_its_sender_asks_for_that(
    client: Client, former: Client, group: str, tmp_path: Path
) -> None:
    former.attach(group_id=group, path=str(tmp_path))
    heard = tmp_path / "heard"
    script = f"stty -icanon -echo; echo ready; dd bs=1 of={heard} 2>/dev/null"
    former.actor_add(group_id=group, actor_id="cy", runner="pty", runtime="custom", command=["sh", "-c", script])
    former.actor_start(group_id=group, actor_id="cy")
    said = client.send(group_id=group, text="By mail.", message_mode="mail", to=["cy"], by="ada")["event"]["id"]
    wanted = {"group_id": group, "source_event_id": said, "actor_ids": ["cy"]}

    assert client.code("message_deliver", **wanted, by="bo") == "permission_denied"
    assert client.message_deliver(**wanted, by="ada")["delivery_state"] == "claimed"
    until(lambda: heard.exists() and b"By mail." in heard.read_bytes(), "the message")


# -- the context


def test_a_context_is_told_in_as_much_detail_as_is_wanted(client: Client, group: str) -> None:
    client.coordination_brief_update(
        group_id=group,
        by="ada",
        objective="Ship",
        current_focus="Lexer",
        constraints=["no tabs"],
        project_brief="It parses",
    )
    client.coordination_note_add(group_id=group, by="bo", kind="decision", summary="Use a table")
    client.task_create(group_id=group, by="ada", title="Numbers", assignee="bo")

    full, summary, overview = (client.context_get(group_id=group, detail=d) for d in ("full", "summary", "overview"))

    assert full["version"] == summary["version"] == overview["version"] != ""
    for said in ("Ship", "Lexer", "no tabs", "It parses", "Use a table", "Numbers"):
        assert said in repr(full), said
    assert len(repr(full)) >= len(repr(summary)) >= len(repr(overview))
    assert client.code("call", op="context_get", args={"group_id": group, "detail": "everything"}) == "invalid_args"


def test_a_context_that_somebody_has_changed_meanwhile_is_not_written_over(client: Client, group: str) -> None:
    client.meta_merge(group_id=group, data={"project_status": "green"})
    version = client.context_get(group_id=group)["version"]
    client.task_create(group_id=group, title="Numbers")
    ops = [{"op": "task.create", "title": "Strings"}]

    assert client.code("context_sync", group_id=group, ops=ops, if_version=version) == "version_conflict"
    now = client.context_get(group_id=group)["version"]
    assert client.context_sync(group_id=group, ops=ops, if_version=now)["version"] != now
    assert [task["title"] for task in client.task_list(group_id=group)["tasks"]] == ["Numbers", "Strings"]


def test_tasks_live_from_plan_to_archive(client: Client, group: str) -> None:
    client.task_create(
        group_id=group,
        by="ada",
        title="Numbers",
        outcome="1e9 reads",
        status="planned",
        assignee="bo",
        priority="p1",
        waiting_on="none",
        task_type="standard",
        notes="hex later",
        checklist=[{"text": "a test"}],
    )
    (task,) = client.task_list(group_id=group)["tasks"]
    number = task["id"]
    client.task_create(group_id=group, by="ada", title="Hex", parent_id=number, blocked_by=[number])

    client.task_update(group_id=group, by="bo", task_id=number, notes="hex too", waiting_on="user")
    client.task_move(group_id=group, by="bo", task_id=number, status="active")
    client.task_move(group_id=group, by="bo", task_id=number, status="done")

    shown = client.task_list(group_id=group, task_id=number)["task"]
    assert (shown["title"], shown["status"], shown["assignee"]) == ("Numbers", "done", "bo")
    assert shown["notes"] == "hex too"
    client.task_move(group_id=group, by="ada", task_id=number, status="archived")
    client.task_restore(group_id=group, by="ada", task_id=number)
    assert client.task_list(group_id=group, task_id=number)["task"]["status"] != "archived"
    assert client.code("task_delete", group_id=group, task_id=number) == "context_sync_error"
    (child,) = [task for task in client.task_list(group_id=group)["tasks"] if task["title"] == "Hex"]
    client.task_delete(group_id=group, by="ada", task_id=child["id"])
    assert [task["id"] for task in client.task_list(group_id=group)["tasks"]] == [number]


def test_tasks_are_chosen_by_what_they_are(client: Client, group: str) -> None:
    for title, more in {
        "Numbers": {"status": "active", "assignee": "bo"},
        "Strings": {"status": "planned", "assignee": "ada"},
        "Comments": {"status": "planned", "waiting_on": "user"},
        "Tabs": {"status": "done", "assignee": "bo"},
    }.items():
        client.task_create(group_id=group, by="user", title=title, **more)
    every = {task["title"]: task["id"] for task in client.task_list(group_id=group)["tasks"]}

    def chosen(**filters: Any) -> set[str]:
        return {task["title"] for task in client.task_list(group_id=group, **filters)["tasks"]}

    assert chosen(status="planned") == {"Strings", "Comments"}
    assert chosen(assignee="bo") == {"Numbers", "Tabs"}
    assert chosen(query="string") == {"Strings"}
    assert chosen(attention="waiting_user") == {"Comments"}
    assert chosen(task_ids=[every["Tabs"], every["Numbers"]]) == {"Tabs", "Numbers"}
    assert chosen(limit=3) | chosen(limit=3, offset=3) == set(every)
    assert client.code("task_list", group_id=group, task_id="T404") == "task_not_found"


def test_what_an_actor_is_at_is_its_own_to_say(client: Client, group: str) -> None:
    client.agent_state_update(
        group_id=group,
        actor_id="bo",
        by="bo",
        focus="Numbers",
        next_action="Write a test",
        what_changed="The table",
        blockers=["no spec"],
        open_loops=["hex"],
        commitments=["today"],
        environment_summary="Linux",
        user_model="Likes tables",
        persona_notes="Brief",
    )

    found = repr(client.context_get(group_id=group))
    for said in ("Write a test", "The table", "no spec", "Linux", "Likes tables"):
        assert said in found, said
    assert client.code("agent_state_update", group_id=group, actor_id="ada", by="bo", focus="x") == "permission_denied"
    client.agent_state_clear(group_id=group, actor_id="bo", by="bo")
    assert "Write a test" not in repr(client.context_get(group_id=group))


# -- the stream


def test_what_happens_is_pushed_to_this_client_too(client: Client, group: str) -> None:
    first = client.send(group_id=group, text="before", message_mode="send")["event"]["id"]
    stream = client.listen("live", group_id=group, since_event_id=first)

    said = [
        client.send(group_id=group, text=mode, message_mode=mode, to=["bo"])["event"]
        for mode in ("send", "request_reply", "mail")
    ]

    assert stream.events(3) == said
    assert stream.is_quiet()


def test_only_what_is_wanted_is_pushed(client: Client, group: str) -> None:
    first = client.send(group_id=group, text="before", message_mode="mail", to=["bo"])["event"]["id"]
    stream = client.listen("kinds", group_id=group, since_event_id=first, kinds=["mail.read", "context.sync"])
    client.send(group_id=group, text="not this", message_mode="send")
    client.inbox_read(group_id=group, actor_id="bo", by="bo")
    client.task_create(group_id=group, by="ada", title="Numbers")

    read, synced = stream.events(2)

    assert (read["kind"], read["by"], read["data"]["actor_id"]) == ("mail.read", "bo", "bo")
    assert (synced["kind"], synced["by"]) == ("context.sync", "ada")
