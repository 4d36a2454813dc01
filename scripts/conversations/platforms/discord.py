"""Frames of Discord's gateway."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from scripts.conversations.platforms.platform import EVERYBODY, ROLES, Platform, iso

if TYPE_CHECKING:
    from scripts.conversations.script import Said


class Discord(Platform):
    name = "discord"
    GUILD = "220000000000000001"

    def user(self, name: str) -> str:
        return f"110{zlib.crc32(name.encode()):015}"

    def role(self, name: str) -> str:
        return f"@440{zlib.crc32(name.encode()):015}"

    def channel(self, place: str) -> str:
        return f"330{self.number(place):015}"

    def _channel_of(self, place: str, thread: str) -> str:
        return self.native[thread] if thread else self.channel(place)  # a thread has the id of its first message

    def event_id(self, message: str) -> str:
        return f"discord:{self._channel_of(*self.where[message])}:{self.native[message]}"

    def new_id(self, message: str, when: int) -> str:  # noqa: ARG002
        return str(((when - 1_420_070_400_000) << 22) | (self._count % 4096))

    def mention(self, name: str) -> str:
        if name in EVERYBODY:
            return "@everyone"
        return f"<@&{self.role(name)[1:]}>" if name in ROLES else f"<@{self.user(name)}>"

    def target(self, place: str, thread: str) -> dict[str, str]:
        return {"conversation": self._channel_of(place, thread)}

    def place_of(self, conversation: str, thread: str | None, events: dict[str, str]) -> tuple[str, str]:
        root = next((message for message, name in self.native.items() if name == conversation), "")
        return (self.where[root][0], root) if root else super().place_of(conversation, thread, events)

    def _user(self, name: str) -> dict[str, Any]:
        about = {"id": self.user(name), "username": name, "global_name": None, "discriminator": "0", "avatar": None}
        return about | ({"bot": True} if self.is_program(name) else {})

    def _frame(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        self._count += 1
        place = data.pop("place")
        if not self.is_direct(place):
            data["guild_id"] = self.GUILD
        headers = {"bb-private": "true"} if place in self.conversation.private else {}
        return {"headers": headers, "body": {"op": 0, "s": self._count, "t": kind, "d": data}}

    def _data(self, message: str, text: str, when: int, reply_to: str) -> dict[str, Any]:
        place, thread = self.where[message]
        by = self.authors[message]
        person = self.conversation.person(by)
        named = self.named(text)
        people = [name for name in named if name not in ROLES and name not in EVERYBODY]
        if reply_to:  # Discord lists the author of the answered message, unless the writer turns that off
            people.append(self.authors[reply_to])
        data: dict[str, Any] = {
            "id": self.native[message],
            "type": 19 if reply_to else 0,
            "channel_id": self._channel_of(place, thread),
            "author": self._user(by),
            "content": self.written(text),
            "timestamp": iso(when, "000+00:00"),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": any(name in EVERYBODY for name in named),
            "mentions": [self._user(name) for name in dict.fromkeys(people)],
            "mention_roles": [self.role(name)[1:] for name in named if name in ROLES],
            "attachments": [],
            "embeds": [],
            "pinned": False,
            "flags": 0,
            "place": place,
        }
        if person and person.kind == "webhook":
            data["webhook_id"] = self.user(by)
            data["author"].pop("bot")
        if person and person.kind == "system":
            data["author"]["system"] = True
        if reply_to:
            there = self._channel_of(*self.where[reply_to])
            data["message_reference"] = {"type": 0, "channel_id": there, "message_id": self.native[reply_to]}
        return data

    def _message(self, said: Said, when: int) -> dict[str, Any]:
        data = self._data(said.id, said.text, when, said.reply_to)
        if said.file:
            url = f"https://cdn.example.org/{said.file.replace(' ', '-')}"
            data["attachments"] = [{"id": "1", "filename": said.file, "url": url, "content_type": "audio/ogg"}]
        return self._frame("MESSAGE_CREATE", data)

    def _edits(self, said: Said, when: int) -> dict[str, Any]:
        data = self._data(said.about, said.text, when, said.reply_to)
        return self._frame("MESSAGE_UPDATE", data | {"edited_timestamp": iso(when, "000+00:00")})

    def _deletes(self, said: Said, when: int) -> dict[str, Any]:  # noqa: ARG002
        place, thread = self.where[said.about]
        there = self._channel_of(place, thread)
        return self._frame("MESSAGE_DELETE", {"id": self.native[said.about], "channel_id": there, "place": place})

    def _reacts(self, said: Said, when: int, kind: str = "MESSAGE_REACTION_ADD") -> dict[str, Any]:  # noqa: ARG002
        place, thread = self.where[said.about]
        data = {
            "user_id": self.user(said.by),
            "channel_id": self._channel_of(place, thread),
            "message_id": self.native[said.about],
            "emoji": {"id": None, "name": said.glyph},
            "type": 0,
            "place": place,
        }
        return self._frame(kind, data)

    def _unreacts(self, said: Said, when: int) -> dict[str, Any]:
        return self._reacts(said, when, "MESSAGE_REACTION_REMOVE")

    def _typing(self, said: Said, when: int) -> dict[str, Any]:
        there = self._channel_of(said.place, said.thread)
        data = {"channel_id": there, "user_id": self.user(said.by), "timestamp": when // 1000, "place": said.place}
        return self._frame("TYPING_START", data)
