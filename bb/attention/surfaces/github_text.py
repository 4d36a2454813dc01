"""The content and the mentions of a text on GitHub.

Mentions are found only in the text. A name inside a quotation, code or an HTML comment is not a mention.
"""

from __future__ import annotations

import re

from bb.attention.messages.mentions import mentioned_names, unquoted
from bb.attention.surfaces.line import Line, text_content, without_empty
from bb.attention.surfaces.payload import Part

VERDICTS = {"approved": "Approved.", "changes_requested": "Changes requested."}
MARKER = re.compile(r"<!--\s{0,8}bb:([^\s<>]{1,200}?)\s{0,8}-->")


def content(thing: Part, event: str) -> list[Line]:
    """The content of THING, the text in a webhook of the type EVENT."""
    body = thing.text("body")
    match event:
        case "issue_comment":
            return text_content(body)
        case "pull_request_review_comment":
            return text_content(body) + link(thing, _spot(thing))
        case "pull_request_review":
            return text_content(VERDICTS.get(thing.text("state").lower(), "")) + text_content(body)
    return text_content(f"{thing.needed('title')}\n\n{body}".rstrip()) + link(thing)


def link(thing: Part, title: str = "") -> list[Line]:
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
    found = MARKER.search(unquoted(text))
    return found[1] if found else ""


def _spot(comment: Part) -> str:
    """The file and line of a review comment."""
    line = comment.number("line")
    return comment.text("path") + (f":{line}" if line is not None else "")


def _shown(text: str) -> str:
    """TEXT without quotations, code and HTML comments."""
    first, *others = unquoted(text).split("<!--")
    return first + "".join(other.partition("-->")[2] for other in others)
