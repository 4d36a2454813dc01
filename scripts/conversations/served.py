"""The host as users have it: a running `bb chat serve`, a socket, a session for each agent, and a bridge beside it.

The bridge takes in payloads and posts the outbox in a process of its own, as `bb chat ingest` and `bb chat outbox` do.
The clock is moved by the client, so nothing waits.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any, Self

from bb.kernel import clock
from bb.ledger.views import attention
from bb.ops import catalogue
from bb.ops.desk.desk import Desk
from scripts.conversations.in_memory import arranged, bindings
from scripts.conversations.script import AGENTS
from scripts.conversations.stage import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from bb.attention.state.attention_state import AttentionState
    from scripts.conversations.platforms.platform import Platform
    from scripts.conversations.script import Conversation

CAPABILITIES = {
    "delivery": dict.fromkeys(("ack", "redelivery", "idempotency"), True),
    "injection": dict.fromkeys(("immediate", "buffered", "notify", "tool_mailbox", "interrupt"), True),
    "chatTools": dict.fromkeys(
        ("readThread", "sendMessage", "react", "reactionSignals", "claim", "defer", "resolve"), True
    ),
    "utilities": dict.fromkeys(("progress", "cancellation"), True),
}
BRIDGE = "bridge-fern"
PATIENCE = 60.0  # seconds for the server to answer


class Session:
    """One harness at the socket."""

    def __init__(self, path: str, agent: str, capabilities: dict[str, Any] | None = None) -> None:
        self.agent = agent
        self.waiting: list[dict[str, Any]] = []  # deliveries that were not looked at yet
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(PATIENCE)
        self._socket.connect(path)
        self._unread = b""
        self._count = 0
        about = {"clientInfo": {"name": "conversations"}, "session": {"agent": agent}}
        wanted = CAPABILITIES if capabilities is None else capabilities
        self.ask("initialize", {"protocolVersion": "2026-06-02", "capabilities": wanted, **about})
        self.tell("notifications/initialized", {})

    def close(self) -> None:
        self._socket.close()

    def say(self, **message: Any) -> None:
        self._socket.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def tell(self, method: str, params: Any) -> None:
        self.say(method=method, params=params)

    def ask(self, method: str, params: Any) -> Any:
        """The answer to a request. Deliveries that come before it are accepted, and wait."""
        self._count += 1
        self.say(id=self._count, method=method, params=params)
        while True:
            message = self.hear()
            if "method" not in message and message.get("id") == self._count:
                break
        if "error" in message:
            data = message["error"].get("data", {})
            raise Refused(str(data.get("code", "")), data)
        return message["result"]

    def hear(self) -> dict[str, Any]:
        """The next line of the server."""
        while b"\n" not in self._unread:
            octets = self._socket.recv(1 << 16)
            if not octets:
                raise ConnectionError(f"the server has closed the session of {self.agent}")
            self._unread += octets
        line, _, self._unread = self._unread.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        if message.get("method") == "chat/deliver":
            self.say(id=message["id"], result={"status": "accepted"})
            self.waiting.append(message["params"])
        return message


class Server:
    """A running `bb chat serve` of one repository."""

    def __init__(self, repository: str, bb: Sequence[str], **settings: str) -> None:
        self._folder = tempfile.mkdtemp(prefix="bb-chat-")
        self.socket = os.path.join(self._folder, "s")
        self._process = subprocess.Popen(
            [*bb, "chat", "serve", "--socket", self.socket, "--json"],
            cwd=repository,
            env=environment() | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it is ready

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        if self._process.stdout:
            self._process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class Served:
    """A repository and the server of its chat, whose clock is moved by the stage."""

    def __init__(self, repository: str, bb: Sequence[str], start: int) -> None:
        self._desk = Desk(repository, environment())
        self._now = 0
        self._set_now(start)
        self._op("init")
        for agent in AGENTS.values():
            self._op("agent.register", name=agent, role="builder")
        self._server = Server(repository, bb, BB_CHAT_CLOCK="client", BB_NOW=clock.text(start))
        self._sessions: dict[str, Session] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._leave()
        self._server.close()
        self._desk.close()

    def bind(self, conversation: Conversation, names: Platform) -> None:
        """Set the names of the agents, and the conversations that are posted outside."""
        for known in AGENTS.values():
            self._op("chat.bind", agent=known, remove=True)
        for agent in conversation.agents:
            found = bindings(names, agent)
            words = {"handles": "handle", "roles": "role", "streams": "stream", "conversations": "conversation"}
            given: dict[str, Any] = {words[name]: listed for name, listed in found.items() if listed}
            self._op("chat.bind", agent=agent.id, **given)
        for place, about in arranged(conversation, names):
            self._arrange(place, about)

    # -- what the stage asks

    def begin(self, conversation: Conversation, names: Platform, now: int) -> None:
        self._leave()
        self._set_now(now)
        self.bind(conversation, names)
        for agent in conversation.agents:
            if not agent.is_away:
                self._sessions[agent.id] = Session(self._server.socket, agent.id)
        self._tell_now()

    def _tell_now(self) -> None:
        """Tell the server the time, by any session, and wait until it knows."""
        session = next(iter(self._sessions.values()))
        session.tell("bb/now", {"now": clock.text(self._now)})
        session.ask("ping", {})

    def _leave(self) -> None:
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    def external(self, conversation: str) -> None:
        self._arrange(conversation, {"is_external": True, "platform": "discord"})

    def _arrange(self, place: str, about: dict[str, Any]) -> None:
        words = {"is_external": "external"}
        self._op("chat.arrange", conversation=place, **{words.get(name, name): value for name, value in about.items()})

    def until(self, now: int) -> None:
        if now != self._now:
            self._set_now(now)
            self._tell_now()

    def _set_now(self, now: int) -> None:
        self._now = now
        self._desk.env = {**self._desk.env, "BB_NOW": clock.text(now)}

    def ingest(self, form: str, documents: list[Any]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._op("chat.ingest", format=form, lines=documents)["events"]
        return found

    def deliveries(self) -> list[tuple[str, dict[str, Any]]]:
        handed = []
        for agent, session in self._sessions.items():
            session.ask("ping", {})
            handed += [(agent, envelope) for envelope in session.waiting]
            session.waiting.clear()
        return handed

    def call(self, agent: str, tool: str, given: dict[str, Any]) -> dict[str, Any]:
        answer = self._sessions[agent].ask("tools/call", {"name": tool, "arguments": given})
        found: dict[str, Any] = answer["structuredContent"]
        return found

    def turn(self, agent: str, envelope: dict[str, Any], state: str, *, outbound: bool) -> None:
        about = {"eventId": envelope["eventId"], "attempt": envelope["reliability"]["attempt"]}
        self._sessions[agent].tell("chat/turn", {**about, "state": state, "outbound": outbound})

    def outbox(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._op("chat.outbox")
        return found

    def posted(self, event: str, name: str) -> None:
        self._op("chat.outbox", action="ack", id=event, **({"platform_id": name} if name else {}))

    def book(self) -> AttentionState:
        store = self._desk.ledger
        index = store.caught_up()
        return attention.book(store, index, self._now, self._desk.stale_after_in(index))

    def _op(self, name: str, /, **given: Any) -> Any:
        op = catalogue.find(name)
        answer = op.run(self._desk, catalogue.bind(op, given, is_typed=True))
        found = answer if isinstance(answer, dict | list) else list(answer)
        return json.loads(json.dumps(found))


def environment() -> dict[str, str]:
    """The environment without settings of bb and git."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("BB_", "GIT_"))}
