"""A hint is the command to run. It never offers what agents must not do."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from bb.ops import catalogue
from tests.near import Near
from tests.support import ROOT

# What the skill says to stop at: overlapping without asking, commits past the hooks, acts in the person's name.
RED_FLAGS = ("--allow-overlap", "--no-verify", "BB_OVERRIDE", "--override", "--agent user", "--from user", "--by user")
# Hints for the person, who alone can run what they name.
OF_THE_PERSON = ("bb agent status --agent user", "a person passes --agent", "freeze lifted: `bb thaw")


@functools.cache
def hints() -> list[tuple[str, str]]:
    """Every text in a `hint=` of the code, with its place."""
    return list(_found())


def _found() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "bb").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            is_assigned = isinstance(node, ast.Assign) and _name(node.targets[0]) == "hint"
            if is_assigned or (isinstance(node, ast.keyword) and node.arg == "hint"):
                place = f"{path.relative_to(ROOT)}:{node.value.lineno}"
                for text in ast.walk(node.value):
                    if isinstance(text, ast.Constant) and isinstance(text.value, str):
                        yield place, text.value


def _name(target: ast.expr) -> str:
    return target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")


def documented() -> list[str]:
    """The hints of docs/errors.md."""
    return [row.split(" | ")[-1] for row in (ROOT / "docs" / "errors.md").read_text().splitlines() if row[:3] == "| `"]


def test_no_hint_offers_a_red_flag():
    offered = [
        (place, text)
        for place, text in hints()
        if any(flag in text for flag in RED_FLAGS) and not any(known in text for known in OF_THE_PERSON)
    ]

    assert offered == []


def test_every_command_that_a_hint_names_is_there():
    words = {op.words for op in catalogue.all_ops()} | set(catalogue.SHORT)
    from bb.cli import own_commands
    from bb.ops import command_groups

    words |= set(own_commands.COMMANDS) | set(own_commands.GROUPS) | set(command_groups.GROUPS)
    unknown = []
    for place, text in hints():
        for part in text.split("`")[1::2]:
            if part.startswith("bb "):
                named = part.split()[1:]
                unknown += [] if any(" ".join(named[:count]) in words for count in (1, 2, 3)) else [(place, part)]

    assert unknown == []


def test_the_general_hint_about_parameters_names_the_command(tmp_path: Path):
    refused = Near(tmp_path).json("agent", "list", "--liveness", "sleepy")

    assert (refused.code, refused.envelope["error"]["hint"]) == (
        "INVALID_VALUE",
        "see the parameters: `bb agent list --help`",
    )


@pytest.mark.parametrize("hint", documented())
def test_a_documented_hint_fits_a_line_of_a_terminal_and_a_half(hint: str):
    assert len(hint) <= 200
