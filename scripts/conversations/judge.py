"""Compares what every agent did about every message with what the conversation wants.

Outcomes, from the strongest: the agent answered (`respond`); another one was asked because it did not (`escalate`); it
reacted (`acknowledge`); it was told, without having to answer (`knock`); it finds the message in its digest (`digest`);
it was left alone (`silence`).

A miss is *silence* if less happened than was wanted, and *talk* if more did. A model that answers everything is not
blamed for answering a knock, which leaves the answer to the agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bb.attention.turns.digests import make_digest
from scripts.conversations.script import ACKNOWLEDGE, DIGEST, ESCALATE, KNOCK, RESPOND, SILENCE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scripts.conversations.script import Agent, Said
    from scripts.conversations.stage import Happened, Played

OVER_SILENCE, OVER_TALK = "silence", "talk"
STRENGTH = {outcome: at for at, outcome in enumerate((SILENCE, DIGEST, KNOCK, ACKNOWLEDGE, ESCALATE, RESPOND))}
INTERRUPT, ALONE = "interrupt", "a turn of its own"


@dataclass(frozen=True)
class Row:
    """One agent and one message."""

    conversation: str
    model: str
    message: str
    agent: str
    wanted: tuple[str, ...]
    got: str
    note: str = ""
    is_taken: bool = False  # whether another agent has answered

    @property
    def miss(self) -> str:
        """OVER_SILENCE or OVER_TALK; empty if it is as wanted."""
        if self.got in self.wanted or (self.model == "chatty" and _may_talk(self.wanted, self.got)):
            return ""
        if self.is_taken and KNOCK in self.wanted and self.got == SILENCE:
            return ""  # nobody is told of what another one has taken
        if self.wanted in ((INTERRUPT,), (ALONE,)):
            return OVER_SILENCE
        weakest = min(STRENGTH[outcome] for outcome in self.wanted)
        return OVER_SILENCE if STRENGTH[self.got] < weakest else OVER_TALK

    def told(self) -> str:
        wanted = " or ".join(self.wanted)
        note = f" ({self.note})" if self.note else ""
        where = f"{self.conversation}: {self.message}, {self.agent}, {self.model} model"
        return f"{where}: wanted {wanted}, got {self.got}{note}"


def _may_talk(wanted: tuple[str, ...], got: str) -> bool:
    """Whether a talkative model may do that: a knock leaves it to the agent, and so does a short receipt."""
    if got == RESPOND:
        return KNOCK in wanted
    return got == KNOCK and ACKNOWLEDGE in wanted  # it was told, and what it wrote was refused


def judge(played: Played) -> list[Row]:
    """All rows of a conversation."""
    digests = {agent.name: _in_digest(played, agent) for agent in played.conversation.agents if not agent.is_away}
    rows: list[Row] = []
    for said in played.conversation.said:
        if said.kind in ("typing", "deletes", "unreacts"):
            continue
        for agents, wanted in _wanted(played, said):
            got = {agent.name: _got(played, said, agent, digests.get(agent.name, ())) for agent in agents}
            rows += _rows(played, said, wanted, got)
        rows += _further(played, said)
    rows += _of_spoken(played, digests)
    return rows


def _wanted(played: Played, said: Said) -> Iterable[tuple[list[Agent], tuple[str, ...]]]:
    """The agents in groups of which one is wanted, each with what is wanted."""
    named: set[str] = {said.by}
    for who, wanted in said.want.items():
        names = who.split(" or ")
        named.update(names)
        yield [agent for agent in played.conversation.agents if agent.name in names], wanted
    for agent in played.conversation.agents:
        if agent.name not in named:
            yield [agent], (SILENCE,)


def _rows(played: Played, said: Said, wanted: tuple[str, ...], got: dict[str, tuple[str, str]]) -> list[Row]:
    """The row of one agent; of several, one must do what is wanted, and the others at most hear of it."""
    where = (played.conversation.name, played.model, said.id)
    if len(got) == 1:
        ((agent, (outcome, note)),) = got.items()
        is_taken = any(
            one.what == "answered" and one.message == said.id and one.agent != agent for one in played.happened
        )
        return [Row(*where, agent, wanted, outcome, note, is_taken)]
    doing = [agent for agent, (outcome, _) in got.items() if outcome in wanted]
    first = doing[0] if doing else next(iter(got))
    rows = [Row(*where, " or ".join(got), wanted, *got[first])]
    others = [agent for agent in got if agent != first]
    return rows + [Row(*where, agent, (SILENCE, KNOCK, DIGEST), *got[agent]) for agent in others if doing]


def _further(played: Played, said: Said) -> list[Row]:
    """What else is wanted: that it reaches an agent in its turn, or in a turn of its own."""
    where = (played.conversation.name, played.model, said.id)
    rows = []
    for agent in said.interrupts:
        found = [one for one in _about(played, said, agent) if one.what == "interrupted"]
        rows.append(Row(*where, agent, (INTERRUPT,), INTERRUPT if found else "at the end of the turn"))
    if said.is_alone:
        for agent in [name for name, wanted in said.want.items() if RESPOND in wanted]:
            merged = [one for one in _about(played, said, agent) if len(one.together) > 1]
            got = f"one turn with {', '.join(merged[0].together)}" if merged else ALONE
            rows.append(Row(*where, agent, (ALONE,), got))
    return rows


def _of_spoken(played: Played, digests: dict[str, frozenset[str]]) -> list[Row]:
    """What agents say obliges no other agent, unless it is written in the file."""
    written = {said.id for said in played.conversation.said}
    rows = []
    for message, by in played.spoken.items():
        if message in written:
            continue
        base, _, _ = message.partition(".")
        names = _named_in(played, base)
        for agent in played.conversation.agents:
            if agent.name in (by, *names) or agent.is_away:
                continue
            found = [one for one in played.happened if one.message == message and one.agent == agent.name]
            got, note = _outcome(played, found, message, agent, digests.get(agent.name, frozenset()))
            rows.append(Row(played.conversation.name, played.model, message, agent.name, (SILENCE,), got, note))
    return rows


def _named_in(played: Played, message: str) -> list[str]:
    """The agents that the scripted answer to a message names."""
    said = next((said for said in played.conversation.said if said.id == message), None)
    texts = [text if isinstance(text, str) else text["text"] for text in said.says.values()] if said else []
    return [agent.name for agent in played.conversation.agents if any(f"@{agent.name}" in text for text in texts)]


def _got(played: Played, said: Said, agent: Agent, digest: Iterable[str]) -> tuple[str, str]:
    return _outcome(played, _about(played, said, agent.name), said.about or said.id, agent, digest)


def _about(played: Played, said: Said, agent: str) -> list[Happened]:
    """What an agent got or did about SAID: about the message, in this version of it."""
    message = said.about or said.id
    since = played.times[said.id]
    changes = [
        played.times[other.id]
        for other in played.conversation.said
        if other.kind == "edits" and other.about == message and played.times.get(other.id, 0) > since
    ]
    until = min(changes, default=played.now + 1) if said.kind != "reacts" else played.now + 1
    found = [one for one in played.happened if one.message == message and one.agent == agent]
    return [one for one in found if since <= one.at < until]


def _outcome(
    played: Played, found: list[Happened], message: str, agent: Agent, digest: Iterable[str]
) -> tuple[str, str]:
    """The strongest outcome, with what the host said about it."""
    whats = {one.what for one in found}
    refused = [one.note for one in found if one.what == "refused"]
    told = [one.note for one in found if one.what in ("shown", "knocked", "interrupted")]
    note = ", ".join(dict.fromkeys([*told, *(f"refused: {code}" for code in refused)]))
    event = played.events.get(message, "")
    delivery = played.book.delivery(event, agent.id) if event else None
    if "answered" in whats:
        return RESPOND, note
    if delivery and delivery.escalated_to and any(ESCALATE in wanted for wanted in _wants(played, message)):
        return ESCALATE, note
    if "reacted" in whats:
        return ACKNOWLEDGE, note
    if told:
        return KNOCK, note
    return (DIGEST, note) if event in digest else (SILENCE, note)


def _wants(played: Played, message: str) -> list[tuple[str, ...]]:
    return [wanted for said in played.conversation.said if said.id == message for wanted in said.want.values()]


def _in_digest(played: Played, agent: Agent) -> frozenset[str]:
    """The events that the digest of an agent reports."""
    _, digest = make_digest(played.book, agent.id, played.now)
    return frozenset(report["eventId"] for section in digest["sections"] for report in section["reports"])


@dataclass(frozen=True)
class Sum:
    """The figures of a run."""

    wanted: int  # outcomes that were wanted, other than silence
    silent: int  # those of them that did not come
    quiet: int  # where no answer was wanted
    talked: int  # where more was said or shown than wanted

    @property
    def over_silence(self) -> float:
        return 100 * self.silent / max(self.wanted, 1)

    @property
    def over_talk(self) -> float:
        return 100 * self.talked / max(self.quiet, 1)


def summed(rows: Iterable[Row]) -> Sum:
    rows = list(rows)
    wanted = [row for row in rows if SILENCE not in row.wanted]
    quiet = [row for row in rows if RESPOND not in row.wanted and row.wanted not in ((INTERRUPT,), (ALONE,))]
    silent = sum(row.miss == OVER_SILENCE for row in wanted)
    return Sum(len(wanted), silent, len(quiet), sum(row.miss == OVER_TALK for row in rows))
