"""The steps of a rehearsal, with their arguments and answers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from bb.attention.acts import (
    audit,
    configuration,
    confirmation_answers,
    confirmations,
    explanation,
    outbox,
    stopping,
    tools,
)
from bb.attention.acts.timers import tick
from bb.attention.facts import Answer, Moved
from bb.attention.harness.capabilities import ACK, REDELIVERY, Capabilities
from bb.attention.harness.session import Harness, begin_facts
from bb.attention.incoming import from_hosts, receiving
from bb.attention.messages import envelopes
from bb.attention.messages.message import in_sequence_order
from bb.attention.rehearsal.native_ids import NativeIds
from bb.attention.rehearsal.rehearsal import Rehearsal
from bb.attention.state import transitions
from bb.attention.state.agent_status import AgentStatus
from bb.attention.state.attention_state import AttentionState
from bb.attention.turns import digests, queries, turn_text
from bb.attention.turns.offers import Session, offer_facts, offers_for
from bb.kernel import clock
from bb.kernel.errors import Usage


class Replay(Protocol):
    """What a step needs of the run that it is part of."""

    now: int
    ids: NativeIds
    agents: dict[str, AgentStatus]
    clones: dict[str, Rehearsal]
    sessions: dict[str, Session]

    @property
    def here(self) -> Rehearsal: ...
    def do(self, decide: Callable[[], tuple[list[Any], dict[str, Any]]], who: str = "system") -> dict[str, Any]: ...


InvalidStep = Usage.declare(
    "INVALID_STEP", "A step must be an object with one thing to do", hint="docs/attention.md describes the steps"
)


# -- agents and settings


def _agents(replay: Replay, given: Any) -> dict[str, Any]:
    for item in given if isinstance(given, list) else [given]:
        about = {"id": item} if isinstance(item, str) else item
        if not isinstance(about, dict) or not isinstance(about.get("id"), str):
            raise InvalidStep("each agent must be an id, or an object with an id", path="$.agents")
        liveness = about.get("liveness", "active")
        replay.agents[about["id"]] = AgentStatus(
            str(about.get("role", "")), is_live=liveness == "active", is_evicted=liveness == "evicted"
        )
    for clone in replay.clones.values():
        clone.book.forget_settings()
    return {"agents": sorted(replay.agents)}


def _bind(replay: Replay, given: Any) -> dict[str, Any]:
    about = _object(given)
    names = {name: list(value) for name, value in about.items() if isinstance(value, list)}
    book, agent = replay.here.book, str(about.get("agent", ""))
    return replay.do(
        lambda: configuration.bind(book, "user", agent, names, replay.now, remove=about.get("remove") is True)
    )


def _conversation(replay: Replay, given: Any) -> dict[str, Any]:
    about = dict(_object(given))
    name = str(about.pop("id", ""))
    return replay.do(lambda: configuration.arrange(replay.here.book, "user", name, about))


def _policy(replay: Replay, given: Any) -> dict[str, Any]:
    return replay.do(lambda: configuration.tune(replay.here.book, "user", given))


# -- input


def _ingest(replay: Replay, given: Any) -> Any:
    replay.ids.note(given)
    lines = [envelopes.parse_line(raw, replay.now) for raw in (given if isinstance(given, list) else [given])]
    answers = []
    for line in in_sequence_order(lines, lambda each: each.counted):
        decide = functools.partial(_received, replay.here.book, line, replay.now)
        answers.append(replay.do(decide))
    return answers if isinstance(given, list) else answers[0]


def _received(book: AttentionState, line: envelopes.Line, now: int) -> Answer:
    by = "svc:replay"
    return confirmation_answers.receive_answer(book, line, by, now) or receiving.receive(book, line, by, now)


def _receive(replay: Replay, given: Any) -> dict[str, Any]:
    """Another host delivers a message to an agent here."""
    agent, about = _agent(given), _object(given)
    book, now = replay.here.book, replay.now
    replay.ids.note(about.get("envelope"))
    return replay.do(lambda: from_hosts.receive_delivery(book, agent, about.get("envelope"), "svc:replay", now))


def _as(kind: str) -> Callable[[Replay, Any], Any]:
    return lambda replay, given: _ingest(replay, {**_object(given), "type": kind})


# -- time


def _pass(replay: Replay, given: Any) -> dict[str, Any]:
    replay.now += _span(given)
    return {"now": clock.text(replay.now)}


def _span(given: Any) -> int:
    if type(given) is int and given >= 0:
        return given
    try:
        return replay_span(str(given))
    except clock.NotATime.error:
        hint = "write a duration such as 3s, 15m or 2h, or a number of milliseconds"
        raise InvalidStep(f"{str(given)[:40]!r} is not a duration", hint=hint) from None


def replay_span(written: str) -> int:
    """A duration such as `3s` or `1.5s`, in milliseconds."""
    amount, unit = written[:-1], written[-1:]
    if unit in clock.UNITS and amount.replace(".", "", 1).isdigit():
        return int(float(amount) * clock.UNITS[unit])
    raise clock.NotATime(f"{written[:40]!r} is not a duration")


def _at(replay: Replay, given: Any) -> dict[str, Any]:
    replay.now = max(replay.now, clock.parse(str(given)))
    return {"now": clock.text(replay.now)}


def _tick(replay: Replay, _: Any) -> dict[str, Any]:
    def decide() -> Any:
        facts, due = tick(replay.here.book, replay.now)
        return facts, {"due": due}

    return replay.do(decide)


# -- a harness


def _connect(replay: Replay, given: Any) -> dict[str, Any]:
    agent = _agent(given)
    about = _object(given) if isinstance(given, dict) else {}
    can_interrupt, has_ack = about.get("interrupt") is True, about.get("ack", True) is True
    harness = Harness(agent, Capabilities(frozenset([ACK, REDELIVERY] if has_ack else [])))
    replay.do(lambda: (begin_facts(replay.here.book, harness, "", replay.now), {}))
    replay.sessions[agent] = Session(can_interrupt=can_interrupt, has_ack=has_ack, again=frozenset(harness.resumed))
    return {"agent": agent, "connected": True}


def _deliver(replay: Replay, given: Any) -> dict[str, Any]:
    """The host hands over its offers. They are not acknowledged yet."""
    agent = _agent(given)

    def decide() -> Any:
        session = replay.sessions.get(agent, Session(has_ack=True))
        offers, held = offers_for(replay.here.book, agent, replay.now, session)
        replay.sessions[agent] = session.replace(again=frozenset())
        blocks = [turn_text.block(replay.here.book, agent, offer, "") for offer in offers]
        waits = [{"eventId": entry.event, "why": entry.why} for entry in held]
        return offer_facts(replay.here.book, agent, offers, is_taken=not session.has_ack), {
            "blocks": blocks,
            "held": waits,
        }

    return replay.do(decide)


def _acknowledge(replay: Replay, given: Any) -> dict[str, Any]:
    about, agent = _object(given), _agent(given)
    step = Moved(agent, _event(replay, about), agent, transitions.ACCEPTED)
    return replay.do(lambda: ([step], {"status": "accepted"}))


def _event(replay: Replay, about: dict[str, Any]) -> str:
    return replay.ids.scoped(str(about.get("event")))


def _turn(replay: Replay, given: Any) -> dict[str, Any]:
    about, agent = _object(given), _agent(given)
    states = {"started": transitions.STARTED, "ended": transitions.ENDED, "failed": transitions.TURN_FAILED}
    to = states.get(str(about.get("state")))
    if to is None:
        raise InvalidStep("the state of a turn must be started, ended or failed", path="$.turn.state")
    session = replay.sessions.get(agent, Session(has_ack=True))
    until = replay.now + replay.here.book.tuning.turn_lease_ms
    replay.sessions[agent] = session.replace(in_turn=to == transitions.STARTED, turn_until=until)
    step = Moved(agent, _event(replay, about), agent, to, {"outbound": about.get("outbound") is True})
    return replay.do(lambda: ([step], {"state": about["state"]}))


def _inject(replay: Replay, given: Any) -> dict[str, Any]:
    agent = _agent(given)
    return replay.do(lambda: turn_text.inject(replay.here.book, agent, replay.now, ""))


# -- acts of agents


def _tool(name: str) -> Callable[[Replay, Any], dict[str, Any]]:
    def call(replay: Replay, given: Any) -> dict[str, Any]:
        agent, arguments = _agent(given), _object(given)
        return replay.do(lambda: tools.call(name, replay.here.book, agent, arguments, replay.now), agent)

    return call


def _shown(look: Callable[[Any, str, str, int], dict[str, Any]]) -> Callable[[Replay, Any], dict[str, Any]]:
    return lambda replay, given: look(replay.here.book, _agent(given), str(_object(given).get("event", "")), replay.now)


def _asked(look: Callable[[Any, str, int], dict[str, Any]]) -> Callable[[Replay, Any], dict[str, Any]]:
    return lambda replay, given: look(replay.here.book, _agent(given), replay.now)


def _digest(replay: Replay, given: Any) -> dict[str, Any]:
    return replay.do(lambda: digests.make_digest(replay.here.book, _agent(given), replay.now))


def _progress(replay: Replay, given: Any) -> dict[str, Any]:
    about, agent = _object(given), _agent(given)
    token, message = (str(about.get(name, "")) for name in ("token", "message"))
    progress, total = about.get("progress"), about.get("total")
    if not isinstance(progress, int | float) or not isinstance(total, int | float | None):
        raise InvalidStep("progress and total must be numbers", path="$.progress")
    book, now = replay.here.book, replay.now
    return replay.do(lambda: audit.report_progress(book, agent, token, progress, total, message, now), agent)


def _cancel(replay: Replay, given: Any) -> dict[str, Any]:
    about, agent = _object(given), _agent(given)
    event, reason = str(about.get("event", "")), str(about.get("reason", ""))
    return replay.do(lambda: audit.cancel(replay.here.book, agent, event, reason), agent)


def _stop(replay: Replay, given: Any) -> dict[str, Any]:
    about, agent = _object(given), _agent(given)
    event, reason = str(about.get("event", "")), str(about.get("reason", ""))
    return replay.do(lambda: stopping.stop(replay.here.book, agent, replay.now, event=event, reason=reason), "user")


def _audit(replay: Replay, given: Any) -> dict[str, Any]:
    about = given if isinstance(given, dict) else {}
    older, limit = about.get("openOlder"), about.get("limit", 200)
    since = replay.now - _span(older) if older else None
    return audit.audit(replay.here.book, replay.now, limit, since, str(about.get("cursor", "")))


def _outbox(replay: Replay, given: Any) -> Any:
    if isinstance(given, dict) and "id" in given:
        about = {name: given.get(name) for name in ("platform_id", "reason", "unknown")}
        return replay.do(lambda: outbox.record_result(replay.here.book, "system", str(given["id"]), about, replay.now))
    return list(outbox.to_post(replay.here.book))


def _confirmations(replay: Replay, _: Any) -> list[dict[str, Any]]:
    waiting = confirmations.open_requests(replay.here.book, replay.now)
    return [confirmations.shown(request, replay.now) for request in waiting]


def _confirm(replay: Replay, given: Any) -> dict[str, Any]:
    """The person answers a request; without an id, the only open one."""
    about = _object(given)
    waiting = [request.id for request in confirmations.open_requests(replay.here.book, replay.now)]
    name = str(about.get("id") or (waiting[0] if len(waiting) == 1 else ""))
    allows = about.get("refuse") is not True
    return replay.do(lambda: confirmations.answer(replay.here.book, name, "user", replay.now, allows=allows), "user")


# -- clones


def _clone(replay: Replay, given: Any) -> dict[str, Any]:
    name = str(given)
    writer = (chr(ord("a") + len(replay.clones)) * 12)[:12]
    fresh = Rehearsal(agents=replay.agents, writer=writer)
    fresh.merge(replay.here)
    replay.clones[name] = fresh
    return {"clones": list(replay.clones)}


def _merge(replay: Replay, given: Any) -> dict[str, Any]:
    """Each of the named clones learns the facts of the others."""
    named = given if isinstance(given, list) else list(replay.clones)
    unknown = [name for name in named if name not in replay.clones]
    if unknown:
        raise InvalidStep(f"there is no clone {str(unknown[0])[:40]!r}", path="$.merge")
    learnt = {}
    for name in named:
        learnt[name] = sum(replay.clones[name].merge(replay.clones[other]) for other in named if other != name)
    return {"learnt": learnt, "agree": len({repr(_states(replay.clones[name])) for name in named}) == 1}


def _states(clone: Rehearsal) -> Any:
    return clone.memory.everything()


def _object(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InvalidStep("the value of this step must be an object")
    return given


def _agent(given: Any) -> str:
    agent = given if isinstance(given, str) else _object(given).get("agent")
    if not isinstance(agent, str) or not agent:
        raise InvalidStep("this step must name an agent", path="$.agent")
    return agent


STEPS: dict[str, Callable[[Replay, Any], Any]] = {
    "agents": _agents,
    "bind": _bind,
    "conversation": _conversation,
    "policy": _policy,
    "ingest": _ingest,
    "edit": _as("edit"),
    "delete": _as("delete"),
    "reaction": _as("reaction"),
    "typing": _as("typing"),
    "receive": _receive,
    "pass": _pass,
    "until": _at,
    "tick": _tick,
    "connect": _connect,
    "deliver": _deliver,
    "acknowledge": _acknowledge,
    "turn": _turn,
    "inject": _inject,
    "list": _tool("chat.list_events"),
    "read": _tool("chat.read_thread"),
    "send": _tool("chat.send_message"),
    "react": _tool("chat.react"),
    "claim": _tool("chat.claim"),
    "defer": _tool("chat.defer"),
    "resolve": _tool("chat.resolve"),
    "show": _shown(explanation.show),
    "explain": _shown(explanation.explain),
    "pending": _asked(queries.owed_answers),
    "knocks": _asked(queries.open_knocks),
    "digest": _digest,
    "progress": _progress,
    "cancel": _cancel,
    "stop": _stop,
    "audit": _audit,
    "outbox": _outbox,
    "confirmations": _confirmations,
    "confirm": _confirm,
    "clone": _clone,
    "merge": _merge,
}
