"""GitHub's webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scripts.conversations.platforms.platform import ROLES, Platform, iso

if TYPE_CHECKING:
    from scripts.conversations.script import Said


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
