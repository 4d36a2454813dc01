"""`bb chat serve --stdio`: beginning a session, frames, and ending it (C2A checklist 1, 8, 11, 59, 107, 108)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.stories.attention.harness_support import AMBER, BLUE, CAPABILITIES, Child, World, dm, without
from tests.support import environment
from tests.waiting import PATIENCE


def child(harness: Any) -> Child:
    assert isinstance(harness.line, Child)
    return harness.line


# -- beginning


def test_c2a_011_the_answer_to_initialize_is_what_both_can_do(world: World):
    harness = world.connect()
    wanted = without("injection.interrupt")
    wanted["delivery"]["teleport"] = True

    answer = harness.initialize(wanted)

    assert answer["protocolVersion"] == "2026-06-02"
    assert answer["serverInfo"]["name"] == "bb"
    assert answer["capabilities"]["injection"] == CAPABILITIES["injection"] | {"interrupt": False}
    assert answer["capabilities"]["delivery"] == CAPABILITIES["delivery"] | {"teleport": False}
    assert answer["limits"] == {
        "composeMs": 3000,
        "mergeMs": 30000,
        "claimTtlMs": 900000,
        "maxBody": 65536,
        "turnLeaseMs": 600000,
    }
    assert answer["sessionId"]
    assert answer["pendingCount"] == 0


def test_c2a_011_what_is_not_asked_for_is_false(world: World):
    answer = world.connect().initialize({})

    flags = [flag for section in answer["capabilities"].values() for flag in section.values()]
    assert len(flags) == 19
    assert not any(flags)


def test_c2a_011_an_unknown_version_is_answered_with_ours(world: World):
    assert world.connect().initialize(protocolVersion="1999-01-01")["protocolVersion"] == "2026-06-02"


@pytest.mark.parametrize("method", ["ping", "tools/list", "chat.list_events", "chat/deliver", "no/such", "shutdown"])
def test_c2a_011_nothing_comes_before_initialize(world: World, method: str):
    refused = world.connect().refusal(method)

    assert (refused.number, refused.code) == (-32051, "not_initialized")


def test_a_session_begins_once(world: World):
    refused = world.harness().refusal("initialize", protocolVersion="x", capabilities={})

    assert (refused.number, refused.code) == (-32600, "already_initialized")


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({}, "/protocolVersion"),
        ({"protocolVersion": 7}, "/protocolVersion"),
        ({"protocolVersion": "x", "capabilities": []}, "/capabilities"),
        ({"protocolVersion": "x", "capabilities": {"injection": {"notify": "yes"}}}, "/capabilities/injection/notify"),
        ({"protocolVersion": "x", "session": {"agent": 1.5}}, "/session/agent"),
        ({"protocolVersion": "x", "reactionGlyphs": {"waves": "👋"}}, "/reactionGlyphs/waves"),
    ],
)
def test_what_is_malformed_is_pointed_at(world: World, params: dict[str, Any], path: str):
    refused = world.connect().refusal("initialize", **params)

    assert (refused.number, refused.data["path"]) == (-32602, path)


def test_the_agent_is_bound_once(world: World):
    """By the command, or by the session; never by an argument of a tool."""
    world.says(dm("1", "check the deploy?", to=BLUE))

    assert (
        world.connect(AMBER).refusal("initialize", protocolVersion="x", session={"agent": BLUE}).code
        == "permission_denied"
    )
    assert world.connect("").refusal("initialize", protocolVersion="x").data["path"] == "/session/agent"
    assert world.connect("").initialize(session={"agent": BLUE})["agent"] == BLUE
    assert world.connect("", BB_AGENT=AMBER).initialize()["agent"] == AMBER
    assert world.harness().call("chat.list_events", agent=BLUE)["events"] == []
    assert world.harness().refusal("chat.defer", eventId="1", reason="r", agent=BLUE).code == "not_found"


def test_an_agent_that_is_not_here_is_not_found(world: World):
    refused = world.connect("").refusal("initialize", protocolVersion="x", session={"agent": "nobody-here"})

    assert (refused.number, refused.code) == (-32059, "unknown_agent")


def test_c2a_059_the_standing_rules_come_with_the_answer(world: World):
    rules = world.connect().initialize()["instructions"]

    assert rules.startswith("C2A RESPONSE RULES\n- Obey response_policy.")
    assert len(rules.splitlines()) == 6


def test_c2a_108_glyphs_are_agreed_on_and_signals_stay(world: World):
    world.says(dm("1", "check the deploy?"))
    harness = world.connect()

    assert harness.initialize(reactionGlyphs={"done": "🏁"})["signals"]["done"] == "🏁"
    assert harness.call("chat.react", inReplyTo="1", signal="done")["glyph"] == "🏁"
    assert world.show("1")["signal"] == "done"
    assert world.bb("chat", "signals")["signals"]["done"]["glyph"] == "✅"


@pytest.mark.parametrize("glyphs", [{"done": "👍"}, {"done": "🏁", "seen": "🏁"}])
def test_c2a_108_two_signals_do_not_look_alike(world: World, glyphs: dict[str, str]):
    assert world.connect().refusal("initialize", protocolVersion="x", reactionGlyphs=glyphs).number == -32602


def test_c2a_107_an_emoji_is_no_signal(world: World):
    world.says(dm("1", "check the deploy?"))

    refused = world.harness().refusal("tools/call", name="chat.react", arguments={"inReplyTo": "1", "signal": "👍"})

    assert (refused.number, refused.code, len(refused.data["signals"])) == (-32602, "invalid_signal", 9)
    assert world.show("1")["disposition"] is None


# -- frames


def test_c2a_008_a_request_has_one_answer_and_a_notification_none(world: World):
    harness = world.harness()
    for request in ("a", 7, 1.5, "", 0):
        harness.say(id=request, method="ping", params={})
        assert harness.until(request) == {"jsonrpc": "2.0", "id": request, "result": {}}
    before = harness.octets

    for method in ("ping", "tools/list", "notifications/nonsense", "no/such", "chat/turn", "chat.claim"):
        harness.say(method=method)
        harness.say(method=method, params=[1])

    assert harness.news() == []
    assert harness.octets.removeprefix(before).count(b"\n") == 1


def test_c2a_008_a_result_means_accepted_and_no_more(world: World):
    world.says(dm("1", "check the deploy?"))
    harness = world.harness()
    world.wait(5, harness)

    harness.take()

    (row,) = harness.call("chat.list_events")["events"]
    assert (row["phase"], row["disposition"]) == ("accepted", None)
    assert world.show("1")["disposition"] is None


@pytest.mark.parametrize(
    ("line", "number", "request_id"),
    [
        (b"{", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"', -32700, None),
        (b'{"a":' * 60_000, -32700, None),
        (b'"ping"', -32600, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"1.0","id":4,"method":"ping"}', -32600, 4),
        (b'{"id":4,"method":"ping"}', -32600, 4),
        (b'{"jsonrpc":"2.0","id":4,"method":7}', -32600, 4),
        (b'{"jsonrpc":"2.0","id":4}', -32600, 4),
        (b'{"jsonrpc":"2.0","id":4,"method":"ping","params":[1]}', -32602, 4),
        (b'{"jsonrpc":"2.0","id":4,"method":"no/such"}', -32601, 4),
        (b'{"jsonrpc":"2.0","id":4,"result":1,"error":{}}', -32600, None),
        (b"x" * (1 << 20), -32700, None),
    ],
)
def test_what_is_no_message_is_told_and_the_session_goes_on(
    world: World, line: bytes, number: int, request_id: int | None
):
    harness = world.harness()

    harness.line.write(line + b"\n\n \r\n")

    found = harness.receive()
    assert found
    assert (found["error"]["code"], found["id"]) == (number, request_id)
    assert found["error"]["data"]["code"]
    assert harness.ask("ping") == {}


def test_a_line_of_a_mebibyte_is_taken(world: World):
    harness = world.harness()
    line = json.dumps({"jsonrpc": "2.0", "id": 9, "method": "ping", "params": {"pad": ""}}).encode()

    harness.line.write(line[:-3] + b"x" * ((1 << 20) - len(line) - 1) + line[-3:] + b"\n")

    assert harness.until(9)["result"] == {}


def test_bytes_may_come_one_by_one(world: World):
    harness = world.harness()

    for octet in '{"jsonrpc":"2.0","id":"ü","method":"ping"}\n'.encode():
        harness.line.write(bytes([octet]))

    assert harness.until("ü")["result"] == {}


def test_an_answer_to_nothing_is_ignored(world: World):
    harness = world.harness()

    harness.say(id="deliver-99", result={"status": "accepted"})
    harness.say(id=None, error={"code": -32700, "message": "what?"})

    assert harness.news() == []


# -- ending


def test_shutdown_says_what_is_kept_and_hangs_up(world: World):
    world.says(dm("1", "check the deploy?"))
    harness = world.harness()

    assert harness.ask("shutdown") == {"persisted": 1}
    assert harness.receive() is None
    assert child(harness).process.wait(PATIENCE) == 0


def test_the_end_of_its_input_ends_it(world: World):
    assert child(world.harness()).hang_up() == 0


def test_sigterm_ends_it(world: World):
    harness = world.harness()

    child(harness).process.send_signal(signal.SIGTERM)

    assert child(harness).process.wait(PATIENCE) == 0


def test_a_transcript_can_be_piped_in(world: World):
    said = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "x", "session": {"agent": AMBER}}},
        {"id": 2, "method": "shutdown", "params": {}},
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in said)
    done = subprocess.run(
        [sys.executable, "-m", "bb", "chat", "serve", "--stdio"],
        cwd=world.repo.path,
        env=environment(),
        input=text.encode(),
        capture_output=True,
        timeout=PATIENCE,
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert [json.loads(each)["id"] for each in done.stdout.splitlines()] == [1, 2]


def test_what_is_missing_is_said_at_the_terminal(world: World):
    assert world.repo.json("chat", "serve").code == "STDIO_OR_SOCKET"
    assert world.repo.json("chat", "serve", "--stdio", "--socket", "s").code == "STDIO_OR_SOCKET"
    assert "--stdio" in world.repo.bb("chat", "serve", "--help").out
    assert "serve" in world.repo.bb("chat", "--help").out
