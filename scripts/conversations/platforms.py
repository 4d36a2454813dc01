"""The payloads of the platforms, as they would send them: what a bridge passes to `bb chat ingest --format …`.

A platform object keeps the ids of one conversation. `payload` writes what happened; `post` writes what the platform
sends when an agent's message was posted; `event_id` names a message in the form of docs/surfaces.md.
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


class GitHub(Platform):
    name = "github"
    TOPIC = "The kettle boils over"

    def user(self, name: str) -> str:
        person = self.conversation.person(name)
        if person and person.kind != "person":
            return f"{name}[bot]"
        return f"{name}-bot" if person is None else name

    def role(self, name: str) -> str:
        return f"@acme/{name}"

    def mention(self, name: str) -> str:
        return self.role(name) if name in ROLES else f"@{self.user(name)}"

    def channel(self, place: str) -> str:  # noqa: ARG002
        return f"acme/{self.conversation.name.partition('/')[2]}"

    def is_direct(self, place: str) -> bool:  # noqa: ARG002
        return False

    def event_id(self, message: str) -> str:
        return f"github:{self.channel(self.where[message][0])}:{self.native[message]}"

    def new_id(self, message: str, when: int) -> str:
        return f"comment:{self.number(f'{message}{when}')}"

    def target(self, place: str, thread: str) -> dict[str, str]:  # noqa: ARG002
        return {"conversation": self.channel(place), "thread": str(self.conversation.issue)}

    def place_of(self, conversation: str, thread: str | None, events: dict[str, str]) -> tuple[str, str]:  # noqa: ARG002
        return super().place_of(conversation, None, events)[0], ""

    def _user(self, name: str) -> dict[str, Any]:
        kind = "Bot" if self.is_program(name) and self.conversation.person(name) else "User"
        return {"login": self.user(name), "id": self.number(name), "type": kind, "site_admin": False}

    def _is_pull(self, said: Said) -> bool:
        return bool(said.line) or any(entry.line or entry.kind == "asks_review_of" for entry in self.conversation.said)

    def _topic(self, said: Said, when: int, **more: Any) -> dict[str, Any]:
        number = self.conversation.issue
        by = next((entry.by for entry in self.conversation.said if entry.kind == "opens"), "ada")
        kind = "pull" if self._is_pull(said) else "issues"
        return {
            "id": 88000 + number,
            "number": number,
            "title": said.subject or self.TOPIC,
            "state": "open",
            "user": self._user(by),
            "html_url": f"https://github.com/acme/kettle/{kind}/{number}",
            "created_at": iso(self.start),
            "updated_at": iso(when),
            "body": None,
            **more,
        }

    def _hook(self, event: str, action: str, said: Said, **more: Any) -> dict[str, Any]:
        place = self.channel(said.place)
        body = {
            "action": action,
            **more,
            "repository": {"id": 51001, "name": "kettle", "full_name": place, "private": False},
            "sender": self._user(said.by),
        }
        return {"headers": {"X-GitHub-Event": event}, "body": body}

    def _opens(self, said: Said, when: int) -> dict[str, Any]:
        number = self.conversation.issue
        topic = self._topic(said, when, body=self.written(said.text))
        if self._is_pull(said):
            self.native[said.id] = f"pull:{number}"
            return self._hook("pull_request", "opened", said, number=number, pull_request=topic)
        self.native[said.id] = f"issue:{number}"
        return self._hook("issues", "opened", said, issue=topic)

    def _comment(self, said: Said, message: str, text: str, created: int, when: int) -> dict[str, Any]:
        return {
            "id": int(self.native[message].partition(":")[2]),
            "html_url": f"https://github.com/acme/kettle/issues/{self.conversation.issue}#{self.native[message]}",
            "user": self._user(said.by),
            "created_at": iso(created),
            "updated_at": iso(when),
            "author_association": "MEMBER",
            "body": self.written(text),
        }

    def _message(self, said: Said, when: int) -> dict[str, Any]:
        if said.line:
            self.native[said.id] = self.native[said.id].replace("comment:", "review_comment:")
            path, _, line = said.line.partition(":")
            comment = self._comment(said, said.id, said.text, when, when) | {"path": path, "line": int(line)}
            if said.reply_to:
                comment["in_reply_to_id"] = int(self.native[said.reply_to].partition(":")[2])
            pull = self._topic(said, when)
            return self._hook("pull_request_review_comment", "created", said, comment=comment, pull_request=pull)
        comment = self._comment(said, said.id, said.text, when, when)
        return self._hook("issue_comment", "created", said, issue=self._topic(said, when), comment=comment)

    def _edits(self, said: Said, when: int) -> dict[str, Any]:
        changes = {"body": {"from": self.texts[said.about]}}
        if self.native[said.about].startswith("issue:"):
            topic = self._topic(said, when, body=self.written(said.text))
            return self._hook("issues", "edited", said, issue=topic, changes=changes)
        comment = self._comment(said, said.about, said.text, when - 1000, when)
        topic = self._topic(said, when)
        return self._hook("issue_comment", "edited", said, issue=topic, comment=comment, changes=changes)

    def _deletes(self, said: Said, when: int) -> dict[str, Any]:
        comment = self._comment(said, said.about, self.texts[said.about], when - 1000, when)
        return self._hook("issue_comment", "deleted", said, issue=self._topic(said, when), comment=comment)

    def _assigns(self, said: Said, when: int) -> dict[str, Any]:
        who = self._user(said.agent)
        topic = self._topic(said, when, body=self.written(said.text), assignee=who, assignees=[who])
        self.native[said.id] = f"issue:{self.conversation.issue}:assigned:{who['login']}:{iso(when)}"
        return self._hook("issues", "assigned", said, issue=topic, assignee=who)

    def _asks_review_of(self, said: Said, when: int) -> dict[str, Any]:
        number, who = self.conversation.issue, self._user(said.agent)
        topic = self._topic(said, when)
        self.native[said.id] = f"pull:{number}:review_requested:{who['login']}:{iso(when)}"
        return self._hook(
            "pull_request", "review_requested", said, number=number, pull_request=topic, requested_reviewer=who
        )


def platform(conversation: Conversation, start: int) -> Platform:
    """The platform of a conversation that begins at START."""
    kinds = {kind.name: kind for kind in (Slack, Discord, Matrix, GitHub)}
    return kinds[conversation.platform](conversation, start)
