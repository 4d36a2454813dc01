"""Rewrites hints for MCP callers, which may have no shell: a quoted command becomes the tool that replaces it.

The menu says which tool replaces a command. A command without a tool is left unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from bb.attention.acts import tools
from bb.mcp import schema, tool_list
from bb.mcp.tool_list import MenuTool
from bb.ops import catalogue
from bb.ops.params import Flag

QUOTED = re.compile(r"(`bb [^`]*`)")
LIST = "tools/list"  # the equivalent of `--help`


def for_tools(hint: str) -> str:
    """HINT with argument names instead of options, and tools instead of quoted commands."""
    return "".join(
        _tool_for(part) if QUOTED.fullmatch(part) else schema.without_options(part) for part in QUOTED.split(hint)
    )


def _tool_for(quoted: str) -> str:
    """The tool and arguments that replace a QUOTED command; the command itself if no tool does."""
    _, *words = quoted.strip("`").split()
    if words[:1] and words[0] in catalogue.SHORT:
        words = _in_full(words)
    for verb, menu_tool, choice in _replaced_commands():
        if words[: len(verb)] == verb:
            rest = words[len(verb) :]
            arguments = [*choice, *_arguments(rest, menu_tool)]
            name = LIST if "--help" in rest else menu_tool.name
            return f"`{name}`" + (f" with {', '.join(arguments)}" if arguments and name != LIST else "")
    return quoted


def _in_full(words: Sequence[str]) -> list[str]:
    """The WORDS of a short verb in its long form: its arguments, which come first, as options."""
    op = catalogue.find(catalogue.SHORT[words[0]])
    plain = list(takewhile(lambda word: not word.startswith("--"), words[1:]))
    options = [name for name in op.positional for _ in (plain if op.by_name[name].is_repeated else [name])]
    arguments = [part for name, word in zip(options, plain, strict=False) for part in (op.by_name[name].option, word)]
    return [*op.words.split(), *arguments, *words[1 + len(plain) :]]


def _replaced_commands() -> Iterator[tuple[list[str], MenuTool, list[str]]]:
    """The words of each command that a tool replaces, the tool, and the choice that selects the command's op."""
    for menu_tool in tool_list.MENU:
        for choice, op in menu_tool.ops.items():
            yield catalogue.find(op).words.split(), menu_tool, [f"{menu_tool.chooses} {choice}"] if choice else []
        for op in menu_tool.covers:
            yield catalogue.find(op).words.split(), menu_tool, []
    for tool in tools.TOOLS.values():
        group, name = tool.name.split(".")
        yield [group, name], tool_list.CHAT, [f"tool {name}"]


def _arguments(words: Sequence[str], shown: MenuTool) -> Iterator[str]:
    """The arguments in the WORDS after a verb that the tool accepts."""
    takes = {
        parameter.option: parameter
        for op in shown.ops.values()
        for parameter in catalogue.find(op).parameters
        if parameter.name not in tool_list.CALLERS
    }
    for place, word in enumerate(words):
        if parameter := takes.get(word):
            is_alone = parameter.kind is Flag
            yield " ".join([parameter.name, *(() if is_alone else words[place + 1 : place + 2])])
        elif word == f"--{tool_list.ROLE[1]}" and shown is tool_list.SESSION:
            yield " ".join([tool_list.ROLE[1], *words[place + 1 : place + 2]])
