"""Hosts that do not read AGENTS.md: the line that includes it in CLAUDE.md, and Gemini CLI's setting for its context.

Claude Code reads AGENTS.md only where there is no CLAUDE.md, which can include it after an `@`. Gemini CLI reads the
files that `context.fileName` names, GEMINI.md by default. bb spells its own entry there with `./`, which Gemini
normalises, so that it can be told from an entry of the user. To restore the earlier value, the form says what it was:

    none      ["./AGENTS.md", "./GEMINI.md"]
    "X"       ["./AGENTS.md", "X"]
    ["X"]     ["X", "./AGENTS.md"]
"""

from __future__ import annotations

from typing import Any

from bb.kernel import json_text
from bb.kernel.json_edit import Member, member, members, put, root, without, without_member
from bb.kernel.json_text import NotJson

AGENTS, GEMINI_FILE = "AGENTS.md", ".gemini/settings.json"
IMPORTS = {"CLAUDE.md": f"@{AGENTS}\n", ".claude/CLAUDE.md": f"@../{AGENTS}\n"}  # by the file that includes it
OURS, DEFAULT = f"./{AGENTS}", "./GEMINI.md"
CONTEXT, NAMES = "context", "fileName"


def includes_agents(text: str) -> bool:
    """Whether TEXT, the content of a CLAUDE.md, includes AGENTS.md."""
    return not {f"@{OURS}", *map(str.strip, IMPORTS.values())}.isdisjoint(text.split())


def with_agents(text: str) -> str:
    """TEXT, the settings of Gemini CLI, in which AGENTS.md is a context file."""
    names = _names(text)
    if names is not None and _reads_agents(names):
        return text
    context = member(text, root(text), CONTEXT)
    if context is None:
        return put(text, root(text), 0, {NAMES: [OURS, DEFAULT]}, CONTEXT)
    found = member(text, context.value, NAMES)
    if found is None:
        return put(text, context.value, 1, [OURS, DEFAULT], NAMES)
    if isinstance(names, str):
        return _replaced(text, found, [OURS, names])
    return put(text, found.value, 2, OURS)


def without_agents(text: str) -> str:
    """TEXT without what `with_agents` added."""
    names = _names(text)
    if not isinstance(names, list) or OURS not in names:
        return text
    if names == [OURS, DEFAULT]:
        return _without_names(text)
    found = _found(text)
    if len(names) == 2 and names[0] == OURS:
        return _replaced(text, found, names[1])
    return without(text, found.value, names.index(OURS))


def _names(text: str) -> Any:
    """The value of `context.fileName`: None, a text, or a list of texts."""
    context = json_text.loads(text[root(text) :]).get(CONTEXT, {})
    names = context.get(NAMES) if isinstance(context, dict) else None
    are_texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not isinstance(context, dict) or not (names is None or isinstance(names, str) or are_texts):
        raise NotJson(f"its {CONTEXT}.{NAMES} is not a list of names")
    return names


def _reads_agents(names: str | list[str]) -> bool:
    return not {AGENTS, OURS}.isdisjoint([names] if isinstance(names, str) else names)


def _found(text: str) -> Member:
    context = member(text, root(text), CONTEXT)
    found = member(text, context.value, NAMES) if context else None
    if found is None:
        raise NotJson(f"it has no {CONTEXT}.{NAMES}")
    return found


def _without_names(text: str) -> str:
    context = member(text, root(text), CONTEXT)
    if context and len(members(text, context.value)[0]) == 1:
        return without_member(text, root(text), CONTEXT)
    return without_member(text, context.value, NAMES) if context else text


def _replaced(text: str, found: Member, value: Any) -> str:
    return text[: found.value] + json_text.dumps(value) + text[found.end :]
