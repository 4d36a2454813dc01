"""GitHub's REST API, as far as the bridge calls it; and its webhooks."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import re
import urllib.parse
from datetime import UTC, datetime
from typing import Any

from tests.stories.bridges.platform import Call, Platform, Reply

SECRET = "a webhook secret"
REPO = "acme/kettle"
CONTENTS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")
# method -> the path below the repository
PATHS = {
    "list comments": r"GET (issues|pulls)/comments",
    "get comment": r"GET (issues|pulls)/comments/(\d+)",
    "post comment": r"POST issues/(\d+)/comments",
    "reply": r"POST pulls/(\d+)/comments/(\d+)/replies",
    "delete comment": r"DELETE (issues|pulls)/comments/(\d+)",
    "react": r"POST (.*)/reactions",
    "unreact": r"DELETE (.*)/reactions/(\d+)",
    "deliveries": r"GET hooks/(\d+)/deliveries",
    "redeliver": r"POST hooks/(\d+)/deliveries/(\d+)/attempts",
}


class GitHub(Platform):
    """The comments of a repository."""

    def __init__(self) -> None:
        super().__init__()
        self.comments: list[dict[str, Any]] = []
        self.reactions: dict[tuple[str, str], int] = {}
        self.deliveries: list[dict[str, Any]] = []
        self.sent_again: list[int] = []
        self._count = 1000

    def method(self, call: Call) -> tuple[str, dict[str, Any]]:
        path, _, query = call.path.partition("?")
        below = path.removeprefix(f"/repos/{REPO}/")
        about = json.loads(call.body or b"{}") | dict(urllib.parse.parse_qsl(query))
        about["authorization"] = call.headers.get("Authorization", "").split(" ")[-1]
        for method, form in PATHS.items():
            if path != below and (found := re.fullmatch(form, f"{call.verb} {below}")):
                return method, about | {"at": found.groups()}
        return "unknown", about

    def answer(self, method: str, about: dict[str, Any]) -> Reply:
        if about["authorization"] != "ghp_1":
            return refused(401, "Bad credentials")
        if method == "unknown":
            return NOT_FOUND
        done: Reply = getattr(self, f"_{method.replace(' ', '_')}")(about, *about["at"])
        return done

    def _list_comments(self, about: dict[str, Any], kind: str) -> Reply:
        since = datetime.fromisoformat(about.get("since", "2000-01-01T00:00:00Z"))
        found = [c for c in self.comments if c["kind"] == kind and datetime.fromisoformat(c["updated_at"]) >= since]
        size, page = int(about.get("per_page", 30)), int(about.get("page", 1))
        return Reply(found[size * (page - 1) : size * page])

    def _get_comment(self, _: dict[str, Any], kind: str, number: str) -> Reply:
        found = self._found(kind, int(number))
        return Reply(found) if found else NOT_FOUND

    def _post_comment(self, about: dict[str, Any], number: str) -> Reply:
        return self._posted("issues", number, about) if number != "404" else NOT_FOUND

    def _reply(self, about: dict[str, Any], number: str, first: str) -> Reply:
        found = self._found("pulls", int(first))
        if found is None or "in_reply_to_id" in found:
            return NOT_FOUND
        return self._posted("pulls", number, about, in_reply_to_id=int(first))

    def _delete_comment(self, _: dict[str, Any], kind: str, number: str) -> Reply:
        found = self._found(kind, int(number))
        if found is None:
            return NOT_FOUND
        self.comments.remove(found)
        return Reply(None, 204)

    def _react(self, about: dict[str, Any], where: str) -> Reply:
        if about["content"] not in CONTENTS:
            return refused(422, "Validation Failed")
        reaction = (where, about["content"])
        is_new = reaction not in self.reactions
        self._count += is_new
        number = self.reactions.setdefault(reaction, self._count)
        return Reply({"id": number, "content": about["content"]}, 201 if is_new else 200)

    def _unreact(self, _: dict[str, Any], where: str, number: str) -> Reply:
        self.reactions = {key: held for key, held in self.reactions.items() if (key[0], held) != (where, int(number))}
        return Reply(None, 204)

    def _deliveries(self, *_: Any) -> Reply:
        return Reply(self.deliveries)

    def _redeliver(self, _: dict[str, Any], hook: str, number: str) -> Reply:
        self.sent_again.append(int(number))
        return Reply({}, 202)

    def texts(self, number: int, kind: str = "issues") -> list[str]:
        """What stands in an issue, or in the reviews of a pull request."""
        return [c["body"] for c in self.comments if c["kind"] == kind and c["html_url"].endswith(f"/{number}")]

    def remember(self, kind: str, number: int, **about: Any) -> None:
        """A comment that a person has written."""
        when = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        self.comments.append({"id": number, "kind": kind, "body": "", "html_url": "", "updated_at": when, **about})

    def _found(self, kind: str, number: int) -> dict[str, Any] | None:
        return next((c for c in self.comments if (c["kind"], c["id"]) == (kind, number)), None)

    def _posted(self, kind: str, number: str, about: dict[str, Any], **more: Any) -> Reply:
        self._count += 1
        self.remember(
            kind, self._count, body=about["body"], html_url=f"https://github.com/{REPO}/{kind}/{number}", **more
        )
        return Reply(self.comments[-1], 201)


def refused(status: int, message: str) -> Reply:
    return Reply({"message": message, "documentation_url": "https://docs.github.com/rest"}, status)


NOT_FOUND = refused(404, "Not Found")


def send(port: int, payload: dict[str, Any], *, secret: str = SECRET) -> int:
    """GitHub sends a recorded webhook: the status of the bridge's answer."""
    body = json.dumps(payload["body"]).encode()
    mark = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        connection.request("POST", "/", body, payload["headers"] | {"X-Hub-Signature-256": f"sha256={mark}"})
        return connection.getresponse().status
    finally:
        connection.close()
