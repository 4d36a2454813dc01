"""`bb mcp --channel` pushes what is due into the open session of its host, once, as a channel of Claude Code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp.client.stdio import stdio_client
from pydantic import BaseModel

from bb.mcp import channel
from bb.mcp.protocol import NEW
from bb.ops.attention.pushing import Pushing
from bb.ops.desk.desk import Desk
from tests.mcp.mcp_support import AMBER, COBALT, INITIALIZE, OLD, Here, got
from tests.support import environment
from tests.waiting import PATIENCE, until

BB = [sys.executable, "-m", "bb"]
BEGUN = {"jsonrpc": "2.0", "method": "notifications/initialized"}
PING = {"jsonrpc": "2.0", "id": 99, "method": "ping"}
RULES = "C2A RESPONSE RULES"


class Opened:
    """An open session of a host with a server of its own."""

    def __init__(self, here: Here, *words: str, **settings: str) -> None:
        self.process = subprocess.Popen(
            [*BB, "mcp", *words],
            cwd=here.repo.path,
            env=environment(**{**here.repo.settings, "BB_NOW": ""}, **settings),
            stdin=-1,
            stdout=-1,
            stderr=-1,
        )
        self.say(INITIALIZE)
        self.begun = self.hear()["result"]
        self.say(BEGUN)

    def say(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def pushed(self) -> dict[str, Any]:
        """The parameters of the next push."""
        found = self.hear()
        assert found["method"] == "notifications/claude/channel", found
        assert set(found) == {"jsonrpc", "method", "params"}
        params: dict[str, Any] = found["params"]
        return params

    def end(self) -> list[dict[str, Any]]:
        """What was still said until the end."""
        out, err = self.process.communicate(timeout=PATIENCE)
        assert (self.process.returncode, err) == (0, b"")
        return [json.loads(line) for line in out.splitlines()]


@contextmanager
def opened(here: Here, *words: str, **settings: str) -> Iterator[Opened]:
    session = Opened(here, *words, **settings)
    try:
        yield session
    finally:
        session.process.kill()
        session.process.communicate()


@pytest.fixture
def both(both: Here) -> Here:
    both.repo.settings["BB_NOW"] = ""  # an open session lives in real time
    return both


def send(here: Here, text: str, key: str, *, to: str = COBALT, **more: Any) -> str:
    given = {"target": {"recipient": to}, "content": text, "visibility": "dm", "directedness": "to_me"} | more
    return str(got(here.toolbox(AMBER), "chat_send_message", idempotencyKey=key, **given)["messageId"])


def delivery(here: Here, event: str, agent: str = COBALT) -> list[str]:
    """The steps that are recorded of the event's delivery to the agent."""
    lines = here.repo.json("ledger", "log").data
    moves = [line["data"] for line in lines if line["data"].get("event") == event and "to" in line["data"]]
    return [str(move["to"]) for move in moves if move.get("agent", agent) == agent]


def test_a_question_is_pushed_once_with_its_text_and_the_rules_and_counts_as_accepted(both: Here):
    with opened(both, "--channel", "--agent", COBALT) as session:
        first = send(both, "The deploy is red. Can you look?", "k1")
        pushed = session.pushed()
        second = send(both, "And the tests?", "k2")
        again = session.pushed()

        assert session.begun["capabilities"]["experimental"] == {"claude/channel": {}}
        assert session.begun["protocolVersion"] == "2025-06-18"
        assert pushed["content"].startswith(RULES)
        assert "\nMESSAGE\nThe deploy is red. Can you look?\nEND OF MESSAGE" in pushed["content"]
        assert pushed["meta"] == {
            "event_id": first,
            "content_version": "1",
            "form": "message",
            "policy": "must_respond",
            "reason": "direct_message",
            "priority": "normal",
            "conversation": f"dm:{AMBER}+{COBALT}",
            "conversation_kind": "dm",
            "author": AMBER,
        }
        assert again["meta"]["event_id"] == second
        assert RULES not in again["content"]
        until(lambda: delivery(both, second)[:2] == ["offered", "accepted"], lambda: delivery(both, second))
        assert delivery(both, first)[:2] == ["offered", "accepted"]
        assert got(both.toolbox(COBALT), "chat_send_message", inReplyTo=first, idempotencyKey="a1", **ANSWER)

        assert session.end() == []
    assert both.repo.json("chat", "inject", "--agent", COBALT).data["blocks"] == []


ANSWER = {"content": "I look into it.", "visibility": "dm", "directedness": "to_me", "target": {"recipient": AMBER}}


def test_nothing_is_pushed_to_a_host_that_has_not_asked(both: Here):
    with opened(both, "--agent", COBALT) as session:
        event = send(both, "Can you look?", "k1")
        session.say(PING)

        assert "experimental" not in session.begun["capabilities"]
        assert session.end() == [{"jsonrpc": "2.0", "id": 99, "result": {}}]
    assert delivery(both, event) == []


def test_the_private_message_of_others_is_not_pushed(both: Here):
    both.joined("violet-fox")
    with opened(both, "--channel", "--agent", "violet-fox") as session:
        send(both, "Between us: the key is under the mat.", "k1")
        own = send(both, "And for you?", "k2", to="violet-fox")

        assert session.pushed()["meta"]["event_id"] == own
        assert session.end() == []


def test_a_message_that_was_pulled_is_not_pushed_and_one_that_waited_is(both: Here):
    send(both, "An old one?", "k1")
    both.repo.json("chat", "inject", "--agent", COBALT)
    event = send(both, "One that waits?", "k2")

    with opened(both, "--channel", BB_AGENT=COBALT) as session:
        assert session.pushed()["meta"]["event_id"] == event
        assert session.end() == []


def test_while_another_harness_of_the_agent_is_connected_it_gets_the_messages(both: Here):
    harness = Harness(both, COBALT)
    with opened(both, "--channel", "--agent", COBALT) as session:
        event = send(both, "Can you look?", "k1")
        delivered = harness.delivered()
        harness.end()
        later = send(both, "And now?", "k2")

        assert delivered == event
        assert session.pushed()["meta"]["event_id"] == later
        assert session.end() == []


class Harness:
    """A harness at `bb chat serve` that accepts what is delivered."""

    def __init__(self, here: Here, agent: str) -> None:
        env = environment(**{**here.repo.settings, "BB_NOW": ""})
        command = [*BB, "chat", "serve", "--stdio", "--agent", agent]
        self.process = subprocess.Popen(command, cwd=here.repo.path, env=env, stdin=-1, stdout=-1)
        can = {"delivery": {"ack": True}, "injection": {"immediate": True, "buffered": True}}
        self.say(id=1, method="initialize", params={"protocolVersion": "2026-06-02", "capabilities": can})
        self.hear()
        self.say(method="notifications/initialized")

    def say(self, **message: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def delivered(self) -> str:
        message = self.hear()
        self.say(id=message["id"], result={"status": "accepted"})
        return str(message["params"]["eventId"])

    def end(self) -> None:
        self.say(id=2, method="shutdown", params={})
        self.hear()
        self.process.communicate(timeout=PATIENCE)


def test_a_changed_text_is_pushed_again_in_its_new_version(both: Here):
    line = {"eventId": "slack:1", "source": {"platform": "slack"}, "conversation": {"id": "D1", "kind": "dm"}}
    line |= {"author": {"id": "U1", "kind": "human"}, "target": {"recipient": f"agent:{COBALT}"}}
    said = {**line, "type": "message", "content": [{"type": "text", "text": "Can you deploy A?"}]}
    ingest(both, said)
    with opened(both, "--channel", "--agent", COBALT) as session:
        first = session.pushed()
        ingest(both, {**line, "type": "edit", "content": [{"type": "text", "text": "Can you deploy B?"}]})
        second = session.pushed()

    assert first["meta"]["event_id"] == second["meta"]["event_id"]
    assert "Can you deploy B?" in second["content"]
    assert int(second["meta"]["content_version"]) > int(first["meta"]["content_version"])


def ingest(here: Here, line: dict[str, Any]) -> None:
    ran = here.repo.bb("chat", "ingest", "--json", stdin=json.dumps(line) + "\n")
    assert ran.status == 0, ran.out


def test_before_there_is_a_ledger_or_an_agent_it_waits(here: Here):
    here.repo.settings["BB_NOW"] = ""
    with opened(here, "--channel", "--agent", COBALT) as session:
        here.joined(AMBER)
        here.joined(COBALT)
        event = send(here, "Are you there?", "k1")

        assert session.pushed()["meta"]["event_id"] == event
        out, err = session.process.communicate(timeout=PATIENCE)
        assert (session.process.returncode, out) == (0, b"")
        assert all(line.startswith(b"bb mcp --channel: ") for line in err.splitlines())


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain:#id/1@x", "plain:#id/1@x"),
        ('"> <x y="', "%22%3E %3Cx y=%22"),
        ("a\nb\u202e", "a%0Ab%E2%80%AE"),
        ("50%&'`", "50%%26%27%60"),
        ("x" * 300, "x" * 199 + "…"),
        ("naïve 日本", "naïve 日本"),
    ],
)
def test_no_attribute_ends_early_or_hides_anything(value: str, shown: str):
    assert channel.attributes({"author": value}) == {"author": shown}


@pytest.mark.parametrize("tag", ["</channel>", "</ Channel >", "< channel x>", "<CHANNEL source='bb'>"])
def test_no_text_ends_the_element_it_is_in(both: Here, tag: str):
    with opened(both, "--channel", "--agent", COBALT) as session:
        send(both, f"before {tag} after <b>?", "k1")

        assert f"before &lt;{tag[1:]} after <b>?" in session.pushed()["content"]


def test_the_server_of_a_channel_speaks_only_the_version_that_has_pushes(both: Here):
    """Claude Code drops the pushes of a connection that speaks the newer version."""
    version = "io.modelcontextprotocol/protocolVersion"
    meta = {version: NEW, "io.modelcontextprotocol/clientCapabilities": {}}
    with opened(both, "--channel", "--agent", COBALT) as session:
        session.say({"jsonrpc": "2.0", "id": 5, "method": "server/discover", "params": {"_meta": meta}})

        error = session.hear()["error"]
        assert error["code"] == -32022
        assert NEW not in error["data"]["supported"]


def test_the_official_client_hears_the_push_and_answers_it(both: Here):
    env = environment(**{**both.repo.settings, "BB_NOW": ""}, BB_AGENT=COBALT)
    starting = StdioServerParameters(command=BB[0], args=[*BB[1:], "mcp", "--channel"], cwd=both.repo.path, env=env)

    class Pushed(BaseModel):
        content: str
        meta: dict[str, str]

    async def talk(mode: str) -> tuple[Pushed, Any]:
        send_pushed, pushed = anyio.create_memory_object_stream[Pushed](5)

        class Channels(ClientExtension):
            identifier = "test/channels"

            def notifications(self) -> list[Any]:
                return [NotificationBinding(method=channel.METHOD, params_type=Pushed, handler=send_pushed.send)]

        with anyio.fail_after(PATIENCE), pushed, send_pushed:
            async with Client(stdio_client(starting, sys.__stderr__), mode=mode, extensions=[Channels()]) as client:
                await anyio.to_thread.run_sync(lambda: send(both, "Can you look?", f"k {mode}"))
                heard = await pushed.receive()
                given = ANSWER | {"inReplyTo": heard.meta["event_id"], "idempotencyKey": f"a {mode}"}
                return heard, await client.call_tool("chat_send_message", given)

    for mode in (OLD, "auto"):
        heard, answer = anyio.run(talk, mode)
        assert "Can you look?" in heard.content
        assert not answer.is_error


def test_the_hooks_of_the_same_session_do_not_repeat_what_was_pushed(both: Here):
    session = {"session_id": "5f0c", "cwd": str(both.repo.path)}

    def hook(moment: str, event: str, **more: str) -> str:
        payload = {**session, "hook_event_name": event, **more}
        ran = both.repo.bb("hook", moment, "--host", "claude", stdin=json.dumps(payload), **own)
        assert ran.status == 0, ran.err
        return ran.out

    own = {"CLAUDE_CODE_SESSION_ID": "5f0c"}
    payload = {**session, "hook_event_name": "SessionStart", "source": "startup"}
    both.repo.bb("hook", "session-start", "--host", "claude", "--register", stdin=json.dumps(payload), **own)
    (agent,) = (
        line["by"] for line in both.repo.json("ledger", "log", "--kind", "actor.add").data if is_new(line["by"])
    )
    with opened(both, "--channel", **own) as opening:
        pushed = send(both, "Can you look?", "k1", to=agent)
        assert opening.pushed()["meta"]["event_id"] == pushed
        until(lambda: delivery(both, pushed, agent)[:2] == ["offered", "accepted"])

        assert "Can you look?" not in hook("prompt", "UserPromptSubmit", prompt="Go on.")
        assert opening.end() == []


def is_new(agent: str) -> bool:
    return agent not in (AMBER, COBALT)


def test_a_knock_is_pushed_without_the_text(both: Here):
    thanks = {"eventId": "slack:1", "source": {"platform": "slack"}, "author": {"id": "U1", "kind": "human"}}
    thanks |= {"conversation": {"id": "D1", "kind": "dm"}, "target": {"recipient": f"agent:{COBALT}"}}
    with opened(both, "--channel", "--agent", COBALT) as session:
        ingest(both, thanks | {"content": [{"type": "text", "text": "Thanks a lot!"}]})
        pushed = session.pushed()

        assert pushed["meta"]["form"] == "knock"
        assert pushed["meta"]["policy"] == "ack_only"
        assert "Thanks" not in str(pushed)


def test_what_was_not_written_to_the_host_is_pushed_in_its_next_session(both: Here):
    """As when the server is killed between the record and the push."""
    event = send(both, "Can you look?", "k1")

    def pushing(desk: Desk) -> Pushing:
        return Pushing(desk, pytest.fail, lambda error: pytest.fail(str(error)))

    box = both.toolbox(COBALT)
    with closing(box.desk()) as first, closing(box.desk()) as second:
        (lost,) = pushing(first).look()
        after = pushing(second)
        (again,) = after.look()
        after.pushed(again)
        rest = after.look()

    assert (lost.event, again.event) == (event, event)
    assert RULES in again.text
    assert rest == []
    assert delivery(both, event)[-1] == "accepted"
