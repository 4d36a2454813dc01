"""What tests of the surfaces share: stored payloads, ways to spoil them, and what a line looks like."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bb.attention.surfaces import SURFACES

DATA = Path(__file__).parents[2] / "data" / "surfaces"
Line = dict[str, Any]
Place = tuple[str | int, ...]
STEP = re.compile(r'\["([^"]+)"\]|\[(\d+)\]|([^.\[]+)')


def names(platform: str) -> list[str]:
    return sorted(file.stem for file in (DATA / platform).glob("*.json"))


def stored(platform: str, name: str) -> tuple[dict[str, str], Any]:
    """The headers and the body of a stored payload, anew each time."""
    whole = json.loads((DATA / platform / f"{name}.json").read_text("utf-8"))
    return whole["headers"], whole["body"]


def lines(platform: str, name: str, **headers: str) -> list[Line]:
    own, body = stored(platform, name)
    return SURFACES[platform](own | {key.replace("_", "-"): value for key, value in headers.items()}, body)


def line(platform: str, name: str, **headers: str) -> Line:
    (only,) = lines(platform, name, **headers)
    return only


def words(told: Line) -> list[str]:
    return [part["text"] for part in told["content"] if part["type"] == "text"]


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    """Where there is something within VALUE."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield (*here, name)
        yield from places(member, (*here, name))


def spoilt(body: Any, place: Place, by: Any) -> Any:
    """BODY with something else in that PLACE."""
    body = copy.deepcopy(body)
    _parent(body, place)[place[-1]] = by
    return body


def without(body: Any, path: str) -> Any:
    """BODY without the member at PATH, which is written as in a refusal, but for its `$.`."""
    found = STEP.findall(path)
    place = tuple(int(index) if index else quoted or name for quoted, index, name in found)
    body = copy.deepcopy(body)
    del _parent(body, place)[place[-1]]
    return body


def each(name: str, *paths: str) -> list[tuple[str, str]]:
    """The stored payload NAME, with each of the members that it needs."""
    return [(name, path) for path in paths]


def _parent(value: Any, place: Place) -> Any:
    for name in place[:-1]:
        value = value[name]
    return value


# -- what a line looks like

NEEDED = {
    "message": {"type", "eventId", "source", "conversation", "author", "target", "content", "timing"},
    "edit": {"type", "eventId", "source", "conversation", "author", "target", "content", "timing", "version"},
    "delete": {"type", "eventId"},
    "reaction": {"type", "eventId", "author", "glyph", "added"},
    "typing": {"type", "conversation", "author", "typing"},
    "membership": {"type", "source", "conversation", "member", "joined"},
    "conversation": {"type", "source", "conversation"},
}
ALLOWED = {
    "message": {"intent", "replyTo", "marker"},
    "edit": {"replyTo", "marker"},
    "delete": {"timing"},
    "reaction": {"timing", "reactionId"},
    "typing": set(),
    "membership": set(),
    "conversation": set(),
}


def assert_is_a_line(told: Line) -> None:
    """TOLD has all that a line of its type needs, and nothing that nobody knows."""
    json.dumps(told, allow_nan=False)
    kind = told["type"]
    assert NEEDED[kind] <= told.keys() <= NEEDED[kind] | ALLOWED[kind]
    if "author" in told:
        assert told["author"]["id"]
        assert told["author"]["kind"] in ("human", "agent", "system")
    if "conversation" in told:
        assert told["conversation"]["id"]
    if "conversation" in told and kind not in ("membership", "conversation"):
        assert told["conversation"]["kind"] in ("dm", "channel", "thread", "system", "tool")
        assert told["conversation"].get("private", True) is True
    if "target" in told:
        assert told["target"].keys() <= {"mentions", "recipient"}
        assert all(isinstance(who, str) and who for who in told["target"]["mentions"])
    for part in told.get("content", ()):
        assert part["type"] in ("text", "link", "file", "audio")
        assert part["text" if part["type"] == "text" else "url"]
    if "timing" in told:
        assert told["timing"]["createdAt"].endswith("Z")
