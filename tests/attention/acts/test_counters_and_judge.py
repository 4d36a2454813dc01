"""The counters of the host name what the judge of the conversations finds, as far as the host can know it.

A mute agent answers nothing, and a rude one answers everything on the platform without asking bb. What the judge then
misses, the counters must name, unless the host itself had decided that the answer was not owed, or was allowed: it
cannot know that it was wrong. Nothing that they name may be as the conversation wants it.
"""

from __future__ import annotations

from typing import Any

import pytest

from bb.attention.acts import counters
from bb.attention.words import MAY, MUST
from scripts.conversations.in_memory import InMemory
from scripts.conversations.judge import ALONE, INTERRUPT, OVER_SILENCE, OVER_TALK, judge
from scripts.conversations.models import MODELS, TALK
from scripts.conversations.script import ACKNOWLEDGE, DIGEST, ESCALATE, KNOCK, RESPOND, Agent, read
from scripts.conversations.stage import Played, Stage
from tests.attention.test_conversations import FILES, FOLDER

NAMES = [f"{file.parent.name}/{file.stem}" for file in FILES]
LATER = 20 * 60_000
# On these platforms a reply says which message it answers; elsewhere only its thread or issue is known.
WITH_REPLIES = ("discord", "matrix")


class Mute:
    """Takes everything and says nothing."""

    name = "obedient"

    def take(self, stage: Stage, agent: Agent, envelope: dict[str, Any]) -> None: ...

    def look_around(self, stage: Stage, agent: Agent) -> None: ...


class Rude(Mute):
    """Posts an answer to every message of others on the platform, once, past bb."""

    def look_around(self, stage: Stage, agent: Agent) -> None:
        for message in list(stage.names.where):
            is_done = any(one.message == message and one.agent == agent.name for one in stage.happened)
            if message in stage.by_message and message not in stage.spoken and not is_done:
                stage.post_directly(agent, message, f"{TALK} That is about {message}.")
                stage.note(agent, message, "answered")


def later(name: str, model: Any) -> tuple[Played, list[counters.Fault], list[counters.Fault]]:
    """A conversation that was played, and both counters when all time limits are over."""
    host = InMemory()
    played = Stage(read(FOLDER / f"{name}.toml"), host, model).play()
    host.until(played.now + LATER)
    book = host.book()
    return played, list(counters.silences(book, played.now + LATER)), list(counters.talk(book))


def named(played: Played, faults: list[counters.Fault]) -> set[tuple[str, str]]:
    """The messages and agents that the counters name. A turn of several messages is named by its last one."""
    names = {agent.id: agent.name for agent in played.conversation.agents}
    events = {event: message for message, event in played.events.items()}
    found = {(events.get(one.event.partition("~")[0], one.event), names[who]) for one in faults for who in one.agents}
    together = {(m, one.agent) for one in played.happened if (one.message, one.agent) in found for m in one.together}
    return found | together


def base(played: Played, message: str) -> str:
    """The message that a row is about: of an edit, the edited one."""
    return next((said.about or said.id for said in played.conversation.said if said.id == message), message)


def decided(played: Played, message: str, agent: str) -> str:
    """The policy that the host chose."""
    ids = {one.name: one.id for one in played.conversation.agents}
    delivery = played.book.delivery(played.events.get(message, ""), ids[agent])
    return delivery.decision.policy if delivery else ""


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", NAMES)
def test_the_counters_name_what_was_missed_with_the_models_of_the_corpus(name: str, model: str):
    played, silences, talk = later(name, MODELS[model]())
    forced = {played.events[message] for message in played.forced}  # the stage's own, in the name of an agent
    got_out = [fault for fault in talk if fault.kind != counters.REFUSED and fault.about not in forced]

    rows = [row for row in judge(played) if row.wanted not in ((INTERRUPT,), (ALONE,))]  # not about an answer
    missed = {(base(played, row.message), row.agent) for row in rows if row.miss == OVER_SILENCE}
    missed = {pair for pair in missed if ".".join(pair) not in played.forced}
    owed = {pair for pair in missed if " or " not in pair[1] and decided(played, *pair) == MUST}

    assert owed <= named(played, silences)
    assert got_out == []


@pytest.mark.parametrize("name", NAMES)
def test_the_counters_name_what_a_mute_agent_leaves_unanswered(name: str):
    played, silences, _ = later(name, Mute())
    found = named(played, silences)
    rows = [row for row in judge(played) if RESPOND in row.wanted]

    missed = {(base(played, row.message), who) for row in rows if row.miss for who in row.agent.split(" or ")}
    # What the stage has posted in the agent's name, so that the conversation goes on, is an answer to the host.
    missed = {pair for pair in missed if ".".join(pair) not in played.forced}
    known = {pair for pair in missed if decided(played, *pair) == MUST}
    may_be = {RESPOND, ESCALATE, ACKNOWLEDGE, KNOCK, DIGEST}
    wanted = {
        (base(played, row.message), who)
        for row in judge(played)
        if may_be & set(row.wanted)
        for who in row.agent.split(" or ")
    }

    assert known <= found
    assert {pair for pair in found if pair[0] in played.times and pair[0] not in played.spoken} <= wanted


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(WITH_REPLIES)])
def test_the_counters_name_what_a_rude_agent_says(name: str):
    played, _, talk = later(name, Rude())
    found = named(played, talk)
    rows = [row for row in judge(played) if row.got == RESPOND]

    missed = {(base(played, row.message), row.agent) for row in rows if row.miss == OVER_TALK}
    allowed = {(base(played, row.message), row.agent) for row in rows if row.wanted == (RESPOND,)}

    assert {pair for pair in missed if decided(played, *pair) not in (MUST, MAY)} <= found
    assert found & allowed == set()
