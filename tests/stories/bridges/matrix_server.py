"""The client-server API of a Matrix homeserver, as far as the bridge calls it."""

from __future__ import annotations

import json
import re
import urllib.parse
from typing import Any

from tests.stories.bridges.platform import Call, Platform, Reply

BOT = "@bridge:example.org"
ROOM = "!kettle:example.org"
# method -> the path below the version
PATHS = {
    "whoami": r"GET account/whoami",
    "sync": r"GET sync",
    "send": r"PUT rooms/([^/]+)/send/([^/]+)/([^/]+)",
    "redact": r"PUT rooms/([^/]+)/redact/([^/]+)/([^/]+)",
    "state": r"GET rooms/([^/]+)/state",
    "messages": r"GET rooms/([^/]+)/messages",
    "join": r"POST join/([^/]+)",
    "create": r"POST createRoom",
}


class Matrix(Platform):
    """One stream of events; the token of a sync is a place in it. A test adds events, and an invitation."""

    def __init__(self) -> None:
        super().__init__()
        self.stream: list[dict[str, Any]] = []  # each with its room
        self.typing: dict[str, list[str]] = {}
        self.invites: dict[str, dict[str, Any]] = {}
        self.rules: dict[str, str] = {ROOM: "public"}
        self.most = 20  # events of a room in one sync
        self._known: dict[str, str] = {}  # transaction -> the id of its event

    def method(self, call: Call) -> tuple[str, dict[str, Any]]:
        path, _, query = call.path.removeprefix("/_matrix/client/v3/").partition("?")
        about = {"body": json.loads(call.body) if call.body else {}, "query": dict(urllib.parse.parse_qsl(query))}
        about["token"] = call.headers.get("Authorization", "").removeprefix("Bearer ")
        for method, form in PATHS.items():
            if found := re.fullmatch(form, f"{call.verb} {path}"):
                return method, about | {"at": [urllib.parse.unquote(part) for part in found.groups()]}
        return "unknown", about

    def answer(self, method: str, about: dict[str, Any]) -> Reply:
        if about["token"] != "syt_1":
            return refused(401, "M_UNKNOWN_TOKEN")
        if method == "unknown":
            return refused(404, "M_UNRECOGNIZED")
        done: Reply = getattr(self, f"_{method}")(about, *about["at"])
        return done

    def say(self, event: dict[str, Any]) -> None:
        """A recorded event happens now."""
        self.stream.append(event)

    def texts(self, room: str = ROOM) -> list[str]:
        """What the bot has said in a room, and is not redacted."""
        gone = {event["redacts"] for event in self.stream if event["type"] == "m.room.redaction"}
        own = [event for event in self.stream if event["room_id"] == room and event["sender"] == BOT]
        return [
            event["content"]["body"]
            for event in own
            if event["type"] == "m.room.message" and event["event_id"] not in gone
        ]

    def _whoami(self, _: dict[str, Any]) -> Reply:
        return Reply({"user_id": BOT, "device_id": "BRIDGE"})

    def _sync(self, about: dict[str, Any]) -> Reply:
        since = int(about["query"].get("since", "s0").removeprefix("s"))
        rooms = {event["room_id"] for event in self.stream[since:]} | self.typing.keys()
        invites, self.invites = self.invites, {}
        typing, self.typing = self.typing, {}
        joined = {room: self._joined(room, since, typing.get(room)) for room in rooms}
        invited = {room: {"invite_state": {"events": [event]}} for room, event in invites.items()}
        return Reply({"next_batch": f"s{len(self.stream)}", "rooms": {"join": joined, "invite": invited}})

    def _joined(self, room: str, since: int, typing: list[str] | None) -> dict[str, Any]:
        numbered = [(at, event) for at, event in enumerate(self.stream) if at >= since and event["room_id"] == room]
        shown = numbered[-self.most :]
        timeline = {
            "events": [without_room(event) for _, event in shown],
            "limited": len(shown) < len(numbered),
            "prev_batch": f"s{shown[0][0] if shown else len(self.stream)}",
        }
        ephemeral = [{"type": "m.typing", "content": {"user_ids": typing}}] if typing else []
        return {"timeline": timeline, "ephemeral": {"events": ephemeral}}

    def _messages(self, about: dict[str, Any], room: str) -> Reply:
        query = about["query"]
        start, stop = int(query["from"][1:]), int(query.get("to", "s0")[1:])
        numbered = [
            (at, event) for at, event in enumerate(self.stream) if stop <= at < start and event["room_id"] == room
        ]
        page = numbered[::-1][: min(self.most, int(query.get("limit", 10)))]
        end = {"end": f"s{page[-1][0]}"} if page else {}
        return Reply({"start": query["from"], "chunk": [event for _, event in page], **end})

    def _send(self, about: dict[str, Any], room: str, kind: str, transaction: str) -> Reply:
        if room not in self.rules:
            return refused(403, "M_FORBIDDEN")
        return self._once(transaction, {"type": kind, "room_id": room, "content": about["body"]})

    def _redact(self, about: dict[str, Any], room: str, event: str, transaction: str) -> Reply:
        redaction = {"type": "m.room.redaction", "room_id": room, "redacts": event, "content": about["body"]}
        return self._once(transaction, redaction)

    def _once(self, transaction: str, event: dict[str, Any]) -> Reply:
        if transaction not in self._known:
            self._known[transaction] = name = f"$own{len(self.stream)}"
            unsigned = {"transaction_id": transaction}
            own = {"event_id": name, "sender": BOT, "origin_server_ts": 1795168800123, "unsigned": unsigned}
            self.stream.append(event | own)
        return Reply({"event_id": self._known[transaction]})

    def _state(self, _: dict[str, Any], room: str) -> Reply:
        if room not in self.rules:
            return refused(403, "M_FORBIDDEN")
        users = [("@ada:example.org", "join"), (BOT, "join")]
        members = [state_event("m.room.member", user, {"membership": how}) for user, how in users]
        create = state_event("m.room.create", "", {"room_version": "11"})
        return Reply([create, state_event("m.room.join_rules", "", {"join_rule": self.rules[room]}), *members])

    def _join(self, _: dict[str, Any], room: str) -> Reply:
        self.rules[room] = "invite"
        return Reply({"room_id": room})

    def _create(self, about: dict[str, Any]) -> Reply:
        (user,) = about["body"]["invite"]
        room = f"!dm-{user[1:].replace(':', '-')}:example.org"
        self.rules[room] = "invite"
        return Reply({"room_id": room})


def state_event(kind: str, key: str, content: dict[str, Any]) -> dict[str, Any]:
    """An event that is part of the state of a room."""
    about = {"event_id": f"${kind}{key}", "sender": key or BOT, "origin_server_ts": 1795168800123}
    return {"type": kind, "state_key": key, "content": content, **about}


def without_room(event: dict[str, Any]) -> dict[str, Any]:
    """An event as a sync has it."""
    return {name: value for name, value in event.items() if name != "room_id"}


def refused(status: int, code: str) -> Reply:
    return Reply({"errcode": code, "error": code}, status)
