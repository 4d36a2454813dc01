"""The Agent Client Protocol as a client needs it: what is sent, and what becomes of whatever the agent sends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.errors import BbError
from bb.wire import acp
from bb.wire.acp_client import (
    CANCELLING,
    GREETING,
    IDLE,
    OPENING,
    PROMPTING,
    AcpClient,
    Asked,
    Ended,
    Event,
    Ready,
    TurnFailed,
    Unreadable,
    Worked,
)

OPTIONS = [
    {"optionId": "a", "name": "Always", "kind": "allow_always"},
    {"optionId": "o", "name": "Once", "kind": "allow_once"},
    {"optionId": "n", "name": "Never", "kind": "reject_always"},
]


class Line:
    """A client, and what it has sent."""

    def __init__(self, session: str = "") -> None:
        self.sent: list[dict[str, Any]] = []
        servers = [acp.server("bb", "/bin/bb", ["mcp"], {"BB_AGENT": "a"})]
        self.client = AcpClient(lambda octets: self.sent.append(json.loads(octets)), ["agent"], "/r", servers, session)

    def hears(self, **message: Any) -> list[Event]:
        return list(self.client.take(json.dumps({"jsonrpc": "2.0", **message}).encode()))

    def answers(self, **members: Any) -> list[Event]:
        """The answer to the last request."""
        return self.hears(id=[each["id"] for each in self.sent if "method" in each and "id" in each][-1], **members)

    def updates(self, **update: Any) -> list[Event]:
        return self.hears(method="session/update", params={"sessionId": "s", "update": update})

    def writes(self, text: str, **more: Any) -> None:
        self.updates(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text}, **more)

    def asks(self, **more: Any) -> list[Event]:
        call = {"toolCallId": "c", "title": "rm"}
        params = {"sessionId": "s", "toolCall": call, "options": OPTIONS, **more}
        return self.hears(id="q", method="session/request_permission", params=params)


def opened(**result: Any) -> Line:
    line = Line()
    line.client.start()
    line.answers(result={"protocolVersion": 1, **result})
    line.answers(result={"sessionId": "s"})
    return line


def prompting() -> Line:
    line = opened()
    line.client.prompt("Hello")
    return line


def refusal(line: Line, **members: Any) -> BbError:
    with pytest.raises(BbError) as refused:
        line.answers(**members)
    return refused.value


# -- opening a session


def test_a_session_is_opened_with_the_folder_and_the_servers():
    line = Line()
    line.client.start()
    states = [line.client.state]
    assert line.answers(result={"protocolVersion": 1, "agentInfo": {"name": "x", "version": "2"}}) == []
    states.append(line.client.state)

    (ready,) = line.answers(result={"sessionId": "s"})

    assert [*states, line.client.state] == [GREETING, OPENING, IDLE]
    assert ready == Ready(acp.Agent("x", "2"), "s", is_loaded=False)
    assert [each["method"] for each in line.sent] == ["initialize", "session/new"]
    assert line.sent[0]["params"]["protocolVersion"] == 1
    env = [{"name": "BB_AGENT", "value": "a"}]
    server = {"name": "bb", "command": "/bin/bb", "args": ["mcp"], "env": env}
    assert line.sent[1]["params"] == {"cwd": "/r", "mcpServers": [server]}


def test_an_earlier_session_is_loaded_and_its_history_is_nobodys_work():
    line = Line("s")
    line.client.start()
    line.answers(result={"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
    line.writes("An old answer.")

    (ready,) = line.answers(result=None)

    assert isinstance(ready, Ready)
    assert (ready.session, ready.is_loaded) == ("s", True)
    line.client.prompt("Hello")
    assert line.answers(result={"stopReason": "end_turn"}) == [Ended("end_turn", "")]


@pytest.mark.parametrize("can_load", [True, False])
def test_otherwise_a_new_one_is_opened(can_load: bool):
    line = Line("gone")
    line.client.start()
    line.answers(result={"protocolVersion": 1, "agentCapabilities": {"loadSession": can_load}})
    if can_load:
        line.answers(error={"code": -32002, "message": "no such session"})

    (ready,) = line.answers(result={"sessionId": "s"})

    assert isinstance(ready, Ready)
    assert not ready.is_loaded


@pytest.mark.parametrize("result", [None, 7, [], {}, {"protocolVersion": "1"}, {"protocolVersion": True}])
def test_what_answers_without_a_version_speaks_no_acp(result: Any):
    line = Line()
    line.client.start()

    assert refusal(line, result=result).code == "NOT_AN_ACP_AGENT"


def test_another_version_is_refused_with_both_numbers():
    line = Line()
    line.client.start()

    found = refusal(line, result={"protocolVersion": 2})

    assert (found.code, found.message) == (
        "ACP_VERSION",
        "the agent speaks version 2 of the protocol, and bb speaks 1",
    )


def test_a_login_that_is_missing_is_named_at_the_session_and_at_a_prompt():
    line = opened(
        authMethods=[{"id": "key", "name": "API key"}, "odd", {"id": "x", "name": "In a terminal", "args": ["login"]}]
    )
    line.client.prompt("Hello")

    found = refusal(line, error={"code": -32000, "message": "Authentication required"})

    assert found.code == "AGENT_NEEDS_LOGIN"
    assert found.hint == 'log in once, then attach again: "API key"; or "In a terminal": `agent login`'
    assert found.details == {"methods": ["key", "x"]}


@pytest.mark.parametrize("result", [None, {}, {"sessionId": ""}, {"sessionId": 1}])
def test_a_session_without_an_id_is_none(result: Any):
    line = Line()
    line.client.start()
    line.answers(result={"protocolVersion": 1})

    assert refusal(line, result=result).code == "NOT_AN_ACP_AGENT"


# -- turns


def test_the_text_of_a_turn_is_its_last_message():
    line = prompting()
    line.writes("I read ")
    line.writes("the file.")
    assert line.updates(sessionUpdate="tool_call", toolCallId="c", title="Read") == [Worked("tool_call", "Read")]
    line.updates(sessionUpdate="agent_thought_chunk", content={"type": "text", "text": "hm"})
    line.writes("It is ")
    line.updates(sessionUpdate="tool_call_update", toolCallId="c", title="Read", status="completed")
    line.writes("green. ")

    assert line.answers(result={"stopReason": "end_turn"}) == [Ended("end_turn", "It is green.")]
    assert line.client.state == IDLE


def test_a_new_message_id_begins_a_new_message():
    line = prompting()
    line.writes("One.", messageId="1")
    line.writes("Two", messageId="2")
    line.writes(".", messageId="2")

    assert line.answers(result={"stopReason": "end_turn"}) == [Ended("end_turn", "Two.")]


def test_if_nothing_follows_the_last_tool_call_the_message_before_it_counts():
    line = prompting()
    line.writes("Done.")
    line.updates(sessionUpdate="tool_call", toolCallId="c", title="Tidy up")

    assert line.answers(result={"stopReason": "end_turn"}) == [Ended("end_turn", "Done.")]


def test_the_text_of_a_turn_is_limited():
    line = prompting()
    for _ in range(30):
        line.writes("x" * 10_000)

    (end,) = line.answers(result={"stopReason": "end_turn"})

    assert isinstance(end, Ended)
    assert len(end.text) == 200_000


@pytest.mark.parametrize("reason", [None, 7, "tired"])
def test_an_unknown_reason_is_an_ordinary_end(reason: Any):
    assert prompting().answers(result={"stopReason": reason}) == [Ended("end_turn", "")]


def test_an_error_is_told_with_its_details():
    line = prompting()

    found = line.answers(error={"code": -32603, "message": "Internal error", "data": {"details": "no \x07 quota"}})

    assert found == [TurnFailed(-32603, '"Internal error: no \\x07 quota"')]


def test_an_answer_to_nothing_changes_nothing():
    line = prompting()

    assert line.hears(id=99, result={"stopReason": "end_turn"}) == []
    assert line.hears(id=None, error={"code": 1, "message": ""}) == []
    assert line.client.state == PROMPTING


def test_there_is_one_turn_at_a_time():
    with pytest.raises(AssertionError):
        prompting().client.prompt("again")


# -- permissions


def test_a_permission_is_answered_with_the_smallest_option():
    line = prompting()
    (asked,) = line.asks()
    assert isinstance(asked, Asked)

    line.client.decide("q", asked.permission.option(is_allowed=True))
    line.client.decide("q", "a")

    answers = [each for each in line.sent if "result" in each]
    assert [each["result"] for each in answers] == [{"outcome": {"outcome": "selected", "optionId": "o"}}]
    assert asked.permission.option(is_allowed=False) == "n"


def test_without_an_option_that_fits_the_turn_counts_as_cancelled():
    (asked,) = prompting().asks(options=OPTIONS[:1])
    assert isinstance(asked, Asked)

    assert acp.outcome(asked.permission.option(is_allowed=False)) == {"outcome": {"outcome": "cancelled"}}


def test_a_cancellation_answers_what_waits_and_what_comes_afterwards():
    line = prompting()
    line.asks()

    line.client.cancel()
    line.client.cancel()
    line.hears(id="late", method="session/request_permission", params={"sessionId": "s"})

    methods = [each.get("method") for each in line.sent[3:]]
    assert methods == ["session/cancel", None, None]
    assert [each["result"]["outcome"]["outcome"] for each in line.sent[4:]] == ["cancelled", "cancelled"]
    assert line.client.state == CANCELLING
    assert line.answers(result={"stopReason": "cancelled"}) == [Ended("cancelled", "")]


@pytest.mark.parametrize("members", [{"toolCall": 7}, {"options": "all"}, {"options": [7, {}]}])
def test_an_odd_request_for_permission_is_still_one(members: dict[str, Any]):
    (asked,) = prompting().asks(**members)

    assert isinstance(asked, Asked)
    assert asked.permission.title in ("rm", "an unnamed tool")


def test_bb_offers_no_files_and_no_terminal():
    line = prompting()

    assert line.hears(id=5, method="fs/write_text_file", params={}) == []
    assert line.sent[-1]["error"]["code"] == -32601


# -- anything at all


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.integers() | st.text(),
        lambda of: (
            st.lists(of)
            | st.dictionaries(
                st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "update", "sessionId"]), of
            )
        ),
    )
)
def test_no_line_ends_the_client(line: Any):
    found = prompting()
    octets = line if isinstance(line, bytes) else json.dumps(line).encode()

    for octets_of_line in octets.split(b"\n"):
        for event in found.client.take(octets_of_line):
            assert isinstance(event, Event)


@given(
    st.recursive(
        st.none() | st.integers() | st.text() | st.booleans(),
        lambda of: (
            st.lists(of)
            | st.dictionaries(
                st.sampled_from(
                    ["sessionUpdate", "content", "text", "type", "title", "messageId", "toolCall", "options", "kind"]
                ),
                of,
            )
        ),
    )
)
def test_no_update_and_no_request_ends_it(params: Any):
    line = prompting()

    line.updates(sessionUpdate="agent_message_chunk", content=params)
    line.updates(sessionUpdate="tool_call", title=params)
    line.asks(toolCall=params)
    line.asks(options=params)
    line.hears(method="session/update", params={"sessionId": "s", "update": params})

    (end,) = line.answers(result=params)
    assert isinstance(end, Ended)


def test_a_line_that_is_too_long_or_no_json_is_noted():
    line = prompting()

    assert [type(event) for each in (None, b"x", b"[]") for event in line.client.take(each)] == [Unreadable] * 3
    assert list(line.client.take(b"  ")) == []
