"""Renders data as HTML, so that no text from agents can act as markup.

Every value is escaped. Control characters and bidirectional overrides are first made visible, as on a terminal.
Templates cannot mark a text as safe HTML.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from bb.coordination.agents import liveness
from bb.kernel import clock, ids, json_text
from bb.kernel.digest import digest
from bb.kernel.escaping import harmless

HERE = os.path.dirname(os.path.abspath(__file__))
FIRST_LETTER = 0xA0  # below are control characters, which have no character reference and occur in no value of ours
HUES = 12  # agent colours

# State names on the pages. Operative Protocol §6.3 prescribes the labels of events and actions.
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
    """Render the template NAME."""
    return _environment().get_template(f"{name}.html").render(about)


def part(name: str, about: Mapping[str, Any]) -> Markup:
    """The content of a page without its frame, to combine it with others."""
    return Markup(page("alone", {"part": name, **about}))  # noqa: S704  (the template escaped all values)


@functools.cache
def asset(name: str) -> bytes:
    """The content of a static file."""
    with open(os.path.join(HERE, "static", name), "rb") as file:
        return file.read()


@functools.cache
def address_of(name: str) -> str:
    """The address of a static file. It changes with the content, so browsers may cache the file forever."""
    return f"/static/{name}?{digest(asset(name))[:12]}"


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(os.path.join(HERE, "templates")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals["static"] = address_of
    environment.globals["stylesheet"] = _stylesheet
    environment.filters |= {
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
    return environment


def _shown(value: Any) -> Any:
    return harmless(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _stylesheet() -> Markup:
    return Markup(asset("bb.css").decode())  # noqa: S704  (our own file)


def _query(wanted: Mapping[str, Any], **changed: Any) -> str:
    """The query string for WANTED with the CHANGED values replaced."""
    parameters = {name: value for name, value in {**wanted, **changed}.items() if value not in (None, "", False)}
    return f"?{urlencode(parameters)}" if parameters else ""


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").split("\n")


def exact(text: str) -> Markup:
    """TEXT for a form field that must be sent back unchanged: unsafe characters become character references."""
    return Markup("".join(map(_exact, text)))  # noqa: S704  (each letter was escaped)


def _exact(letter: str) -> str:
    is_plain = harmless(letter) == letter or ord(letter) < FIRST_LETTER
    return escape(harmless(letter)) if is_plain else f"&#{ord(letter)};"


def plain(value: Any) -> str:
    """A value of an event as text; other types as JSON."""
    return value if isinstance(value, str) else json_text.dumps(value)


def hue(agent: str | None) -> str:
    """The CSS class of an agent's colour, equal on every page and in every clone. The person has no colour."""
    if agent == ids.PERSON:
        return "person"
    return f"hue-{int(digest((agent or '').encode())[:6], 16) % HUES}"


def initials(agent: str) -> str:
    """Two letters for an agent's avatar."""
    words = [word for word in agent.replace("_", "-").split("-") if word]
    if len(words) > 1 and words[-1].isdigit():
        return (words[0][0] + words[-1][-2:]).upper()
    return harmless("".join(word[0] for word in words[:2]) if len(words) > 1 else agent[:2]).upper()


def moment(written: str | None) -> str:
    """A time as `YYYY-MM-DD HH:MM`, for readers without the script that shows ages."""
    at = clock.parse_or(written or "", 0)
    return clock.text(at)[:16].replace("T", " ") if at else ""
