"""Events of Matrix rooms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scripts.conversations.platforms.platform import EVERYBODY, ROLES, Platform

if TYPE_CHECKING:
    from scripts.conversations.script import Said


class Matrix(Platform):
    name = "matrix"

    def user(self, name: str) -> str:
        return f"@{name}:example.org"

    def channel(self, place: str) -> str:
        return f"!{place}{self.number(place)}:example.org"

    def event_id(self, message: str) -> str:
        return f"matrix:{self.channel(self.where[message][0])}:{self.native[message]}"

    def new_id(self, message: str, when: int) -> str:
        return f"${message.replace('.', '-')}{self.number(f'{message}{when}')}"

    def mention(self, name: str) -> str:
        return f"@{name}" if name in EVERYBODY or name in ROLES else name

    def _event(self, said: Said, when: int, kind: str, content: dict[str, Any], event_id: str) -> dict[str, Any]:
        headers = {"bb-direct": "true"} if self.is_direct(said.place) else {}
        headers |= {"bb-private": "true"} if said.place in self.conversation.private else {}
        body = {
            "type": kind,
            "room_id": self.channel(said.place),
            "event_id": event_id,
            "sender": self.user(said.by),
            "origin_server_ts": when,
            "content": content,
            "unsigned": {"age": 12},
        }
        return {"headers": headers, "body": body}

    def _content(self, said: Said, text: str) -> dict[str, Any]:
        named = self.named(text)
        users = [self.user(name) for name in named if name not in EVERYBODY and name not in ROLES]
        person = self.conversation.person(said.by)
        if said.reply_to and self.authors[said.reply_to] != said.by:  # clients name the author they answer
            users.append(self.user(self.authors[said.reply_to]))
        content: dict[str, Any] = {
            "msgtype": "m.notice" if person and person.kind != "person" else "m.text",
            "body": self.written(text),
            "m.mentions": {"user_ids": list(dict.fromkeys(users))}
            | ({"room": True} if any(name in EVERYBODY for name in named) else {}),
        }
        if any(name in ROLES for name in named):  # Matrix knows no roles, so a client without mentions sends none
            del content["m.mentions"]
        if said.file:
            url = "mxc://example.org/voice"
            content |= {"msgtype": "m.audio", "filename": said.file, "url": url}
        relates: dict[str, Any] = {}
        if said.thread:
            relates = {"rel_type": "m.thread", "event_id": self.native[said.thread], "is_falling_back": True}
            relates["m.in_reply_to"] = {"event_id": self.native[said.thread]}
        if said.reply_to:
            relates |= {"m.in_reply_to": {"event_id": self.native[said.reply_to]}}
            relates |= {"is_falling_back": False} if said.thread else {}
        return content | ({"m.relates_to": relates} if relates else {})

    def _message(self, said: Said, when: int) -> dict[str, Any]:
        return self._event(said, when, "m.room.message", self._content(said, said.text), self.native[said.id])

    def _edits(self, said: Said, when: int) -> dict[str, Any]:
        new = {name: value for name, value in self._content(said, said.text).items() if name != "m.relates_to"}
        relates = {"rel_type": "m.replace", "event_id": self.native[said.about]}
        content = {"msgtype": new["msgtype"], "body": f"* {new['body']}", "m.mentions": {}}
        content |= {"m.new_content": new, "m.relates_to": relates}
        return self._event(said, when, "m.room.message", content, self.new_id(said.id, when))

    def _deletes(self, said: Said, when: int) -> dict[str, Any]:
        event = self._event(said, when, "m.room.redaction", {}, self.new_id(said.id, when))
        event["body"]["redacts"] = self.native[said.about]
        return event

    def _reacts(self, said: Said, when: int) -> dict[str, Any]:
        relates = {"rel_type": "m.annotation", "event_id": self.native[said.about], "key": said.glyph}
        self.native[said.id] = self.new_id(said.id, when)
        return self._event(said, when, "m.reaction", {"m.relates_to": relates}, self.native[said.id])

    def _typing(self, said: Said, when: int) -> dict[str, Any]:
        event = self._event(said, when, "m.typing", {"user_ids": [self.user(said.by)]}, "")
        return {"headers": event["headers"], "body": {k: event["body"][k] for k in ("type", "room_id", "content")}}
