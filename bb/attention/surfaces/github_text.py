"""What a text on GitHub says, and whom it calls.

Nothing but the text says who is meant. So whatever a page does not show as the author's own words (quotations, code,
HTML comments) calls nobody.
"""

from __future__ import annotations

import re

from bb.attention.messages.mentions import named, unquoted
from bb.attention.surfaces.line import some, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.attention.surfaces.line import Line
    from bb.attention.surfaces.payload import Part

VERDICTS = {"approved": "Approved.", "changes_requested": "Changes requested."}
MARKER = re.compile(r"<!--\s{0,8}bb:([^\s<>]{1,200}?)\s{0,8}-->")


def content(thing: Part, event: str) -> list[Line]:
    """The content of what was written, which EVENT tells of."""
    body = thing.maybe_text("body")
    match event:
        case "issue_comment":
            return words(body)
        case "pull_request_review_comment":
            return words(body) + link(thing, _spot(thing))
        case "pull_request_review":
            return words(VERDICTS.get(thing.maybe_text("state").lower(), "")) + words(body)
    return words(f"{thing.text('title')}\n\n{body}".rstrip()) + link(thing)


def link(thing: Part, title: str = "") -> list[Line]:
    """Where THING is to be seen."""
    url = thing.maybe_text("html_url")
    return [some(type="link", url=url, title=title)] if url else []


def mentions(text: str) -> list[str]:
    """Logins, and teams as @organisation/team."""
    # No login has a dot: to GitHub, @name.example is part of an address.
    return [f"@{name}" if "/" in name else name for name in named(_shown(text)) if "/" in name or "." not in name]


def marker(text: str) -> str:
    """The key by which bb knows what it posted itself. One in a quotation stands in somebody else's answer."""
    found = MARKER.search(unquoted(text))
    return found[1] if found else ""


def _spot(comment: Part) -> str:
    """The file and the line that a review comment is about."""
    line = comment.maybe_number("line")
    return comment.maybe_text("path") + (f":{line}" if line is not None else "")


def _shown(text: str) -> str:
    """TEXT without quotations, code and HTML comments."""
    first, *others = unquoted(text).split("<!--")
    return first + "".join(other.partition("-->")[2] for other in others)
