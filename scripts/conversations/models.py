"""Two models. One does as the host says, the other tries to answer whatever it can get at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scripts.conversations.stage import Model, Refused

if TYPE_CHECKING:
    from scripts.conversations.script import Agent
    from scripts.conversations.stage import Stage

MUST, MAY, ACK_ONLY = "must_respond", "may_respond", "ack_only"
SEEN, EVERYBODY = "agree", "@all"
TALK = (
    "I have looked into this in some depth, and there is a lot to be said about it from my side: first the history of "
    "the module, then the three ways in which one could go on from here, and at last what I would do myself."
)


class Obedient:
    """Answers what must be answered, acknowledges where that is asked, claims what is offered, else is silent."""

    name = "obedient"

    def take(self, stage: Stage, agent: Agent, envelope: dict[str, Any]) -> None:
        attention, event = envelope["attention"], envelope["eventId"]
        policy, reason = attention["policy"], attention.get("reason", "")
        said = stage.said_of(stage.message_of(event))
        if policy == ACK_ONLY:
            _react(stage, agent, event)
        elif policy == MUST or attention.get("stale") or stage.has_script(said, agent) or reason == "claimed":
            _turn(stage, agent, envelope, lambda: self._answer(stage, agent, envelope))
        elif policy == MAY and reason == "role_mention" and not _is_announced(envelope):
            _claim(stage, agent, event)

    def look_around(self, stage: Stage, agent: Agent) -> None:
        """It looks at nothing that it was not given."""

    def _answer(self, stage: Stage, agent: Agent, envelope: dict[str, Any]) -> bool:
        event = envelope["eventId"]
        if "knock" not in envelope and not envelope["attention"].get("stale"):
            return self._say(stage, agent, event)
        _read(stage, agent, event)
        # What it has read there is not handed over again, so it also answers what else it owes.
        rows = stage.host.call(agent.id, "chat.list_events", {"state": "open"})["events"]
        owed = [row["eventId"] for row in rows if MUST in (row["policy"], row.get("originalPolicy"))]
        answered = [self._say(stage, agent, one) for one in dict.fromkeys([event, *owed])]
        return all(answered)

    def _say(self, stage: Stage, agent: Agent, event: str) -> bool:
        text, intent = stage.text(stage.said_of(stage.message_of(event)), agent)
        return stage.answer(agent, event, text, intent)


class Chatty:
    """Tries to answer everything that it is shown, twice, and everything that it can pull from the mailbox."""

    name = "chatty"

    def __init__(self) -> None:
        self._tried: set[tuple[str, str, str]] = set()

    def take(self, stage: Stage, agent: Agent, envelope: dict[str, Any]) -> None:
        _turn(stage, agent, envelope, lambda: self._talk(stage, agent, envelope["eventId"], twice=True))

    def look_around(self, stage: Stage, agent: Agent) -> None:
        rows = stage.host.call(agent.id, "chat.list_events", {"include": "body", "limit": 50})["events"]
        for row in rows:
            key = (stage.conversation.name, agent.name, row["eventId"])
            if key not in self._tried:
                self._tried.add(key)
                self._talk(stage, agent, row["eventId"], twice=False)

    def _talk(self, stage: Stage, agent: Agent, event: str, *, twice: bool) -> bool:
        self._tried.add((stage.conversation.name, agent.name, event))
        message = stage.message_of(event)
        if not message or stage.spoken.get(message) == agent.name:
            return False
        _read(stage, agent, event)
        text, intent = stage.text(stage.said_of(message), agent, TALK)
        has_spoken = stage.answer(agent, event, text, intent)
        if not has_spoken and stage.happened[-1].note == "CLAIM_REQUIRED" and _claim(stage, agent, event):
            has_spoken = stage.answer(agent, event, text, intent)
        if twice and has_spoken:
            stage.answer(agent, event, TALK, more=" again")
        return has_spoken


def _turn(stage: Stage, agent: Agent, envelope: dict[str, Any], act: Callable[[], bool]) -> None:
    """Do ACT in a turn of the agent; at its end, if the file says that the turn takes long."""
    said = stage.said_of(stage.message_of(envelope["eventId"]))
    if envelope["injection"].get("interrupt"):
        stage.working.pop(agent.id, None)  # the work that was interrupted ends without an answer
    takes = said.works.get(agent.name, 0) if said and "knock" not in envelope else 0
    stage.host.turn(agent.id, envelope, "started", outbound=False)
    if takes and agent.id not in stage.working:
        stage.working[agent.id] = (stage.now + takes, envelope, act)
        return
    has_spoken = act()
    stage.host.turn(agent.id, envelope, "ended", outbound=has_spoken)


def _is_announced(envelope: dict[str, Any]) -> bool:
    """Whether a knock is for everybody and about no question or task, so that nobody has to take it up."""
    is_for_all = EVERYBODY in envelope["target"].get("mentions", ())
    return is_for_all and envelope.get("knock", {}).get("topic", "").startswith("message")


def _react(stage: Stage, agent: Agent, event: str) -> None:
    try:
        stage.host.call(agent.id, "chat.react", {"inReplyTo": event, "signal": SEEN})
        stage.note(agent, stage.message_of(event), "reacted")
    except Refused as refused:
        stage.note(agent, stage.message_of(event), "refused", refused.code)


def _claim(stage: Stage, agent: Agent, event: str) -> bool:
    try:
        stage.host.call(agent.id, "chat.claim", {"eventId": event})
    except Refused as refused:
        stage.note(agent, stage.message_of(event), "refused", refused.code)
        return False
    stage.note(agent, stage.message_of(event), "claimed")
    return True


def _read(stage: Stage, agent: Agent, event: str) -> None:
    try:
        stage.host.call(agent.id, "chat.read_thread", {"eventId": event})
    except Refused as refused:
        stage.note(agent, stage.message_of(event), "refused", refused.code)


MODELS: dict[str, Callable[[], Model]] = {"obedient": Obedient, "chatty": Chatty}
