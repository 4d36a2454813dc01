"""Converts an op's parameters to a short JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from bb.attention.acts import tools
from bb.attention.acts.tools import Tool
from bb.mcp import tool_list
from bb.mcp.tool_list import MenuTool
from bb.ops import catalogue
from bb.ops.catalogue import Op
from bb.ops.json_params import Json
from bb.ops.params import Flag, Kind, Number, Text
from bb.ops.signatures import Parameter

Schema = dict[str, Any]

ONLY_TYPED = "; `-` reads it from stdin"  # applies only to the command line
WHO = "Your agent id, such as amber-otter."
ROLE = "Your role, such as builder. Registers a new agent."
WORTH_SAYING = 10_000  # characters; larger limits are not listed, since calls rarely reach them
NEEDED = "*"


def tool_listing(shown: MenuTool, *, names_caller: bool) -> dict[str, Any]:
    """A tool as listed by `tools/list`. NAMES_CALLER: the tool has an argument for the calling agent."""
    return {
        "name": shown.name,
        "description": chat_about() if shown is tool_list.CHAT else _about(shown),
        "inputSchema": _chat(names_caller) if shown is tool_list.CHAT else _input(shown, names_caller),
        "annotations": shown.annotations,
    }


def _about(shown: MenuTool) -> str:
    about = shown.about or without_options(" ".join(catalogue.find(name).summary for name in shown.ops.values()))
    return f"{about} {shown.also}".strip()


def _input(shown: MenuTool, names_caller: bool) -> Schema:
    ops = {choice: catalogue.find(name) for choice, name in shown.ops.items()}
    properties: Schema = {}
    if shown.chooses:
        properties[shown.chooses] = _one_of(ops)
    for parameter in _parameters(ops.values(), shown):
        if parameter.name not in tool_list.CALLERS:
            properties[parameter.name] = _property(parameter, _only_for(parameter, ops))
        elif names_caller:
            properties[parameter.name] = {"type": "string", "description": WHO}
    if shown is tool_list.SESSION:
        properties[tool_list.ROLE[1]] = {"type": "string", "description": ROLE}
    needed = [name for name in properties if _is_needed(name, shown, ops.values())]
    return _object(properties, needed)


def _object(properties: Schema, needed: list[str]) -> Schema:
    return {"type": "object", "properties": properties, **({"required": needed} if needed else {})}


def _parameters(ops: Iterable[Op], shown: MenuTool) -> list[Parameter]:
    """The listed parameters of the ops, without duplicates."""
    parameters = {
        parameter.name: parameter for op in ops for parameter in op.parameters if parameter.name not in shown.hidden
    }
    return list(parameters.values())


def _only_for(parameter: Parameter, ops: dict[str, Op]) -> str:
    """The only choice that has the parameter; empty if all choices have it."""
    takes = [choice for choice, op in ops.items() if parameter.name in op.by_name]
    return "" if len(takes) == len(ops) else takes[0]


def _is_needed(name: str, shown: MenuTool, ops: Iterable[Op]) -> bool:
    if name == shown.chooses or name in shown.needs:
        return True
    if name in tool_list.CALLERS:  # `check` answers every caller, and a new agent has no name yet
        return shown is not tool_list.SESSION and shown.name != "check"
    return all(name in op.by_name and op.by_name[name].is_required for op in ops)


def _property(parameter: Parameter, only_for: str) -> Schema:
    """One argument of a tool."""
    kind = parameter.kind
    form = _of_kind(kind)
    if parameter.is_repeated:
        form = {"type": "array", "items": form}
    default = _default(parameter)
    return {
        **form,
        "description": (f"{only_for}: " if only_for else "") + without_options(parameter.about),
        **({} if default is None else {"default": default}),
    }


def _of_kind(kind: type[Kind]) -> Schema:
    if issubclass(kind, Flag):
        return {"type": "boolean"}
    if issubclass(kind, Number):
        return {"type": "integer", "minimum": kind.least, "maximum": kind.most}
    if issubclass(kind, Text):
        return _of_text(kind)
    assert issubclass(kind, Json)  # noqa: S101  (there are four)
    return {}


def _of_text(kind: type[Text]) -> Schema:
    if kind.takes_numbers:
        return {"type": "integer"}
    if choices := kind.choices or kind.offered:
        return _one_of(choices)
    return {"type": "string", **({"maxLength": kind.longest} if kind.longest < WORTH_SAYING else {})}


def _one_of(words: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(words)}  # some model APIs require the type


def _default(parameter: Parameter) -> Any:
    if parameter.is_required or parameter.default in (None, False, ()):
        return None
    return int(parameter.default) if getattr(parameter.kind, "takes_numbers", False) else parameter.default


def without_options(about: str) -> str:
    """A parameter's description with argument names instead of command-line options."""
    return re.sub(r"--([a-z][a-z-]*)", lambda found: found[1].replace("-", "_"), about.replace(ONLY_TYPED, ""))


# -- chat


def chat_about() -> str:
    """One line for each C2A tool, with its arguments from its declaration."""
    lines = [f"{_short(tool)}({_takes(tool)}): {tool.about}" for tool in tools.TOOLS.values()]
    return "\n".join([f"C2A chat tools with their arguments ({NEEDED} = required):", *lines])


def _chat(names_caller: bool) -> Schema:
    properties: Schema = {
        "tool": _one_of(_short(tool) for tool in tools.TOOLS.values()),
        "arguments": {"type": "object"},
    }
    if names_caller:
        properties["agent"] = {"type": "string", "description": WHO}
    return _object(properties, ["tool", *(["agent"] if names_caller else [])])


def _short(tool: Tool) -> str:
    return tool.name.partition(".")[2]


def _takes(tool: Tool) -> str:
    return ", ".join(
        name + (NEEDED if name in tool.needs else "") + _values(kind.schema) for name, kind in tool.takes.items()
    )


def _values(schema: Schema) -> str:
    """The form of an argument, unless it is plain text."""
    if "properties" in schema:
        return "{" + ", ".join(schema["properties"]) + "}"
    if schema["type"] == "array":
        return "[]" + _values(schema["items"])
    return "=" + "|".join(schema["enum"]) if "enum" in schema else ""
