"""Discord's REST API and its gateway, as far as the bridge uses them."""

from __future__ import annotations

import json
import re
import threading
import urllib.parse
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from tests.stories.bridges.platform import Call, Platform, Reply

BOT, GUILD = "110000000000000002", "220000000000000001"
CHANNEL, HIDDEN = "330000000000000001", "330000000000000004"
DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID, HELLO, ACK = 0, 1, 2, 6, 7, 9, 10, 11
# method -> the path below the version
PATHS = {
    "gateway": r"GET gateway",
    "channel": r"GET channels/(\d+)",
    "post": r"POST channels/(\d+)/messages",
    "delete": r"DELETE channels/(\d+)/messages/(\d+)",
    "react": r"PUT channels/(\d+)/messages/(\d+)/reactions/([^/]+)/@me",
    "unreact": r"DELETE channels/(\d+)/messages/(\d+)/reactions/([^/]+)/@me",
    "open": r"POST users/@me/channels",
}


class Discord(Platform):
    """The messages of a guild, and one session at its gateway."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []
        self.reactions: set[tuple[str, str, str]] = set()
        everyone = {"id": GUILD, "type": 0, "allow": "0", "deny": "1024"}
        self.channels: dict[str, dict[str, Any]] = {
            CHANNEL: {"id": CHANNEL, "type": 0, "guild_id": GUILD, "permission_overwrites": []},
            HIDDEN: {"id": HIDDEN, "type": 0, "guild_id": GUILD, "permission_overwrites": [everyone]},
        }
        self.begun: list[int] = []  # how each connection began: IDENTIFY or RESUME
        self.sessions = 0
        self.interval = 45_000  # milliseconds
        self.beats = 0
        self._events: list[dict[str, Any]] = []
        self._ready = threading.Event()
        self._connection: ServerConnection | None = None
        self._gateway = serve(self._listen, "127.0.0.1", 0)
        threading.Thread(target=self._gateway.serve_forever, daemon=True).start()
        self._count = 990000000000000000

    @property
    def gateway_url(self) -> str:
        return f"ws://127.0.0.1:{self._gateway.socket.getsockname()[1]}"

    def close(self) -> None:
        self._gateway.shutdown()
        super().close()

    # -- the gateway

    def say(self, frame: dict[str, Any]) -> None:
        """A recorded event happens now, whether the bot is connected or not."""
        with self._one_at_a_time:
            self._events.append({"op": DISPATCH, "t": frame["t"], "s": len(self._events) + 1, "d": frame["d"]})
            self._send(self._events[-1])

    def ask(self, op: int, about: Any = None) -> None:
        """The gateway wants a new connection, or says that the session is invalid."""
        self._ready.wait()
        self._ready.clear()  # the bot must connect anew
        self._send({"op": op, "d": about, "s": None, "t": None})

    def wait_until_ready(self) -> None:
        """Wait until a bot is connected and its session has begun."""
        assert self._ready.wait(60)

    def _listen(self, connection: ServerConnection) -> None:
        hello = {"op": HELLO, "d": {"heartbeat_interval": self.interval}, "s": None, "t": None}
        connection.send(json.dumps(hello))
        try:
            for text in connection:
                frame = json.loads(text)
                if frame["op"] == HEARTBEAT:
                    self.beats += 1
                    connection.send(json.dumps({"op": ACK, "d": None, "s": None, "t": None}))
                else:
                    self._begin(connection, frame)
        except ConnectionClosed:
            pass
        finally:
            with self._one_at_a_time:
                if self._connection is connection:  # no bot is connected anew
                    self._ready.clear()

    def _begin(self, connection: ServerConnection, frame: dict[str, Any]) -> None:
        with self._one_at_a_time:
            about = frame["d"]
            self.begun.append(frame["op"])
            if about["token"] != "bot-1":
                connection.close(4004, "Authentication failed.")
                return
            self._connection = connection
            if frame["op"] == RESUME and about["session_id"] != f"session-{self.sessions}":
                self._send({"op": INVALID, "d": False, "s": None, "t": None})
                return
            if frame["op"] == RESUME:
                for event in self._events[about["seq"] :]:
                    self._send(event)
                self._ready.set()
                self.say({"t": "RESUMED", "d": {}})
            else:
                self.sessions += 1
                self._events.clear()
                self._ready.set()
                self.say({"t": "READY", "d": self._greeting()})

    def _greeting(self) -> dict[str, Any]:
        user = {"id": BOT, "username": "bridge", "discriminator": "0", "global_name": None, "avatar": None, "bot": True}
        return {
            "v": 10,
            "user": user,
            "guilds": [],
            "session_id": f"session-{self.sessions}",
            "resume_gateway_url": self.gateway_url,
            "application": {"id": BOT, "flags": 0},
        }

    def _send(self, frame: dict[str, Any]) -> None:
        if self._connection is None:
            return
        try:
            self._connection.send(json.dumps(frame))
        except ConnectionClosed:
            self._connection = None

    # -- the REST API

    def method(self, call: Call) -> tuple[str, dict[str, Any]]:
        path = call.path.removeprefix("/").partition("?")[0]
        about = {"body": json.loads(call.body) if call.body else {}}
        about["token"] = call.headers.get("Authorization", "").removeprefix("Bot ")
        for method, form in PATHS.items():
            if found := re.fullmatch(form, f"{call.verb} {path}"):
                return method, about | {"at": [urllib.parse.unquote(part) for part in found.groups()]}
        return "unknown", about

    def answer(self, method: str, about: dict[str, Any]) -> Reply:
        if method == "gateway":
            return Reply({"url": self.gateway_url})
        if about["token"] != "bot-1":
            return refused(401, "401: Unauthorized", 0)
        if method == "unknown":
            return refused(404, "404: Not Found", 0)
        done: Reply = getattr(self, f"_{method}")(about["body"], *about["at"])
        return done

    def texts(self, channel: str) -> list[str]:
        """What stands in a channel."""
        return [message["content"] for message in self.messages if message["channel_id"] == channel]

    def _channel(self, _: dict[str, Any], channel: str) -> Reply:
        return Reply(self.channels[channel]) if channel in self.channels else UNKNOWN_CHANNEL

    def _post(self, body: dict[str, Any], channel: str) -> Reply:
        if channel not in self.channels:
            return UNKNOWN_CHANNEL
        if not 0 < len(body["content"]) <= 2000 or len(str(body.get("nonce", ""))) > 25:
            return refused(400, "Invalid Form Body", 50035)
        known = [m for m in self.messages if m["channel_id"] == channel and m["nonce"] == body.get("nonce")]
        if known and body.get("enforce_nonce"):
            return Reply(known[0])
        self._count += 1
        author = {"id": BOT, "username": "bridge", "discriminator": "0", "avatar": None, "bot": True}
        message = {
            "id": str(self._count),
            "channel_id": channel,
            "author": author,
            "content": body["content"],
            "timestamp": "2026-11-20T10:00:00.000000+00:00",
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "pinned": False,
            "type": 19 if "message_reference" in body else 0,
            "nonce": body.get("nonce"),
            **{name: [] for name in ("mentions", "mention_roles", "attachments", "embeds")},
            **({"message_reference": body["message_reference"]} if "message_reference" in body else {}),
        }
        self.messages.append(message)
        guild = {"guild_id": GUILD} if self.channels[channel]["type"] == 0 else {}
        self.say({"t": "MESSAGE_CREATE", "d": message | guild})
        return Reply(message)

    def _delete(self, _: dict[str, Any], channel: str, number: str) -> Reply:
        found = [m for m in self.messages if (m["channel_id"], m["id"]) == (channel, number)]
        if not found:
            return refused(404, "Unknown Message", 10008)
        self.messages.remove(found[0])
        return Reply(None, 204)

    def _react(self, _: dict[str, Any], *reaction: str) -> Reply:
        channel, message, emoji = reaction
        self.reactions.add((channel, message, emoji))
        return Reply(None, 204)

    def _unreact(self, _: dict[str, Any], *reaction: str) -> Reply:
        channel, message, emoji = reaction
        self.reactions.discard((channel, message, emoji))
        return Reply(None, 204)

    def _open(self, body: dict[str, Any]) -> Reply:
        channel = f"44{body['recipient_id'][2:]}"
        self.channels[channel] = {"id": channel, "type": 1, "recipients": [{"id": body["recipient_id"]}]}
        return Reply(self.channels[channel])


def refused(status: int, message: str, code: int) -> Reply:
    return Reply({"message": message, "code": code}, status)


UNKNOWN_CHANNEL = refused(404, "Unknown Channel", 10003)
