"""Help fits: at 80 columns each command of a list has one line, and no description is cut off."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bb.cli import own_commands
from bb.ops import catalogue, command_groups
from bb.ops.docstrings import brief
from tests.near import Near

GROUPS = [
    *(group for group in command_groups.GROUPS if group and group not in command_groups.HIDDEN),
    *command_groups.SUBGROUPS,
    *own_commands.GROUPS,
]
ROW = re.compile(r"^  ([a-z][a-z-]*) +(\S.*)$")


def rows(repo: Near, *words: str) -> dict[str, str]:
    """The lines below the headings of commands, by command. A line that continues another one would be no row."""
    printed = repo.bb(*words, "--help", COLUMNS="80").out
    sections = printed.partition("Show this message and exit.\n")[2].partition("\n  Examples:")[0]
    lines = [line for line in sections.splitlines() if line and not line.endswith(":")]
    found = [ROW.match(line) for line in lines]
    assert all(found), lines
    return {row.group(1): row.group(2) for row in found if row}


@pytest.mark.parametrize("group", ["", *GROUPS])
def test_each_command_of_a_list_has_one_line_that_is_not_cut_off(tmp_path: Path, group: str):
    listed = rows(Near(tmp_path), *group.split())

    assert listed
    assert [line for line in listed.values() if line.endswith(("…", "...", ",", ":"))] == []


def test_the_help_of_bb_groups_its_commands_and_short_verbs_come_first(tmp_path: Path):
    printed = Near(tmp_path).bb("--help", COLUMNS="80").out
    titles = re.findall(r"^(\w+):$", printed, re.MULTILINE)

    assert titles == ["Options", "Work", "People", "Ledger", "Hosts", "Protocols"]
    assert printed.count("\n") < 95
    assert list(rows(Near(tmp_path))).index("reserve") < list(rows(Near(tmp_path))).index("status")


def test_every_command_is_in_exactly_one_section(tmp_path: Path):
    named = [name for words in command_groups.SECTIONS.values() for name in words.split()]
    commands = [op.words for op in catalogue.ops_in_group("")] + own_commands.in_group("")

    assert len(named) == len(set(named))
    assert {*commands, *catalogue.SHORT, *(group for group in GROUPS if " " not in group)} <= set(named)


def test_what_a_bead_is_is_said_where_the_word_first_appears(tmp_path: Path):
    assert "A bead is a work item" in " ".join(Near(tmp_path).bb("--help").out.split())
    for op in catalogue.all_ops():
        if about := next(
            (each.about for each in op.parameters if each.option == "--bead" and not each.is_argument), ""
        ):
            assert any(word in about for word in ("work item", "task")), op.name


@pytest.mark.parametrize(
    ("summary", "width", "shown"),
    [
        ("Show it.", 20, "Show it"),
        ("Show it. Changes nothing.", 40, "Show it"),
        ("Show it: this and that.", 12, "Show it"),
        ("Show it: this; and that.", 14, "Show it: this"),
        ("Show it, and that, and more.", 19, "Show it, and that"),
        ("Show this, that, others.", 16, "Show this, that"),
    ],
)
def test_a_summary_is_shortened_by_whole_clauses(summary: str, width: int, shown: str):
    assert brief(summary, width) == shown


NEEDY = [op for op in catalogue.all_ops() if any(each.is_argument and each.is_required for each in op.parameters)]


@pytest.mark.parametrize("op", NEEDY, ids=lambda op: op.words)
def test_a_missing_argument_has_the_same_word_in_the_refusal_and_in_help(tmp_path: Path, op: catalogue.Op):
    near = Near(tmp_path)
    usage = near.bb(*op.words.split(), "--help").out.splitlines()[0].partition("[OPTIONS] ")[2]

    needed = near.json(*op.words.split()).envelope["error"]["details"]["options"]

    arguments = [word for word in needed if not word.startswith("--")]
    assert arguments == [word.removesuffix("...") for word in usage.split() if not word.startswith("[")]
    assert len(set(arguments)) == len(arguments)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cbcl", "dialect", "show", ""], "DIALECT must not be empty"),
        (["ledger", "signing", "perhaps"], "MODE must be one of off, warn, require, not 'perhaps'"),
        (["ledger", "redact", "k7q2mzp4x3ab.17", "--reason", ""], "--reason must give a reason"),
    ],
)
def test_a_refused_value_is_that_of_the_option_or_argument_as_it_was_typed(
    tmp_path: Path, words: list[str], message: str
):
    assert Near(tmp_path).json(*words).envelope["error"]["message"] == message


def test_a_request_in_json_is_told_the_names_of_its_own_members(tmp_path: Path):
    near = Near(tmp_path)

    missing = near.json("call", "agent.rename", "--args", "{}").envelope["error"]
    refused = near.json("call", "ledger.signing", "--args", '{"mode": "perhaps"}').envelope["error"]

    assert (missing["message"], missing["details"]["options"]) == ("agent rename needs `to`", ["to"])
    assert refused["message"].startswith("mode must be one of")
