"""Reads the options of bb's hooks from an editor's settings.

So `bb setup` can renew hooks that an older bb wrote without losing the options that a person chose.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from bb.coordination.wiring import hosts, opencode_plugin
from bb.coordination.wiring.editor_hooks import Wiring, command, is_ours
from bb.coordination.wiring.editors import MOMENTS, PRE_TOOL
from bb.kernel import json_text
from bb.kernel.escaping import quoted
from bb.kernel.json_edit import root

VALUES = {"--host": "editor", "--agent": "agent", "--bead": "bead"}
FLAGS = {"--auto-reserve": "auto_reserve", "--register": "register"}


def wiring_of(text: str, editor: str) -> Wiring | None:
    """The options with which the hooks in TEXT were written; None if a person has changed a command of them."""
    merged: dict[str, Any] = {}
    for line in commands(text, editor):
        read = options_of(line)
        if read is None:
            return None
        merged |= read[1]
    return Wiring(**{**merged, "editor": editor})


def command_at(text: str, editor: str, moment: str = PRE_TOOL) -> tuple[str, Wiring | None] | None:
    """The command line of bb for MOMENT in the settings TEXT, and its options if bb would write exactly that line."""
    for line in commands(text, editor):
        if f" hook {moment}" in line:
            return line, exact_options(line, editor, moment)
    return None


def exact_options(line: str, editor: str, moment: str) -> Wiring | None:
    """The options of a command LINE; None if it is not exactly a line that bb writes for EDITOR and MOMENT."""
    read = options_of(line)
    if read is None or read[0] != moment:
        return None
    wiring = Wiring(**({"editor": editor} | read[1]))
    return wiring if wiring.editor == editor and command(wiring, moment) == line else None


def commands(text: str, editor: str) -> Iterator[str]:
    """The command lines of bb in the settings TEXT of EDITOR."""
    if editor == hosts.OPENCODE:
        yield from _in_plugin(text)
        return
    for hook in _hooks(json_text.loads(text[root(text) :]).get("hooks")):
        if is_ours(hook):
            yield hook["command"]


def _in_plugin(text: str) -> Iterator[str]:
    """The commands in OpenCode's plugin, as lines for a shell."""
    line = next((line for line in text.splitlines() if line.startswith(opencode_plugin.COMMANDS)), "")
    if line and opencode_plugin.is_ours(text):
        for words in json_text.loads(line.removeprefix(opencode_plugin.COMMANDS)).values():
            yield " ".join(map(quoted, words))


def _hooks(found: Any) -> Iterator[Any]:
    """The hooks of all moments. Some hosts list them, and others list groups of them."""
    for groups in found.values() if isinstance(found, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            handlers = group.get("hooks") if isinstance(group, dict) else None
            yield from handlers if isinstance(handlers, list) else (group,)


def options_of(line: str) -> tuple[str, dict[str, Any]] | None:
    """The moment and the options of a command LINE; None if it has words that bb does not write."""
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    if len(words) < 3 or words[1] != "hook" or words[2] not in MOMENTS:
        return None
    options: dict[str, Any] = {"program": words[0]}
    rest = iter(words[3:])
    for word in rest:
        if word in FLAGS:
            options[FLAGS[word]] = True
        elif word in VALUES and (value := next(rest, None)) is not None:
            options[VALUES[word]] = value
        else:
            return None
    return words[2], options
