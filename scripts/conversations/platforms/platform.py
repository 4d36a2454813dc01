"""What the platforms have in common: the ids and the texts of one conversation.

A platform keeps the ids of one conversation. `payload` writes what the platform sends about what happened, as a bridge
passes it to `bb chat ingest --format …`; `post` writes what it sends when an agent's message was posted; `event_id`
names a message in the form of docs/surfaces.md.
"""

from __future__ import annotations

import re
import zlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scripts.conversations.script import Conversation, Said

NAME = re.compile(r"@([a-z][a-z0-9-]*)")
EVERYBODY = ("here", "channel", "everyone", "room")
ROLES = ("backend", "frontend", "oncall", "reviewers")


class Platform:
    """The ids and payloads of one conversation on one platform."""

    name = ""

    def __init__(self, conversation: Conversation, start: int) -> None:
        self.conversation = conversation
        self.start = start
        self.native: dict[str, str] = {}  # id in the file -> id on the platform
        self.where: dict[str, tuple[str, str]] = {}  # id in the file -> its place and its thread there
        self.texts: dict[str, str] = {}
        self.authors: dict[str, str] = {}
        self._count = 0

    # -- names

    def user(self, name: str) -> str:
        """The id of a person or an agent on the platform."""
        raise NotImplementedError

    def role(self, name: str) -> str:
        """The id of a role, as a mention of it is read."""
        return f"@{name}"

    def channel(self, place: str) -> str:
        raise NotImplementedError

    def is_direct(self, place: str) -> bool:
        return place.startswith("dm-")

    def event_id(self, message: str) -> str:
        """The id of a message of the file in bb's form."""
        raise NotImplementedError

    def number(self, name: str) -> int:
        """A number that belongs to NAME."""
        return zlib.crc32(f"{self.conversation.name} {name}".encode()) % 10**9

    def is_program(self, name: str) -> bool:
        person = self.conversation.person(name)
        return person is None or person.kind != "person"

    def named(self, text: str) -> list[str]:
        """The names that TEXT mentions, outside code."""
        everyone = [agent.name for agent in self.conversation.agents]
        everyone += [person.name for person in self.conversation.people]
        found = [name for part in text.split("`")[::2] for name in NAME.findall(part)]
        return [name for name in dict.fromkeys(found) if name in everyone or name in ROLES or name in EVERYBODY]

    def written(self, text: str) -> str:
        """TEXT with each mention in the form of the platform. A name in code stays as it was typed."""
        named = self.named(text)
        parts = text.split("`")
        for at in range(0, len(parts), 2):
            parts[at] = NAME.sub(lambda match: self.mention(match[1]) if match[1] in named else match[0], parts[at])
        return "`".join(parts)

    def mention(self, name: str) -> str:
        return f"@{self.user(name)}"

    # -- payloads

    def payload(self, said: Said) -> dict[str, Any] | None:
        """What the platform sends about SAID; None if it sends nothing."""
        when = self.start + said.at
        if said.kind in ("message", "opens", "assigns", "asks_review_of"):
            self.learn(said.id, said.by, said.place, said.thread, said.text, when)
        write = getattr(self, f"_{said.kind}", None)
        result: dict[str, Any] | None = write(said, when) if write else None
        if said.kind == "edits":
            self.texts[said.about] = said.text
        return result

    def learn(self, message: str, by: str, place: str, thread: str, text: str, when: int) -> None:
        """Note a message and give it an id."""
        self._count += 1
        self.native[message] = self.new_id(message, when)
        self.where[message] = (place, thread)
        self.texts[message], self.authors[message] = text, by

    def new_id(self, message: str, when: int) -> str:
        raise NotImplementedError

    def post(self, message: str, by: str, place: str, thread: str, text: str, when: int, reply_to: str) -> Any:
        """What the platform sends after the bridge has posted an agent's message."""
        from scripts.conversations.script import Said

        said = Said(message, by, when - self.start, "message", text, "", place, thread, reply_to)
        return self.payload(said)

    def target(self, place: str, thread: str) -> dict[str, str]:
        """The target of a message that an agent sends of its own accord."""
        return {"conversation": self.channel(place)} | ({"thread": self.native[thread]} if thread else {})

    def place_of(self, conversation: str, thread: str | None, events: dict[str, str]) -> tuple[str, str]:
        """The place and the thread of a message in the outbox, as in the file."""
        places = {place for place, _ in self.where.values()} | {said.place for said in self.conversation.said}
        place = next((place for place in sorted(places) if self.channel(place) == conversation), "")
        if thread in events:
            return place, events[thread]
        return place, next((message for message, name in self.native.items() if name == thread), "")

    def thread_of(self, message: str) -> str:
        """The thread in which an answer to a message of the file is written, as a message of the file."""
        place, thread = self.where[message]
        return "" if self.is_direct(place) else thread


def iso(when: int, zone: str = "Z") -> str:
    return datetime.fromtimestamp(when / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{when % 1000:03}{zone}"
