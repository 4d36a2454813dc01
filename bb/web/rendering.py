"""From data to HTML. Whatever a page shows goes through here, so nothing reaches it that a browser would obey.

Every value is escaped, and before that made harmless as for a terminal: control characters and bidirectional overrides
are shown, not obeyed. Templates have no way to say that a text is HTML already.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from bb.coordination.agents import liveness
from bb.kernel import clock, ids, json_text
from bb.kernel.digest import digest
from bb.kernel.show import harmless

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = os.path.dirname(os.path.abspath(__file__))
FIRST_LETTER = 0xA0  # below are control characters, which HTML cannot name, and which no value of ours can have
HUES = 12  # colours that tell agents apart

# What states are called on a page (Operative Protocol §6.3 gives the labels of events and of what is done about them).
WORDS = {
    liveness.ACTIVE: "Active",
    "on_mission": "On mission",
    liveness.STALE: "Lease expiring",
    liveness.EVICTED: "Disconnected",
    "needs_input": "Needs input",
    "deciding": "Deciding",
    "completed": "Completed",
}


def page(name: str, about: Mapping[str, Any]) -> str:
    """The page of that NAME."""
    return _environment().get_template(f"{name}.html").render(about)


def part(name: str, about: Mapping[str, Any]) -> Markup:
    """What stands on a page, without the page around it: to be put together with others."""
    return Markup(page("alone", {"part": name, **about}))  # noqa: S704  (all that is in it was escaped on its way)


@functools.cache
def asset(name: str) -> bytes:
    """One of our own files, as the browser is given it."""
    with open(os.path.join(HERE, "static", name), "rb") as file:
        return file.read()


@functools.cache
def address_of(name: str) -> str:
    """Where a page finds one of our own files. It changes with what is in it, so it may be kept for good."""
    return f"/static/{name}?{digest(asset(name))[:12]}"


@functools.cache
def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(os.path.join(HERE, "templates")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.globals["static"] = address_of
    found.globals["stylesheet"] = _stylesheet
    found.filters |= {
        "exact": exact,
        "hue": hue,
        "initials": initials,
        "lines": _lines,
        "moment": moment,
        "plain": plain,
        "segment": functools.partial(quote, safe=""),
        "query": _query,
        "word": lambda state: WORDS.get(state, state.replace("_", " ").capitalize()),
    }
    return found


def _shown(value: Any) -> Any:
    return harmless(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _stylesheet() -> Markup:
    return Markup(asset("bb.css").decode())  # noqa: S704  (our own file)


def _query(wanted: Mapping[str, Any], **changed: Any) -> str:
    """The query that asks for what is WANTED, but for what CHANGED."""
    asked = {name: value for name, value in {**wanted, **changed}.items() if value not in (None, "", False)}
    return f"?{urlencode(asked)}" if asked else ""


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").split("\n")


def exact(text: str) -> Markup:
    """TEXT for a field that is sent back as it is: what must not stand in a page is written as its number."""
    return Markup("".join(map(_exact, text)))  # noqa: S704  (each letter was escaped)


def _exact(letter: str) -> str:
    is_plain = harmless(letter) == letter or ord(letter) < FIRST_LETTER
    return escape(harmless(letter)) if is_plain else f"&#{ord(letter)};"


def plain(value: Any) -> str:
    """A value of an event as text: as it is, or as JSON."""
    return value if isinstance(value, str) else json_text.dumps(value)


def hue(agent: str | None) -> str:
    """The class that gives an agent its colour, the same on every page and in every clone. The person has none."""
    if agent == ids.PERSON:
        return "person"
    return f"hue-{int(digest((agent or '').encode())[:6], 16) % HUES}"


def initials(agent: str) -> str:
    """Two letters that stand for an agent."""
    words = [word for word in agent.replace("_", "-").split("-") if word]
    if len(words) > 1 and words[-1].isdigit():
        return (words[0][0] + words[-1][-2:]).upper()
    return harmless("".join(word[0] for word in words[:2]) if len(words) > 1 else agent[:2]).upper()


def moment(written: str | None) -> str:
    """A time for people, where nothing makes an age of it: the day only if it is not a matter of hours."""
    at = clock.parse_or(written or "", 0)
    return clock.text(at)[:16].replace("T", " ") if at else ""
