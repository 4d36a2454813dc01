"""Actors that a daemon runs: started where and as they should be, told what is for them, looked after, ended."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

if os.name == "nt":
    pytest.skip("POSIX terminals", allow_module_level=True)

from bb.coordination.agents import callers
from bb.kernel import clock
from tests.stories.daemon.actor_support import BASH, Stage, gone, zombies_of
from tests.stories.daemon.ipc_support import Refusal, request
from tests.support import is_running, scratch
from tests.waiting import until


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.close()


# -- starting


def test_ipc_8_4_a_program_runs_on_a_terminal_and_answers(stage: Stage):
    started = stage.bash()

    assert (started["actor"]["id"], started["actor"]["running"], started["actor"]["enabled"]) == ("shell", True, True)
    assert (started["event"]["kind"], started["event"]["data"]) == ("actor.start", {"actor_id": "shell"})
    with stage.terminal("shell") as client:
        client.type("echo $((6 * 7))\n")
        client.sees("\r42\r\n")
    assert stage.call("group_show")["group"]["running"] is True
    assert next(row for row in stage.daemon.call("groups")["groups"] if row["group_id"] == stage.group)["running"]


def test_starting_what_runs_changes_nothing(stage: Stage):
    stage.bash()
    before = stage.pid("shell")

    assert stage.start("shell")["actor"]["running"] is True
    assert stage.pid("shell") == before


def test_it_knows_who_it_is_and_is_given_what_is_for_it_alone(stage: Stage):
    told = stage.folder / "told"
    script = f"env -0 > {told}.new; pwd > {told}.where; command -v bb > {told}.bb; mv {told}.new {told}; sleep 60"
    stage.add("Peer_1", ["sh", "-c", script], env={"TOKEN_FILE": "/secret", "LINES": "7"})
    until(told.exists)

    env = dict(line.split("=", 1) for line in told.read_text().split("\0") if line)
    assert (env["BB_AGENT"], env["CCCC_ACTOR_ID"]) == ("Peer_1", "Peer_1")
    assert (env["CCCC_GROUP_ID"], env["CCCC_HOME"]) == (stage.group, str(stage.daemon.home))
    assert env["TOKEN_FILE"] == "/secret"
    assert env["TERM"] not in ("", "dumb")
    assert "BB_NOW" not in env
    assert Path(f"{told}.where").read_text().strip() == str(stage.root)
    assert Path(f"{told}.bb").read_text().strip(), "bb is found"
    shown = json.dumps([stage.call("group_show"), stage.call("actor_list"), stage.events("actor.add", "actor.start")])
    assert "/secret" not in shown


def test_it_has_the_variables_of_libpq_that_the_daemon_itself_leaves_out(tmp_path: Path):
    """They say where the relays connect. A program may need them for a database of its own."""
    stage = Stage(tmp_path, PGHOST="db.example.org", PGUSER="ada")
    told = stage.folder / "told"
    try:
        stage.add("peer-1", ["sh", "-c", f"echo $PGHOST $PGUSER > {told}.new; mv {told}.new {told}; sleep 60"])
        until(told.exists)

        assert told.read_text() == "db.example.org ada\n"
    finally:
        stage.close()


def test_it_is_in_no_session_of_the_program_that_started_the_daemon(tmp_path: Path):
    """Otherwise `bb` in it would act as the agent in whose shell the daemon was started."""
    stage = Stage(tmp_path, BB_SESSION="own", **dict.fromkeys([*callers.HOSTS, *callers.MARKS], "1"))
    told = stage.folder / "told"
    try:
        stage.add("peer-1", ["sh", "-c", f"env -0 > {told}.new; mv {told}.new {told}; sleep 60"])
        until(told.exists)
    finally:
        stage.close()

    names = {line.split("=", 1)[0] for line in told.read_text().split("\0")}
    assert "BB_AGENT" in names
    assert not names & set(callers.VARIABLES)


def test_it_works_in_the_directory_that_is_its_own(stage: Stage):
    other = stage.folder / "other"
    other.mkdir()
    key = stage.call("attach", path=str(other))["scope_key"]
    stage.bash("shell", default_scope_key=key)
    with stage.terminal("shell") as client:
        client.type("pwd\n")
        client.sees(f"\r{other}\r\n")


def test_what_runs_in_it_acts_as_the_actor(stage: Stage):
    stage.bash("shell")
    with stage.terminal("shell") as client:
        client.type(f"{sys.executable} -m bb chat send 'I am here' --to user; echo d'on'e\n")
        client.sees("done\r\n")

    (said,) = stage.call("inbox_list", actor_id="user")["messages"]
    assert (said["by"], said["data"]["text"], said["group_id"]) == ("shell", "I am here", stage.group)


@pytest.mark.parametrize("command", [["no-such-program-anywhere"], ["/etc/passwd"], ["."]])
def test_what_cannot_be_started_is_refused_and_is_not_running(stage: Stage, command: list[str]):
    stage.call("actor_add", actor_id="peer", runtime="custom", runner="pty", command=command)

    with pytest.raises(Refusal) as refused:
        stage.start("peer")
    assert refused.value.code == "actor_start_failed"
    assert stage.actor("peer")["running"] is False
    assert stage.children() == []
    assert stage.events("actor.start") == []


def test_how_a_program_ended_is_shown_until_it_is_started_again(stage: Stage):
    stage.add("short", ["sh", "-c", "exit 3"])
    until(lambda: "exited" in stage.actor("short"), "its end")

    shown = stage.actor("short")
    assert (shown["running"], shown["enabled"]) == (False, True)
    assert (shown["exited"]["status"], shown["exited"]["signal"]) == (3, None)
    with pytest.raises(Refusal, match="exited with status 3") as refused:
        stage.call("terminal_tail", actor_id="short")
    assert refused.value.code == "actor_not_running"
    stage.call("actor_update", actor_id="short", patch={"command": ["cat"]})
    assert "exited" not in stage.start("short")["actor"]
    os.kill(stage.pid("short"), signal.SIGKILL)
    until(lambda: stage.actor("short").get("exited", {}).get("signal") == "SIGKILL")
    stage.call("actor_stop", actor_id="short")
    assert "exited" not in stage.actor("short")


def test_one_that_cannot_be_started_keeps_none_of_its_group_from_running(stage: Stage):
    for name, command in (("one", ["cat"]), ("wrong", ["no-such-program-anywhere"]), ("two", ["cat"])):
        stage.call("actor_add", actor_id=name, runtime="custom", runner="pty", command=command)

    with pytest.raises(Refusal, match="wrong could not be started") as refused:
        stage.call("group_start")
    assert refused.value.code == "group_start_failed"
    assert [actor["running"] for actor in stage.call("actor_list")["actors"]] == [True, False, True]
    assert [event["data"]["actor_id"] for event in stage.events("actor.start")] == ["one", "two"]


def test_a_group_without_a_directory_runs_nothing_on_a_terminal(stage: Stage):
    group = stage.daemon.call("group_create", title="Empty")["group_id"]
    stage.call("actor_add", group_id=group, actor_id="peer", runtime="custom", runner="pty", command=BASH)

    assert stage.code("actor_start", group_id=group, actor_id="peer") == "actor_start_failed"
    assert stage.code("group_start", group_id=group) == "group_start_failed"


# -- being told


def test_ipc_8_5_what_is_said_is_typed_once_and_in_order(stage: Stage):
    heard = stage.listener("peer")
    ids = [stage.send(f"saying-{number}", to="peer") for number in range(3)]
    heard.until("saying-0")
    ids += [stage.send(f"saying-{number}", to="peer") for number in range(3, 6)]
    text = heard.until("saying-5")
    time.sleep(0.5)

    assert heard.text.count("You are peer, foreman of the group “work”") == 1
    places = [text.index(f"[bb] message {event} from user to peer") for event in ids]
    assert places == sorted(places)
    assert all(heard.text.count(event) == 1 for event in ids)
    assert all(heard.text.count(f"saying-{number}") == 1 for number in range(6))
    assert heard.text.endswith("\r")


def test_ipc_8_5_nobody_is_typed_what_is_not_for_them(stage: Stage):
    heard = {name: stage.listener(name) for name in ("lead", "peer", "other")}
    stage.send("to one", to="peer")
    stage.send("to the foreman", to="@foreman")
    stage.send("to the peers", to="@peers")
    stage.send("to a person", to="user")
    stage.send("in the inbox", to="peer", message_mode="mail")
    stage.call("system_notify", message="a notice for other", target_actor_id="other")
    stage.send("by peer", by="peer")
    for each in heard.values():
        if each is not heard["peer"]:
            each.until("by peer")
    heard["peer"].until("to the peers")
    time.sleep(0.3)

    def told(name: str) -> set[str]:
        said = ("to one", "to the foreman", "to the peers", "to a person", "in the inbox", "a notice", "by peer")
        return {text for text in said if text in heard[name].text}

    assert told("lead") == {"to the foreman", "by peer"}
    assert told("peer") == {"to one", "to the peers"}
    assert told("other") == {"to the peers", "a notice", "by peer"}


def test_cccs_6_2_who_is_asked_for_attention_is_told_how_to_acknowledge(stage: Stage):
    heard = stage.listener("peer")
    event = stage.send("Stop!", to="peer", priority="attention")

    text = heard.until("Stop!")
    assert "IMPORTANT" in text
    assert f"bb chat ack {event}" in text


def test_what_would_be_a_key_is_written_out(stage: Stage):
    heard = stage.listener("peer")
    stage.send("one\x1b[2J\x03two\nthree", to="peer")

    text = heard.until("three")
    assert "\x1b" not in text
    assert "\x03" not in text
    assert "\\x1b[2J\\x03two" in text


@pytest.mark.parametrize(("submit", "key"), [("enter", "\r"), ("newline", "\n"), ("none", "")])
def test_ipc_8_4_a_message_is_submitted_as_the_actor_wants(stage: Stage, submit: str, key: str):
    heard = stage.listener("peer", submit=submit)
    stage.send("the text", to="peer")
    heard.until(f"the text{key}")
    time.sleep(0.6)

    assert heard.text.endswith(f"the text{key}")


def test_a_program_that_wants_to_be_told_what_is_pasted_is(stage: Stage):
    heard = stage.listener("peer", "\\x1b[?2004h")
    stage.send("one\ntwo", to="peer")
    text = heard.until("\x1b[201~\r")

    assert text.startswith("\x1b[200~")
    assert "one\ntwo\x1b[201~" in text


def test_messages_are_not_typed_faster_than_the_group_wants(stage: Stage):
    stage.call("group_settings_update", patch={"min_interval_seconds": 4})
    heard = stage.listener("peer")
    stage.send("first", to="peer")
    heard.until("first")
    for text in ("second", "third"):
        stage.send(text, to="peer")
    heard.until("third")

    assert heard.at("second") - heard.at("first") >= 3.9
    assert heard.at("third") - heard.at("second") < 3.9, "what waits comes together"


def test_another_interval_holds_for_those_who_run_already(stage: Stage):
    stage.call("group_settings_update", patch={"min_interval_seconds": 3600})
    heard = stage.listener("peer")
    stage.send("first", to="peer")
    heard.until("first")
    stage.send("second", to="peer")
    stage.call("group_settings_update", patch={"min_interval_seconds": 0})

    heard.until("second")


def test_what_was_read_before_it_could_be_typed_is_not_typed(stage: Stage):
    stage.call("group_settings_update", patch={"min_interval_seconds": 3})
    heard = stage.listener("peer")
    stage.send("first", to="peer")
    heard.until("first")
    read = stage.send("second", to="peer")
    stage.call("inbox_mark_read", actor_id="peer", event_id=read, by="peer")
    stage.send("third", to="peer")
    heard.until("third")

    assert "second" not in heard.text


def test_a_group_that_is_paused_has_nothing_typed_until_it_goes_on_and_one_that_is_idle_no_notices(stage: Stage):
    heard = stage.listener("peer")
    stage.call("group_set_state", state="paused")
    stage.send("while paused", to="peer")
    time.sleep(3)
    assert "while paused" not in heard.text

    stage.call("group_set_state", state="idle")
    heard.until("while paused")
    stage.call("system_notify", message="while idle", target_actor_id="peer")
    stage.call("group_set_state", state="active")
    stage.send("while active", to="peer")
    heard.until("while active")
    time.sleep(0.5)

    assert heard.text.count("while paused") == 1
    assert "while idle" not in heard.text
    inbox = stage.call("inbox_list", actor_id="peer")["messages"]
    assert [message["data"].get("text") or message["data"]["message"] for message in inbox] == [
        "while paused",
        "while idle",
        "while active",
    ]


def deliveries(stage: Stage) -> list[tuple[str, str, str]]:
    """Who was typed what, and how that went."""
    found = [event["data"] for event in stage.events("runtime.delivery")]
    assert all(each["delivery_id"] == f"delivery:{each['actor_id']}:{each['source_event_id']}" for each in found)
    return [(each["actor_id"], each["source_event_id"], each["state"]) for each in found]


def test_notes_12_10_it_is_recorded_who_was_typed_what(stage: Stage):
    one, other = stage.listener("one"), stage.listener("other")
    first = stage.send("for both")
    mail = stage.send("in the inbox", to="one", message_mode="mail")
    for heard in (one, other):
        heard.until("for both\r")
    until(lambda: len(deliveries(stage)) == 2, "both deliveries")

    assert sorted(deliveries(stage)) == [("one", first, "accepted"), ("other", first, "accepted")]
    assert all(event["by"] == "system" for event in stage.events("runtime.delivery"))
    unread = [message["id"] for message in stage.call("inbox_list", actor_id="one")["messages"]]
    assert unread == [first, mail], "typed is not read"


def test_notes_12_10_what_could_not_be_submitted_is_recorded_as_that(stage: Stage):
    path = stage.folder / "heard"
    script = f"import os, tty; tty.setraw(0); os.write(1, b'ready'); open({str(path)!r}, 'wb').write(os.read(0, 9999))"
    stage.add("peer", [sys.executable, "-c", script])
    event = stage.send("my last words to you", to="peer")
    until(path.exists)
    until(lambda: deliveries(stage), "a delivery")

    assert deliveries(stage) == [("peer", event, "failed")]


def test_what_was_said_to_an_actor_before_it_ran_is_typed_to_it_once(stage: Stage):
    stage.send("before it joined")
    heard = stage.listener("peer", is_started=False)
    read = stage.send("read by now", to="peer")
    stage.call("inbox_mark_read", actor_id="peer", event_id=read, by="peer")
    stage.send("by mail", to="peer", message_mode="mail")
    stage.call("system_notify", message="a notice", target_actor_id="peer")
    first, second = stage.send("in order", to="peer"), stage.send("for everybody")
    stage.start("peer")
    text = heard.until("for everybody\r")
    until(lambda: len(deliveries(stage)) == 2, "both deliveries")
    stage.call("actor_restart", actor_id="peer")
    stage.send("anew", to="peer")
    heard.until("anew\r")

    assert text.index(first) < text.index(second)
    for never in ("before it joined", "read by now", "by mail", "a notice"):
        assert never not in heard.text
    for once in ("in order", "for everybody", "anew"):
        assert heard.text.count(once) == 1


def test_mail_that_was_taken_out_of_the_inbox_need_not_be_typed_any_more(stage: Stage):
    stage.call("group_settings_update", patch={"min_interval_seconds": 3600})
    heard = stage.listener("peer")
    stage.send("first", to="peer")
    heard.until("first\r")
    until(lambda: deliveries(stage), "a delivery")
    mail = stage.send("by mail", to="peer", message_mode="mail")
    stage.call("message_deliver", source_event_id=mail, actor_ids=["peer"])
    taken = stage.call("inbox_read", actor_id="peer", by="peer")["messages"]
    stage.send("last", to="peer")
    stage.call("group_settings_update", patch={"min_interval_seconds": 0})
    heard.until("last\r")

    assert [message["id"] for message in taken] == [mail]
    assert "by mail" not in heard.text


def test_what_waited_when_the_daemon_was_killed_is_typed_to_who_comes_back(stage: Stage):
    stage.call("group_settings_update", patch={"min_interval_seconds": 3600})
    heard = stage.listener("peer")
    stage.send("first", to="peer")
    heard.until("first\r")
    until(lambda: deliveries(stage), "a delivery")
    stage.send("second", to="peer")
    stage.daemon.kill()
    stage.daemon.start()

    heard.until("second\r")
    assert heard.text.count("first") == 1


def test_of_much_that_waits_the_last_is_typed_and_how_much_it_was(stage: Stage):
    heard = stage.listener("peer", is_started=False)
    for number in range(30):
        stage.send(f"saying-{number}.", to="peer")
    stage.start("peer")
    heard.until("saying-29.\r")
    until(lambda: len(deliveries(stage)) == 20, "all deliveries")
    stage.call("group_set_state", state="paused")
    stage.call("group_set_state", state="active")
    stage.send("anew", to="peer")
    heard.until("anew\r")

    assert [number for number in range(30) if f"saying-{number}." in heard.text] == list(range(10, 30))
    assert heard.text.count("10 earlier messages were not typed here") == 1


def test_what_waits_to_be_typed_goes_on_waiting_while_the_group_is_paused(stage: Stage):
    stage.call("group_settings_update", patch={"min_interval_seconds": 3})
    heard = stage.listener("peer")
    stage.send("first", to="peer")
    heard.until("first\r")
    stage.send("second", to="peer")
    stage.call("group_set_state", state="paused")
    time.sleep(4)
    assert "second" not in heard.text

    stage.call("group_set_state", state="active")
    heard.until("second\r")
    assert heard.text.count("second") == 1


@pytest.mark.parametrize("is_killed", [False, True])
def test_what_was_to_be_delivered_is_although_its_program_was_started_anew(stage: Stage, is_killed: bool):
    stage.call("group_settings_update", patch={"min_interval_seconds": 3600})
    heard = stage.listener("peer")
    mail = stage.send("by mail", to="peer", message_mode="mail")
    stage.send("first", to="peer")
    heard.until("first\r")
    stage.call("message_deliver", source_event_id=mail, actor_ids=["peer"])
    time.sleep(0.3)
    assert "by mail" not in heard.text
    if is_killed:
        stage.daemon.kill()
        stage.daemon.start()
    else:
        stage.call("actor_restart", actor_id="peer")

    heard.until("by mail\r")
    until(lambda: ("peer", mail, "accepted") in deliveries(stage), "the delivery")
    assert heard.text.count("first") == 1


def test_mail_is_typed_where_its_sender_wants_that_after_all(stage: Stage):
    heard = stage.listener("peer")
    stage.call("actor_add", actor_id="headless", runtime="custom", runner="headless")
    stage.call("actor_start", actor_id="headless")
    mail = stage.send("by mail", to="peer", message_mode="mail", by="headless")
    asked = {"source_event_id": mail, "actor_ids": ["peer"]}

    assert stage.code("message_deliver", **asked, by="peer") == "permission_denied"
    assert stage.code("message_deliver", **asked | {"actor_ids": []}) == "missing_actor_ids"
    assert stage.code("message_deliver", **asked | {"source_event_id": "nosuchevent1.7"}) == "event_not_found"
    for other in ("headless", "nobody", "user", "", 7):
        assert stage.code("message_deliver", **asked | {"actor_ids": ["peer", other]}) == "event_not_for_actor"
    to_all = stage.send("to both of you")
    heard.until("to both of you")
    both = {"source_event_id": to_all, "actor_ids": ["peer", "headless"]}
    assert stage.code("message_deliver", **both) == "actor_not_running", "who runs without a terminal is typed nothing"
    assert "by mail" not in heard.text

    claimed = stage.call("message_deliver", **asked, by="headless")
    heard.until("by mail\r")
    until(lambda: ("peer", mail, "accepted") in deliveries(stage), "the delivery")
    again = stage.call("message_deliver", **asked, force_ambiguous=True)
    time.sleep(3)

    assert (claimed["event"]["id"], claimed["actor_ids"], claimed["delivery_state"]) == (mail, ["peer"], "claimed")
    assert again["delivery_state"] == "accepted"
    assert heard.text.count("by mail") == 1


def test_what_another_process_says_is_typed_too(stage: Stage):
    repo = scratch(stage.folder / "site")
    group = stage.daemon.call("attach", path=str(repo.path))["group_id"]
    stage.group = group
    heard = stage.listener("peer")
    said = repo.bb("chat", "send", "from a command", "--to", "peer", CCCC_HOME=str(stage.folder / "elsewhere"))

    assert said.status == 0, said
    heard.until("from a command")


def test_whoever_works_in_a_group_that_moves_into_a_repository_is_still_told(stage: Stage):
    heard = stage.listener("peer")
    stage.send("before", to="peer")
    heard.until("before")
    repo = scratch(stage.folder / "site")
    stage.call("attach", path=str(repo.path))
    time.sleep(0.3)
    stage.send("after", to="peer")

    heard.until("after")
    assert repo.json("agent", "list").data[0]["agent_id"] == "peer"


# -- at the terminal


def test_ipc_8_10_the_first_client_types_and_the_next_one_when_it_has_gone(stage: Stage):
    stage.bash()
    with stage.terminal("shell") as first, stage.terminal("shell") as second:
        for client in (first, second):
            assert {"group_id": stage.group, "actor_id": "shell"}.items() <= client.answer["result"].items()
        first.type("echo first$((1 + 1))\n")
        second.sees("first2")
        second.type("echo unheard$((1 + 1))\n")
        time.sleep(0.3)
        assert "unheard2" not in stage.tail("shell")
        first.close()
        time.sleep(0.2)
        second.type("echo second$((1 + 1))\n")
        second.sees("second2")
        assert "unheard2" not in stage.tail("shell")


def test_ipc_8_10_of_those_who_come_at_once_one_is_told_that_it_types(stage: Stage):
    stage.bash()
    with ExitStack() as all_of_them:
        clients = [all_of_them.enter_context(stage.daemon.connect()) for _ in range(20)]
        for client in clients:
            client.sendall(request("term_attach", group_id=stage.group, actor_id="shell"))
        answers = [json.loads(client.makefile("rb").readline()) for client in clients]

    assert [answer["result"]["writer"] for answer in answers].count(True) == 1


def test_ipc_8_10_whoever_attaches_late_sees_what_was_shown(stage: Stage):
    stage.bash()
    with stage.terminal("shell") as first:
        first.type("echo was$((1 + 1))\n")
        first.sees("was2")
    with stage.terminal("shell") as late:
        late.sees("was2")


def test_ipc_8_10_the_stream_ends_with_the_program(stage: Stage):
    stage.bash()
    with stage.terminal("shell") as client:
        client.type("exit\n")
        assert client.ends()


def test_ipc_8_10_a_terminal_has_the_size_it_is_given(stage: Stage):
    stage.bash()
    assert stage.call("term_resize", actor_id="shell", cols=123, rows=45) == {
        "group_id": stage.group,
        "actor_id": "shell",
        "cols": 123,
        "rows": 45,
    }
    with stage.terminal("shell") as client:
        client.type("stty size\n")
        client.sees("45 123")
    for cols, rows in ((0, 1), (1, 1001), (-1, 5), ("80", 24), (None, None), (80, True)):
        assert stage.code("term_resize", actor_id="shell", cols=cols, rows=rows) == "invalid_size"


def test_ipc_8_10_the_tail_is_what_was_shown_last_and_can_be_cleared(stage: Stage):
    stage.bash()
    with stage.terminal("shell") as client:
        client.type("printf '\\033[31mred\\033[0m\\n'; seq 1 500; echo the e'nd'\n")
        client.sees("the end")
    until(lambda: "the end" in stage.tail("shell"))

    answer = stage.call("terminal_tail", actor_id="shell", max_chars=300)
    assert set(answer) == {"group_id", "actor_id", "warning", "hint", "text"}
    assert "\n499\n500\nthe end" in answer["text"]
    assert len(answer["text"]) <= 300
    assert "red" in stage.tail("shell")
    assert "\x1b" not in stage.tail("shell")
    assert "\x1b[31mred" in stage.tail("shell", strip_ansi=False)

    assert stage.call("terminal_clear", actor_id="shell") == {
        "group_id": stage.group,
        "actor_id": "shell",
        "cleared": True,
    }
    assert "500" not in stage.tail("shell")


def test_ipc_8_10_terminals_are_shown_as_the_group_wants(stage: Stage):
    for name in ("lead", "peer", "other"):
        stage.bash(name)
    shown = {
        "off": {"peer", "user"},
        "foreman": {"peer", "user", "lead"},
        "all": {"peer", "user", "lead", "other"},
    }
    for visibility, who in shown.items():
        stage.call("group_settings_update", patch={"terminal_transcript_visibility": visibility})
        for by in ("user", "lead", "peer", "other"):
            for op in ("terminal_tail", "terminal_clear"):
                answer = stage.daemon.ask(op, group_id=stage.group, actor_id="peer", by=by)
                assert answer["ok"] is (by in who), (visibility, by, op)
                assert answer["ok"] or answer["error"]["code"] == "permission_denied"


@pytest.mark.parametrize("op", ["terminal_tail", "terminal_clear", "term_attach"])
def test_ipc_8_10_who_does_not_run_or_has_no_terminal_shows_none(stage: Stage, op: str):
    stage.call("actor_add", actor_id="peer", runtime="custom", runner="pty", command=BASH)
    stage.call("actor_add", actor_id="alone", runner="headless")
    stage.start("alone")

    assert stage.code(op, actor_id="peer") == "actor_not_running"
    assert stage.code(op, actor_id="alone") == "not_pty_actor"
    assert stage.code(op, actor_id="nobody") == "actor_not_found"
    assert stage.code(op) == "missing_actor_id"


# -- ending


def test_ipc_8_4_who_is_stopped_is_gone_and_stays_disabled(stage: Stage):
    stage.bash()
    pid = stage.pid("shell")
    stopped = stage.call("actor_stop", actor_id="shell")

    assert (stopped["actor"]["running"], stopped["actor"]["enabled"]) == (False, False)
    assert stopped["event"]["kind"] == "actor.stop"
    until(gone(pid))
    until(lambda: stage.children() == [])
    assert stage.notices("status_change") == [], "nobody is told of what was asked for"
    (ended,) = stage.events("x.bb.exited")
    assert (ended["data"]["actor_id"], ended["data"]["asked_to"]) == ("shell", True)
    until(lambda: not zombies_of(stage.daemon.pid), "the daemon to collect them")


def test_ipc_8_4_who_is_restarted_is_another_process_at_once(stage: Stage):
    stage.bash()
    before = stage.pid("shell")
    again = stage.call("actor_restart", actor_id="shell")

    assert again["actor"]["running"] is True
    assert again["event"]["kind"] == "actor.restart"
    after = stage.pid("shell")
    assert after != before
    until(gone(before))
    assert is_running(after)
    with stage.terminal("shell") as client:
        client.type("echo here$((1 + 1))\n")
        client.sees("here2")
    assert stage.pid("shell") == after, "the end of the one before takes nothing from it"


def test_ipc_8_4_who_is_disabled_or_removed_stops(stage: Stage):
    for name in ("disabled", "removed"):
        stage.bash(name)
    pids = [stage.pid(name) for name in ("disabled", "removed")]
    updated = stage.call("actor_update", actor_id="disabled", patch={"enabled": False})
    stage.call("actor_remove", actor_id="removed")

    assert updated["actor"]["running"] is False
    for pid in pids:
        until(gone(pid))
    assert [each["id"] for each in stage.call("actor_list")["actors"]] == ["disabled"]


def test_ipc_8_3_a_group_is_started_and_stopped_as_a_whole(stage: Stage):
    for name in ("one", "two"):
        stage.call("actor_add", actor_id=name, runtime="custom", runner="pty", command=BASH)
    stage.call("actor_add", actor_id="alone", runner="headless")
    started = stage.call("group_start")
    assert (started["started"], started["event"]["kind"]) == (["one", "two", "alone"], "group.start")
    pids = [stage.pid(name) for name in ("one", "two")]
    assert all(each["running"] and each["enabled"] for each in stage.call("actor_list")["actors"])

    stopped = stage.call("group_stop")
    assert (stopped["stopped"], stopped["event"]["kind"]) == (["one", "two", "alone"], "group.stop")
    for pid in pids:
        until(gone(pid))
    assert not any(each["running"] or each["enabled"] for each in stage.call("actor_list")["actors"])
    until(lambda: not zombies_of(stage.daemon.pid), "the daemon to collect them")


def test_a_group_that_is_deleted_stops(stage: Stage):
    stage.bash()
    pid = stage.pid("shell")
    stage.call("group_delete")

    until(gone(pid))
    until(lambda: stage.children() == [])
    assert "Traceback" not in stage.daemon.said


def test_a_program_that_does_not_want_to_end_is_ended(stage: Stage):
    stage.add("stubborn", ["bash", "-c", "trap '' TERM HUP INT; echo ready; while :; do sleep 1; done"])
    until(lambda: "ready" in stage.tail("stubborn"))
    pid = stage.pid("stubborn")
    stage.call("actor_stop", actor_id="stubborn")
    assert not gone(pid)(), "nobody waits for it"

    until(gone(pid))
    until(lambda: stage.children() == [])
    assert [event["data"]["signal"] for event in stage.events("x.bb.exited")] == ["SIGKILL"]


def test_a_program_that_ends_by_itself_is_written_down_and_told(stage: Stage):
    stage.bash("lead")
    stage.add("peer", ["sh", "-c", "echo the last words; exit 3"])
    until(lambda: not stage.actor("peer")["running"])

    (ended,) = stage.events("x.bb.exited")
    assert ended["by"] == "system"
    assert ended["data"] == {"actor_id": "peer", "status": 3, "signal": None, "asked_to": False}
    (told,) = stage.notices("status_change")
    assert (told["target_actor_id"], told["priority"]) == ("lead", "high")
    assert "status 3" in told["message"]
    assert told["context"] == {"actor_id": "peer", "terminal_tail": "the last words"}
    assert stage.actor("peer")["enabled"] is True, "it was not asked to"
    until(lambda: not zombies_of(stage.daemon.pid), "the daemon to collect them")


@pytest.mark.parametrize(
    ("patch", "tail"),
    [
        ({"terminal_transcript_notify_lines": 2}, "4\n5"),
        ({"terminal_transcript_notify_tail": False}, None),
        ({"terminal_transcript_visibility": "off"}, None),
        ({"terminal_transcript_visibility": "all"}, "1\n2\n3\n4\n5"),
    ],
)
def test_ipc_8_3_the_end_of_a_terminal_is_told_as_the_group_wants(stage: Stage, patch: dict[str, object], tail: str):
    stage.call("group_settings_update", patch=patch)
    stage.bash("lead")
    stage.add("peer", ["sh", "-c", "seq 1 5; exit 1"])
    until(lambda: not stage.actor("peer")["running"])

    (told,) = stage.notices("status_change")
    assert told["context"].get("terminal_tail") == tail


def test_no_secret_of_a_terminal_is_told(stage: Stage):
    token = "ghp_" + "a1B2" * 9
    stage.add("peer", ["sh", "-c", "echo key $TOKEN end; exit 1"], env={"TOKEN": token})
    until(lambda: not stage.actor("peer")["running"])

    (told,) = stage.notices("status_change")
    assert token not in json.dumps(told)
    assert told["context"]["terminal_tail"].endswith("end")


def test_who_was_killed_from_outside_is_told_of_by_its_signal(stage: Stage):
    stage.bash()
    os.kill(stage.pid("shell"), signal.SIGKILL)
    until(lambda: not stage.actor("shell")["running"])

    (told,) = stage.notices("status_change")
    assert (told["target_actor_id"], told["context"]["actor_id"]) == ("user", "shell")
    assert "signal SIGKILL" in told["message"]


# -- the end of the daemon


def test_a_daemon_that_ends_ends_its_programs_and_the_next_one_starts_them_again(stage: Stage):
    said = stage.folder / "said"
    stage.add(
        "polite", ["bash", "-c", f"trap 'echo bye >> {said}; exit' TERM; echo ready; while :; do sleep 0.1; done"]
    )
    stage.bash("unwanted")
    stage.call("actor_stop", actor_id="unwanted")
    until(lambda: "ready" in stage.tail("polite"))
    pid = stage.pid("polite")

    assert stage.daemon.stop() == 0
    assert not is_running(pid)
    assert said.read_text() == "bye\n"
    assert stage.children() == []

    stage.daemon.start()
    until(lambda: stage.actor("polite")["running"])
    assert stage.actor("unwanted")["running"] is False
    assert stage.notices("status_change") == []
    ended = [event["data"] for event in stage.events("x.bb.exited") if event["data"]["actor_id"] == "polite"]
    assert [each["asked_to"] for each in ended] == [True]


@pytest.mark.parametrize("is_stubborn", [False, True], ids=["usual", "stubborn"])
def test_a_daemon_that_is_killed_leaves_no_program_behind(stage: Stage, is_stubborn: bool):
    trap = "trap '' HUP TERM; " if is_stubborn else ""
    stage.add("peer", ["bash", "-c", f"{trap}echo ready; while :; do sleep 0.1; done"])
    stage.call("actor_add", actor_id="alone", runner="headless")
    stage.start("alone")
    until(lambda: "ready" in stage.tail("peer"))
    pid = stage.pid("peer")
    stage.daemon.kill()
    if not is_stubborn:
        until(gone(pid))

    stage.daemon.start()
    until(lambda: stage.actor("peer")["running"])
    assert stage.actor("alone")["running"] is True
    assert stage.pid("peer") != pid
    until(gone(pid), seconds=15)
    (ended,) = stage.events("x.bb.exited")
    assert ended["data"] == {"actor_id": "peer", "was_left_running": is_stubborn}


def test_what_was_said_while_no_daemon_ran_waits_in_the_inbox(stage: Stage):
    heard = stage.listener("peer")
    stage.daemon.stop()
    stage.daemon.start()
    until(lambda: stage.actor("peer")["running"])
    until(lambda: "ready" in stage.tail("peer"))
    stage.send("now", to="peer")

    text = heard.until("now")
    assert text.count("You are peer") == 1


def test_who_cannot_be_started_again_is_told_of(stage: Stage):
    stage.bash()
    stage.daemon.stop()
    stage.root.rename(stage.folder / "moved")
    stage.daemon.start()
    until(lambda: bool(stage.notices("status_change")))

    (told,) = stage.notices("status_change")
    assert "could not be started again" in told["title"]
    assert stage.actor("shell")["running"] is False


# -- without a terminal


def test_ipc_8_8_an_actor_without_a_terminal_says_what_it_does(stage: Stage):
    stage.call("actor_add", actor_id="alone", runner="headless")
    assert stage.code("headless_status", actor_id="alone") == "session_not_found"
    stage.start("alone")

    state = stage.call("headless_status", actor_id="alone")["state"]
    assert set(state) == {
        *("v", "group_id", "actor_id", "status", "current_task_id", "last_message_id", "started_at", "updated_at")
    }
    assert (state["group_id"], state["actor_id"], state["status"]) == (stage.group, "alone", "idle")
    for status in ("working", "waiting", "idle", "stopped"):
        said = stage.call("headless_set_status", actor_id="alone", status=status, task_id="T001")["state"]
        assert (said["status"], said["current_task_id"]) == (status, "T001")
        assert clock.parse(said["updated_at"]) >= clock.parse(state["updated_at"])
    assert stage.call("headless_set_status", actor_id="alone", status="idle")["state"]["current_task_id"] is None
    message = stage.send("hello", to="alone")
    acked = stage.call("headless_ack_message", actor_id="alone", message_id=message)
    assert acked["message_id"] == message
    assert stage.call("headless_status", actor_id="alone")["state"]["last_message_id"] == message
    for wrong in ("", "busy", 7, None, ["idle"]):
        assert stage.code("headless_set_status", actor_id="alone", status=wrong) in (
            "invalid_status",
            "invalid_request",
        )
    assert stage.code("headless_ack_message", actor_id="alone") == "missing_message_id"


def test_ipc_8_8_only_who_runs_without_a_terminal_has_a_status(stage: Stage):
    stage.bash()
    for op, more in (
        ("headless_status", {}),
        ("headless_set_status", {"status": "idle"}),
        ("headless_ack_message", {"message_id": "x"}),
    ):
        assert stage.code(op, actor_id="shell", **more) == "session_not_found"
        assert stage.code(op, actor_id="nobody", **more) == "actor_not_found"
        assert stage.code(op, **more) == "missing_actor_id"


# -- being looked after


def test_who_lets_mail_wait_gets_a_reminder_typed_until_it_has_been_read(stage: Stage):
    stage.call("group_settings_update", patch={"nudge_after_seconds": 2, "keepalive_delay_seconds": 0})
    heard = stage.listener("peer")
    mail = stage.send("It waits.", to="peer", message_mode="mail")
    text = heard.until("Mail is waiting")
    assert "It waits." not in text
    stage.call("inbox_mark_read", actor_id="peer", event_id=mail, by="peer")
    count = heard.text.count("Mail is waiting")
    time.sleep(5)

    assert heard.text.count("Mail is waiting") <= count + 1, "one may have been on its way"
    (first, *_) = stage.notices("nudge")
    assert (first["target_actor_id"], first["context"]["oldest_unread"]) == ("peer", mail)


def test_a_silent_actor_is_told_of_with_what_it_showed_last(stage: Stage):
    stage.call("group_settings_update", patch={"actor_idle_timeout_seconds": 1, "keepalive_delay_seconds": 0})
    lead = stage.listener("lead", "", "echo")
    stage.add("peer", ["sh", "-c", "echo thinking; sleep 60"])
    lead.until("peer is silent")

    told = next(each for each in stage.notices("actor_idle") if each["context"]["actor_id"] == "peer")
    assert told["target_actor_id"] == "lead"
    assert told["context"]["terminal_tail"] == "thinking"


def test_what_a_terminal_echoes_is_no_sign_of_life(stage: Stage):
    stage.listener("peer", "", "echo")
    stage.call(
        "group_settings_update",
        patch={"nudge_after_seconds": 2, "actor_idle_timeout_seconds": 5, "keepalive_delay_seconds": 0},
    )
    stage.send("It waits.", to="peer", message_mode="mail")
    until(lambda: bool(stage.notices("actor_idle")), seconds=15)

    assert len(stage.notices("nudge")) >= 2


def test_nobody_is_left_behind_when_many_start_and_stop(stage: Stage):
    names = [f"p{number}" for number in range(8)]
    for name in names:
        stage.add(name, ["sh", "-c", "sleep 60 & exec sleep 60"])
    pids = [stage.pid(name) for name in names]
    for name in names[:4]:
        stage.call("actor_restart", actor_id=name)
    pids += [stage.pid(name) for name in names[:4]]
    stage.call("group_stop")

    for pid in pids:
        until(gone(pid), seconds=15)
    until(lambda: stage.children() == [])
    until(lambda: zombies_of(stage.daemon.pid) == [])
    assert len(stage.events("x.bb.exited")) == 12
    assert "ERROR" not in stage.daemon.said
