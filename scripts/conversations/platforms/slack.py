"""Slack's Events API."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from scripts.conversations.platforms.platform import EVERYBODY, ROLES, Platform

if TYPE_CHECKING:
    from scripts.conversations.script import Said


class Slack(Platform):
    name = "slack"

    def user(self, name: str) -> str:
        return f"U{name.upper().replace('-', '')}"

    def role(self, name: str) -> str:
        return f"@S{name.upper()}"

    def channel(self, place: str) -> str:
        mark = "D" if self.is_direct(place) else "G" if place in self.conversation.private else "C"
        return f"{mark}{self.number(place)}"

    def event_id(self, message: str) -> str:
        return f"slack:T0ACME:{self.channel(self.where[message][0])}:{self.native[message]}"

    def new_id(self, message: str, when: int) -> str:  # noqa: ARG002
        return f"{when // 1000}.{when % 1000:03}{self._count % 1000:03}"

    def mention(self, name: str) -> str:
        if name in EVERYBODY:
            return f"<!{'here' if name == 'room' else name}>"
        return f"<!subteam^{self.role(name)[1:]}>" if name in ROLES else f"<@{self.user(name)}>"

    def thread_of(self, message: str) -> str:
        """Bots on Slack answer in the thread of a message, or begin one."""
        place, thread = self.where[message]
        return thread if self.is_direct(place) else thread or message

    def _event(self, when: int, event: dict[str, Any]) -> dict[str, Any]:
        self._count += 1
        place = event.pop("place")
        reader = place.removeprefix("dm-").partition("-")[0] if self.is_direct(place) else "bridge"
        body = {
            "type": "event_callback",
            "team_id": "T0ACME",
            "api_app_id": "A0BRIDGE",
            "event": event,
            "event_id": f"Ev{self.number(str(self._count))}",
            "event_time": when // 1000,
            "authorizations": [{"team_id": "T0ACME", "user_id": self.user(reader), "is_bot": True}],
        }
        return {"headers": {"X-Slack-Request-Timestamp": str(when // 1000)}, "body": body}

    def _kind(self, place: str) -> dict[str, str]:
        kind = "im" if self.is_direct(place) else "group" if place in self.conversation.private else "channel"
        return {"channel": self.channel(place), "channel_type": kind}

    def _content(self, message: str, text: str) -> dict[str, Any]:
        by = self.authors[message]
        person = self.conversation.person(by)
        _, thread = self.where[message]
        about: dict[str, Any] = {"type": "message", "text": _escaped(self.written(text)), "ts": self.native[message]}
        if person and person.kind == "webhook":
            about |= {"subtype": "bot_message", "bot_id": f"B{by.upper()}", "username": by}
        elif person and person.kind == "system":
            about |= {"user": "USLACKBOT"}
        else:
            about |= {"user": self.user(by)} | ({"bot_id": f"B{by.upper()}"} if self.is_program(by) else {})
        return about | ({"thread_ts": self.native[thread]} if thread else {}) | {"team": "T0ACME"}

    def _message(self, said: Said, when: int) -> dict[str, Any]:
        event = self._content(said.id, said.text) | self._kind(said.place) | {"event_ts": self.native[said.id]}
        if said.file:
            event |= {"subtype": "file_share", "files": [_slack_file(said.file)]}
        return self._event(when, event | {"place": said.place})

    def _edits(self, said: Said, when: int) -> dict[str, Any]:
        before = self._content(said.about, self.texts[said.about])
        after = self._content(said.about, said.text)
        after |= {"edited": {"user": self.user(said.by), "ts": f"{when // 1000}.000000"}}
        ts = self.new_id("", when)
        event = {"type": "message", "subtype": "message_changed", "hidden": True, "ts": ts, "event_ts": ts}
        return self._event(
            when,
            event | self._kind(said.place) | {"message": after, "previous_message": before, "place": said.place},
        )

    def _deletes(self, said: Said, when: int) -> dict[str, Any]:
        before = self._content(said.about, self.texts[said.about])
        ts = self.new_id("", when)
        event = {"type": "message", "subtype": "message_deleted", "hidden": True, "ts": ts, "event_ts": ts}
        event |= {"deleted_ts": self.native[said.about], "previous_message": before, "place": said.place}
        return self._event(when, event | self._kind(said.place))

    def _reacts(self, said: Said, when: int, kind: str = "reaction_added") -> dict[str, Any]:
        place, _ = self.where[said.about]
        item = {"type": "message", "channel": self.channel(place), "ts": self.native[said.about]}
        event = {"type": kind, "user": self.user(said.by), "reaction": said.glyph, "item": item, "place": place}
        return self._event(when, event | {"event_ts": self.new_id("", when)})

    def _unreacts(self, said: Said, when: int) -> dict[str, Any]:
        return self._reacts(said, when, "reaction_removed")


def _escaped(text: str) -> str:
    """TEXT with Slack's escapes; entities stay."""
    text = text.replace("&", "&amp;")
    return re.sub(r"^>", "&gt;", text, flags=re.MULTILINE)


def _slack_file(name: str) -> dict[str, str]:
    url = f"https://files.example.org/{name.replace(' ', '-')}"
    return {"id": "F1", "name": name, "title": name, "mimetype": "audio/mp4", "url_private": url, "permalink": url}
