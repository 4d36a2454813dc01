"""GitHub's webhooks: comments, reviews, issues, pull requests, assignments and review requests.

The repository is the conversation, and an issue or pull request is a thread. The type of an event comes from its header
or, for a body that was saved without headers, from its members.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bb.attention.messages.mentions import mentioned_names, unquoted
from bb.attention.surfaces import memberships
from bb.attention.surfaces.line import AGENT, HUMAN, Line, target, text_content, timing, without_empty
from bb.attention.surfaces.payload import Part, header, root

# event -> the member with the text, its name in an event id, the member with its number, the member with its topic
WRITTEN = {
    "issue_comment": ("comment", "comment", "id", "issue"),
    "pull_request_review_comment": ("comment", "review_comment", "id", "pull_request"),
    "pull_request_review": ("review", "review", "id", "pull_request"),
    "issues": ("issue", "issue", "number", "issue"),
    "pull_request": ("pull_request", "pull", "number", "pull_request"),
}
TYPES = {"created": "message", "submitted": "message", "opened": "message", "edited": "edit", "deleted": "delete"}
INTENTS = {"assigned": "assignment", "review_requested": "approval_request"}
VERDICTS = {"approved": "Approved.", "changes_requested": "Changes requested."}
MARKER = re.compile(r"<!--\s{0,8}bb:([^\s<>]{1,200}?)\s{0,8}-->")


def lines(headers: Mapping[str, str], payload: Mapping[str, Any]) -> list[Line]:
    """The lines of one webhook."""
    whole = root(payload)
    event = header(headers, "X-GitHub-Event") or _guessed(payload)
    if event in ("repository", "member"):
        return memberships.github(event, whole)
    if event not in WRITTEN:
        return []
    action = whole.needed("action")
    if action in INTENTS:
        return [_request(whole, event, action)]
    return _text_line(whole, event, TYPES[action]) if action in TYPES else []


def _guessed(payload: Mapping[str, Any]) -> str:
    """The event of a body without headers: the first one whose members are all present."""
    return next((event for event, (thing, *_, about) in WRITTEN.items() if thing in payload and about in payload), "")


def _text_line(whole: Part, event: str, kind: str) -> list[Line]:
    """The lines for a text that was written, edited or deleted."""
    member, called, number, about = WRITTEN[event]
    thing = whole.part(member)
    name = f"{called}:{thing.needed_number(number)}"
    if kind == "delete":
        return [{"type": kind, "eventId": _event_id(whole, name)}]
    content = content_of(thing, event)
    if not (_is_reworded(whole) if kind == "edit" else content):
        return []
    line = _line(kind, whole, name, _author(thing, "user"), whole.part(about))
    return [line | {"content": content} | _details(whole, thing, event, is_edit=kind == "edit")]


def _details(whole: Part, thing: Part, event: str, *, is_edit: bool) -> Line:
    """The mentions of a text, its time, and the message that it answers."""
    created, changed = _moments(whole, thing, event)
    body, earlier = thing.text("body"), thing.number("in_reply_to_id")
    called = WRITTEN[event][1]
    return without_empty(
        target=target(mentions(body)),
        timing=timing(changed if is_edit else created),
        version=changed if is_edit else None,
        replyTo=None if earlier is None else _event_id(whole, f"{called}:{earlier}"),
        marker=marker(body),
    )


def _request(whole: Part, event: str, action: str) -> Line:
    """The line for an assignment or a review request."""
    _, called, number, about = WRITTEN[event]
    thing = whole.part(about)
    who, recipient = _requested(whole, action)
    name = f"{called}:{thing.needed_number(number)}:{action}:{who}:{thing.needed('updated_at')}"
    request = "Assigned to" if action == "assigned" else "Review requested from"
    content = text_content(f"{request} {who}: {thing.needed('title')}") + text_content(thing.text("body"))
    return _line("message", whole, name, _author(whole, "sender"), thing) | {
        "target": target([who], recipient),
        "content": content + link_of(thing),
        "timing": timing(thing.moment("updated_at")),
        "intent": INTENTS[action],
    }


def _requested(whole: Part, action: str) -> tuple[str, str]:
    """The mention and the recipient of an assignment or review request. A team is only a mention."""
    if action == "review_requested" and "requested_team" in whole:
        organisation = whole.part("repository").needed("full_name").partition("/")[0]
        return f"@{organisation}/{whole.part('requested_team').needed('slug')}", ""
    login = whole.part("assignee" if action == "assigned" else "requested_reviewer").needed("login")
    return login, login


def _line(kind: str, whole: Part, name: str, author: Line, about: Part) -> Line:
    """The members that every line has: type, event id, place and author."""
    repository = whole.part("repository")
    place, number = repository.needed("full_name"), about.needed_number("number")
    is_private = repository.flag("private", otherwise=True)  # private unless it is known to be public
    where = {"id": place, "kind": "channel", "name": place, "threadId": str(number), "streamId": place}
    root = _root(whole, name, about)
    return {
        "type": kind,
        "eventId": _event_id(whole, name),
        "source": {"platform": "github", "workspaceId": place},
        "conversation": where | without_empty(rootId=root, private=is_private or None),
        "author": author,
    }


def _root(whole: Part, name: str, about: Part) -> str | None:
    """The message that opened the thread: the first comment on a line of code, else the issue or pull request."""
    earlier = whole.object("comment").number("in_reply_to_id")
    if earlier is not None:
        return _event_id(whole, f"review_comment:{earlier}")
    is_pull = "pull_request" in whole or "pull_request" in about
    opened = f"{'pull' if is_pull else 'issue'}:{about.needed_number('number')}"
    return None if name == opened else _event_id(whole, opened)


def _event_id(whole: Part, name: str) -> str:
    return f"github:{whole.part('repository').needed('full_name')}:{name}"


def _author(part: Part, member: str) -> Line:
    """The author. For a deleted account GitHub sends null, and shows it as @ghost."""
    if part.value.get(member, "absent") is None:
        return {"id": "ghost", "kind": HUMAN}
    user = part.part(member)
    login = user.needed("login")
    is_bot = user.text("type") == "Bot" or login.endswith("[bot]")
    return without_empty(id=login, kind=AGENT if is_bot else HUMAN, displayName=user.text("name"))


def _is_reworded(whole: Part) -> bool:
    """Whether an edit changed text. GitHub also sends an edit when the base of a pull request changes."""
    changes = whole.object("changes")
    return "changes" not in whole or not changes.value.keys().isdisjoint(("body", "title"))


def _moments(whole: Part, thing: Part, event: str) -> tuple[int, int]:
    """When it was written, and when it was last changed. For a review, the latter may be only in its pull request."""
    is_review = event == "pull_request_review"
    created = thing.moment("submitted_at" if is_review else "created_at")
    for part in (thing, *([whole.part("pull_request")] if is_review else [])):
        if part.text("updated_at"):
            return created, max(created, part.moment("updated_at"))
    return created, created


# -- text. A name inside a quotation, code or an HTML comment is not a mention.


def content_of(thing: Part, event: str) -> list[Line]:
    """The content of THING, the text in a webhook of the type EVENT."""
    body = thing.text("body")
    match event:
        case "issue_comment":
            return text_content(body)
        case "pull_request_review_comment":
            return text_content(body) + link_of(thing, _spot(thing))
        case "pull_request_review":
            return text_content(VERDICTS.get(thing.text("state").lower(), "")) + text_content(body)
    return text_content(f"{thing.needed('title')}\n\n{body}".rstrip()) + link_of(thing)


def link_of(thing: Part, title: str = "") -> list[Line]:
    """The link to THING's page."""
    url = thing.text("html_url")
    return [without_empty(type="link", url=url, title=title)] if url else []


def mentions(text: str) -> list[str]:
    """The logins of users, and teams as @organisation/team."""
    # A login has no dot; GitHub treats @name.example as part of an address.
    return [
        f"@{name}" if "/" in name else name for name in mentioned_names(_shown(text)) if "/" in name or "." not in name
    ]


def marker(text: str) -> str:
    """The marker by which bb recognises its own posts. One inside a quotation belongs to another author's answer."""
    match = MARKER.search(unquoted(text))
    return match[1] if match else ""


def _spot(comment: Part) -> str:
    """The file and line of a review comment."""
    line = comment.number("line")
    return comment.text("path") + (f":{line}" if line is not None else "")


def _shown(text: str) -> str:
    """TEXT without quotations, code and HTML comments."""
    first, *others = unquoted(text).split("<!--")
    return first + "".join(other.partition("-->")[2] for other in others)
