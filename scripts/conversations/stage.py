"""Plays one conversation: the platform sends what people say, the agents answer as their model does, and time passes.

An answer that the file expects and that does not come is posted in the agent's name, so that one miss does not change
the rest of the conversation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from bb.attention.rehearsal.replay import START
from scripts.conversations.platforms import platform
from scripts.conversations.platforms.platform import EVERYBODY, ROLES
from scripts.conversations.script import ESCALATE, RESPOND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bb.attention.state.attention_state import AttentionState
    from scripts.conversations.platforms.platform import Platform
    from scripts.conversations.script import Agent, Conversation, Said

SECOND, MINUTE = 1000, 60_000
# The moments after a message at which the stage looks again: around the windows of the host and its time limits.
LOOKS = (0, 400, 1200, 3200, 5500, 10_000, 31_000, 62_000, 5 * MINUTE, 8 * MINUTE, 16 * MINUTE, 24 * MINUTE)
AFTERWARDS = 70 * SECOND
UNTIL_ESCALATED = 25 * MINUTE
# The moments after a message at which a curious model looks into the mailbox. Not at once: a message that was written a
# moment ago may still be edited or continued.
MAILBOX_LOOKS = (5500, 62_000)
PATIENCE = 35 * SECOND  # with an agent that should answer: the longest time in which pieces are merged, and a little
ROUNDS = 20  # of deliveries and answers within one moment


class Refused(Exception):
    """The host has refused an act of an agent."""

    def __init__(self, code: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(code)
        self.code = code.upper()
        self.details = details or {}


class Host(Protocol):
    """What plays the part of `bb`."""

    def begin(self, conversation: Conversation, names: Platform, now: int) -> None: ...
    def until(self, now: int) -> None: ...
    def ingest(self, form: str, documents: list[Any]) -> list[dict[str, Any]]: ...
    def deliveries(self) -> list[tuple[str, dict[str, Any]]]: ...
    def call(self, agent: str, tool: str, given: dict[str, Any]) -> dict[str, Any]: ...
    def turn(self, agent: str, envelope: dict[str, Any], state: str, *, outbound: bool) -> None: ...
    def outbox(self) -> list[dict[str, Any]]: ...
    def posted(self, event: str, name: str) -> None: ...
    def external(self, conversation: str) -> None: ...
    def book(self) -> AttentionState: ...


class Model(Protocol):
    """What decides in the place of an agent."""

    name: str

    def take(self, stage: Stage, agent: Agent, envelope: dict[str, Any]) -> None: ...
    def look_around(self, stage: Stage, agent: Agent) -> None: ...


@dataclass(frozen=True)
class Happened:
    """Something that an agent got or did about a message."""

    at: int
    agent: str
    message: str
    what: str  # shown, knocked, interrupted, answered, reacted, claimed, refused
    note: str = ""
    together: tuple[str, ...] = ()  # the messages of one turn


@dataclass(frozen=True)
class Played:
    """A conversation that was played."""

    conversation: Conversation
    model: str
    happened: tuple[Happened, ...]
    events: dict[str, str]  # message -> event
    times: dict[str, int]
    spoken: dict[str, str]  # message of an agent -> agent
    forced: frozenset[str]  # messages that were posted in an agent's name
    book: AttentionState
    now: int


class Stage:
    """One run of one conversation."""

    def __init__(self, conversation: Conversation, host: Host, model: Model, start: int = START) -> None:
        self.conversation, self.host, self.model = conversation, host, model
        self.names = platform(conversation, start)
        self.start = self.now = start
        self.happened: list[Happened] = []
        self.events: dict[str, str] = {}  # event -> message
        self.by_message: dict[str, str] = {}
        self.times: dict[str, int] = {}
        self.spoken: dict[str, str] = {}
        self.forced: set[str] = set()
        self.working: dict[str, tuple[int, dict[str, Any], Callable[[], bool]]] = {}
        self._expected: list[tuple[Said, str]] = []
        self._performed, self._looks = start, list(MAILBOX_LOOKS)
        host.begin(conversation, self.names, start)

    def play(self) -> Played:
        said = list(self.conversation.said)
        while said:
            batch = [said.pop(0)]
            while said and said[0].is_backlog:
                batch.append(said.pop(0))
            self._pass(self.start + batch[-1].at)
            self._speak_for_the_silent()
            self._perform(batch)
        self._pass(self.now + self._afterwards())
        self._looks = [0]  # at last, everybody looks into the mailbox once more
        self._to(self.now)
        order = {message: event for event, message in self.events.items()}
        return Played(
            self.conversation,
            self.model.name,
            tuple(self.happened),
            order,
            self.times,
            self.spoken,
            frozenset(self.forced),
            self.host.book(),
            self.now,
        )

    def _afterwards(self) -> int:
        wanted = {outcome for said in self.conversation.said for ones in said.want.values() for outcome in ones}
        longest = max((span for said in self.conversation.said for span in said.works.values()), default=0)
        return max(UNTIL_ESCALATED if ESCALATE in wanted else AFTERWARDS, longest + AFTERWARDS)

    # -- time

    def _pass(self, moment: int) -> None:
        """Let time pass until MOMENT, and look at what happens on the way."""
        began = self.now
        ends = [until for until, _, _ in self.working.values()]
        for then in sorted({*(began + look for look in LOOKS), *ends, moment}):
            if began <= then <= moment:
                self._to(then)
        for then in sorted(until for until, _, _ in self.working.values() if until <= moment):
            self._to(max(then, self.now))
        self._to(moment)

    def _to(self, moment: int) -> None:
        self.now = moment
        self.host.until(moment)
        for name, (until, envelope, finish) in list(self.working.items()):
            if moment >= until and name in self.working:
                del self.working[name]
                has_spoken = finish()
                self.host.turn(name, envelope, "ended", outbound=has_spoken)
        for _ in range(ROUNDS):
            given = self.host.deliveries()
            for name, envelope in given:
                self._hand(name, envelope)
            if not given:
                break
        if self._looks and moment >= self._performed + self._looks[0]:
            self._looks.pop(0)
            for agent in self.conversation.agents:
                if not (agent.is_mute or agent.is_away or agent.id in self.working):
                    self.model.look_around(self, agent)

    # -- what people and platforms do

    def _perform(self, batch: Iterable[Said]) -> None:
        documents = []
        self._performed, self._looks = self.now, list(MAILBOX_LOOKS)
        for said in batch:
            self.times[said.id] = self.now if said.is_backlog else self.start + said.at
            if self.conversation.agent(said.by) and said.kind == "message":
                self._agent_speaks(said)
                continue
            payload = self.names.payload(said)
            if payload is not None:
                documents.append(payload)
            if said.id in self.names.where:
                self._learn(said.id, self.names.event_id(said.id))
            if self.conversation.platform == "discord" and said.thread:
                self.host.external(self.names.target(said.place, said.thread)["conversation"])
            self._expected += [(said, who) for who in dict.fromkeys([*said.says, *_answering(said)])]
        if documents:
            self.host.ingest(self.conversation.platform, documents)

    def _learn(self, message: str, event: str) -> None:
        self.events[event] = message
        self.by_message[message] = event

    def _agent_speaks(self, said: Said) -> None:
        """An agent says something of its own accord."""
        agent = self.conversation.agent(said.by)
        assert agent is not None
        place = self.names.target(said.place, said.thread)
        visibility = "dm" if self.names.is_direct(said.place) else "thread" if said.thread else "channel"
        self.send(agent, said.text, said.id, {"target": place, "visibility": visibility}, said.intent)

    def _speak_for_the_silent(self) -> None:
        """Post the answers that were expected and did not come."""
        waiting, self._expected = self._expected, []
        for said, who in waiting:
            if self.now - self.times[said.id] < PATIENCE:
                self._expected.append((said, who))  # it may be a part of something longer
                continue
            agents = [agent for name in who.split(" or ") if (agent := self.conversation.agent(name))]
            if any(agent.is_mute or agent.is_away for agent in agents):
                continue
            if any(agent.id in self.working or self._has_answered(said, agent) for agent in agents):
                continue
            self._force(said, agents[0])

    def _has_answered(self, said: Said, agent: Agent) -> bool:
        about = said.about or said.id
        since = self.times[said.id]
        return any(
            one.what == "answered" and one.agent == agent.name and one.message == about and one.at >= since
            for one in self.happened
        )

    def _force(self, said: Said, agent: Agent) -> None:
        base = said.about or said.id
        if base in self.names.where:
            self.forced.add(self.post_directly(agent, base, self.text(said, agent)[0]))

    def post_directly(self, agent: Agent, base: str, text: str) -> str:
        """Let an agent post an answer on the platform without asking bb, as a program with a token of its own can."""
        message = self._free(f"{base}.{agent.name}")
        thread = self.names.thread_of(base)
        payload = self.names.post(message, agent.name, self.names.where[base][0], thread, text, self.now, base)
        self.host.ingest(self.conversation.platform, [payload])
        self._learn(message, self.names.event_id(message))
        self.times[message] = self.now
        self.spoken[message] = agent.name
        return message

    def _free(self, name: str) -> str:
        taken = sum(1 for known in self.names.where if known == name or known.startswith(f"{name}."))
        return f"{name}.{taken + 1}" if taken else name

    # -- what agents get and do

    def message_of(self, event: str) -> str:
        """The message that an event is about; empty if it is none of this conversation."""
        if event in self.events:
            return self.events[event]
        found = [known for known in self.events if event.startswith((f"{known}~", f"{known}!"))]
        return self.events[max(found, key=len)] if found else ""

    def said_of(self, message: str) -> Said | None:
        """What was said: the message, or its latest edit."""
        found = [said for said in self.conversation.said if message in (said.id, said.about) and said.kind != "deletes"]
        found = [said for said in found if said.id in self.times and said.kind not in ("reacts", "unreacts")]
        return found[-1] if found else None

    def text(self, said: Said | None, agent: Agent, otherwise: str = "It is done.") -> tuple[str, str]:
        """The text of an agent's answer and its intent: that of the file, else OTHERWISE."""
        for who, text in said.says.items() if said else ():
            if agent.name in who.split(" or "):
                return (text, "") if isinstance(text, str) else (text["text"], text.get("intent", ""))
        return otherwise, ""

    def has_script(self, said: Said | None, agent: Agent) -> bool:
        return said is not None and any(agent.name in who.split(" or ") for who in said.says)

    def _hand(self, agent_id: str, envelope: dict[str, Any]) -> None:
        agent = next(agent for agent in self.conversation.agents if agent.id == agent_id)
        messages = self.messages_in(envelope)
        is_knock = "knock" in envelope
        what = "knocked" if is_knock else "shown"
        if envelope["injection"].get("interrupt") or agent_id in self.working:
            what = "interrupted" if not is_knock else what
        note = f"{envelope['attention']['policy']} {envelope['attention'].get('reason', '')}"
        for message in messages:
            self.note(agent, message, what, note, tuple(messages))
        if not agent.is_mute and messages:
            self.model.take(self, agent, envelope)

    def messages_in(self, envelope: dict[str, Any]) -> list[str]:
        """The messages of the file that an envelope brings."""
        events = [*envelope.get("mergedFrom", ()), *envelope.get("knock", {}).get("events", ()), envelope["eventId"]]
        messages = [self.message_of(event) for event in dict.fromkeys(events)]
        return list(dict.fromkeys(message for message in messages if message))

    def note(self, agent: Agent, message: str, what: str, note: str = "", together: tuple[str, ...] = ()) -> None:
        self.happened.append(Happened(self.now, agent.name, message, what, note, together))

    def answer(self, agent: Agent, event: str, text: str, intent: str = "", *, more: str = "") -> bool:
        """Let AGENT answer an event, and whether it may."""
        message = self.message_of(event)
        place, _ = self.names.where.get(message, ("general", ""))
        thread = self.names.thread_of(message) if message in self.names.where else ""
        visibility = "dm" if self.names.is_direct(place) else "thread" if thread else "channel"
        given = {"inReplyTo": event, "visibility": visibility}
        return self.send(agent, text, self._free(f"{message}.{agent.name}") + more, given, intent)

    def send(self, agent: Agent, text: str, name: str, given: dict[str, Any], intent: str = "") -> bool:
        """Let AGENT send a message, post it as a bridge does, and note whether it got out."""
        named = [one for one in self.names.named(text) if one not in EVERYBODY]
        agents = {one.name: one.id for one in self.conversation.agents}
        mentions = [
            agents.get(one) or (self.names.role(one) if one in ROLES else self.names.user(one)) for one in named
        ]
        asks = any(one in agents or one in ROLES for one in named)
        said = {
            "content": text,
            "directedness": "to_me" if asks else "to_other",
            "idempotencyKey": f"{self.conversation.name} {name} {self.now}",
            **given,
            **({"mentions": mentions} if mentions else {}),
            **({"intent": intent} if intent else {}),
        }
        about = self.message_of(given.get("inReplyTo", ""))
        try:
            answer = self.host.call(agent.id, "chat.send_message", said)
        except Refused as refused:
            self.note(agent, about or name, "refused", refused.code)
            return False
        merged = {
            other
            for one in self.happened
            if one.agent == agent.name and about in one.together
            for other in one.together
        }
        for message in [about, *sorted(merged - {about})] if about else ():
            self.note(agent, message, "answered", answer.get("state", ""))
        if name in self.names.where:
            name = self._free(name)
        self._post(agent, name, answer["messageId"], about)
        return True

    def _post(self, agent: Agent, message: str, event: str, about: str) -> None:
        """Post the agent's message as a bridge does, and let the platform report it."""
        for row in self.host.outbox():
            if row["id"] != event or row.get("type") != "message":
                self.host.posted(row["id"], "")
                continue
            text = "\n".join(part["text"] for part in row["content"] if part["type"] == "text")
            place, thread = self.names.place_of(row["target"]["conversation"], row["target"]["thread"], self.events)
            payload = self.names.post(message, agent.name, place, thread, text, self.now, "" if thread else about)
            self.host.posted(row["id"], self.names.event_id(message))
            self.host.ingest(self.conversation.platform, [payload])
        self._learn(message, event)
        self.times[message] = self.now
        self.spoken[message] = agent.name


def _answering(said: Said) -> list[str]:
    """The agents that should certainly answer soon."""
    if (ESCALATE,) in said.want.values():
        return []
    return [who for who, wanted in said.want.items() if wanted == (RESPOND,)]
