"""Replay of a scripted conversation in memory: its agents, their policies, and the messages they send or receive.

    {"agents": ["alice", {"id": "bob", "dialects": ["(define …)"], "trust": {"ada": ["KEY"]}, "policy": {…}}],
     "policy": {…}, "trust": {…}, "signed": {"ada": "preferred"}, "ledger": "ID", "deliver": true,
     "steps": [{"agent": "alice", "sent": "(hello @bob)"},
               {"agent": "bob", "received": "(tell @bob \\"hi\\")", "from": "alice"}]}

With `deliver`, every message and answer is delivered to its recipients in the script, in order, before the next step.
Without it, a step affects only one agent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from bb.cbcl.judge import trust as judge_trust
from bb.cbcl.judge.authorship import Ledger
from bb.cbcl.judge.installation import Rules
from bb.cbcl.read.tree import text_of
from bb.cbcl.speak.effects import Effect
from bb.cbcl.speak.memory import Agent
from bb.kernel.errors import BbError, Refused, Usage

T = TypeVar("T")

MOST_AGENTS, MOST_STEPS, MOST_DELIVERIES = 100, 10_000, 100_000
MEMBERS = ("agents", "policy", "trust", "signed", "ledger", "deliver", "steps")
OF_AGENT = ("id", "dialects", "trust", "signed", "policy")
OF_SENT, OF_RECEIVED = ("agent", "sent", "to"), ("agent", "received", "from")

InvalidScript = Usage.declare(
    "INVALID_SCRIPT",
    "The script of a conversation is not valid",
    hint="correct the script; docs/cbcl.md shows an example",
)

EndlessConversation = Refused.declare(
    "ENDLESS_CONVERSATION",
    "The agents answer each other without end",
    hint="remove the step that starts the loop, or set `deliver` to false",
)


def replay(script: Any) -> dict[str, Any]:
    """The result of each step of SCRIPT, and the final state of every agent."""
    _must_have(script, MEMBERS, "$")
    agents: dict[str, Agent] = {}
    for place, agent in enumerate(_agents(script)):
        if agent.standing.id in agents:
            raise InvalidScript(f"$.agents[{place}] has the same id as an earlier agent", path=f"$.agents[{place}]")
        agents[agent.standing.id] = agent
    stage = _Stage(agents, delivers=_member(script, "deliver", bool, default=False))
    steps = [stage.play(step, f"$.steps[{place}]") for place, step in enumerate(_listed(script, "steps", MOST_STEPS))]
    return {"steps": steps, "agents": {name: agent.shown() for name, agent in agents.items()}}


class _Stage:
    """The agents, and the messages on their way between them."""

    def __init__(self, agents: Mapping[str, Agent], *, delivers: bool) -> None:
        self._agents = agents
        self._delivers = delivers
        self._on_the_way: deque[tuple[str, str, str]] = deque()  # sender, recipient, text
        self._count = 0

    def play(self, step: Any, path: str) -> dict[str, Any]:
        """Play one step and all deliveries that follow from it."""
        is_sent = isinstance(step, dict) and "sent" in step
        _must_have(step, OF_SENT if is_sent else OF_RECEIVED, path)
        name = _agent(step, "agent", path)
        if name not in self._agents:
            raise InvalidScript(f"{path}.agent is not among $.agents", path=f"{path}.agent")
        agent = self._agents[name]
        result = self._sent(agent, step, path) if is_sent else self._received(agent, step, path)
        return result | ({"delivered": list(self._deliver())} if self._delivers else {})

    def _sent(self, agent: Agent, step: Any, path: str) -> dict[str, Any]:
        text, to = (
            _member(step, "sent", str, path=path),
            [recipient.removeprefix("@") for recipient in _texts(step, "to", MOST_AGENTS, path)],
        )
        about = {"agent": agent.standing.id, "sent": text}
        try:
            speech = agent.say(_octets(text), to)
        except BbError as refusal:
            return about | {
                "status": "error",
                "code": refusal.code,
                "message": refusal.message,
                "details": refusal.details,
            }
        self._on_the_way += ((agent.standing.id, recipient, text) for recipient in speech.to)
        return about | {
            "status": "ok",
            "id": speech.id,
            "to": list(speech.to),
            "canonical": text_of(speech.message.node),
            "effects": _effects(speech.effects),
        }

    def _received(self, agent: Agent, step: Any, path: str) -> dict[str, Any]:
        text, sender = _member(step, "received", str, path=path), _agent(step, "from", path)
        return self._heard(agent, _valid(judge_trust.identifier, sender, f"{path}.from"), text)

    def _heard(self, agent: Agent, sender: str, text: str) -> dict[str, Any]:
        outcome = agent.hear(_octets(text), sender)
        self._on_the_way += ((agent.standing.id, to, answer) for to, answer in [*outcome.answers, *outcome.passed_on])
        return {
            "agent": agent.standing.id,
            "received": text,
            "from": sender,
            "status": outcome.status,
            "verified": outcome.proof.as_json(),
            "id": outcome.id,
            **({"code": outcome.code, "message": outcome.why} if outcome.code else {}),
            "comes_to": list(outcome.comes_to),
            "replies": [answer for _, answer in outcome.answers],
            "passed_on": [{"to": to, "text": message} for to, message in outcome.passed_on],
            "kept_back": [{"to": to, "text": message} for to, message in outcome.kept_back],
            "effects": _effects(outcome.effects),
        }

    def _deliver(self) -> Iterable[dict[str, Any]]:
        while self._on_the_way:
            sender, to, text = self._on_the_way.popleft()
            if to in self._agents:
                self._count += 1
                if self._count > MOST_DELIVERIES:
                    raise EndlessConversation(f"the conversation has not ended after {MOST_DELIVERIES:,} deliveries")
                yield self._heard(self._agents[to], sender, text)


def _agents(script: Any) -> Iterable[Agent]:
    for place, entry in enumerate(_listed(script, "agents", MOST_AGENTS)):
        path = f"$.agents[{place}]"
        about = {"id": entry} if isinstance(entry, str) else entry
        _must_have(about, OF_AGENT, path)
        name = _valid(judge_trust.identifier, _agent(about, "id", path), f"{path}.id")
        agent = Agent(name, _rules(script, about, path))
        for text in _texts(about, "dialects", MOST_STEPS, path):
            agent.speaks(_octets(text))
        yield agent


def _rules(script: Any, about: Any, path: str) -> Rules:
    """The rules for one agent: its own settings over those of the script."""
    policy = {**_member(script, "policy", dict, default={}), **_member(about, "policy", dict, default={}, path=path)}
    authors = {**_member(script, "trust", dict, default={}), **_member(about, "trust", dict, default={}, path=path)}
    keys = {name.removeprefix("@"): [value] if isinstance(value, str) else value for name, value in authors.items()}
    signed = {**_member(script, "signed", dict, default={}), **_member(about, "signed", dict, default={}, path=path)}
    words = {name.removeprefix("@"): word for name, word in signed.items()}
    trust = {"v": judge_trust.VERSION, "authors": keys, "policy": policy, "signed": words}
    ledger = _member(script, "ledger", str) if "ledger" in script else None
    return Rules(_valid(judge_trust.trust_of, trust, path), None if ledger is None else Ledger(ledger))


def _valid(read: Callable[[Any], T], value: Any, path: str) -> T:
    """The result of READ for a VALUE of the script. A refusal becomes INVALID_SCRIPT with the path."""
    try:
        return read(value)
    except Usage as error:
        where = path + str(error.details.get("path", "$")).replace("$.authors", "$.trust").removeprefix("$")
        raise InvalidScript(f"{where}: {error.message}", path=where) from None


def _effects(effects: Sequence[Effect]) -> list[dict[str, Any]]:
    return [{"effect": type(effect).__name__.lower(), **_plain(effect.as_dict())} for effect in effects]


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name.rstrip("_"): value for name, value in fields.items() if name != "event"}


def _must_have(value: Any, members: Sequence[str], path: str) -> None:
    if not isinstance(value, dict):
        raise InvalidScript(f"{path} is not a JSON object", path=path)
    if unknown := sorted(value.keys() - set(members)):
        why = f"{path} has an unknown member {unknown[0][:40]!a}; possible members are {', '.join(members)}"
        raise InvalidScript(why, path=path)


def _member(value: Any, name: str, kind: type[Any], *, default: Any = None, path: str = "$") -> Any:
    member = value.get(name, default)
    if not isinstance(member, kind):
        raise InvalidScript(f"{path}.{name} is missing or not {WORDS[kind]}", path=f"{path}.{name}")
    return member


def _agent(value: Any, name: str, path: str) -> str:
    """The name of an agent, given with or without the @."""
    return str(_member(value, name, str, path=path)).removeprefix("@")


WORDS = {str: "a string", bool: "true or false", dict: "a JSON object"}


def _listed(value: Any, name: str, most: int, path: str = "$") -> list[Any]:
    members = value.get(name, [])
    if isinstance(members, str):
        members = [members]
    if not isinstance(members, list) or len(members) > most:
        raise InvalidScript(f"{path}.{name} is not a list of at most {most:,} elements", path=f"{path}.{name}")
    return members


def _texts(value: Any, name: str, most: int, path: str) -> list[str]:
    texts = _listed(value, name, most, path)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise InvalidScript(f"{path}.{name}[{place}] is not a string", path=f"{path}.{name}[{place}]")
    return texts


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
