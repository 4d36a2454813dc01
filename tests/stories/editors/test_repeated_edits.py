"""What was judged a moment ago passes without the ledger, but never what the ledger no longer allows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.stories.agents.agents_support import HARBOR, OTTER, after, crew, incursions, reserve
from tests.stories.editors.editors_support import context, hook, refusal
from tests.support import Ran, Scratch


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """Where amber-otter may just edit docs/new.md, which nobody holds."""
    made = crew(tmp_path / "repo", OTTER, HARBOR)
    (made.path / "docs").mkdir()
    assert before(made).out == ""
    assert noted(made)["files"]
    return made


def before(repo: Scratch, *words: str, file: str = "docs/new.md", **more: Any) -> Ran:
    return hook(
        repo, "pre-tool", "claude/write", *words, **{"BB_AGENT": OTTER, "tool_input": {"file_path": file}} | more
    )


def afterwards(repo: Scratch, file: str = "docs/new.md") -> Ran:
    return hook(repo, "post-tool", "claude/after-write", tool_input={"file_path": file}, BB_AGENT=OTTER)


def noted(repo: Scratch) -> dict[str, Any]:
    file = repo.store / "passed" / f"{OTTER}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def test_what_somebody_has_reserved_since_is_refused(repo: Scratch):
    assert reserve(repo, HARBOR, "docs").status == 0

    assert "docs/new.md" in refusal(before(repo))


def test_what_was_edited_although_somebody_reserved_it_since_is_reported(repo: Scratch):
    assert reserve(repo, HARBOR, "docs").status == 0

    assert "another agent holds" in context(afterwards(repo))
    assert [event["from_agent"] for event in incursions(repo)] == [OTTER]


def test_who_was_paused_since_changes_nothing(repo: Scratch):
    assert repo.bb("agent", "pause", OTTER, "--why", "look").status == 0

    assert "paused" in refusal(before(repo))


def test_another_file_is_judged(repo: Scratch):
    assert reserve(repo, HARBOR, "src").status == 0
    assert refusal(before(repo)) == ""

    assert "src/a.py" in refusal(before(repo, file="src/a.py"))
    assert noted(repo)["files"] == [f"{repo.path}/docs/new.md is {repo.path}/docs/new.md"]


def test_what_passed_without_a_reservation_is_reserved_once_that_is_wanted(repo: Scratch):
    assert refusal(before(repo, "--auto-reserve")) == ""

    held = repo.json("agent", "status", "--agent", OTTER).data["reservations"]
    assert [row["scope"] for row in held] == ["docs/new.md"]
    assert noted(repo)["is_reserved"] is True


def test_what_passed_for_one_agent_did_not_pass_for_another(repo: Scratch):
    assert refusal(before(repo, "--auto-reserve")) == ""

    assert repo.bb("reserve", "docs/new.md", "--exclusive", "--agent", OTTER).status == 0

    assert "docs/new.md" in refusal(before(repo, BB_AGENT=HARBOR))


def test_several_files_are_remembered_for_a_minute(repo: Scratch):
    before(after(repo, 0.5), file="docs/more.md")
    both = noted(repo)["files"]
    before(after(repo, 1), file="docs/more.md")

    assert (len(both), len(noted(repo)["files"])) == (2, 1)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"at": 1}', '{"at": "x", "files": 3}', "\xff"])
def test_a_damaged_note_is_none(repo: Scratch, text: str):
    (repo.store / "passed" / f"{OTTER}.json").write_text(text, encoding="latin-1")

    assert refusal(before(repo)) == ""
    assert len(noted(repo)["files"]) == 1


def test_where_nothing_can_be_noted_edits_are_judged_each_time(repo: Scratch):
    (repo.store / "passed" / f"{OTTER}.json").unlink()
    (repo.store / "passed").rmdir()
    (repo.store / "passed").write_text("in the way")

    assert (refusal(before(repo)), afterwards(repo).out) == ("", "")
    assert reserve(repo, HARBOR, "docs").status == 0
    assert "docs/new.md" in refusal(before(repo))


def test_only_what_may_pass_is_noted(repo: Scratch):
    assert reserve(repo, HARBOR, "src").status == 0
    (repo.store / "passed" / f"{OTTER}.json").unlink()

    assert "src/a.py" in refusal(before(repo, file="src/a.py"))
    assert noted(repo) == {}
