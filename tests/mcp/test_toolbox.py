"""What the tools do: what their ops do, for whoever asks, and with refusals that say as much as everywhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.mcp import answers, hints, tool_calls, tool_list
from bb.mcp.tool_calls import Toolbox
from bb.ops import catalogue
from tests.mcp.mcp_support import AMBER, COBALT, Here, call, code, got
from tests.support import ROOT, environment

HANDOFF = {"to": COBALT, "bead": "bb-1", "subject": "Parser", "summary": "All but dates.", "next_action": "Dates."}


# -- a day's work


def test_two_agents_share_a_repository_by_tools_alone(here: Here):
    amber, cobalt = here.toolbox(AMBER), here.toolbox(COBALT)
    got(amber, "session", role="builder")
    got(cobalt, "session", role="reviewer")

    assert got(amber, "check", path=["src/parser.py"])["paths"][0]["verdict"] == "free"
    assert got(amber, "reserve", scope=["src/parser.py"], bead="bb-1")["state"] == "active"
    assert code(cobalt, "reserve", scope=["src"], bead="bb-2") == "RESERVATION_CONFLICT"
    assert code(cobalt, "check", path=["src/parser.py"]) == "PATH_HELD"
    passed = got(amber, "hand_over", kind="HANDOFF", **HANDOFF)
    assert got(amber, "release", all=True)["state"] == "released"

    told = got(cobalt, "session")
    assert told["to_accept"][0]["id"] == passed["id"]
    assert told["next"][0] == {
        "tool": "acknowledge",
        "arguments": {"message": passed["id"], "as": "accepted"},
        "why": f"{AMBER} asks you to accept this or say why not.",
    }
    first = told["next"][0]
    assert call(cobalt, first["tool"], **first["arguments"]).data["state"] == "acked"
    got(cobalt, "reserve", scope=["src/parser.py"], bead="bb-1")
    blocked = {
        "to": "user",
        "bead": "bb-1",
        "subject": "Dates",
        "blocker": "Two formats.",
        "requested_action": "Choose.",
    }
    assert got(cobalt, "hand_over", kind="BLOCKED", urgency="low", **blocked)["event_type"] == "BLOCKED"
    got(cobalt, "send", to=AMBER, bead="bb-1", category="INFO", subject="Took it", body="Mine now.")
    (letter,) = got(amber, "inbox", state="unread")["items"]
    assert letter["body"] == "Mine now."
    assert got(amber, "acknowledge", message=letter["message_id"], as_="seen")["state"] == "read"
    assert [held["agent_id"] for held in got(amber, "status")["reservations"]] == [COBALT]


def test_a_session_is_told_its_news_once_whether_by_this_tool_or_by_the_command(both: Here):
    box = both.toolbox(COBALT)
    got(box, "session")
    passed = got(both.toolbox(AMBER), "hand_over", kind="HANDOFF", **HANDOFF)
    news = {"to_accept": [{"id": passed["id"], "from": AMBER, "category": "HANDOFF", "subject": "Parser"}]}

    assert got(box, "session")["news"] == news
    assert "news" not in got(box, "session")
    assert both.repo.json("turn", "--agent", COBALT).data == {}
    assert both.repo.json("turn", "--agent", COBALT, "--all").data == news


def test_news_that_does_not_fit_is_counted_and_the_hint_is_a_tool(both: Here):
    for number in range(20):
        got(both.toolbox(AMBER), "send", to=COBALT, bead="bb-1", category="INFO", subject=f"{number} " * 40, body="x")

    news = got(both.toolbox(COBALT), "session")["news"]

    assert news["more"] == {"unread": 20 - len(news["unread"])}
    assert news["hint"] == "`session`"


def test_what_a_tool_answers_is_what_the_command_answers(both: Here):
    both.repo.json("agent", "reserve", "--agent", AMBER, "--scope", "src", "--bead", "bb-1")
    box = both.toolbox(COBALT)

    assert got(box, "status") == {"untrusted": True, **both.repo.json("status").data}
    assert got(box, "inbox") == {"untrusted": True, "items": both.repo.json("agent", "inbox", "--agent", COBALT).data}


def test_a_refusal_has_the_code_the_message_and_the_details_of_the_command(both: Here):
    both.repo.json("agent", "reserve", "--agent", AMBER, "--scope", "src", "--bead", "bb-1")

    told = call(both.toolbox(COBALT), "check", path=["src/a"])
    typed = both.repo.bb("check", "src/a", "--agent", COBALT, "--json").envelope["error"]

    assert told.is_error
    assert told.data | {"hint": typed["hint"]} == typed  # which names tools instead of commands


def test_what_is_not_listed_is_taken_all_the_same(both: Here):
    box = both.toolbox(AMBER)
    letter = {"to": COBALT, "bead": "bb-1", "category": "INFO", "subject": "Hello", "body": "-"}

    first = got(box, "send", key="once", **letter)
    again = got(box, "send", key="once", **letter)

    assert first["message_id"] == again["message_id"]
    assert first["body"] == "-"  # nobody types here, so nothing is read from anywhere
    assert code(box, "send", nonsense=1, **letter) == "UNKNOWN_FIELD"


# -- who asks


def test_whoever_is_new_is_registered_once_and_keeps_its_role(here: Here):
    box = here.toolbox(AMBER)

    assert got(box, "session", role="builder")["role"] == "builder"
    assert got(box, "session", role="tester")["role"] == "builder"
    assert got(box, "session")["liveness"] == "active"


def test_whoever_has_no_name_is_offered_a_free_one(both: Here):
    answer = call(both.toolbox(), "session")

    assert answer.data["code"] == "NO_AGENT"
    assert "for example agent " in answer.data["hint"]


def test_whoever_is_unknown_and_says_no_role_is_not_registered(both: Here):
    assert code(both.toolbox("dusty-wren"), "session") == "AGENT_NOT_FOUND"
    assert code(both.toolbox("dusty-wren"), "reserve", scope=["a"], bead="bb-1") == "AGENT_NOT_FOUND"


def test_a_server_that_knows_nobody_is_told_with_each_call(both: Here):
    box = both.toolbox()

    assert got(box, "reserve", agent=AMBER, scope=["src"], bead="bb-1")["agent_id"] == AMBER
    assert got(box, "send", from_=AMBER, to=COBALT, bead="bb-1", category="INFO", subject="s", body="b")
    for name, given in {
        "reserve": {"scope": ["x"], "bead": "bb-1"},
        "send": {"to": COBALT, "bead": "bb-1", "category": "INFO", "subject": "s", "body": "b"},
        "inbox": {},
        "chat": {"tool": "list_events"},
        "chat_list_events": {},
    }.items():
        answer = call(box, name, **given)
        assert answer.data["code"].upper() == "NO_AGENT", name
        assert '"from"' in answer.data["hint"] if name == "send" else '"agent"' in answer.data["hint"]


def test_nobody_acts_for_another_through_a_server_that_acts_for_one(both: Here):
    box = both.toolbox(AMBER)

    assert code(box, "reserve", agent=COBALT, scope=["src"], bead="bb-1") == "NOT_YOUR_NAME"
    assert code(box, "chat_list_events", agent=COBALT) == "not_your_name"
    assert code(box, "chat", agent=COBALT, tool="list_events") == "not_your_name"
    assert got(box, "reserve", agent=AMBER, scope=["src"], bead="bb-1")["agent_id"] == AMBER


def test_no_agent_acts_as_the_person(both: Here):
    both.repo.json("agent", "reserve", "--agent", AMBER, "--scope", "src", "--bead", "bb-1")
    letter = {"to": AMBER, "bead": "bb-1", "category": "INFO", "subject": "s", "body": "b"}

    for box in (both.toolbox(), both.toolbox(COBALT)):
        assert code(box, "release", agent="user", all=True) == "NOT_YOUR_NAME"
        assert code(box, "send", from_="user", **letter) == "NOT_YOUR_NAME"
        assert code(box, "inbox", agent="user") == "NOT_YOUR_NAME"
        assert code(box, "chat_list_events", agent="user") == "not_your_name"
    assert len(both.repo.json("agent", "status").data["reservations"]) == 1


@pytest.mark.parametrize("named", ["user", "not an id", "system"])
def test_a_server_that_is_told_to_act_for_no_agent_acts_for_nobody_and_says_so(
    both: Here, named: str, capsys: pytest.CaptureFixture[str]
):
    both.repo.json("agent", "reserve", "--agent", AMBER, "--scope", "src", "--bead", "bb-1")
    letter = {"to": AMBER, "bead": "bb-1", "category": "INFO", "subject": "s", "body": "b"}
    before = [event["by"] for event in both.repo.json("ledger", "log").data].count("user")

    box = both.toolbox(named)

    assert box.agent is None
    assert "BB_AGENT is not an agent id" in capsys.readouterr().err
    for name, given in {
        "session": {},
        "inbox": {},
        "release": {"all": True},
        "reserve": {"scope": ["x"], "bead": "bb-1"},
        "send": letter,
        "acknowledge": {"message": "a.1", "as": "seen"},
        "chat": {"tool": "list_events"},
        "chat_list_events": {},
    }.items():
        caller = "from" if name == "send" else "agent"
        assert code(box, name, **given).upper() == "NO_AGENT", name
        assert code(box, name, **given, **{caller: "user"}).upper() == "NOT_YOUR_NAME", name
    assert got(box, "send", from_=COBALT, **letter)["from_agent"] == COBALT
    assert [event["by"] for event in both.repo.json("ledger", "log").data].count("user") == before


def test_what_c2a_can_do_is_told_under_either_name(both: Here):
    told = [got(both.toolbox(AMBER), name) for name in ("chat_capabilities", "chat.capabilities")]

    assert told[0] == told[1]
    assert both.toolbox(AMBER).has("chat.capabilities")


def test_looking_is_no_sign_of_life_and_acting_is(both: Here):
    later = both.toolbox(AMBER, BB_NOW="2026-01-05T12:20:00Z")

    got(later, "inbox")
    got(later, "status")
    assert got(later, "status")["agents"][0]["liveness"] == "stale"
    got(later, "session")
    alive = {each["agent_id"]: each["liveness"] for each in got(later, "status")["agents"]}
    assert alive == {AMBER: "active", COBALT: "stale"}


def test_tools_ask_for_a_name_only_where_the_session_does_not_tell_it(both: Here):
    def asking(box: Toolbox, client: str = "") -> set[str]:
        listed = answers.tools(box, client)["tools"]
        return {tool["name"] for tool in listed if {"agent", "from"} & set(tool["inputSchema"]["properties"])}

    everything = {tool.name for tool in tool_list.MENU}
    session = {"CLAUDE_CODE_SESSION_ID": "one"}
    env = environment(**both.repo.settings, **session)
    started = Toolbox(str(both.repo.path), env, lambda *_: None, is_hosts_child=True)

    assert asking(both.toolbox(AMBER)) == set()
    assert asking(both.toolbox()) >= everything - {"status"}
    assert asking(both.toolbox(), "codex-mcp-client") == asking(started, "claude-code") == {"session"}
    assert asking(started, "cursor-vscode") == asking(both.toolbox())
    assert asking(both.toolbox(**session)) == asking(both.toolbox()), "a server on a port is in no session"


# -- what is wrong


@pytest.mark.parametrize("name", [shown.name for shown in tool_list.MENU])
def test_where_there_is_no_ledger_every_tool_refuses_and_none_makes_one(here: Here, name: str):
    given = {
        "check": {"path": ["x"]},
        "reserve": {"scope": ["x"], "bead": "bb-1"},
        "release": {"all": True},
        "hand_over": {"kind": "HANDOFF", **HANDOFF},
        "send": {"to": COBALT, "bead": "bb-1", "category": "INFO", "subject": "s", "body": "b"},
        "acknowledge": {"message": "a.1", "as": "seen"},
        "chat": {"tool": "list_events"},
    }.get(name, {})

    answer = here.toolbox(AMBER).call(name, given)

    if name == "check":  # where nothing is managed, everything is free
        assert answer.data["is_managed"] is False
    else:
        assert answer.data["code"].upper() in ("NOT_INITIALIZED", "AGENT_NOT_FOUND", "UNKNOWN_SENDER")
    assert not here.repo.store.exists()
    assert not here.bugs


@pytest.mark.parametrize("name", [shown.name for shown in tool_list.MENU])
def test_outside_a_repository_and_nowhere_at_all_a_call_is_refused(here: Here, tmp_path: Path, name: str):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    given = {"check": {"path": ["x"]}, "chat": {"tool": "list_events"}}.get(name, {})

    outside = here.toolbox(AMBER, elsewhere).call(name, given)
    nowhere = here.toolbox(AMBER, tmp_path / "gone").call(name, given)

    assert outside.is_error
    assert nowhere.data["code"].upper() == "NO_SUCH_DIRECTORY"
    assert not here.bugs


@pytest.mark.parametrize("name", [shown.name for shown in tool_list.MENU if shown.ops])
@pytest.mark.parametrize("value", [5, "x", {}, [[]], {"a": 1}, True, None, "\ud800", "\x1b[2J", "x" * 2_000_000])
def test_a_wrong_value_is_refused_and_nothing_breaks(both: Here, name: str, value: object):
    properties = [p.name for op in tool_list.BY_NAME[name].ops.values() for p in catalogue.find(op).parameters]
    box = both.toolbox(AMBER)

    for each in dict.fromkeys([tool_list.BY_NAME[name].chooses or "path", *properties]):
        answer = box.call(name, {each: value})
        assert answer.data, each
        assert len(str(answer.data)) < 200_000, each
    assert not both.bugs


@pytest.mark.parametrize(
    ("name", "given", "refused"),
    [
        ("check", {}, "MISSING_OPTION"),
        ("check", {"paths": ["x"]}, "UNKNOWN_FIELD"),
        ("reserve", {"scopes": ["x"]}, "UNKNOWN_FIELD"),
        ("reserve", {"bead": "bb-1"}, "MISSING_OPTION"),
        ("hand_over", {}, "INVALID_VALUE"),
        ("hand_over", {"kind": "HANDOFF", "blocker": "x", **HANDOFF}, "UNKNOWN_FIELD"),
        ("hand_over", {"kind": ["HANDOFF"], **HANDOFF}, "INVALID_VALUE"),
        ("acknowledge", {"message": "a.1"}, "INVALID_VALUE"),
        ("acknowledge", {"message": "a.1", "as": "read"}, "INVALID_VALUE"),
        ("chat", {}, "invalid_value"),
        ("chat", {"tool": "fly"}, "unknown_tool"),
        ("chat", {"tool": "list_events", "arguments": []}, "usage"),
    ],
)
def test_a_mistake_is_named(both: Here, name: str, given: dict[str, object], refused: str):
    assert code(both.toolbox(AMBER), name, **given) == refused
    assert not both.bugs


def test_a_role_that_is_none_registers_nobody(both: Here):
    box = both.toolbox("dusty-wren")

    assert code(box, "session", role=5) == "INVALID_VALUE"
    assert code(box, "session", role=" ") == "INVALID_ROLE"
    assert code(box, "session") == "AGENT_NOT_FOUND"


def test_hints_name_arguments_where_they_would_name_options(both: Here):
    both.repo.json("agent", "reserve", "--agent", AMBER, "--scope", "src/a", "--bead", "bb-1")

    conflict = call(both.toolbox(COBALT), "reserve", scope=["src"], bead="bb-2").data

    assert conflict["hint"].endswith("`reserve` with scope src, queue, bead bb-2")
    assert "--" not in conflict["hint"]
    assert call(both.toolbox(AMBER), "release", all="x").data["hint"] == tool_calls.LISTED


def test_hints_name_tools_where_they_would_name_commands(both: Here):
    both.repo.json("agent", "reserve", "--agent", AMBER, "--scope", "src", "--bead", "bb-1")
    box, stranger = both.toolbox(COBALT), both.toolbox("dusty-wren")

    assert call(stranger, "reserve", scope=["a"], bead="bb-1").data["hint"] == (
        "list the agents: `status`; register one: `session` with role ROLE"
    )
    assert call(box, "release", scope=["src"]).data["hint"] == (
        "ask the holder to release it: `send` with to HOLDER, body 'TEXT'"
    )
    assert call(box, "acknowledge", message="a.1", as_="seen").data["hint"] == "list the ids: `inbox`"
    assert "`reserve` with scope src/a, queue" in call(box, "check", path=["src/a"]).data["hint"]


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("`bb protocol handoff --to AGENT` does", "`hand_over` with kind HANDOFF, to AGENT does"),
        ("run `bb chat claim EVENT`, then answer", "run `chat` with tool claim, then answer"),
        ("`bb agent ack`, or `bb agent read`", "`acknowledge` with as accepted, or `acknowledge` with as seen"),
        ("`bb check --help` shows how", "`tools/list` shows how"),
        ("run `bb doctor --fix`, with --wait", "run `bb doctor --fix`, with wait"),
        ("`bb agent statuses`", "`bb agent statuses`"),
        ("`bb send HOLDER 'text'`", "`send` with to HOLDER, body 'text'"),
        ("`bb inbox --state unread`", "`inbox` with state unread"),
        ("`bb reserve a b --queue`", "`reserve` with scope a, scope b, queue"),
    ],
)
def test_a_quoted_command_becomes_the_tool_that_stands_for_it_if_there_is_one(typed: str, told: str):
    assert hints.for_tools(typed) == told


def test_every_op_that_a_tool_covers_is_one():
    for shown in tool_list.MENU:
        assert all(catalogue.find(name).name == name for name in shown.covers)


def test_a_bug_is_told_and_the_next_call_is_answered(both: Here, monkeypatch: pytest.MonkeyPatch):
    box = both.toolbox(AMBER)
    with monkeypatch.context() as broken:
        broken.setattr(Toolbox, "_op", lambda *_: 1 / 0)
        answer = call(box, "status")

    assert (answer.is_error, answer.data["code"]) == (True, "INTERNAL_ERROR")
    assert [(what, type(error)) for what, error in both.bugs] == [("status", ZeroDivisionError)]
    assert got(box, "status")


def test_every_code_that_is_ours_alone_is_documented():
    page = (ROOT / "docs" / "errors.md").read_text()

    for name in ("NOT_YOUR_NAME", "NO_SUCH_DIRECTORY", "PORT_TAKEN", "MCP_NAME_TAKEN", "STDOUT_IS_TAKEN"):
        assert f"`{name}`" in page
