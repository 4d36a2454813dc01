"""Slack, as far as the bridge calls it; and as far as it calls the bridge."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import time
import urllib.parse
import urllib.request
from typing import Any

from tests.stories.bridges.platform import Call, Platform, Reply

TEAM, BOT, SECRET = "T0ACME", "U0BRIDGE", "a signing secret"


class Slack(Platform):
    """The messages of a workspace."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []
        self.reactions: set[tuple[str, str, str]] = set()
        self.page = 200
        self._last = time.time_ns() // 1000

    def method(self, call: Call) -> tuple[str, dict[str, Any]]:
        method = call.path.removeprefix("/").partition("?")[0]
        is_json = call.headers.get("Content-Type", "").startswith("application/json")
        about = json.loads(call.body or b"{}") if is_json else dict(urllib.parse.parse_qsl(call.body.decode()))
        about |= dict(urllib.parse.parse_qsl(call.path.partition("?")[2]))
        return method, about | {"token": call.headers.get("Authorization", "").removeprefix("Bearer ")}

    def answer(self, method: str, about: dict[str, Any]) -> Reply:
        if about.pop("token") != "xoxb-1":
            return refused("invalid_auth")
        match method:
            case "auth.test":
                return fine(
                    team_id=TEAM, user_id=BOT, bot_id="B0BRIDGE", team="Acme", user="bb", url="https://acme.slack.com/"
                )
            case "chat.postMessage":
                return self._post(about)
            case "chat.delete":
                return self._delete(about)
            case "conversations.open":
                return fine(channel={"id": "D" + about["users"].removeprefix("U")})
            case "conversations.history" | "conversations.replies":
                return self._history(about)
            case "reactions.add" | "reactions.remove":
                return self._react(about, is_added=method == "reactions.add")
        return refused("unknown_method")

    def texts(self, channel: str, thread: str | None = None) -> list[str]:
        """What stands in a channel, or in a thread of it."""
        return [m["text"] for m in self.messages if m["channel"] == channel and m.get("thread_ts") == thread]

    def ts(self) -> str:
        """A time that no other message has."""
        self._last = max(self._last + 1, time.time_ns() // 1000)
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06}"

    def _post(self, about: dict[str, Any]) -> Reply:
        if about["channel"].startswith("C0ARCHIVED"):
            return refused("is_archived")
        metadata = about.get("metadata")
        message = {
            "type": "message",
            "channel": about["channel"],
            "ts": self.ts(),
            "text": about["text"],
            "user": BOT,
            "bot_id": "B0BRIDGE",
            "metadata": json.loads(metadata) if isinstance(metadata, str) else metadata,
        }
        message |= {"thread_ts": about["thread_ts"]} if about.get("thread_ts") else {}
        self.messages.append(message)
        return fine(channel=about["channel"], ts=message["ts"], message=message)

    def _delete(self, about: dict[str, Any]) -> Reply:
        found = [m for m in self.messages if (m["channel"], m["ts"]) == (about["channel"], about["ts"])]
        if not found:
            return refused("message_not_found")
        self.messages.remove(found[0])
        return fine(channel=about["channel"], ts=about["ts"])

    def _history(self, about: dict[str, Any]) -> Reply:
        thread = about.get("ts")  # a thread is listed from its first message on; a channel from its last one
        found = [m for m in self.messages if m["channel"] == about["channel"]]
        found = [m for m in found if thread == m.get("thread_ts") or (thread and m["ts"] == thread)]
        found = [m for m in (found if thread else reversed(found)) if float(m["ts"]) > float(about.get("oldest", 0))]
        if about.get("include_all_metadata") not in ("true", "1"):
            found = [{name: value for name, value in m.items() if name != "metadata"} for m in found]
        start = int(about.get("cursor") or 0)
        end = start + min(self.page, int(about.get("limit", 100)))
        cursor = str(end) if end < len(found) else ""
        return fine(messages=found[start:end], has_more=bool(cursor), response_metadata={"next_cursor": cursor})

    def _react(self, about: dict[str, Any], *, is_added: bool) -> Reply:
        if not about["name"].isascii():
            return refused("invalid_name")
        reaction = (about["channel"], about["timestamp"], about["name"])
        if is_added is (reaction in self.reactions):
            return refused("already_reacted" if is_added else "no_reaction")
        (self.reactions.add if is_added else self.reactions.discard)(reaction)
        return fine()


def fine(**about: Any) -> Reply:
    return Reply({"ok": True, **about})


def refused(error: str) -> Reply:
    return Reply({"ok": False, "error": error})


def send(port: int, payload: dict[str, Any], *, secret: str = SECRET, at: int | None = None, **headers: str) -> int:
    """Slack sends PAYLOAD to the bridge, signed: the status of its answer."""
    body = json.dumps(payload).encode()
    when = str(int(time.time()) if at is None else at)
    mark = hmac.new(secret.encode(), b"v0:%s:%s" % (when.encode(), body), hashlib.sha256).hexdigest()
    signed = {"X-Slack-Request-Timestamp": when, "X-Slack-Signature": f"v0={mark}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        connection.request("POST", "/", body, signed | headers)
        return connection.getresponse().status
    finally:
        connection.close()
