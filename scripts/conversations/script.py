"""A conversation as a person writes it down, and as the stage plays it.

A file names the agents and the people, and lists what is said, in order. Each message says what every agent should do
about it, and why. An agent that is not named in `want` should be left alone.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bb.attention.rehearsal.steps import replay_span

if TYPE_CHECKING:
    from pathlib import Path

PLATFORMS = ("slack", "discord", "matrix", "github")
RESPOND, ACKNOWLEDGE, KNOCK, DIGEST, ESCALATE, SILENCE = OUTCOMES = (
    "respond",
    "acknowledge",
    "knock",
    "digest",
    "escalate",
    "silence",
)
AGENTS = {"amber": "amber-otter", "blue": "blue-heron", "coral": "coral-finch", "delta": "delta-wren"}
PAUSE = 60_000  # between two messages, unless `after` says otherwise
OF_FILE = {"title", "language", "agents", "people", "private", "direct", "lead", "owner", "issue", "said"}
OF_SAID = {
    *("id", "by", "text", "after", "in", "thread", "reply_to", "edits", "deletes", "reacts", "typing", "assigns"),
    *("asks_review_of", "file", "marked", "says", "want", "why", "works", "interrupts", "apart", "opens", "line"),
    *("subject", "backlog", "unreacts", "asks_for", "cuts_in"),
}
KINDS = ("edits", "deletes", "reacts", "unreacts", "typing", "assigns", "asks_review_of", "opens")


class NotAConversation(ValueError):
    """The file does not have the form of a conversation."""


@dataclass(frozen=True)
class Agent:
    """An agent that takes part. MUTE: its program takes messages and never answers. AWAY: it is not connected."""

    name: str
    role: str = ""
    owns: tuple[str, ...] = ()
    is_mute: bool = False
    is_away: bool = False

    @property
    def id(self) -> str:
        return AGENTS[self.name]


@dataclass(frozen=True)
class Person:
    """Somebody else who writes: a person, or a program."""

    name: str
    kind: str = "person"  # person, bot, webhook, system


@dataclass(frozen=True)
class Said:
    """One thing that happens."""

    id: str
    by: str
    at: int  # milliseconds after the start
    kind: str = "message"
    text: str = ""
    about: str = ""  # the message that is edited, deleted, or reacted to
    place: str = "general"
    thread: str = ""
    reply_to: str = ""
    file: str = ""
    line: str = ""  # the place in the code, for a review comment
    subject: str = ""
    glyph: str = ""
    agent: str = ""  # the agent that is assigned, or asked for a review
    intent: str = ""  # what an agent declares about its own message
    is_backlog: bool = False  # whether it is taken in together with the message before it
    is_alone: bool = False  # whether it must not be merged with another message
    says: dict[str, Any] = field(default_factory=dict)
    works: dict[str, int] = field(default_factory=dict)  # how long the turn of an agent takes
    interrupts: tuple[str, ...] = ()  # the agents that must learn of it in the middle of a turn
    want: dict[str, tuple[str, ...]] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Conversation:
    """One file."""

    path: str
    platform: str
    title: str
    agents: tuple[Agent, ...]
    people: tuple[Person, ...]
    said: tuple[Said, ...]
    language: str = "en"
    private: tuple[str, ...] = ()
    lead: str = ""
    owner: str = ""
    issue: int = 17

    @property
    def name(self) -> str:
        return f"{self.platform}/{self.path.rpartition('/')[2].removesuffix('.toml')}"

    def agent(self, name: str) -> Agent | None:
        return next((agent for agent in self.agents if agent.name == name), None)

    def person(self, name: str) -> Person | None:
        return next((person for person in self.people if person.name == name), None)


def read(path: Path) -> Conversation:
    """The conversation in the file PATH. Its folder names the platform."""
    try:
        return _conversation(path, tomllib.loads(path.read_text(encoding="utf-8")))
    except (NotAConversation, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise NotAConversation(f"{path}: {error}") from error


def read_all(folder: Path) -> list[Conversation]:
    """Every conversation below FOLDER, by platform and name."""
    return [read(path) for path in sorted(folder.glob("*/*.toml"))]


def _conversation(path: Path, given: dict[str, Any]) -> Conversation:
    _must_be_known(given, OF_FILE, "the file")
    agents = tuple(_agent(name, about) for name, about in given["agents"].items())
    people = tuple(Person(name, **about) for name, about in given["people"].items())
    at = 0
    said: list[Said] = []
    for number, entry in enumerate(given["said"], 1):
        at += replay_span(entry["after"]) if "after" in entry else PAUSE if said else 0
        said.append(_said(entry, number, at, [agent.name for agent in agents], said))
    conversation = Conversation(
        str(path),
        path.parent.name,
        given["title"],
        agents,
        people,
        tuple(said),
        given.get("language", "en"),
        tuple(given.get("private", ())),
        given.get("lead", ""),
        given.get("owner", ""),
        given.get("issue", 17),
    )
    _check(conversation)
    return conversation


def _agent(name: str, about: dict[str, Any]) -> Agent:
    state = about.get("is", "")
    _must_be_known(about, {"role", "owns", "is"}, f"agent {name}")
    return Agent(name, about.get("role", ""), tuple(about.get("owns", ())), state == "mute", state == "away")


def _said(entry: dict[str, Any], number: int, at: int, agents: list[str], before: list[Said]) -> Said:
    _must_be_known(entry, OF_SAID, f"message {number}")
    kind = next((name for name in KINDS if name in entry), "message")
    about = str(entry.get(kind, "")) if kind != "message" else ""
    original = next((said for said in before if said.id == about), None)
    fields: dict[str, Any] = {
        "id": entry.get("id", f"m{number}"),
        "by": entry.get("by") or (original.by if original else ""),
        "at": at,
        "kind": kind,
        "text": entry.get("text", ""),
        "about": about if kind in ("edits", "deletes", "reacts", "unreacts") else "",
        "agent": about if kind in ("assigns", "asks_review_of") else "",
        "place": entry.get("in", original.place if original else before[-1].place if before else "general"),
        "thread": entry.get("thread", original.thread if original else ""),
        "reply_to": entry.get("reply_to", original.reply_to if original else ""),
        "file": entry.get("file", ""),
        "line": entry.get("line", ""),
        "subject": entry.get("subject", ""),
        "glyph": entry.get("marked", ""),
        "intent": entry.get("asks_for", ""),
        "is_backlog": entry.get("backlog", False),
        "is_alone": entry.get("apart", False),
        "says": entry.get("says", {}),
        "works": {agent: replay_span(span) for agent, span in entry.get("works", {}).items()},
        "interrupts": tuple(entry.get("interrupts", ())),
        "want": {who: _outcomes(wanted) for who, wanted in entry.get("want", {}).items()},
        "why": entry.get("why", ""),
    }
    unknown = [who for who in (*fields["want"], *fields["says"]) for one in who.split(" or ") if one not in agents]
    if unknown:
        raise NotAConversation(f"message {fields['id']}: there is no agent {unknown[0]!r}")
    return Said(**fields)


def _outcomes(wanted: str | list[str]) -> tuple[str, ...]:
    outcomes = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    for outcome in outcomes:
        if outcome not in OUTCOMES:
            raise NotAConversation(f"{outcome!r} is no outcome; there are {', '.join(OUTCOMES)}")
    return outcomes


def _check(conversation: Conversation) -> None:
    """Refuse a file that a reader could not argue with, or that cannot be played."""
    if conversation.platform not in PLATFORMS:
        raise NotAConversation(f"{conversation.platform!r} is no platform; there are {', '.join(PLATFORMS)}")
    known: set[str] = set()
    for said in conversation.said:
        if not (conversation.agent(said.by) or conversation.person(said.by)):
            raise NotAConversation(f"message {said.id}: there is nobody called {said.by!r}")
        if said.kind not in ("typing", "deletes", "unreacts") and not said.why:
            raise NotAConversation(f"message {said.id} has no `why`")
        if said.id in known:
            raise NotAConversation(f"two messages have the id {said.id!r}")
        for named in (said.about, said.thread, said.reply_to):
            if named and named.partition(".")[0] not in known:
                raise NotAConversation(f"message {said.id}: there is no earlier message {named!r}")
        known.add(said.id)


def _must_be_known(given: dict[str, Any], names: set[str], where: str) -> None:
    unknown = sorted(given.keys() - names)
    if unknown:
        raise NotAConversation(f"{where} has the unknown member {unknown[0]!r}")
