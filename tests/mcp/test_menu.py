"""What a host is shown: little, and nothing that an op does not declare."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
import pytest
from jsonschema import Draft202012Validator

from bb.attention.acts import tools
from bb.mcp import schema, tool_list
from bb.mcp.tool_list import MENU, ONLY_OP
from bb.ops import catalogue
from bb.ops.params import Flag, Number, Text
from bb.ops.signatures import Parameter
from tests.mcp.mcp_support import AMBER, ERAS, Here, over_mcp

BUDGET = 2_500  # tokens
BYTES_OF_A_TOKEN = 4
OPS = [(shown, catalogue.find(name)) for shown in MENU for name in shown.ops.values()]


def listed(*, names_caller: bool = True) -> dict[str, dict[str, Any]]:
    return {shown.name: schema.tool_listing(shown, names_caller=names_caller) for shown in MENU}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("agent", [None, AMBER])
def test_ten_tools_at_most_and_2_500_tokens_of_listing_as_it_goes_over_the_wire(
    here: Here, era: str, agent: str | None
):
    answer: types.ListToolsResult = over_mcp(here.toolbox(agent), era, lambda client: client.list_tools())

    sent = answer.model_dump_json(by_alias=True, exclude_none=True)
    assert len(answer.tools) <= 10
    assert len(sent.encode()) <= BUDGET * BYTES_OF_A_TOKEN
    assert [tool.name for tool in answer.tools] == [shown.name for shown in MENU]


@pytest.mark.parametrize("names_caller", [True, False])
def test_what_a_tool_takes_is_told_in_proper_json_schema(names_caller: bool):
    for tool in listed(names_caller=names_caller).values():
        Draft202012Validator.check_schema(tool["inputSchema"])


def test_names_are_such_as_every_model_takes():
    assert all(name.replace("_", "").isalpha() and name.islower() for name in listed())


@pytest.mark.parametrize(("shown", "op"), OPS, ids=lambda each: each.name)
def test_what_an_op_takes_is_listed_unless_the_table_hides_it(shown: tool_list.MenuTool, op: catalogue.Op):
    properties = listed()[shown.name]["inputSchema"]["properties"]

    assert {each.name for each in op.parameters} - shown.hidden <= set(properties)


@pytest.mark.parametrize(("shown", "op"), OPS, ids=lambda each: each.name)
def test_what_the_table_says_of_an_op_is_true(shown: tool_list.MenuTool, op: catalogue.Op):
    """A name that no op has any more would hide, or want, nothing."""
    takes = {name for each in shown.ops.values() for name in catalogue.find(each).by_name}

    assert shown.hidden - tool_list.UNLISTED_ARGUMENTS <= takes
    assert set(shown.needs) <= takes
    assert shown.chooses not in op.by_name


def test_an_op_that_gains_a_parameter_shows_it_here(monkeypatch: pytest.MonkeyPatch):
    class Colour(Text):
        """Which colour it is to have."""

        choices = ("red", "green")

    op = catalogue.find("agent.release")
    more = Parameter("colour", "colour", Colour, False, False, False, None)
    monkeypatch.setitem(
        catalogue._declared,
        "agent.release",
        op.replace(parameters=(*op.parameters, more), by_name={**op.by_name, more.name: more}),
    )

    assert listed()["release"]["inputSchema"]["properties"]["colour"] == {
        "type": "string",
        "enum": ["red", "green"],
        "description": "Which colour it is to have.",
    }


def test_limits_defaults_and_choices_are_those_of_the_op():
    reserve = listed()["reserve"]["inputSchema"]
    wait = catalogue.find("agent.reserve").by_name["wait"].kind
    send = listed()["send"]["inputSchema"]

    assert reserve["properties"]["scope"]["type"] == "array"
    assert reserve["properties"]["ttl"] | {"description": ""} == {"type": "integer", "description": "", "default": 120}
    assert reserve["properties"]["shared"]["type"] == "boolean"
    assert issubclass(wait, Number)
    assert reserve["properties"]["wait"]["maximum"] == wait.most
    assert set(reserve["required"]) == {"agent", "scope"}
    assert send["properties"]["category"]["enum"] == ["HANDOFF", "BLOCKED", "DECISION", "INFO"]


def test_a_tool_with_two_ops_says_what_goes_with_which():
    hand_over = listed()["hand_over"]["inputSchema"]

    assert hand_over["properties"]["kind"]["enum"] == ["HANDOFF", "BLOCKED"]
    assert hand_over["required"] == ["kind", "from", "to", "bead"]
    for name, kind in {"summary": "HANDOFF", "next_action": "HANDOFF", "blocker": "BLOCKED"}.items():
        assert hand_over["properties"][name]["description"].startswith(f"{kind}: ")


def test_who_asks_is_asked_for_only_where_the_server_does_not_know():
    for name, tool in listed(names_caller=False).items():
        assert not {"agent", "from"} & set(tool["inputSchema"]["properties"]), name
    asked = {
        name for name, tool in listed().items() if {"agent", "from"} & set(tool["inputSchema"].get("required", []))
    }
    assert asked == {"reserve", "release", "hand_over", "inbox", "send", "acknowledge", "chat"}


def test_nothing_is_said_in_the_words_of_a_command_line():
    said = json.dumps(listed())

    assert " --" not in said
    assert "stdin" not in said


def test_every_chat_tool_of_c2a_is_told_with_all_that_it_takes():
    chat = listed()["chat"]

    assert chat["inputSchema"]["properties"]["tool"]["enum"] == [name.removeprefix("chat.") for name in tools.TOOLS]
    lines = {line.partition("(")[0]: line for line in chat["description"].split("\n")[1:]}
    for tool in tools.TOOLS.values():
        line = lines[tool.name.removeprefix("chat.")]
        assert all(f"{name}*" in line for name in tool.needs)
        assert all(name in line for name in tool.takes)


def test_hints_are_true():
    shown = listed()
    reads_only = {name for name, tool in shown.items() if tool["annotations"].get("readOnlyHint")}

    assert reads_only == {"check", "inbox", "status"}
    assert not any(tool["annotations"].get("destructiveHint", False) for tool in shown.values())
    assert [name for name, tool in shown.items() if tool["annotations"]["openWorldHint"]] == ["chat"]


def test_every_op_behind_the_menu_is_one_that_answers_at_once_or_when_told_to_wait():
    for shown in MENU:
        assert ONLY_OP in shown.ops or shown.chooses or shown is tool_list.CHAT
        for name in shown.ops.values():
            op = catalogue.find(name)
            assert not op.streams
            assert not op.is_live


def test_flags_are_no_text():
    assert all(
        tool["inputSchema"]["properties"][parameter.name]
        == {"type": "boolean", "description": schema.without_options(parameter.about)}
        for name, tool in listed().items()
        for op_name in tool_list.BY_NAME[name].ops.values()
        for parameter in catalogue.find(op_name).parameters
        if parameter.kind is Flag and parameter.name not in tool_list.BY_NAME[name].hidden
    )
