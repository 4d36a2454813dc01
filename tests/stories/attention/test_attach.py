"""`bb chat attach`: messages become turns of an agent program, and turns become answers."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.stories.attention.attach_support import AMBER, ANSWER, Attached, line
from tests.waiting import until

SENT = [
    "chat",
    {"tool": "send_message", "arguments": {"inReplyTo": "github:m1", "content": "By tool.", "visibility": "dm"}},
]
SENT[1]["arguments"] |= {"directedness": "to_other", "idempotencyKey": "k1"}  # type: ignore[index]
PERMISSION = {
    "toolCall": {"toolCallId": "c1", "title": "rm -rf build", "kind": "execute"},
    "options": [
        {"optionId": "always", "name": "Always", "kind": "allow_always"},
        {"optionId": "once", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ],
}
ONCE, NO, GONE = [{"outcome": "selected", "optionId": option} for option in ("once", "no")] + [{"outcome": "cancelled"}]


ANOTHER = {"id": "bo-k"}  # a person who is not talking with the agent


def channel(event: str, text: str, *mentions: str, **more: Any) -> dict[str, Any]:
    return line(event, text, {"id": "C1", "kind": "channel"}, target={"mentions": list(mentions)}, **more)


def is_running(pid: int) -> bool:
    """Whether a process runs. One that has ended may wait for a parent that never asks."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# -- answers


def test_a_message_that_must_be_answered_wakes_the_idle_agent_and_its_text_is_the_answer(attached: Attached):
    attached.script([["text", "I look."], ["call", "Read a file"], ["text", "It is "], ["text", "green."]])
    attached.attach()
    attached.until("ready")

    attached.says("m1")

    assert attached.until("answered")["eventId"] == "github:m1"
    assert attached.until("ended") == {
        "event": "ended",
        "eventId": "github:m1",
        "why": "end_turn",
        "answered": True,
        "owed": False,
    }
    assert attached.steps("github:m1") == ["decided", "offered", "accepted", "started", "answered", "ended"]
    assert attached.answers() == ["It is green."], "what it wrote before its last tool call is no answer"
    assert attached.stop(signal.SIGINT)[0] == 130


def test_what_the_agent_sends_with_its_chat_tool_is_the_answer_and_its_text_is_not(attached: Attached):
    attached.script([["tool", SENT], ["text", "I have answered."]])
    attached.attach()

    attached.says("m1")
    attached.until("ended", owed=False)

    assert attached.answers() == ["By tool."]


def test_with_tools_only_the_text_of_a_turn_is_never_sent(attached: Attached):
    attached.script(ANSWER)
    attached.attach("--tools-only")

    attached.says("m1")

    assert attached.until("ended")["owed"] is True
    assert attached.answers() == []
    assert "is shown to nobody" in attached.prompts()[0]


def test_an_answer_goes_where_the_question_stands_to_no_more_readers(attached: Attached):
    attached.script(ANSWER)
    attached.attach()

    attached.ingest(channel("m1", "@amber is the build green?", "amber"))
    attached.until("answered")

    assert attached.answers("C1") == ["It is green."]
    assert "inReplyTo=github:m1, visibility=channel, directedness=to_other" in attached.prompts()[0]


def test_thoughts_and_tool_calls_never_become_messages(attached: Attached):
    attached.script([["think", "a secret plan"], ["call", "Read a file"]])
    attached.attach()

    attached.says("m1")

    assert attached.until("ended")["owed"] is True
    assert attached.answers() == []


@pytest.mark.parametrize("why", ["max_tokens", "max_turn_requests"])
def test_an_answer_that_the_agent_could_not_finish_says_so(attached: Attached, why: str):
    attached.script([["text", "It is"], ["stop", why]])
    attached.attach()

    attached.says("m1")
    attached.until("ended", why=why)

    assert attached.answers() == ["It is\n\n(The answer ends here: the agent reached its limit.)"]


def test_an_answer_that_is_too_long_for_a_message_is_cut_and_says_so(attached: Attached):
    attached.script([["text", "word " * 30_000]])
    attached.attach()

    attached.says("m1")

    assert attached.until("ended")["owed"] is False
    (answer,) = attached.answers()
    assert answer.endswith("\n\n(The answer ends here: the agent reached its limit.)")


def test_a_refusal_of_the_model_is_told_to_the_author(attached: Attached):
    attached.script([["text", "No."], ["stop", "refusal"]], ANSWER)
    attached.attach()

    attached.says("m1")
    attached.until("ended", why="refusal")
    found = attached.bb("chat", "show", "github:m1", "--agent", AMBER)
    attached.says("m2")
    attached.until("ended", eventId="github:m2")

    (reaction,) = [step["about"] for step in found["steps"] if step["step"] == "reacted"]
    assert (found["disposition"], reaction["signal"]) == ("ignored", "declined")
    assert all("C2A RESPONSE RULES" in prompt for prompt in attached.prompts()), "it forgets what it has refused"


def test_an_error_fails_the_turn_which_is_tried_three_times_in_all(attached: Attached):
    attached.script([["error", {"code": 429, "message": "slow \x1b[31mdown"}]])
    attached.attach()

    attached.says("m1")
    fails = [attached.until("failed") for _ in range(3)]

    assert fails[0]["why"] == 'the agent reports "slow \\x1b[31mdown" (429)'
    until(lambda: "gave_up" in attached.steps("github:m1"))
    assert len(attached.prompts()) == 3


# -- what wakes an agent


def test_what_it_need_not_answer_waits_for_the_next_prompt(attached: Attached):
    attached.script(ANSWER)
    attached.attach()
    attached.ingest(
        channel("c1", "@amber is it green?", "amber", conversation={"id": "C1", "kind": "channel", "threadId": "T"})
    )
    attached.until("ended", eventId="github:c1")

    attached.ingest(
        channel("c2", "fine here", author=ANOTHER, conversation={"id": "C1", "kind": "channel", "threadId": "T"})
    )
    assert attached.until("delivered", eventId="github:c2")["startsTurn"] is False
    attached.says("m1")
    attached.until("ended", eventId="github:m1")

    first, second = attached.prompts()
    assert "C2A RESPONSE RULES" in first
    assert "C2A RESPONSE RULES" not in second, "the rules stand once in a session"
    assert second.index("C2A KNOCK\nevent_id: github:c2") < second.index("C2A EVENT\nevent_id: github:m1")


def test_with_wake_may_it_gets_a_turn(attached: Attached):
    attached.script(ANSWER)
    attached.attach("--wake", "may")
    where = {"id": "C1", "kind": "channel", "threadId": "T"}
    attached.ingest(channel("c1", "@amber is it green?", "amber", conversation=where))
    attached.until("ended", eventId="github:c1")

    attached.ingest(channel("c2", "fine here", author=ANOTHER, conversation=where))

    assert attached.until("delivered", eventId="github:c2")["startsTurn"] is True
    attached.until("ended", eventId="github:c2")
    assert attached.answers("C1") == ["It is green."], "what need not be answered is answered by tool or not at all"


def test_a_message_to_its_role_wakes_the_agent_that_is_asked_first(attached: Attached):
    attached.script(ANSWER)
    attached.attach()

    attached.ingest(channel("c1", "@backend can someone look?", "@backend"))

    assert attached.until("delivered", eventId="github:c1")["startsTurn"] is True


def test_two_agents_do_not_answer_each_other_for_ever(attached: Attached):
    attached.script(ANSWER)
    attached.attach()
    attached.bb("agent", "register", "--name", "blue-heron", "--role", "builder")

    to_amber = ["--recipient", AMBER, "--visibility", "dm", "--directedness", "to_me", "--idempotency-key", "k"]
    attached.bb("chat", "send", "Is the build green?", "--agent", "blue-heron", *to_amber)
    sent = attached.until("answered")["messageId"]

    found = attached.bb("chat", "show", sent, "--agent", "blue-heron")
    assert (found["policy"], found["reason"], found["injection"]) == ("may_respond", "direct_message", "notify")


# -- changes during a turn


def test_an_edit_cancels_the_turn_and_the_new_text_is_the_next_prompt(attached: Attached):
    attached.script([["wait", True]], ANSWER)
    attached.attach()
    attached.says("m1", "Is main green?")
    attached.until("started")

    said = line("m1", "Is dev green?", {"id": "D1", "kind": "dm"}, target={"recipient": "amber"})
    attached.ingest(said | {"type": "edit", "version": 2})
    attached.until("cancelled")
    attached.until("ended", owed=False)

    assert ["Is main green?" in prompt for prompt in attached.prompts()] == [True, False]
    assert "Is dev green?" in attached.prompts()[1]
    assert len(attached.heard("session/cancel")) == 1


def test_a_deletion_cancels_the_turn_and_nothing_is_answered(attached: Attached):
    attached.script([["text", "It is"], ["wait", True]])
    attached.attach()
    attached.says("m1")
    attached.until("started")

    where = {"id": "D1", "kind": "dm"}
    attached.ingest({"type": "delete", "eventId": "m1", "source": {"platform": "github"}, "conversation": where})
    attached.until("cancelled")
    attached.says("m2")

    until(lambda: len(attached.prompts()) == 2)
    assert "event_id: github:m2" in attached.prompts()[1]
    assert attached.answers() == []


def test_an_urgent_message_interrupts_and_the_interrupted_one_comes_back(attached: Attached):
    attached.script([["wait", True]], ANSWER)
    attached.attach()
    attached.says("m1")
    attached.until("started")

    attached.says("m2", "Production is down!", attention={"priority": "urgent"}, priority="urgent")
    attached.until("cancelled", eventId="github:m1")
    attached.until("ended", eventId="github:m2")
    attached.until("ended", eventId="github:m1", owed=False)

    assert ["event_id: github:m1" in prompt for prompt in attached.prompts()] == [True, False, True]


# -- hung and broken programs


def test_a_silent_turn_is_cancelled_when_its_lease_ends_and_tried_again(attached: Attached):
    attached.script([["wait", True]], ANSWER)
    attached.attach("--lease", "1")
    attached.says("m1")

    attached.until("lapsed")
    attached.until("cancelled")

    assert attached.until("ended")["owed"] is False
    assert attached.answers() == ["It is green."]


def test_a_program_that_dies_is_started_again_and_gets_the_message_again(attached: Attached):
    attached.script([["stderr", "out of memory"], ["die", 3]])
    attached.attach()
    attached.says("m1")

    attached.until("failed")
    told = attached.until("restarting")
    attached.script(ANSWER)
    attached.until("ended", owed=False)

    assert (told["status"], told["stderr"]) == (3, ["out of memory"])
    assert attached.answers() == ["It is green."]


def test_its_session_is_loaded_if_it_can_do_that_and_old_answers_are_not_sent_again(attached: Attached):
    can = {"result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}}
    attached.script([["die", 1]], greeting=can)
    attached.attach()
    attached.says("m1")
    attached.until("restarting")

    attached.script(ANSWER, greeting=can)

    assert attached.until("ready")["loaded"] is True
    attached.until("ended", owed=False)
    assert [params["sessionId"] for params in attached.heard("session/load")] == ["s1"]
    assert attached.answers() == ["It is green."]


@pytest.mark.long
def test_a_program_that_keeps_ending_is_given_up_with_its_last_words(attached: Attached):
    attached.script([["stderr", "no licence"], ["die", 3]])
    attached.attach()
    attached.says("m1")
    for number in range(2, 7):
        attached.until("restarting")
        attached.says(f"m{number}")

    status, refusal = attached.end()

    assert status == 4
    assert refusal
    assert refusal["error"]["code"] == "AGENT_KEEPS_ENDING"
    assert refusal["error"]["details"]["stderr"][-1] == "no licence"


@pytest.mark.parametrize(
    "noise",
    [
        ["raw", "not json\n"],
        ["raw", "\x00\x1b]0;title\x07\n"],
        ["raw", "[]\n"],
        ["raw", '{"jsonrpc":"2.0","id":99,"result":{}}\n'],
        ["raw", '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":7}}\n'],
        ["raw", '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":{}}}\n'],
        ["flood", 3_000_000],
    ],
)
def test_a_line_that_is_no_message_is_ignored(attached: Attached, noise: list[Any]):
    attached.script([noise, *ANSWER])
    attached.attach()
    attached.says("m1")

    attached.until("ended", owed=False)

    assert attached.answers() == ["It is green."]


def test_a_line_without_an_end_ends_the_program_and_not_bb(attached: Attached):
    attached.script([["raw", "x" * 17_000_000]])
    attached.attach()
    attached.says("m1")

    attached.until("restarting")
    attached.script(ANSWER)

    attached.until("ended", owed=False)


def test_files_and_terminals_are_not_offered_and_a_request_for_one_is_answered_so(attached: Attached):
    attached.script(
        [["request", {"method": "fs/read_text_file", "params": {"sessionId": "s1", "path": "/etc/passwd"}}]]
    )
    attached.attach()
    attached.says("m1")
    attached.until("ended")

    (found,) = attached.answers()
    (capabilities,) = [params["clientCapabilities"] for params in attached.heard("initialize")]
    assert '"code": -32601' in found
    assert capabilities == {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}


# -- permissions


@pytest.mark.parametrize(("policy", "outcome"), [("allow", ONCE), ("deny", NO)])
def test_a_policy_decides_with_the_smallest_permission(attached: Attached, policy: str, outcome: dict[str, str]):
    attached.script([["ask", PERMISSION]])
    attached.attach("--permissions", policy)
    attached.says("m1")
    attached.until("ended")

    (text,) = attached.answers()
    assert text == str(outcome).replace("'", '"')


@pytest.mark.parametrize(("refuse", "outcome"), [((), ONCE), (("--refuse",), NO)])
def test_without_a_terminal_the_person_is_asked_in_the_ledger(
    attached: Attached, refuse: tuple[str, ...], outcome: dict[str, str]
):
    attached.script([["ask", PERMISSION]])
    attached.attach()
    attached.says("m1")

    request = attached.until("permission_asked")["confirmation"]
    (waiting,) = attached.bb("chat", "confirmations")["confirmations"]
    assert (waiting["id"], waiting["kind"], waiting["text"]) == (request, "tool", "rm -rf build")
    attached.bb("chat", "confirm", request, *refuse)
    attached.until("ended")

    assert attached.answers() == [str(outcome).replace("'", '"')]
    assert attached.bb("chat", "confirmations")["confirmations"] == []


def test_a_yes_in_the_chat_lets_no_tool_run(attached: Attached):
    attached.script([["ask", PERMISSION]])
    attached.attach()
    attached.says("m1")
    request = attached.until("permission_asked")["confirmation"]

    attached.says("m2", "yes")

    assert [each["id"] for each in attached.bb("chat", "confirmations")["confirmations"]] == [request]


def test_a_request_that_nobody_waits_for_any_more_is_withdrawn(attached: Attached):
    attached.script([["ask", PERMISSION]])
    attached.attach()
    attached.says("m1")
    attached.until("permission_asked")

    attached.stop(signal.SIGTERM)

    assert attached.bb("chat", "confirmations")["confirmations"] == []
    assert attached.answers() == [], "the text of a cancelled turn is no answer"


@pytest.mark.parametrize(
    ("title", "kind", "is_allowed"),
    [
        ("chat (bb MCP Server)", "other", True),
        ("bb_chat", "other", True),
        ("mcp__bb__inbox", "", True),
        ("chat (bb MCP Server)", "execute", False),
        ("chat (bb MCP Server); rm -rf /", "other", False),
    ],
)
def test_bbs_own_tools_are_always_allowed_and_nothing_that_only_looks_like_one(
    attached: Attached, title: str, kind: str, is_allowed: bool
):
    call = {"toolCallId": "c1", "title": title, **({"kind": kind} if kind else {})}
    attached.script([["ask", PERMISSION | {"toolCall": call}]])
    attached.attach("--permissions", "deny")
    attached.says("m1")
    attached.until("ended")

    assert attached.answers() == [str(ONCE if is_allowed else NO).replace("'", '"')]


# -- the end, and the next run


def test_the_turn_that_an_end_cancels_is_repeated_by_the_next_run_and_answered_once(attached: Attached):
    attached.script([["wait", True]])
    attached.attach()
    attached.says("m1")
    attached.until("started")
    status, _ = attached.stop(signal.SIGINT)
    attached.close()

    attached.script(ANSWER)
    attached.attach()
    attached.until("ended", owed=False)

    assert status == 130
    assert attached.answers() == ["It is green."]


def test_so_is_the_turn_of_a_run_that_was_killed(attached: Attached):
    attached.script([["child", None], ["wait", True]])
    attached.attach()
    attached.says("m1")
    attached.until("started")
    attached.stop(signal.SIGKILL)
    attached.close()

    attached.script(ANSWER)
    attached.attach()
    attached.until("ended", owed=False)

    assert attached.steps("github:m1").count("started") == 2
    assert attached.answers() == ["It is green."]


def test_what_was_answered_is_not_answered_by_the_next_run(attached: Attached):
    attached.script(ANSWER)
    attached.attach()
    attached.says("m1")
    attached.until("ended")
    attached.stop(signal.SIGTERM)
    attached.close()

    attached.script([["text", "It is red."]])
    attached.attach()
    attached.until("ready")
    attached.says("m2")
    attached.until("ended", eventId="github:m2")

    assert attached.answers() == ["It is green.", "It is red."]


@pytest.mark.parametrize("obeys", [True, pytest.param(False, marks=pytest.mark.long)])
def test_the_end_of_bb_ends_the_program_and_what_it_has_started(attached: Attached, obeys: bool):
    attached.script([["child", None], ["call", "Watch"], ["wait", obeys]])
    attached.attach()
    attached.says("m1")
    pid = attached.until("starting")["pid"]
    attached.until("working")
    child = int((attached.folder / "child").read_text())
    groups = os.getpgid(pid), os.getpgid(child)

    status, _ = attached.stop(signal.SIGTERM)

    assert (status, groups) == (0, (pid, pid)), "it has a process group of its own"
    assert not is_running(pid)
    until(lambda: not is_running(child))


# -- refusals


def refusal_of(attached: Attached, *options: str, program: list[str] | None = None) -> tuple[int, str, str, str]:
    attached.attach(*options, program=program)
    status, found = attached.end()
    assert found, attached.told
    error = found["error"]
    return status, error["code"], error["message"], error.get("hint", "")


def test_a_command_that_does_not_exist(attached: Attached):
    status, code, message, _ = refusal_of(attached, program=["no-such-agent"])

    assert (status, code, message) == (3, "AGENT_COMMAND_NOT_FOUND", "no-such-agent was not found")


def test_a_command_that_is_no_program(attached: Attached, tmp_path: Path):
    (tmp_path / "plain").write_text("x")

    assert refusal_of(attached, program=[str(tmp_path / "plain")])[:2] == (4, "AGENT_NOT_STARTED")


def test_a_program_that_ends_at_once(attached: Attached):
    program = [sys.executable, "-c", "import sys; print('unknown option: --acp', file=sys.stderr); sys.exit(2)"]

    status, code, message, hint = refusal_of(attached, program=program)

    assert (status, code) == (4, "NOT_AN_ACP_AGENT")
    assert message.endswith('ended with status 2 before it opened a session: "unknown option: --acp"')
    assert "--acp" in hint


def test_no_command(attached: Attached):
    found = attached.repo.json("chat", "attach", "--agent", AMBER)

    assert (found.status, found.code) == (2, "NO_AGENT_COMMAND")


def test_an_agent_that_has_a_harness_gets_no_second_one(attached: Attached):
    attached.script(ANSWER)
    attached.attach()
    attached.says("m1")
    attached.until("ended")

    found = attached.repo.bb("chat", "attach", "--json", "--agent", AMBER, "--", "true")

    assert (found.status, found.code) == (6, "HARNESS_CONNECTED")
    attached.stop(signal.SIGKILL)
    again = attached.repo.bb("chat", "attach", "--json", "--agent", AMBER, "--", "true")
    assert "NOT_AN_ACP_AGENT" in again.out, "the mark of a process ends with it"


def test_an_agent_that_is_not_registered(attached: Attached):
    found = attached.repo.bb("chat", "attach", "--json", "--agent", "blue-heron", "--", "true")

    assert (found.status, found.code) == (3, "UNKNOWN_AGENT")


@pytest.mark.parametrize(
    ("greeting", "code"),
    [
        ({"result": {"protocolVersion": 2}}, "ACP_VERSION"),
        ({"result": {}}, "NOT_AN_ACP_AGENT"),
        ({"result": None}, "NOT_AN_ACP_AGENT"),
        ({"error": {"code": -32601, "message": "no such method"}}, "NOT_AN_ACP_AGENT"),
    ],
)
def test_a_program_that_speaks_something_else(attached: Attached, greeting: dict[str, Any], code: str):
    attached.script(greeting=greeting)

    assert refusal_of(attached)[:2] == (4, code)


def test_a_program_without_a_login_is_refused_with_how_to_log_in(attached: Attached):
    methods = [
        {"id": "login", "name": "Log in with Acme", "description": "opens a browser"},
        {"id": "term", "name": "In a terminal", "type": "terminal", "args": ["auth", "login"]},
    ]
    attached.script(
        greeting={"result": {"protocolVersion": 1, "authMethods": methods}},
        **{"session/new": {"error": {"code": -32000, "message": "Authentication required"}}},
    )

    status, code, _, hint = refusal_of(attached)

    assert (status, code) == (4, "AGENT_NEEDS_LOGIN")
    assert '"Log in with Acme" ("opens a browser")' in hint
    assert "auth login`" in hint
