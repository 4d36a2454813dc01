"""One script, several hosts: the same steps against the rules in memory, and against `bb` in a repository of its own.

A test says what is done in steps of `bb chat replay`, and asks any host for it. So that the faces answer alike is not
tested beside the rules, but with each of them.
"""

from __future__ import annotations

import json
from typing import Any

from bb.attention.rehearsal.native_ids import NativeIds
from bb.attention.rehearsal.replay import START, Replay
from bb.attention.rehearsal.steps import replay_span
from bb.kernel import clock
from tests.support import Ran, Scratch

AMBER, BLUE, CORAL, DELTA = "amber-otter", "blue-heron", "coral-finch", "delta-wren"
EVERYBODY = (AMBER, BLUE, CORAL, DELTA)
HANDLES = dict(zip(EVERYBODY, ("U1", "U2", "U3", "U4"), strict=True))


class Refused(Exception):
    """The host has refused a step."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: str = error["code"]
        self.details: dict[str, Any] = error.get("details") or {}
        self.status: int | None = error.get("status")


class Host:
    """Where steps are done."""

    name = ""

    def do(self, **step: Any) -> Any:
        """What one step answers: `host.do(claim={"agent": AMBER, "eventId": "1"})`."""
        raise NotImplementedError

    def sees(self, agent: str) -> list[str]:
        """What an agent would see in its next turn: `content EVENT POLICY`, `knock EVENT POLICY`."""
        raise NotImplementedError

    def everything(self) -> str:
        """All that is kept anywhere, as text: to look for what must not be there."""
        raise NotImplementedError

    # -- short ways to say what is said

    def people(self, *roles: tuple[str, str]) -> None:
        """The four agents, each with its handle on slack; those with ROLES are members of them."""
        self.do(agents=[{"id": agent} for agent in EVERYBODY])
        for agent in EVERYBODY:
            mine = [role for name, role in roles if name == agent]
            self.do(bind={"agent": agent, "handles": [f"slack:{HANDLES[agent]}"], **({"roles": mine} if mine else {})})

    def says(self, event: str, text: str, **more: Any) -> Any:
        """A person says something in a channel, unless MORE says otherwise."""
        return self.do(ingest=message(event, text, **more))

    def dm(self, event: str, text: str, to: str = AMBER, **more: Any) -> Any:
        """A person says something to one agent."""
        return self.says(event, text, conversation=f"D-{to}", kind="dm", recipient=HANDLES[to], **more)

    def explain(self, event: str, agent: str = AMBER) -> dict[str, Any]:
        found: dict[str, Any] = self.do(explain={"agent": agent, "event": event})
        return found

    def triple(self, event: str, agent: str = AMBER) -> str:
        """What an event is to an agent, as `directedness/policy/injection`: as explained, and as it is listed."""
        found = self.explain(event, agent)
        rows = self.do(list={"agent": agent, "limit": 200})["events"]
        listed = [row for row in rows if row["eventId"] == event]
        told = found["now"]
        for row in listed:
            assert row["directedness"] == told["directedness"]
            assert row["policy"] == told["policy"]
            assert row["injection"] == told["injection"]
        return f"{told['directedness']}/{told['policy']}/{told['injection']}"

    def send(self, agent: str, text: str, key: str, **more: Any) -> dict[str, Any]:
        """An agent says something; as an answer that obliges nobody, unless MORE says otherwise."""
        said = {"content": text, "idempotencyKey": key, "visibility": "channel", "directedness": "to_other", **more}
        found: dict[str, Any] = self.do(send={"agent": agent, **said})
        return found

    def refusal(self, **step: Any) -> Refused:
        """Why a step is refused."""
        try:
            answer = self.do(**step)
        except Refused as refused:
            return refused
        raise AssertionError(f"it was not refused, but answered {answer}")

    def inject(self, agent: str = AMBER) -> dict[str, Any]:
        found: dict[str, Any] = self.do(inject=agent)
        return found

    def wait(self, span: str) -> None:
        self.do(**{"pass": span})

    def disposition(self, event: str, agent: str = AMBER) -> str | None:
        found: str | None = self.do(show={"agent": agent, "event": event})["disposition"]
        return found


def message(
    event: str,
    text: str,
    *,
    conversation: str = "C1",
    kind: str = "channel",
    thread: str = "",
    stream: str = "",
    author: str = "W1",
    author_kind: str = "human",
    name: str = "",
    mentions: list[str] | None = None,
    recipient: str = "",
    platform: str = "slack",
    sequence: int | None = None,
    reply_to: str = "",
    **more: Any,
) -> dict[str, Any]:
    """A line of a surface."""
    where = {"id": conversation, "kind": kind, "threadId": thread or None, "streamId": stream or None}
    target = {"mentions": mentions, "recipient": recipient or None}
    line = {
        "eventId": event,
        "source": {"platform": platform},
        "conversation": {name: value for name, value in where.items() if value is not None},
        "author": {"id": author, "kind": author_kind, **({"displayName": name} if name else {})},
        "target": {name: value for name, value in target.items() if value is not None},
        "content": [{"type": "text", "text": text}],
        **({"timing": {"sequence": sequence}} if sequence is not None else {}),
        **({"replyTo": reply_to} if reply_to else {}),
    }
    return line | more


class InMemory(Host):
    """The rules, with a ledger in memory: what `bb chat replay` runs."""

    name = "replay"

    def __init__(self) -> None:
        self.replay = Replay(START)

    def do(self, **step: Any) -> Any:
        return self.step_in("here", **step)

    def step_in(self, clone: str, /, **step: Any) -> Any:
        """Do a step in one of several clones."""
        found = self.replay.step({"in": clone, **step})
        if "error" in found:
            raise Refused(found["error"])
        return json.loads(json.dumps(found["answer"]))  # as it comes through any face

    def sees(self, agent: str) -> list[str]:
        return self.replay.seen()[agent]

    def everything(self) -> str:
        lines = [[place, ts, fact.as_dict()] for place, ts, fact in self.replay.here.lines]
        return json.dumps(lines, default=str, ensure_ascii=False)


class InRepository(Host):
    """A repository, at a time that stands still: each step has a method of its name."""

    def __init__(self, repo: Scratch) -> None:
        self.repo = repo
        self.now = START
        self.agents: list[str] = []
        self.ids = NativeIds()  # tests name events as their platform does

    def do(self, **step: Any) -> Any:
        ((name, given),) = step.items()
        if name in ("ingest", "receive"):
            self.ids.note(given.get("envelope") if name == "receive" else given)
        try:
            return self.ids.shortened(getattr(self, f"_{name}")(given))
        except Refused as refused:
            raise self.as_given(refused) from None

    def as_given(self, refused: Refused) -> Refused:
        """A refusal with the ids of the test."""
        about = {
            "code": refused.code,
            "message": str(refused).partition(": ")[2],
            "details": refused.details,
            "status": refused.status,
        }
        return Refused(self.ids.shortened(about))

    def sees(self, agent: str) -> list[str]:
        shapes = {"notify": "knock"}
        blocks = self.peek(agent)["blocks"]
        shown = [f"{shapes.get(each['mode'], 'content')} {each['eventId']} {each['policy']}" for each in blocks]
        found: list[str] = self.ids.shortened(shown)
        return found

    def everything(self) -> str:
        return "\n".join(file.read_text() for file in sorted(self.repo.store.glob("j/*/*.jsonl")))

    def peek(self, agent: str) -> Any:
        """What an agent would see, without its being handed over."""
        raise NotImplementedError

    def _ingest(self, given: Any) -> Any:
        raise NotImplementedError

    def _edit(self, given: Any) -> Any:
        return self._ingest(given | {"type": "edit"})

    def _delete(self, given: Any) -> Any:
        return self._ingest(given | {"type": "delete"})

    def _reaction(self, given: Any) -> Any:
        return self._ingest(given | {"type": "reaction"})

    def _typing(self, given: Any) -> Any:
        return self._ingest(given | {"type": "typing"})


class CommandLine(InRepository):
    """`bb chat …` in a repository."""

    name = "command line"

    def __init__(self, repo: Scratch) -> None:
        super().__init__(repo)
        self.run("init")

    def run(self, *words: str, stdin: str | None = None, **settings: str) -> Any:
        done: Ran = self.repo.json(*words, stdin=stdin, BB_NOW=clock.text(self.now), **settings)
        found = done.envelope
        if not found["ok"]:
            raise Refused(found["error"] | {"status": done.status})
        return found["data"]

    def peek(self, agent: str) -> Any:
        return self.run("chat", "inject", "--peek", "--agent", agent)

    # -- who is there, and how it is set up

    def _agents(self, given: list[dict[str, Any]]) -> Any:
        for each in given:
            self.agents.append(each["id"])
            self.run("agent", "register", "--name", each["id"], "--role", each.get("role", "builder"))
        return {"agents": sorted(self.agents)}

    def _bind(self, given: dict[str, Any]) -> Any:
        options = {"handles": "--handle", "roles": "--role", "streams": "--stream"}
        options |= {"threads": "--thread", "conversations": "--conversation"}
        words = [word for name, option in options.items() for each in given.get(name, []) for word in (option, each)]
        words = [
            each.replace(" ", "/") if at and words[at - 1] == "--thread" else each for at, each in enumerate(words)
        ]
        return self.run("chat", "bind", given["agent"], *words, *(["--remove"] if given.get("remove") else []))

    def _conversation(self, given: dict[str, Any]) -> Any:
        options = {
            "kind": "--kind",
            "lead": "--lead",
            "owner": "--owner",
            "stream": "--stream",
            "platform": "--platform",
        }
        words = [word for name, option in options.items() if name in given for word in (option, given[name])]
        words += [word for each in given.get("members", []) for word in ("--member", each)]
        words += [f"--{name.removeprefix('is_')}" for name in ("is_private", "is_external") if given.get(name)]
        if given.get("is_private") is False:
            words.append("--public")
        return self.run("chat", "arrange", given["id"], *words)

    def _policy(self, given: dict[str, Any]) -> Any:
        return self.run("chat", "policy", "--set", json.dumps(given))

    # -- what comes in

    def _ingest(self, given: Any) -> Any:
        lines = given if isinstance(given, list) else [given]
        found = self.run("chat", "ingest", stdin="\n".join(map(json.dumps, lines)))["events"]
        return found if isinstance(given, list) else found[0]

    def _receive(self, given: dict[str, Any]) -> Any:
        line = json.dumps(given["envelope"])
        found = self.run("chat", "ingest", "--format", "envelope", stdin=line, BB_AGENT=given["agent"])["events"]
        return found[0]

    # -- time

    def _pass(self, given: str) -> Any:
        self.now += replay_span(given)
        for agent in self.agents:  # they are at work all the while
            self.run("agent", "heartbeat", "--agent", agent)
        return {"now": clock.text(self.now)}

    def _tick(self, _: Any) -> Any:
        return self.run("chat", "tick")

    # -- what agents see and do

    def _inject(self, agent: str) -> Any:
        return self.run("chat", "inject", "--plain", "--agent", agent)

    def _list(self, given: dict[str, Any]) -> Any:
        options = {"stream": "--stream", "conversation": "--conversation", "state": "--state", "limit": "--limit"}
        options |= {"since": "--since", "until": "--until", "cursor": "--cursor"}
        words = [word for name, option in options.items() if name in given for word in (option, str(given[name]))]
        words += [word for name in ("policy", "mode") for each in given.get(name, []) for word in (f"--{name}", each)]
        words += ["--body"] if given.get("include", "meta") != "meta" else []
        return self.run("chat", "list", "--agent", given["agent"], *words)

    def _read(self, given: dict[str, Any]) -> Any:
        options = {"conversation": "--conversation", "threadId": "--thread", "before": "--before", "after": "--after"}
        options |= {"limit": "--limit", "maxBytes": "--max-bytes"}
        words = [word for name, option in options.items() if name in given for word in (option, str(given[name]))]
        event = [given["eventId"]] if "eventId" in given else []
        return self.run("chat", "read", *event, "--agent", given["agent"], *words)

    def _send(self, given: dict[str, Any]) -> Any:
        options = {
            "idempotencyKey": "--idempotency-key",
            "visibility": "--visibility",
            "directedness": "--directedness",
        }
        options |= {"inReplyTo": "--in-reply-to", "intent": "--intent", "priority": "--urgency", "confirm": "--confirm"}
        options |= {"deadlineMs": "--deadline-ms", "contentVersion": "--content-version"}
        target = given.get("target", {})
        words = [word for name, option in options.items() if name in given for word in (option, str(given[name]))]
        words += [
            word
            for name in ("conversation", "recipient", "thread")
            if name in target
            for word in (f"--{name}", target[name])
        ]
        words += [word for each in given.get("mentions", []) for word in ("--mention", each)]
        words += ["--followup"] if given.get("followup") else []
        text = [given["content"]] if "content" in given else []
        return self.run("chat", "send", *text, "--by", given["agent"], *words)

    def _react(self, given: dict[str, Any]) -> Any:
        words = [word for name in ("eta", "until", "note") if name in given for word in (f"--{name}", given[name])]
        words += ["--content-version", str(given["contentVersion"])] if "contentVersion" in given else []
        words += ["--remove"] if given.get("remove") else []
        signal = ["--signal", given["signal"]] if "signal" in given else []
        return self.run("chat", "react", given["inReplyTo"], *signal, "--by", given["agent"], *words)

    def _claim(self, given: dict[str, Any]) -> Any:
        subject = [given["eventId"]] if "eventId" in given else ["--thread", given["thread"]]
        action = given.get("action", "claim")
        words = (
            [f"--{action}"] if action in ("renew", "release") else ["--to", given["to"]] if action == "transfer" else []
        )
        words += ["--ttl-ms", str(given["ttlMs"])] if "ttlMs" in given else []
        words += ["--takeover-stale"] if given.get("takeoverStale") else []
        return self.run("chat", "claim", *subject, "--agent", given["agent"], *words)

    def _defer(self, given: dict[str, Any]) -> Any:
        words = [word for name in ("reason", "until", "eta") if name in given for word in (f"--{name}", given[name])]
        return self.run("chat", "defer", given["eventId"], "--agent", given["agent"], *words)

    def _resolve(self, given: dict[str, Any]) -> Any:
        event = given.get("eventId") or given.get("assignment")
        subject = [event] if event else ["--thread", given["thread"]]
        words = [word for name in ("outcome", "note") if name in given for word in (f"--{name}", given[name])]
        return self.run("chat", "resolve", *subject, "--agent", given["agent"], *words)

    def _show(self, given: dict[str, Any]) -> Any:
        return self.run("chat", "show", given["event"], "--agent", given["agent"])

    def _explain(self, given: dict[str, Any]) -> Any:
        return self.run("chat", "explain", given["event"], "--agent", given["agent"])

    def _pending(self, agent: str) -> Any:
        return self.run("chat", "pending", "--agent", agent)

    def _knocks(self, agent: str) -> Any:
        return self.run("chat", "knocks", "--agent", agent)

    def _digest(self, agent: str) -> Any:
        return self.run("chat", "digest", "--agent", agent)

    def _progress(self, given: dict[str, Any]) -> Any:
        words = [
            word
            for name in ("progress", "total", "message")
            if name in given
            for word in (f"--{name}", str(given[name]))
        ]
        return self.run("chat", "progress", given["token"], "--agent", given["agent"], *words)

    def _cancel(self, given: dict[str, Any]) -> Any:
        words = ["--reason", given["reason"]] if "reason" in given else []
        return self.run("chat", "cancel", given["event"], "--agent", given["agent"], *words)

    def _audit(self, given: dict[str, Any]) -> Any:
        older = ["--open-older", given["openOlder"]] if "openOlder" in given else []
        return self.run("chat", "audit", "--limit", "200", *older)

    def _confirmations(self, _: Any) -> Any:
        return self.run("chat", "confirmations")["confirmations"]

    def _confirm(self, given: dict[str, Any]) -> Any:
        name = given.get("id") or self._confirmations({})[0]["id"]
        return self.run("chat", "confirm", name, *(["--refuse"] if given.get("refuse") else []))

    def _outbox(self, given: Any) -> Any:
        if not isinstance(given, dict) or "id" not in given:
            return self.run("chat", "outbox")
        words = ["--platform-id", given["platform_id"]] if given.get("platform_id") else []
        words += ["--failed", given["reason"]] if given.get("reason") else []
        words += ["--unknown"] if given.get("unknown") else []
        return self.run("chat", "outbox", "ack", given["id"], *words)
