"""What people mean by a path, and what does not exist: one answer at every door (Operative Protocol v1, §5.1)."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from tests.stories.agents.agents_support import HARBOR, OTTER, crew, nothing_written, reserve
from tests.support import Ran, Scratch

# written, and what is meant
ODD = [
    (r"src\lib", "src/lib"),
    (r"src\\lib", "src//lib"),
    (" src/lib", "src/lib"),
    ("src/lib ", "src/lib"),
    ("src /lib", "src/lib"),
    (r"src\lib" + "\\", "src/lib/"),
    ("\u00a0src/lib", "src/lib"),
    ("src/lib\u3000", "src/lib"),
    ("src/\u200blib", "src/lib"),
    ("\ufeffsrc/lib", "src/lib"),
]
EACH = pytest.mark.parametrize(("written", "intended"), ODD)


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return crew(tmp_path / "repo", OTTER, HARBOR)


def asked(repo: Scratch, path: str, agent: str = HARBOR, tool: str = "Write") -> str:
    """What the hook of an editor decides about a file that is to be written."""
    event = {"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": tool, "cwd": str(repo.path)}
    given = json.dumps(event | {"tool_input": {"file_path": path, "content": "x"}})
    ran = repo.bb("hook", "pre-tool", stdin=given, BB_AGENT=agent)
    assert ran.status == 0, ran.err
    found: dict[str, Any] = json.loads(ran.out)["hookSpecificOutput"] if ran.out.strip() else {}
    return str(found.get("permissionDecision", "allow"))


def refused(ran: Ran, intended: str) -> None:
    error = ran.envelope["error"]
    assert error["code"] == "AMBIGUOUS_SCOPE"
    assert error["details"]["intended"] == intended
    assert intended in error["message"]
    assert intended in error["hint"]


@EACH
@pytest.mark.parametrize("holds_first", [True, False])
def test_5_1_2_what_looks_like_another_path_is_refused_and_the_intended_path_is_named(
    repo: Scratch, written: str, intended: str, holds_first: bool
):
    if holds_first:
        reserve(repo, OTTER, "src/lib").data  # noqa: B018
    with nothing_written(repo):
        refused(reserve(repo, HARBOR, written), intended)
        refused(repo.json("check", written, "--agent", HARBOR), intended)
        refused(repo.json("freeze", written), intended)
        refused(repo.json("scope", "compare", written, "src/lib"), intended)


def test_5_1_2_a_pattern_with_backslashes_is_refused_and_a_class_says_that_it_is_meant(repo: Scratch):
    refused(reserve(repo, OTTER, r"src\*.py"), "src/*.py")
    held = reserve(repo, OTTER, r"src[\]lib").data
    assert held["scope"] == r"src\lib"
    assert repo.json("agent", "release", "--agent", OTTER, "--scope", r"src[\]lib").status == 0
    assert reserve(repo, OTTER, "src[ ]").data["scope"] == "src "


@EACH
def test_what_really_has_such_a_name_is_that_file_at_every_door(repo: Scratch, written: str, intended: str):
    if written.endswith(("/", "\\")) or "\\\\" in written:
        pytest.skip("no name of one file")
    path = repo.path / written
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    reserve(repo, OTTER, written).data  # noqa: B018

    assert repo.json("check", written, "--agent", HARBOR).code == "PATH_HELD"
    assert asked(repo, written) == "deny"
    repo.git("add", "--all")
    assert repo.json("check", "--staged", "--agent", HARBOR).code == "PATH_HELD"
    assert repo.json("check", intended, "--agent", HARBOR).data["may_touch"]
    assert asked(repo, intended) == "allow"


@EACH
def test_an_editor_is_judged_by_the_file_it_names_and_by_the_one_that_is_meant(
    repo: Scratch, written: str, intended: str
):
    assert asked(repo, written) == "allow"
    reserve(repo, OTTER, "src/lib").data  # noqa: B018
    assert asked(repo, written) == "deny"
    assert asked(repo, str(repo.path / written)) == "deny"
    assert asked(repo, written, OTTER) == "allow"


def test_directories_above_are_called_what_they_are_called(tmp_path: Path):
    repo = crew(tmp_path / "my \\ project ", OTTER)
    (repo.path / "src ").mkdir()
    assert reserve(repo, OTTER, str(repo.path / "src" / "new.py")).data["scope"] == "src/new.py"
    there = ["check", "a.py", "--agent", OTTER, "--json"]
    assert repo.bb(*there, cwd=repo.path / "src ").status == 0


@pytest.mark.parametrize("path", ["my docs/a b.txt", "src//lib", "./src/lib", "src/./lib", "naïve/é.py", "src/नमस्ते"])
def test_ordinary_names_are_not_questioned(repo: Scratch, path: str):
    assert repo.json("check", path, "--agent", HARBOR).data["may_touch"]
    assert reserve(repo, HARBOR, path).status == 0


def test_the_two_spellings_of_an_accent_are_one_name_at_every_door(repo: Scratch):
    composed, apart = (unicodedata.normalize(form, "docs/é.md") for form in ("NFC", "NFD"))
    reserve(repo, OTTER, composed).data  # noqa: B018
    for spelled in (composed, apart):
        assert repo.json("check", spelled, "--agent", HARBOR).code == "PATH_HELD"
        assert asked(repo, spelled) == "deny"


# -- what does not exist


def answers(repo: Scratch, path: str, agent: str = HARBOR) -> dict[str, bool]:
    """Whether a path may be touched, at every door that is asked before it exists."""
    return {
        "check": repo.json("check", path, "--agent", agent).status == 0,
        "editor": asked(repo, path, agent) == "allow",
        "call": repo.json("call", "check", "--args", json.dumps({"path": [path], "agent": agent})).status == 0,
    }


@pytest.mark.parametrize("path", ["src/new.py", "new.py", "src/new", "src/new.py/../other.py"])
def test_what_does_not_exist_is_a_file_and_has_one_answer_everywhere(repo: Scratch, path: str):
    reserve(repo, OTTER, "**/*.md").data  # noqa: B018
    assert answers(repo, path) == {"check": True, "editor": True, "call": True}
    file = repo.path / path
    if ".." not in path:
        file.parent.mkdir(exist_ok=True)
        file.write_text("x")
        repo.git("add", "--all")
        assert repo.json("check", "--staged", "--agent", HARBOR).data["may_touch"]


def test_what_does_not_exist_and_fits_a_pattern_is_held_everywhere(repo: Scratch):
    reserve(repo, OTTER, "**/*.md").data  # noqa: B018
    assert answers(repo, "src/new.md") == {"check": False, "editor": False, "call": False}


def test_what_is_written_with_a_slash_will_be_a_folder(repo: Scratch):
    reserve(repo, OTTER, "**/*.md").data  # noqa: B018
    assert repo.json("check", "src/new/", "--agent", HARBOR).code == "PATH_HELD"
    assert asked(repo, "src/new/") == "deny"


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_folder_that_exists_is_a_folder_however_its_name_is_spelled(repo: Scratch, form: str):
    name = unicodedata.normalize("NFD", "é")
    (repo.path / name).mkdir()
    reserve(repo, OTTER, "**/*.md").data  # noqa: B018
    spelled = unicodedata.normalize(form, "é")
    expected = {"check": False, "editor": False, "call": False}
    if form == "NFD":  # the other spelling names nothing on this file system
        assert answers(repo, spelled) == expected


def test_a_reservation_of_what_does_not_exist_still_allows_for_a_folder(repo: Scratch):
    reserve(repo, OTTER, "**/*.md").data  # noqa: B018
    assert reserve(repo, HARBOR, "src/new").code == "RESERVATION_CONFLICT"
