"""Groups, actors and messages at a terminal: what one types, what one reads, and what a program is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bb.cli.screens import attention, attention_acts, attention_host, chat, styling, text
from bb.ops import catalogue
from tests.faces.faces_support import Forger
from tests.stories.daemon.cli_support import near_station, station
from tests.support import NOON, Scratch

HEADLESS = ["--runner", "headless"]
EVIL = "x\x1b]8;;http://evil\x07y\u202ez\r\nError: [FORGED] no\x9b2J"
RAW = set("\x1b\x07\r\x9b\u202e")


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """A group with three actors, at noon."""
    made = near_station(tmp_path, BB_NOW=NOON)
    for name in ("amber", "cobalt", "dusty"):
        assert made.bb("actor", "add", name, *HEADLESS, "--title", name.title()).status == 0
    return made


def said(repo: Scratch, *words: str, **settings: str) -> Any:
    return repo.json("chat", *words, **settings).data


# -- a conversation


def test_a_message_is_sent_read_acknowledged_and_answered(repo: Scratch):
    sent = repo.bb("chat", "send", "Please look.", "--to", "cobalt", "--priority", "attention", BB_AGENT="amber")
    event = said(repo, "history", BB_AGENT="amber")["messages"][0]
    assert sent.out == f"Sent to cobalt  [{event['id']}]\n"

    inbox = repo.bb("chat", "inbox", BB_AGENT="cobalt").out
    assert inbox == (
        f"2026-01-05 12:00  amber -> cobalt, attention  [{event['id']}]\n"
        f"    | Please look.\n-> bb chat mark-read {event['id']}\n"
    )
    assert repo.bb("chat", "ack", event["id"], BB_AGENT="cobalt").out == "Acknowledged\n"
    assert repo.bb("chat", "ack", event["id"], BB_AGENT="cobalt").out == "Already acknowledged\n"
    assert repo.json("chat", "ack", event["id"], BB_AGENT="dusty").status == 5

    answered = repo.bb("chat", "reply", event["id"], "Done.", BB_AGENT="cobalt").out
    assert answered.startswith("Sent to amber  [")
    assert f", answers {event['id']}" in repo.bb("chat", "inbox", BB_AGENT="amber").out


def test_what_has_been_read_is_not_shown_again(repo: Scratch):
    for n in range(3):
        repo.bb("chat", "send", f"Message {n}")
    first = said(repo, "inbox", BB_AGENT="amber")["messages"][0]

    assert repo.bb("chat", "mark-read", first["id"], BB_AGENT="amber").out == f"Read up to {first['id']}\n"
    assert [each["data"]["text"] for each in said(repo, "inbox", BB_AGENT="amber")["messages"]] == [
        "Message 1",
        "Message 2",
    ]
    assert repo.bb("chat", "mark-all-read", BB_AGENT="amber").status == 0
    assert repo.bb("chat", "inbox", BB_AGENT="amber").out == "No messages to read.\n"
    rows = repo.bb("actor", "list", "--include-unread").out.splitlines()
    assert ["unread" in row for row in rows] == [False, True, True]
    assert "stopped, 3 unread  (" in rows[2]


def test_the_command_that_is_named_marks_as_read_what_was_shown(repo: Scratch):
    repo.bb("chat", "send", "One\ntwo")
    *_, last = repo.bb("chat", "inbox", BB_AGENT="amber").out.splitlines()

    assert last.startswith("-> bb chat mark-read ")
    assert repo.bb(*last.split()[2:], BB_AGENT="amber").status == 0
    assert repo.bb("chat", "inbox", BB_AGENT="amber").out == "No messages to read.\n"


def test_history_goes_on_where_it_ended(repo: Scratch):
    for n in range(5):
        repo.bb("chat", "send", f"Message {n}")

    shown = repo.bb("chat", "history", "--limit", "2", BB_AGENT="amber").out.splitlines()
    assert [line.strip() for line in shown if line.startswith("    ")] == ["| Message 4", "| Message 3"]

    more = repo.bb(*shown[-1].split()[2:], "--limit", "9", BB_AGENT="amber").out
    assert [line.strip() for line in more.splitlines() if line.startswith("    ")] == [
        "| Message 2",
        "| Message 1",
        "| Message 0",
    ]
    assert "-> bb" not in more


def test_a_notice_is_read_and_acknowledged(repo: Scratch):
    words = ["--title", "Build failed", "--target-actor-id", "cobalt", "--requires-ack", "--priority", "urgent"]
    assert repo.bb("chat", "notify", "See the log.", *words).out.startswith("Sent to cobalt  [")

    shown = repo.bb("chat", "inbox", BB_AGENT="cobalt").out
    (event,) = said(repo, "inbox", BB_AGENT="cobalt")["messages"]
    assert f'user -> cobalt, urgent, to be acknowledged: "Build failed"  [{event["id"]}]' in shown
    assert "    | See the log." in shown
    assert repo.bb("chat", "notify-ack", event["id"], BB_AGENT="cobalt").out == "Acknowledged\n"
    assert repo.bb("chat", "notify-ack", event["id"], BB_AGENT="cobalt").out == "Already acknowledged\n"
    assert repo.bb("chat", "inbox", BB_AGENT="amber").out == "No messages to read.\n"


def test_what_is_urgent_says_so_and_what_asks_for_a_reply(repo: Scratch):
    repo.bb("chat", "send", "Well?", "--to", "cobalt", "--message-mode", "request_reply")
    repo.bb("chat", "send", "Now!", "--to", "cobalt", "--priority", "attention")

    shown = repo.bb("chat", "inbox", BB_AGENT="cobalt").out

    assert "user -> cobalt, asks for a reply  [" in shown
    assert "user -> cobalt, attention  [" in shown


def test_the_persons_yes_to_a_question_of_an_agent_is_input_and_shown_with_the_question(repo: Scratch):
    repo.bb("chat", "send", "Shall I deploy?", "--to", "user", BB_AGENT="amber")
    question = said(repo, "history", BB_AGENT="amber")["messages"][0]["id"]

    repo.bb("chat", "reply", question, "yes")
    answered = said(repo, "inject", "--peek", "--agent", "amber")["blocks"]
    repo.bb("chat", "reply", question, "thanks!")
    thanked = said(repo, "inject", "--peek", "--agent", "amber")["blocks"]

    assert [(block["policy"], block["reason"]) for block in answered] == [("must_respond", "answer")]
    assert answered[0]["answers"]["content"] == [{"type": "text", "text": "Shall I deploy?"}]
    assert [block["policy"] for block in thanked] == ["must_respond", "ack_only"]


def test_something_is_said_in_another_group(repo: Scratch):
    other = repo.json("group", "create", "--title", "Elsewhere").data["group_id"]

    told = repo.bb("chat", "cross", "Out now.", "--dst-group-id", other)

    assert told.out.startswith(f"Sent to everybody of {other}  [")
    assert "Out now." in repo.bb("chat", "history", "--group-id", other).out


def test_a_reaction_is_noted(repo: Scratch):
    event = said(repo, "send", "Hello")["event"]

    assert repo.bb("chat", "react", event["id"], "👍").out.startswith("Reaction recorded  [")
    assert repo.json("events", "--limit", "1").data[0]["data"]["emoji"] == "👍"


def test_mistakes_are_said_by_their_codes(repo: Scratch):
    for words, code, status in (
        (["send"], "MISSING_TEXT", 2),
        (["send", "Hello", "--to", "nobody"], "INVALID_RECIPIENT", 3),
        (["reply", "abcdefghijkl.1", "Hello"], "EVENT_NOT_FOUND", 3),
        (["reply"], "MISSING_REPLY_TO", 2),
        (["ack"], "MISSING_EVENT_ID", 2),
        (["inbox", "--actor-id", "nobody"], "ACTOR_NOT_FOUND", 3),
        (["send", "Hello", "--priority", "high"], "INVALID_PRIORITY", 2),
        (["send", "Hello", "--refs", "{"], "INVALID_VALUE", 2),
    ):
        asked, told = repo.json("chat", *words), repo.bb("chat", *words)
        assert (asked.code, asked.status, told.status) == (code, status, status), words
        assert told.err.startswith(f"Error: [{code}] "), words


# -- groups and actors


def test_groups_are_listed_with_where_they_are(repo: Scratch):
    repo.bb("group", "create", "--title", "Elsewhere", "--topic", "One\nTwo")

    lines = repo.bb("group", "list").out.splitlines()

    assert len(lines) == 2
    assert any(line.endswith(f"active  repo  {repo.path}") for line in lines)
    assert any(line.endswith("active  Elsewhere") for line in lines)


def test_a_group_is_shown_whole(repo: Scratch):
    group = repo.json("group", "show").data["group"]

    lines = repo.bb("group", "show").out.splitlines()

    assert lines[0] == f"repo  {group['group_id']}  active"
    assert f"* {repo.path}  [{group['active_scope_key']}]" in lines
    assert any(line.startswith("  amber   foreman  stopped  (codex, headless)  Amber") for line in lines)
    assert any(line.split() == ["nudge_after_seconds", "300"] for line in lines)


def test_where_there_is_nothing_the_next_step_is_said(tmp_path: Path):
    made = station(tmp_path)
    other = made.json("group", "create", "--title", "Elsewhere").data["group_id"]

    assert made.bb("actor", "list").out.startswith("No actors to show. `bb actor add ")
    assert "none; `bb group attach PATH` adds one" in made.bb("group", "show", "--group-id", other).out
    assert made.bb("group", "list", CCCC_HOME=str(tmp_path / "none")).out.startswith("No groups to show. ")


def test_what_becomes_of_a_group_is_said(repo: Scratch):
    group = repo.json("group", "show").data["group"]["group_id"]

    assert repo.bb("group", "set-state", "paused").out == f"{group} is paused\n"
    assert repo.bb("group", "update", "--patch", '{"title": "Renamed"}').out == f"Renamed  {group}  paused\n"
    assert "  nudge_after_seconds" in repo.bb("group", "settings", "--patch", '{"nudge_after_seconds": 9}').out
    assert repo.bb("group", "attach", ".").out == f"The directory belongs to Renamed  [{group}]\n"
    assert repo.bb("group", "use", ".").out.startswith("The group now works in s_")
    assert repo.bb("group", "delete", "--confirm", group).out == f"Deleted the group {group}\n"


def test_what_becomes_of_an_actor_is_said(repo: Scratch):
    assert repo.bb("actor", "add", "fern", *HEADLESS).out == "fern  peer     stopped  (codex, headless)\n"
    disabled = repo.bb("actor", "update", "fern", "--patch", '{"enabled": false, "title": "Fern"}').out
    assert disabled == "fern  peer     disabled  (codex, headless)  Fern\n"
    assert repo.bb("actor", "remove", "fern").out == "Removed fern from the group\n"


# -- completion


def completed(repo: Scratch, typed: str) -> list[str]:
    count = str(typed.count(" "))
    ran = repo.bb(_BB_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=count)
    assert (ran.status, ran.err) == (0, "")
    return ran.out.split()


def test_groups_and_actors_are_offered(repo: Scratch):
    group = repo.json("group", "show").data["group"]["group_id"]

    assert completed(repo, "bb actor start ") == ["amber", "cobalt", "dusty"]
    assert completed(repo, "bb attach c") == ["cobalt"]
    assert completed(repo, "bb chat send --to @") == ["@all", "@peers", "@foreman"]
    assert completed(repo, "bb chat send --to d") == ["dusty"]
    assert completed(repo, "bb events --group-id ") == [group]
    assert completed(repo, "bb group set-state p") == ["paused"]
    assert completed(repo, "bb daemon st") == ["start", "stop", "status"]


def test_where_there_are_none_none_are_offered(tmp_path: Path):
    nowhere = Scratch(tmp_path, {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent), "CCCC_HOME": str(tmp_path / "home")})

    assert completed(nowhere, "bb actor start ") == []
    assert completed(nowhere, "bb group show --group-id ") == []


# -- whoever wrote it, it is only shown


@pytest.fixture
def haunted(repo: Scratch) -> Scratch:
    """Whatever may be said holds what a terminal would obey; whatever a ledger may hold makes no sense."""
    forger = Forger(repo)
    for number, data in enumerate(
        [
            {"text": EVIL, "to": ["amber", EVIL], "attachments": [{"path": EVIL}, EVIL, 7], "reply_to": EVIL},
            {"text": [EVIL], "to": EVIL, "attachments": EVIL, "priority": [EVIL]},
            {"text": {"a": EVIL}, "to": None, "attachments": None, "message_mode": EVIL},
            {"text": None, "title": EVIL, "message": EVIL},
        ]
    ):
        forger.add("chat.message", f"{EVIL}{number}", data)
    forger.add("system.notify", EVIL, {"title": EVIL, "message": [EVIL], "target_actor_id": [EVIL], "kind": 7})
    forger.add("actor.update", "user", {"actor_id": "amber", "title": EVIL})
    forger.add("group.update", "user", {"title": EVIL, "topic": EVIL})
    return repo


VIEWS = [
    ["chat", "inbox", "--actor-id", "amber", "--limit", "0"],
    ["chat", "history", "--actor-id", "amber"],
    ["group", "show"],
    ["group", "list"],
    ["actor", "list", "--include-unread"],
    ["events"],
]


@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
def test_what_others_wrote_is_shown_harmless(haunted: Scratch, view: list[str]):
    told, asked = haunted.bb(*view), haunted.json(*view)

    assert (told.status, asked.status) == (0, 0), told.err
    assert not RAW & set(told.out)
    assert not any(line.startswith("Error:") for line in told.out.splitlines())
    assert asked.out.isascii()


# -- on a terminal

ROW: dict[str, Any] = {
    "group_id": "g_0123456789ab",
    "title": "A rather long title of a group that works on the parser",
    "state": "active",
    "running": True,
    "path": "/home/somebody/a/rather/long/path with spaces/to/it",
}
ACTOR = {
    "id": "a-rather-long-name-of-an-actor-here",
    "title": "Reviewer of all that is said about the parser",
    "role": "foreman",
    "runtime": "claude",
    "runner": "pty",
    "running": True,
    "enabled": True,
    "unread_count": 12,
}
MESSAGE = {
    "v": 1,
    "id": "abcdefghijkl.17",
    "ts": NOON,
    "seq": 17,
    "kind": "chat.message",
    "group_id": "g",
    "scope_key": "",
    "by": "amber-otter",
    "data": {"text": "会議の記録を読むための" * 9 + "\n" + "word " * 40, "to": ["cobalt-harbor", "@foreman"]},
}
SHOWN = {
    "group list": {"groups": [ROW]},
    "actor list": {"actors": [ACTOR]},
    "chat inbox": {"messages": [MESSAGE], "cursor": {}},
    "chat history": {"messages": [MESSAGE], "has_more": True},
    "events": MESSAGE,
    "daemon status": {
        "running": True,
        "responding": True,
        "pid": 7,
        "version": "1",
        "endpoint": "unix:/home/somebody/.cccc/daemon/ccccd.sock",
        "home": "/home/somebody/.cccc",
        "log": "/home/somebody/.cccc/daemon/ccccd.log",
        "groups": [ROW],
        "actors": [{"group_id": "g_0123456789ab", "actor_id": "amber-otter", "runner": "pty"}],
    },
}


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize("command", SHOWN)
def test_a_screen_keeps_within_the_terminal_but_for_what_is_to_be_copied(
    command: str, columns: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(styling, "width", lambda: columns)

    for line in text.format_answer(command, SHOWN[command], "chat"):
        over = styling.display_width(line) > columns
        assert not over or len(line.split("  ")[-1].strip()) > columns // 2, line


def test_every_command_of_these_groups_has_a_form_of_its_own():
    of_groups = {op.words for group in ("group", "actor", "chat", "blob") for op in catalogue.ops_in_group(group)}

    of_attention = (attention, attention_acts, attention_host)
    formed = {*chat.FORMS, *(words for face in of_attention for words in face.FORMS)}
    assert {words for words in of_groups - formed if "template" not in words} == set()
    assert set(chat.FORMS) - of_groups == {"events", *(f"daemon {verb}" for verb in DAEMON)}


DAEMON = ("start", "stop", "status", "logs")


# -- what a newcomer tries


def test_a_notice_shows_the_last_that_the_terminal_showed_and_none_of_its_colours(repo: Scratch):
    context = json.dumps({"terminal_tail": "\n$ make\nerror: \x1b[31mno rule\n"})
    told = repo.bb("chat", "notify", "Look.", "--title", "amber is silent", "--by", "system", "--context", context)
    assert told.status == 0, told.err

    shown = repo.bb("chat", "inbox").out
    assert "    | Look.\n    | $ make\n    | error: " in shown
    assert "no rule" in shown
    assert RAW.isdisjoint(shown)


def test_actors_and_groups_are_stopped_where_no_daemon_runs_them(repo: Scratch):
    (enabled, *_) = [actor["enabled"] for actor in repo.json("actor", "list").data["actors"]]
    assert enabled
    assert repo.json("actor", "stop", "amber").data["actor"]["enabled"] is False
    assert repo.json("group", "stop").data["stopped"] == ["amber", "cobalt", "dusty"]
    assert [actor["enabled"] for actor in repo.json("actor", "list").data["actors"]] == [False] * 3


def test_a_directory_that_is_no_repository_has_its_group_and_takes_it_along_when_it_becomes_one(tmp_path: Path):
    folder = tmp_path / "outside"
    (folder / "deep").mkdir(parents=True)
    there = Scratch(folder, {"BB_NOW": NOON, "CCCC_HOME": str(tmp_path / "home")})
    group = there.json("group", "attach", ".").data["group_id"]
    assert there.bb("actor", "add", "amber", *HEADLESS).status == 0
    deep = Scratch(folder / "deep", there.settings)
    for place in (there, deep):
        assert [actor["id"] for actor in place.json("actor", "list").data["actors"]] == ["amber"]
    assert deep.bb("chat", "send", "Hello", BB_AGENT="amber").status == 0

    there.git("init", "--quiet", ".")
    assert there.bb("init").status == 0
    assert there.json("group", "attach", ".").data["group_id"] == group
    assert [actor["id"] for actor in there.json("actor", "list").data["actors"]] == ["amber"]
    assert "Hello" in there.bb("chat", "inbox").out
    assert [row["group_id"] for row in there.json("group", "list").data["groups"]] == [group]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["actor", "remove"], "pass ACTOR; `bb actor list` shows the ids"),
        (["chat", "reply"], "pass EVENT, the id of a message; `bb chat inbox` shows it"),
        (["chat", "cross", "Hello"], "pass --dst-group-id"),
        (["group", "attach"], "pass PATH"),
    ],
)
def test_a_hint_names_what_is_typed(repo: Scratch, words: list[str], hint: str):
    answer = repo.json(*words)

    assert answer.envelope["error"]["hint"] == hint
    asked = repo.json("call", words[0] + "_" + words[1]) if words[0] == "actor" else None
    assert asked is None or asked.envelope["error"]["hint"] == hint.replace("ACTOR", "`actor_id`")


def test_a_command_may_be_typed_in_one(repo: Scratch):
    for name, *command in (("one", "bash -i 'a b'"), ("two", "bash", "-i", "a b")):
        words = [word for each in command for word in ("--command", each)]
        actor = repo.json("actor", "add", name, *words).data["actor"]
        assert (actor["command"], actor["runtime"]) == (["bash", "-i", "a b"], "custom")
    assert repo.bb("actor", "add", "three", "--command", "bash 'a").status == 2
