"""A scripted conversation, played in memory: who is there, what they are let do, what each says or hears.

    {"agents": ["alice", {"id": "bob", "dialects": ["(define …)"], "trust": {"ada": ["KEY"]}, "policy": {…}}],
     "policy": {…}, "trust": {…}, "signed": {"ada": "preferred"}, "ledger": "ID", "deliver": true,
     "steps": [{"agent": "alice", "sent": "(hello @bob)"},
               {"agent": "bob", "received": "(tell @bob \\"hi\\")", "from": "alice"}]}

With `deliver`, whatever is sent or answered reaches those of its recipients who are in the script, in order, before
the next step. Without, each step is one agent's, and nothing else happens.
"""

from __future__ import annotations

from collections import deque

from bb.cbcl.judge import trust as judge_trust
from bb.cbcl.judge.authorship import Ledger
from bb.cbcl.judge.installation import Rules
from bb.cbcl.read.tree import text_of
from bb.cbcl.speak.memory import Agent
from bb.kernel.errors import BbError, Refused, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from bb.cbcl.speak.effects import Effect

    T = TypeVar("T")

MOST_AGENTS, MOST_STEPS, MOST_DELIVERIES = 100, 10_000, 100_000
MEMBERS = ("agents", "policy", "trust", "signed", "ledger", "deliver", "steps")
OF_AGENT = ("id", "dialects", "trust", "signed", "policy")
OF_SENT, OF_RECEIVED = ("agent", "sent", "to"), ("agent", "received", "from")


class InvalidScript(Usage):
    """That is no scripted conversation."""

    code = "INVALID_SCRIPT"
    hint = "docs/cbcl.md shows one"


class EndlessConversation(Refused):
    """The agents go on answering each other."""

    code = "ENDLESS_CONVERSATION"


def replay(script: Any) -> dict[str, Any]:
    """What comes of each step of SCRIPT, and what everybody knows at the end."""
    _must_have(script, MEMBERS, "$")
    agents: dict[str, Agent] = {}
    for place, agent in enumerate(_agents(script)):
        if agent.standing.id in agents:
            raise InvalidScript(f"$.agents[{place}] is there already", path=f"$.agents[{place}]")
        agents[agent.standing.id] = agent
    stage = _Stage(agents, delivers=_member(script, "deliver", bool, default=False))
    steps = [stage.play(step, f"$.steps[{place}]") for place, step in enumerate(_listed(script, "steps", MOST_STEPS))]
    return {"steps": steps, "agents": {name: agent.shown() for name, agent in agents.items()}}


class _Stage:
    """Those who are there, and what is on its way between them."""

    def __init__(self, agents: Mapping[str, Agent], *, delivers: bool) -> None:
        self._agents = agents
        self._delivers = delivers
        self._on_the_way: deque[tuple[str, str, str]] = deque()  # from whom, to whom, what
        self._count = 0

    def play(self, step: Any, path: str) -> dict[str, Any]:
        """One step, and all that follows from it."""
        is_sent = isinstance(step, dict) and "sent" in step
        _must_have(step, OF_SENT if is_sent else OF_RECEIVED, path)
        name = _agent(step, "agent", path)
        if name not in self._agents:
            raise InvalidScript(f"{path}.agent is nobody who is there", path=f"{path}.agent")
        agent = self._agents[name]
        shown = self._sent(agent, step, path) if is_sent else self._received(agent, step, path)
        return shown | ({"delivered": list(self._deliver())} if self._delivers else {})

    def _sent(self, agent: Agent, step: Any, path: str) -> dict[str, Any]:
        text, to = (
            _member(step, "sent", str, path=path),
            [each.removeprefix("@") for each in _texts(step, "to", MOST_AGENTS, path)],
        )
        about = {"agent": agent.standing.id, "sent": text}
        try:
            said = agent.say(_octets(text), to)
        except BbError as refusal:
            return about | {
                "status": "error",
                "code": refusal.code,
                "message": refusal.message,
                "details": refusal.details,
            }
        self._on_the_way += ((agent.standing.id, each, text) for each in said.to)
        return about | {
            "status": "ok",
            "id": said.id,
            "to": list(said.to),
            "canonical": text_of(said.message.node),
            "effects": _effects(said.effects),
        }

    def _received(self, agent: Agent, step: Any, path: str) -> dict[str, Any]:
        text, sender = _member(step, "received", str, path=path), _agent(step, "from", path)
        return self._heard(agent, _valid(judge_trust.identifier, sender, f"{path}.from"), text)

    def _heard(self, agent: Agent, sender: str, text: str) -> dict[str, Any]:
        found = agent.hear(_octets(text), sender)
        self._on_the_way += ((agent.standing.id, to, answer) for to, answer in [*found.answers, *found.passed_on])
        return {
            "agent": agent.standing.id,
            "received": text,
            "from": sender,
            "status": found.status,
            "verified": found.proof.as_plain(),
            "id": found.id,
            **({"code": found.code, "message": found.why} if found.code else {}),
            "comes_to": list(found.comes_to),
            "replies": [answer for _, answer in found.answers],
            "passed_on": [{"to": to, "text": each} for to, each in found.passed_on],
            "kept_back": [{"to": to, "text": each} for to, each in found.kept_back],
            "effects": _effects(found.effects),
        }

    def _deliver(self) -> Iterable[dict[str, Any]]:
        while self._on_the_way:
            sender, to, text = self._on_the_way.popleft()
            if to in self._agents:
                self._count += 1
                if self._count > MOST_DELIVERIES:
                    raise EndlessConversation(f"after {MOST_DELIVERIES:,} messages there is no end to it")
                yield self._heard(self._agents[to], sender, text)


def _agents(script: Any) -> Iterable[Agent]:
    for place, given in enumerate(_listed(script, "agents", MOST_AGENTS)):
        path = f"$.agents[{place}]"
        about = {"id": given} if isinstance(given, str) else given
        _must_have(about, OF_AGENT, path)
        name = _valid(judge_trust.identifier, _agent(about, "id", path), f"{path}.id")
        agent = Agent(name, _rules(script, about, path))
        for text in _texts(about, "dialects", MOST_STEPS, path):
            agent.speaks(_octets(text))
        yield agent


def _rules(script: Any, about: Any, path: str) -> Rules:
    """What holds for one agent: what the script says for all, and it for itself."""
    policy = {**_member(script, "policy", dict, default={}), **_member(about, "policy", dict, default={}, path=path)}
    authors = {**_member(script, "trust", dict, default={}), **_member(about, "trust", dict, default={}, path=path)}
    keys = {name.removeprefix("@"): [each] if isinstance(each, str) else each for name, each in authors.items()}
    signed = {**_member(script, "signed", dict, default={}), **_member(about, "signed", dict, default={}, path=path)}
    words = {name.removeprefix("@"): word for name, word in signed.items()}
    trust = {"v": judge_trust.VERSION, "authors": keys, "policy": policy, "signed": words}
    ledger = _member(script, "ledger", str) if "ledger" in script else None
    return Rules(_valid(judge_trust.trust_of, trust, path), None if ledger is None else Ledger(ledger))


def _valid(read: Callable[[Any], T], value: Any, path: str) -> T:
    """What a VALUE of the script comes to, which is refused as any other part of a script is."""
    try:
        return read(value)
    except Usage as error:
        where = path + str(error.details.get("path", "$")).replace("$.authors", "$.trust").removeprefix("$")
        raise InvalidScript(f"{where}: {error.message}", path=where) from None


def _effects(effects: Sequence[Effect]) -> list[dict[str, Any]]:
    return [{"effect": type(each).__name__.lower(), **_plain(each.as_dict())} for each in effects]


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name.rstrip("_"): value for name, value in fields.items() if name != "event"}


def _must_have(value: Any, members: Sequence[str], path: str) -> None:
    if not isinstance(value, dict):
        raise InvalidScript(f"{path} is no object", path=path)
    if strange := sorted(value.keys() - set(members)):
        why = f"{path} has a member {strange[0][:40]!a}; it may have {', '.join(members)}"
        raise InvalidScript(why, path=path)


def _member(value: Any, name: str, kind: type[Any], *, default: Any = None, path: str = "$") -> Any:
    found = value.get(name, default)
    if not isinstance(found, kind):
        raise InvalidScript(f"{path}.{name} is missing, or no {WORDS[kind]}", path=f"{path}.{name}")
    return found


def _agent(value: Any, name: str, path: str) -> str:
    """An agent, as it is named in messages or without the @."""
    return str(_member(value, name, str, path=path)).removeprefix("@")


WORDS = {str: "text", bool: "true or false", dict: "object"}


def _listed(value: Any, name: str, most: int, path: str = "$") -> list[Any]:
    found = value.get(name, [])
    if isinstance(found, str):
        found = [found]
    if not isinstance(found, list) or len(found) > most:
        raise InvalidScript(f"{path}.{name} is no list of at most {most:,}", path=f"{path}.{name}")
    return found


def _texts(value: Any, name: str, most: int, path: str) -> list[str]:
    found = _listed(value, name, most, path)
    for place, each in enumerate(found):
        if not isinstance(each, str):
            raise InvalidScript(f"{path}.{name}[{place}] is no text", path=f"{path}.{name}[{place}]")
    return found


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
