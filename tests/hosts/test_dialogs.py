"""What real hosts do with a question to the person, and with a server that has a channel, when no person is there."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.hosts import tools
from tests.hosts.bench import HOLDER, Bench
from tests.hosts.model.turns import Call, Turn
from tests.hosts.programs import write
from tests.support import ROOT

pytestmark = pytest.mark.hosts

SECRET = "The quartz lantern is broken."
PRIVATE = {"eventId": "slack:1", "conversation": {"id": "D1", "kind": "dm"}}
PUBLIC = {"eventId": "slack:2", "conversation": {"id": "PUB", "kind": "channel"}}
GIVEN = {
    "inReplyTo": "slack:1",
    "target": {"conversation": "PUB"},
    "content": SECRET,
    "visibility": "channel",
    "directedness": "to_other",
    "idempotencyKey": "k1",
}
on = pytest.mark.parametrize


def shows_something_private(bench: Bench) -> None:
    """A person asks the agent in private, and the model answers in public."""

    def asked() -> Turn:
        common = {"source": {"platform": "slack"}, "author": {"id": "U1", "kind": "human"}}
        private = {**common, **PRIVATE, "target": {"recipient": f"agent:{bench.agent}"}}
        lines = [private | {"content": text("is it broken?")}, {**common, **PUBLIC, "content": text("hello")}]
        subprocess.run(
            [sys.executable, "-m", "bb", "chat", "ingest"],
            cwd=bench.repo.path,
            env=bench.env | {"PYTHONPATH": str(ROOT)},
            input="".join(json.dumps(line) + "\n" for line in lines).encode(),
            check=True,
            capture_output=True,
        )
        ((call,),) = tools.mcp(bench.host.name, "chat")
        return [Call(call.tool, {"tool": "send_message", "arguments": GIVEN})]

    bench.ran = bench.run(*tools.mcp(bench.host.name, "session"), asked, "All done.")


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


def sent(bench: Bench) -> list[str]:
    lines = bench.bb("ledger", "log", "--kind", "chat.message")
    return [line["data"]["text"] for line in lines if line["by"] == bench.agent]


def requests(bench: Bench) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = bench.bb("chat", "confirmations")["confirmations"]
    return found


@on("bench", ["claude", "codex", "copilot"], indirect=True)
def test_a_host_without_a_person_decides_nothing_in_the_persons_name(bench: Bench):
    shows_something_private(bench)

    asked = [line for call in bench.calls("mcp") for line in call.said.splitlines() if "elicitation/create" in line]
    assert len(asked) == 1
    assert sent(bench) == []
    assert [request["state"] for request in requests(bench)] == ["open"]
    assert "confirm_required" in bench.model.turns[-1].text


@on("bench", ["claude"], indirect=True)
def test_what_the_person_allows_in_the_host_is_sent_in_the_same_call(bench: Bench):
    """Claude Code lets the person answer dialogs beforehand, with a hook."""
    answer = {"hookEventName": "Elicitation", "action": "accept", "content": {"allow": True}}
    command = f"echo '{json.dumps({'hookSpecificOutput': answer})}'"
    settings = bench.folder / "home" / ".claude" / "settings.json"
    hooks = {"Elicitation": [{"hooks": [{"type": "command", "command": command}]}]}
    write(settings, json.loads(settings.read_text()) | {"hooks": hooks})

    shows_something_private(bench)

    assert sent(bench) == [SECRET]
    assert requests(bench) == []
    assert "confirm_required" not in bench.model.turns[-1].text


@on("bench", ["claude"], indirect=True)
def test_a_server_with_a_channel_works_as_every_other_one(bench: Bench):
    """Channels need a service of Anthropic, so a push ends at the host here."""
    settings = bench.repo.path / ".mcp.json"
    entry = json.loads(settings.read_text())
    entry["mcpServers"]["bb"]["args"] = ["mcp", "--channel"]
    write(settings, entry)

    def spoken_to() -> Turn:
        to = ["--recipient", bench.agent, "--directedness", "to_me", "--visibility", "dm"]
        bench.bb("chat", "send", "--agent", HOLDER, *to, "--idempotency-key", "k1", "Can you look?")
        return tools.mcp("claude", "status")[0]

    bench.ran = bench.run(*tools.mcp("claude", "session"), spoken_to, "All done.")

    (server,) = bench.calls("mcp")
    assert '"claude/channel":{}' in server.said
    assert "notifications/claude/channel" in server.said
    assert bench.mcp_answer("session")["agent_id"] == bench.agent
    assert bench.mcp_answer("status")["agents"]
