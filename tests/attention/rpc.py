"""The same steps for `bb chat serve`: every tool is called by a line of JSON-RPC, and answered by one.

What stands between the lines and the ledger is what stands there in the running server; only the stream is none
(tests/stories/attention has that). A bridge hands in what was said on a platform, and each agent has a line of its
own. What a harness has no method for, a person at a terminal would do: there the ops behind the commands are asked.
"""

from __future__ import annotations

import json
from typing import Any

from bb.attention.refusals import NUMBERS
from bb.attention.rehearsal.replay import START
from bb.attention.rehearsal.steps import replay_span
from bb.kernel import clock
from bb.kernel.errors import BbError
from bb.ops import catalogue
from bb.ops.desk.desk import Desk
from bb.wire.c2a import BY_FAMILY
from bb.wire.harness_session import HarnessSession
from tests.attention.hosts import InRepository, Refused
from tests.support import Scratch, environment

BRIDGE = "bridge-fern"
CHAT_TOOLS = ("readThread", "sendMessage", "react", "reactionSignals", "claim", "defer", "resolve")


class Line:
    """One harness that takes no deliveries, and asks."""

    def __init__(self, desk: Desk, agent: str) -> None:
        self.said: list[bytes] = []
        self.notes: list[str] = []
        self._count = 0
        self._seat = HarnessSession(desk, None, self.said.append, self.notes.append, _raise, lambda: None)
        about = {"session": {"agent": agent}, "capabilities": {"chatTools": dict.fromkeys(CHAT_TOOLS, True)}}
        self.ask("initialize", {"protocolVersion": "2026-06-02", "clientInfo": {"name": "test"}, **about})

    def tell(self, method: str, params: Any) -> None:
        self._seat.take(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def ask(self, method: str, params: Any) -> Any:
        """The one answer that a request has."""
        self._count += 1
        request = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        self._seat.take(json.dumps(request).encode())
        (octets,) = self.said
        self.said.clear()
        found = json.loads(octets)
        assert found["id"] == self._count
        if "error" in found:
            raise _refused(found["error"])
        return found["result"]

    def call(self, tool: str, given: dict[str, Any]) -> Any:
        arguments = {name: value for name, value in given.items() if name != "agent"}
        found = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert found["isError"] is False
        assert json.loads(found["content"][0]["text"]) == found["structuredContent"]
        return found["structuredContent"]


def _raise(error: Exception) -> None:
    raise error


def _refused(error: dict[str, Any]) -> Refused:
    """What a refusal says, in the words of the other hosts; it stands under the number of its code."""
    about = dict(error["data"])
    code, path = about.pop("code").upper(), about.pop("path", None)
    about.pop("hint", None)
    assert error["code"] in (NUMBERS.get(code), *([] if code in NUMBERS else BY_FAMILY.values()))
    details = {_snake(name): value for name, value in about.items()}
    return Refused(
        {"code": code, "message": error["message"], "details": details | ({"pointer": path} if path else {})}
    )


def _snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


class JsonRpc(InRepository):
    """Harnesses and a bridge on lines of their own."""

    name = "json-rpc"

    def __init__(self, repo: Scratch) -> None:
        super().__init__(repo)
        self._lines: dict[str, Line] = {}
        self._desk = Desk(str(repo.path), environment(BB_CHAT_CLOCK="client", BB_NOW=clock.text(START)))
        self._op("init")
        self._op("agent.register", name=BRIDGE, role="bridge")

    def do(self, **step: Any) -> Any:
        ((name, given),) = step.items()
        if name not in TOOLS:
            return super().do(**step)
        try:
            return self.ids.shortened(self._line(given["agent"]).call(TOOLS[name], given))
        except Refused as refused:
            raise self.as_given(refused) from None

    def peek(self, agent: str) -> Any:
        return self._op("chat.inject", peek=True, agent=agent)

    def close(self) -> None:
        self._desk.close()

    # -- how it is done

    def _line(self, agent: str) -> Line:
        if agent not in self._lines:
            self._lines[agent] = Line(self._desk, agent)
        return self._lines[agent]

    def _op(self, name: str, /, **given: Any) -> Any:
        op = catalogue.find(name)
        try:
            answer = op.run(self._desk, catalogue.bind(op, given, is_typed=True))
            found = answer if isinstance(answer, dict | list) else list(answer)
        except BbError as refusal:
            error = {"code": refusal.code, "message": refusal.message, "details": refusal.details}
            raise Refused(error | {"status": refusal.exit_status}) from refusal
        return json.loads(json.dumps(found))

    # -- who is there, and how it is set up

    def _agents(self, given: list[dict[str, Any]]) -> Any:
        for each in given:
            self.agents.append(each["id"])
            self._op("agent.register", name=each["id"], role=each.get("role", "builder"))
        return {"agents": sorted(self.agents)}

    def _bind(self, given: dict[str, Any]) -> Any:
        names = {"handles": "handle", "roles": "role", "streams": "stream", "conversations": "conversation"}
        about: dict[str, Any] = {option: given[name] for name, option in names.items() if name in given}
        if "threads" in given:
            about["thread"] = [each.replace(" ", "/") for each in given["threads"]]
        return self._op("chat.bind", agent=given["agent"], remove=given.get("remove", False), **about)

    def _conversation(self, given: dict[str, Any]) -> Any:
        names = {"members": "member", "is_private": "private", "is_external": "external"}
        about = {names.get(name, name): value for name, value in given.items() if name != "id"}
        if about.get("private") is False:
            about |= {"public": True}
        return self._op("chat.arrange", conversation=given["id"], **about)

    def _policy(self, given: dict[str, Any]) -> Any:
        return self._op("chat.policy", set=given)

    # -- what comes in

    def _ingest(self, given: Any) -> Any:
        lines = given if isinstance(given, list) else [given]
        found = self._line(BRIDGE).ask("chat/ingest", {"lines": lines})["events"]
        return found if isinstance(given, list) else found[0]

    def _receive(self, given: dict[str, Any]) -> Any:
        return self._line(given["agent"]).ask("chat/deliver", given["envelope"])

    # -- time

    def _pass(self, given: str) -> Any:
        self.now += replay_span(given)
        self._line(BRIDGE).tell("bb/now", {"now": clock.text(self.now)})
        for agent in self.agents:  # they are at work all the while
            self._op("agent.heartbeat", agent=agent)
        return {"now": clock.text(self.now)}

    def _tick(self, _: Any) -> Any:
        return self._op("chat.tick")

    # -- what agents see and do beside the tools

    def _inject(self, agent: str) -> Any:
        return self._op("chat.inject", plain=True, agent=agent)

    def _show(self, given: dict[str, Any]) -> Any:
        return self._op("chat.show", event=given["event"], agent=given["agent"])

    def _explain(self, given: dict[str, Any]) -> Any:
        return self._op("chat.explain", event=given["event"], agent=given["agent"])

    def _pending(self, agent: str) -> Any:
        return self._op("chat.pending", agent=agent)

    def _knocks(self, agent: str) -> Any:
        return self._op("chat.knocks", agent=agent)

    def _digest(self, agent: str) -> Any:
        return self._op("chat.digest", agent=agent)

    def _progress(self, given: dict[str, Any]) -> Any:
        return self._op("chat.progress", **{name: str(value) for name, value in given.items()})

    def _cancel(self, given: dict[str, Any]) -> Any:
        return self._op("chat.cancel", **given)

    def _audit(self, given: dict[str, Any]) -> Any:
        older = {"open_older": given["openOlder"]} if "openOlder" in given else {}
        return self._op("chat.audit", limit=200, **older)

    def _confirmations(self, _: Any) -> Any:
        return self._op("chat.confirmations")["confirmations"]

    def _confirm(self, given: dict[str, Any]) -> Any:
        name = given.get("id") or self._confirmations({})[0]["id"]
        return self._op("chat.confirm", request=name, refuse=given.get("refuse", False))

    def _outbox(self, given: Any) -> Any:
        if not isinstance(given, dict) or "id" not in given:
            return self._op("chat.outbox")
        about = {
            "platform_id": given.get("platform_id"),
            "failed": given.get("reason"),
            "unknown": given.get("unknown"),
        }
        return self._op("chat.outbox", action="ack", id=given["id"], **{name: v for name, v in about.items() if v})


TOOLS = {
    "list": "chat.list_events",
    "read": "chat.read_thread",
    "send": "chat.send_message",
    "react": "chat.react",
    "claim": "chat.claim",
    "defer": "chat.defer",
    "resolve": "chat.resolve",
}
