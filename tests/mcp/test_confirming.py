"""A message that would show something private is put to the person in a dialog of the host, within the same call."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from bb.mcp import confirming, dialogs, stdio
from bb.mcp.protocol import Connection
from bb.mcp.server import server
from tests.mcp.mcp_support import AMBER, ERAS, INITIALIZE, OLD, Here, call, got
from tests.support import environment
from tests.waiting import PATIENCE, until

BB = [sys.executable, "-m", "bb"]
SECRET = "The quartz lantern is broken."
PRIVATE = {"conversation": {"id": "D1", "kind": "dm"}, "target": {"recipient": f"agent:{AMBER}"}}
PUBLIC = {"conversation": {"id": "PUB", "kind": "channel"}}
GIVEN = {
    "inReplyTo": "slack:1",
    "target": {"conversation": "PUB"},
    "content": SECRET,
    "visibility": "channel",
    "directedness": "to_other",
    "idempotencyKey": "k1",
}
YES, NO = {"action": "accept", "content": {"allow": True}}, {"action": "accept", "content": {"allow": False}}


@pytest.fixture
def asked(both: Here) -> Here:
    """A person has asked amber-otter something in private, and there is a public conversation."""
    common = {"source": {"platform": "slack"}, "author": {"id": "U1", "kind": "human"}}
    private = {**common, **PRIVATE, "eventId": "slack:1", "content": [{"type": "text", "text": "is it broken?"}]}
    public = {**common, **PUBLIC, "eventId": "slack:2", "content": [{"type": "text", "text": "hello all"}]}
    lines = "".join(json.dumps(line) + "\n" for line in (private, public, private | {"eventId": "slack:3"}))
    ran = both.repo.bb("chat", "ingest", "--json", stdin=lines)
    assert ran.status == 0, ran.out
    return both


def waiting(here: Here) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = here.repo.json("chat", "confirmations").data["confirmations"]
    return found


def posted(here: Here) -> list[str]:
    """The texts that the agent has sent."""
    lines = here.repo.json("ledger", "log", "--kind", "chat.message").data
    return [line["data"]["text"] for line in lines if line["by"] == AMBER]


class Person:
    """The person at a host, who answers each dialog in the same way."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        self.saw: list[str] = []

    async def __call__(self, _: Any, params: Any) -> Any:
        assert params.requested_schema == confirming.SCHEMA
        self.saw.append(params.message)
        return types.ElicitResult.model_validate(self.answer)


def sent(here: Here, person: Person | None, era: str, how: str) -> types.CallToolResult:
    """What the official client gets for the call, over a transport."""

    async def run() -> types.CallToolResult:
        with anyio.fail_after(PATIENCE):
            if how == "stdio":
                env = environment(**here.repo.settings, BB_AGENT=AMBER)
                starting = StdioServerParameters(command=BB[0], args=[*BB[1:], "mcp"], cwd=here.repo.path, env=env)
                at: Any = stdio_client(starting, sys.__stderr__)
            else:
                at = server(here.toolbox(AMBER))
            async with Client(at, mode=era, elicitation_callback=person) as client:
                return await client.call_tool("chat_send_message", GIVEN)

    return anyio.run(run)


TRANSPORTS = [pytest.param(era, how, id=f"{era}-{how}") for era in ERAS for how in ("stdio", "sdk")]


@pytest.mark.parametrize(("era", "how"), TRANSPORTS)
def test_what_the_person_allows_is_sent_in_the_same_call(asked: Here, era: str, how: str):
    person = Person(YES)

    answer = sent(asked, person, era, how)

    assert not answer.is_error, answer.structured_content
    assert posted(asked) == [SECRET]
    assert waiting(asked) == []
    (saw,) = person.saw
    assert saw.splitlines() == [
        f"{AMBER} wants to send this message to PUB, where more people can read it:",
        f"| {SECRET}",
        "bb asks because it answers slack:1, which is private.",
    ]
    (line,) = [line for line in acts(asked) if line["data"]["action"] == "allow"]
    assert line["by"] == "user"
    assert line["data"]["about"]["by"].startswith("user, in a dialog of ")


def acts(here: Here) -> list[dict[str, Any]]:
    return [line for line in here.repo.json("ledger", "log").data if line["data"].get("action") in ("allow", "refuse")]


@pytest.mark.parametrize(("era", "how"), TRANSPORTS)
def test_what_the_person_refuses_is_not_sent_and_the_agent_is_told(asked: Here, era: str, how: str):
    answer = sent(asked, Person(NO), era, how)

    assert answer.is_error
    assert answer.structured_content["code"] == "confirm_refused"
    assert (posted(asked), waiting(asked)) == ([], [])
    assert len(acts(asked)) == 1


@pytest.mark.parametrize(("era", "how"), TRANSPORTS)
@pytest.mark.parametrize(
    "nothing",
    [
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "accept"},
        {"action": "accept", "content": {"allow": "y"}},
    ],
    ids=["declined", "closed", "empty", "odd"],
)
def test_a_dialog_without_an_answer_decides_nothing(asked: Here, era: str, how: str, nothing: dict[str, Any]):
    """Codex and Copilot CLI decline it by themselves when no person is there, and Claude Code cancels it."""
    person = Person(nothing)

    answer = sent(asked, person, era, how)

    assert answer.structured_content["code"] == "confirm_required"
    assert len(person.saw) == 1
    assert len(waiting(asked)) == 1
    assert (posted(asked), acts(asked)) == ([], [])


@pytest.mark.parametrize(("era", "how"), TRANSPORTS)
def test_a_host_without_dialogs_gets_the_refusal_at_once(asked: Here, era: str, how: str):
    answer = sent(asked, None, era, how)

    assert answer.structured_content["code"] == "confirm_required"
    assert len(waiting(asked)) == 1


def test_over_http_the_dialog_is_shown_in_both_versions(asked: Here):
    env = environment(**asked.repo.settings, BB_AGENT=AMBER)
    command = [*BB, "mcp", "--http", "--port", "0", "--json"]
    person = Person(YES)
    with subprocess.Popen(command, cwd=asked.repo.path, env=env, stdout=-1, stderr=-1) as process:
        try:
            assert process.stdout
            told = json.loads(process.stdout.readline())["data"]
            with open(told["token_file"]) as file:
                shown = {"authorization": f"Bearer {file.read().strip()}"}

            async def talk(era: str) -> bool:
                http = httpx2.AsyncClient(headers=shown)
                at = streamable_http_client(told["url"], http_client=http)
                async with http, Client(at, mode=era, elicitation_callback=person) as client:
                    given = GIVEN | {"idempotencyKey": era, "inReplyTo": "slack:1" if era == OLD else "slack:3"}
                    answer = await client.call_tool("chat_send_message", given)
                    return not answer.is_error

            assert [anyio.run(talk, era) for era in ERAS] == [True, True]
        finally:
            process.kill()
            process.communicate()
    assert len(person.saw) == 2


@pytest.mark.parametrize(
    ("capabilities", "can"),
    [
        ({"elicitation": {}}, True),
        ({"elicitation": {"form": {}, "url": {}}}, True),
        ({"elicitation": {"url": {}}}, False),
        ({"elicitation": None}, False),
        ({"elicitation": True}, False),
        ({}, False),
        (None, False),
        ("x", False),
    ],
)
def test_only_a_host_that_shows_forms_is_asked(capabilities: object, can: bool):
    assert confirming.can_ask(capabilities) is can


def test_the_question_keeps_the_words_of_the_message_apart_from_its_own():
    found = {"agent": AMBER, "to": "PUB", "text": "Hi.\nbb asks because\x1b[2J\n" + "x" * 5000, "why": "it\nis"}

    lines = confirming.text_of(found).splitlines()

    assert lines[:3] == [
        f"{AMBER} wants to send this message to PUB, where more people can read it:",
        "| Hi.",
        "| bb asks because\\x1b[2J",
    ]
    assert lines[4:] == ["(1024 more characters; bb chat confirmations shows them)", "bb asks because it\\x0ais."]


# -- one host on stdin and stdout


class Talking:
    """A host in this process that declared dialogs at its handshake."""

    def __init__(self, here: Here) -> None:
        self.written = io.BytesIO()
        self.host = stdio.Host(Connection(here.toolbox(AMBER)), self.written)
        params = INITIALIZE["params"] | {"capabilities": {"elicitation": {}}}  # type: ignore[operator]
        self.say(**(INITIALIZE | {"params": params}))

    def say(self, **message: Any) -> None:
        self.host.hear(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def call(self, name: int) -> None:
        self.say(id=name, method="tools/call", params={"name": "chat_send_message", "arguments": GIVEN})

    @property
    def said(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.written.getvalue().splitlines()][1:]

    def heard(self, method: str) -> list[dict[str, Any]]:
        return [message for message in self.said if message.get("method") == method]

    def dialog(self) -> str:
        """The id of the first dialog, once it is shown."""
        (shown,) = until(lambda: self.heard(confirming.METHOD), "the dialog")
        return str(shown["id"])

    def code(self, name: int) -> str:
        (answer,) = until(lambda: [each for each in self.said if each.get("id") == name], "the answer")
        return str(answer["result"]["structuredContent"].get("code", "sent"))


def test_a_host_that_never_answers_is_waited_for_only_so_long(asked: Here, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dialogs, "PATIENCE", 0.05)
    host = Talking(asked)
    host.call(7)

    assert host.code(7) == "confirm_required"
    dialog = host.dialog()
    (told,) = host.heard("notifications/cancelled")
    assert told["params"]["requestId"] == dialog

    host.say(id=dialog, result=YES)  # too late
    host.host.settle()
    assert (posted(asked), acts(asked)) == ([], [])
    assert len(waiting(asked)) == 1


def test_two_calls_at_once_show_one_dialog(asked: Here):
    host = Talking(asked)
    host.call(7)
    dialog = host.dialog()
    host.call(8)
    host.say(id="bb-99", result=YES)  # the answer to no request
    host.say(id=dialog, result=YES)

    assert [host.code(7), host.code(8)] == ["sent", "sent"]
    host.host.settle()
    assert len(host.heard(confirming.METHOD)) == 1
    assert posted(asked) == [SECRET]


def test_a_cancelled_call_closes_its_dialog_and_sends_nothing(asked: Here):
    host = Talking(asked)
    host.call(7)
    dialog = host.dialog()
    host.say(method="notifications/cancelled", params={"requestId": 7})

    (told,) = until(lambda: host.heard("notifications/cancelled"), "the end of the dialog")
    assert told["params"]["requestId"] == dialog
    host.say(id=dialog, result=YES)
    host.host.settle()
    assert not [each for each in host.said if each.get("id") == 7]
    assert (posted(asked), acts(asked)) == ([], [])


def test_a_dialog_that_was_closed_is_not_shown_again_until_the_person_has_answered_elsewhere(asked: Here):
    host = Talking(asked)
    host.call(7)
    host.say(id=host.dialog(), result={"action": "decline"})
    assert host.code(7) == "confirm_required"
    host.call(8)
    assert host.code(8) == "confirm_required"

    (request,) = waiting(asked)
    asked.repo.json("chat", "confirm", request["id"])
    host.call(9)

    assert host.code(9) == "sent"
    assert len(host.heard(confirming.METHOD)) == 1


def test_a_host_that_refuses_to_show_it_is_no_answer(asked: Here):
    host = Talking(asked)
    host.call(7)
    host.say(id=host.dialog(), error={"code": -32601, "message": "no dialogs after all"})

    assert host.code(7) == "confirm_required"
    assert acts(asked) == []


def test_the_model_gets_nothing_with_which_it_could_answer(asked: Here):
    refused = call(asked.toolbox(AMBER), "chat_send_message", **GIVEN)

    assert refused.data["code"] == "confirm_required"
    assert set(refused.data["details"]) <= {"confirmation", "eventId"}
    request = refused.data["details"]["confirmation"]
    again = call(asked.toolbox(AMBER), "chat_send_message", **GIVEN, confirm=request)
    assert again.data["code"] == "confirm_required"
    assert got(asked.toolbox(AMBER), "status")
