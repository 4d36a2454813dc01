"""A harness of one's own for `bb chat serve`: a real process at the other end of real pipes, or of a socket.

It says exactly what it is told to, and the clock stands still until a test moves it. What is handed over is answered
only when a test says so.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import select
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bb.attention.rehearsal.native_ids import NativeIds
from bb.kernel import clock
from tests import preloaded
from tests.near import near
from tests.support import NOON, Scratch, environment
from tests.waiting import PATIENCE

AMBER, BLUE = "amber-otter", "blue-heron"
HANDLES = {AMBER: "U1", BLUE: "U2"}
CAPABILITIES = {
    "delivery": dict.fromkeys(("ack", "redelivery", "idempotency"), True),
    "injection": dict.fromkeys(("immediate", "buffered", "notify", "tool_mailbox", "digest", "interrupt"), True),
    "chatTools": dict.fromkeys(
        ("readThread", "sendMessage", "react", "reactionSignals", "claim", "defer", "resolve"), True
    ),
    "utilities": dict.fromkeys(("progress", "cancellation", "logging"), True),
}
# The specification's own example of an envelope.
EXAMPLE: dict[str, Any] = {
    "eventId": "evt_123",
    "source": {"platform": "slack", "workspaceId": "T123"},
    "conversation": {
        "id": "C123",
        "kind": "dm",
        "streamId": "stream_backend-migration",
        "threadId": "1748890000.000100",
    },
    "author": {"id": "U123", "kind": "human", "displayName": "Will"},
    "target": {"mentions": ["agent:lead"], "recipient": "agent:lead", "directedness": "to_me"},
    "content": [{"type": "text", "text": "Can you check whether the deploy is blocked?"}],
    "timing": {"createdAt": "2026-06-02T19:10:00Z", "sequence": 42},
    "attention": {"policy": "must_respond", "reason": "direct_message", "priority": "normal", "deadlineMs": 300000},
    "injection": {"mode": "buffered", "context": "thread_window", "role": "user"},
    "reliability": {"attempt": 1, "idempotencyKey": "evt_123:agent_lead"},
}
IDS = NativeIds()  # tests name events as their platform does
IDS.note(EXAMPLE)


class Refused(Exception):
    """The host has answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.number: int = error["code"]
        self.data: dict[str, Any] = error["data"]
        self.code: str = error["data"]["code"]


def without(*names: str) -> dict[str, Any]:
    """All capabilities but those, named as `injection.notify`."""
    found = copy.deepcopy(CAPABILITIES)
    for name in names:
        section, _, flag = name.partition(".")
        found[section][flag] = False
    return found


class Connection:
    """Bytes in both directions."""

    def fileno(self) -> int:
        raise NotImplementedError

    def read(self) -> bytes:
        raise NotImplementedError

    def write(self, octets: bytes) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def last_words(self) -> str:
        """What the host has said on stderr, if anybody can tell."""
        return ""


class Child(Connection):
    """`bb chat serve --stdio` as our child."""

    def __init__(self, repo: Scratch, *words: str, **settings: str) -> None:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        env = environment(**(repo.settings | settings))
        command = ["chat", "serve", "--stdio", *words]
        self.process = preloaded.start("bb chat serve", command, cwd=repo.path, env=env, **pipes)
        assert self.process.stdin
        assert self.process.stdout
        self._in, self._out = self.process.stdin, self.process.stdout

    def fileno(self) -> int:
        return self._out.fileno()

    def read(self) -> bytes:
        return os.read(self._out.fileno(), 1 << 16)

    def write(self, octets: bytes) -> None:
        self._in.write(octets)
        self._in.flush()

    def hang_up(self) -> int:
        """Close its stdin; its exit status."""
        self._in.close()
        return self.process.wait(PATIENCE)

    def last_words(self) -> str:
        self.process.kill()
        assert self.process.stderr
        return self.process.stderr.read().decode()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                if stream:
                    stream.close()


class Caller(Connection):
    """A connection to the socket of a `bb chat serve --socket`."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(str(path))

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> bytes:
        return self._socket.recv(1 << 16)

    def write(self, octets: bytes) -> None:
        self._socket.sendall(octets)

    def close(self) -> None:
        self._socket.close()


class Harness:
    """What is at the other end."""

    def __init__(self, line: Connection) -> None:
        self.line = line
        self._rest = b""
        self._count = 0
        self.frames: list[dict[str, Any]] = []  # that came and were not looked at
        self.octets = b""  # all there ever was

    # -- frames

    def say(self, **message: Any) -> None:
        self.line.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def tell(self, method: str, **params: Any) -> None:
        if "eventId" in params:
            params["eventId"] = IDS.scoped(params["eventId"])
        self.say(method=method, params=params)

    def receive(self) -> dict[str, Any] | None:
        """The next frame; None once the host has hung up."""
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self.line], [], [], max(deadline - time.monotonic(), 0))
            assert ready, "the host says nothing"
            octets = self.line.read()
            if not octets:
                return None
            self._rest += octets
            self.octets += octets
        line, _, self._rest = self._rest.partition(b"\n")
        found: dict[str, Any] = IDS.shortened(json.loads(line))
        assert found["jsonrpc"] == "2.0"
        return found

    def until(self, request: Any) -> dict[str, Any]:
        """The answer to a request of ours; what comes before it is kept."""
        while True:
            found = self.receive()
            assert found is not None, f"the host has hung up: {self.line.last_words()}"
            if "method" not in found and found.get("id") == request:
                return found
            self.frames.append(found)

    # -- what is asked

    def ask(self, method: str, **params: Any) -> Any:
        """What a request is answered."""
        self._count += 1
        self.say(id=self._count, method=method, params=params)
        found = self.until(self._count)
        if "error" in found:
            raise Refused(found["error"])
        return found["result"]

    def refusal(self, method: str, **params: Any) -> Refused:
        try:
            answer = self.ask(method, **params)
        except Refused as refused:
            return refused
        raise AssertionError(f"it was not refused, but answered {answer}")

    def call(self, tool: str, **arguments: Any) -> Any:
        """What a tool answers."""
        answer = self.ask("tools/call", name=tool, arguments=arguments)
        assert answer["isError"] is False
        assert json.loads(answer["content"][0]["text"]) == answer["structuredContent"]
        return answer["structuredContent"]

    def initialize(self, capabilities: dict[str, Any] | None = None, **more: Any) -> Any:
        params = {"protocolVersion": "2026-06-02", "clientInfo": {"name": "test", "version": "1"}, **more}
        answer = self.ask("initialize", capabilities=CAPABILITIES if capabilities is None else capabilities, **params)
        self.tell("notifications/initialized")
        return answer

    # -- what is handed over

    def news(self) -> list[dict[str, Any]]:
        """All that was said by now without being asked for."""
        self.ask("ping")
        found, self.frames = self.frames, []
        return found

    def delivers(self) -> list[dict[str, Any]]:
        """What was handed over by now: the requests."""
        return [each for each in self.news() if each["method"] == "chat/deliver"]

    def events(self) -> list[str]:
        return [each["params"]["eventId"] for each in self.delivers()]

    def deliver(self) -> dict[str, Any]:
        """The one thing that was handed over by now; its request."""
        (found,) = self.delivers()
        return found

    def answer(self, deliver: dict[str, Any], status: str = "accepted", **more: Any) -> None:
        self.say(id=deliver["id"], result={"status": status, **more})

    def decline(self, deliver: dict[str, Any], code: int, message: str = "no") -> None:
        self.say(id=deliver["id"], error={"code": code, "message": message})

    def take(self) -> dict[str, Any]:
        """The one thing that was handed over by now, accepted: its envelope."""
        found = self.deliver()
        self.answer(found)
        params: dict[str, Any] = found["params"]
        return params

    def close(self) -> None:
        self.line.close()


class World:
    """A repository with two agents at noon, and whatever harnesses a test connects."""

    def __init__(self, path: Path) -> None:
        self.now = clock.parse(NOON)
        self.repo = near(path / "repo")
        self.bb("init")
        for agent, handle in HANDLES.items():
            self.bb("agent", "register", "--name", agent, "--role", "builder")
            roles = ["--role", "@backend", *(["--role", "@solo"] if agent == AMBER else [])]
            self.bb("chat", "bind", agent, "--handle", f"slack:{handle}", *roles)
        self.harnesses: list[Harness] = []
        self.servers: list[preloaded.Process] = []

    def bb(self, *words: str, stdin: str | None = None) -> Any:
        """What a command answers, which no server runs."""
        return IDS.shortened(self.repo.json(*words, stdin=stdin, BB_NOW=clock.text(self.now)).data)

    @property
    def settings(self) -> dict[str, str]:
        return {"BB_NOW": clock.text(self.now), "BB_CHAT_CLOCK": "client"}

    def connect(self, agent: str = AMBER, *words: str, **settings: str) -> Harness:
        """A harness that has said nothing yet."""
        child = Child(self.repo, *(["--agent", agent] if agent else []), *words, **(self.settings | settings))
        self.harnesses.append(Harness(child))
        return self.harnesses[-1]

    def harness(self, capabilities: dict[str, Any] | None = None, *, agent: str = AMBER, **more: Any) -> Harness:
        """A harness whose session has begun."""
        found = self.connect(agent)
        found.initialize(capabilities, **more)
        return found

    def serve(self, name: str = "s", *words: str) -> Path:
        """A socket that is served."""
        path = self.repo.path.parent / name
        env = environment(**(self.repo.settings | self.settings))
        command = ["chat", "serve", "--socket", str(path), *words]
        server = preloaded.start("bb chat serve", command, cwd=self.repo.path, env=env, stderr=subprocess.PIPE)
        self.servers.append(server)
        assert server.stderr
        assert b"served at" in server.stderr.readline()
        return path

    def caller(self, path: Path, agent: str = "", capabilities: dict[str, Any] | None = None) -> Harness:
        """A harness at a socket; its session has begun where an AGENT is named."""
        found = Harness(Caller(path))
        self.harnesses.append(found)
        if agent:
            found.initialize(capabilities, session={"agent": agent})
        return found

    # -- time, and what is said

    def wait(self, seconds: float, *harnesses: Harness) -> None:
        """Time passes, for everybody."""
        self.now += round(seconds * clock.SECOND)
        for harness in harnesses:
            harness.tell("bb/now", now=clock.text(self.now))

    def says(self, *lines: dict[str, Any]) -> Any:
        """Something is said on a platform, and handed in by another process."""
        return self.bb("chat", "ingest", stdin="\n".join(map(json.dumps, lines)))

    def show(self, event: str, agent: str = AMBER) -> dict[str, Any]:
        found: dict[str, Any] = self.bb("chat", "show", event, "--agent", agent)
        return found

    def close(self) -> None:
        for harness in self.harnesses:
            harness.close()
        for server in self.servers:
            server.terminate()
            _, words = server.communicate(timeout=PATIENCE)
            assert (server.returncode, words) == (0, b"")


@contextlib.contextmanager
def world_at(path: Path) -> Iterator[World]:
    """A world that is gone afterwards."""
    found = World(path)
    try:
        yield found
    finally:
        found.close()


def dm(event: str, text: str, to: str = AMBER, **more: Any) -> dict[str, Any]:
    """A person says something to one agent."""
    return line(event, text, {"id": f"D-{to}", "kind": "dm"}, target={"recipient": HANDLES[to]}, **more)


def post(event: str, text: str, *mentions: str, thread: str = "", **more: Any) -> dict[str, Any]:
    """A person says something in a channel."""
    where = {"id": "C1", "kind": "channel", **({"threadId": thread} if thread else {})}
    return line(event, text, where, target={"mentions": list(mentions)}, **more)


def line(event: str, text: str, where: dict[str, str], **more: Any) -> dict[str, Any]:
    said = {"type": "message", "eventId": event, "source": {"platform": "slack"}, "conversation": where}
    IDS.note(said)
    return {**said, "author": {"id": "W1", "kind": "human"}, "content": [{"type": "text", "text": text}], **more}


def edit(of: dict[str, Any], text: str, version: int = 2) -> dict[str, Any]:
    return {**of, "type": "edit", "version": version, "content": [{"type": "text", "text": text}]}


def delete(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "delete", "eventId": of["eventId"], "source": of["source"], "conversation": of["conversation"]}


# -- a validator of JSON Schema, as far as our own schema needs one


def problems(value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None, at: str = "") -> list[str]:
    """Where VALUE is not as SCHEMA says."""
    root = schema if root is None else root
    if "$ref" in schema:
        return problems(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, at)
    unknown = schema.keys() - KNOWN
    assert not unknown, f"the validator does not know {unknown}"
    if "type" in schema and not _is(value, schema["type"]):
        return [f"{at or '/'}: not of type {schema['type']}"]
    found = [f"{at}: none of {schema['enum']}"] if "enum" in schema and value not in schema["enum"] else []
    if isinstance(value, str | list):
        found += [f"{at}: too short"] if len(value) < schema.get("minLength", schema.get("minItems", 0)) else []
    if isinstance(value, int):
        found += [f"{at}: too small"] if value < schema.get("minimum", value) else []
    found += [f"{at}/{name}: missing" for name in schema.get("required", []) if name not in value]
    for name, each in _inside(value, schema):
        found += problems(value[name], each, root, f"{at}/{name}")
    if "oneOf" in schema:
        fitting = [each for each in schema["oneOf"] if not problems(value, each, root, at)]
        found += [] if len(fitting) == 1 else [f"{at or '/'}: fits {len(fitting)} of those it is to be one of"]
    if "not" in schema and not problems(value, schema["not"], root, at):
        found.append(f"{at or '/'}: is what it must not be")
    return found


def _inside(value: Any, schema: dict[str, Any]) -> list[tuple[Any, dict[str, Any]]]:
    """The members or items of VALUE of which SCHEMA says something."""
    if isinstance(value, list):
        return [(place, schema.get("items", {})) for place in range(len(value))]
    return [(name, each) for name, each in schema.get("properties", {}).items() if name in value]


KNOWN = {"$schema", "$id", "title", "description", "type", "enum", "minLength", "minimum", "minItems", "items"}
KNOWN |= {"required", "properties", "oneOf", "not", "$defs", "examples", "default"}
TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}


def _is(value: Any, wanted: str) -> bool:
    return isinstance(value, TYPES[wanted]) and (wanted != "integer" or not isinstance(value, bool))
