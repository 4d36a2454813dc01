"""`bb setup --undo` gives back every byte, except where a person has changed a file since."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.near import Near
from tests.stories.editors.editors_support import refusal
from tests.stories.setup.setup_support import AGENTS, empty, furnished, outcomes, to_the_byte, write

WRITE = {"hook_event_name": "PreToolUse", "tool_name": "Write", "session_id": "s-1"}


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    return furnished(tmp_path / "repo")


def test_a_furnished_repository_is_set_up_used_and_undone_to_the_byte(repo: Near):
    before = to_the_byte(repo.path)
    assert repo.bb("setup", "--yes").status == 0
    assert to_the_byte(repo.path) != before

    repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder")
    repo.bb("agent", "register", "--name", "cobalt-harbor", "--role", "builder")
    repo.bb("agent", "reserve", "--agent", "amber-otter", "--scope", "src", "--bead", "bb-1")
    said = WRITE | {"cwd": str(repo.path), "tool_input": {"file_path": "src/a.py"}}
    asked = repo.bb("hook", "pre-tool", "--host", "claude", stdin=json.dumps(said), BB_AGENT="cobalt-harbor")
    assert "src/a.py is reserved by amber-otter" in refusal(asked)

    undone = outcomes(repo, "--undo", "--yes")
    assert undone.pop("ledger") == "kept", "it has events"
    assert set(undone.values()) == {"undone"}
    assert repo.bb("init", "--undo", "--delete-history").status == 0
    assert to_the_byte(repo.path) == before


def test_unused_it_is_undone_to_the_byte_with_its_ledger(repo: Near):
    before = to_the_byte(repo.path)
    repo.bb("setup", "--yes")
    plan = outcomes(repo, "--undo", "--dry-run")

    assert set(plan.values()) == {"to undo"}
    assert set(outcomes(repo, "--undo", "--yes").values()) == {"undone"}

    assert to_the_byte(repo.path) == before
    assert repo.bb("setup", "--undo", "--yes").out.startswith("Nothing to undo")


def test_a_folder_that_was_empty_before_stays(tmp_path: Path):
    repo = empty(tmp_path / "repo")
    for name in (".claude", ".codex", ".github"):
        (repo.path / name).mkdir(mode=0o710)
    before = to_the_byte(repo.path)

    repo.bb("setup", "--yes")
    repo.bb("setup", "--undo", "--yes")

    assert to_the_byte(repo.path) == before


def test_a_hook_that_is_a_link_is_a_link_again(repo: Near):
    hook = repo.path / ".git" / "hooks" / "pre-push"
    hook.symlink_to("../../tools/push")
    before = to_the_byte(repo.path)

    repo.bb("setup", "--yes")
    repo.bb("setup", "--undo", "--yes")

    assert to_the_byte(repo.path) == before


def test_what_a_person_has_changed_since_is_left_and_said_so(repo: Near):
    before = to_the_byte(repo.path)
    repo.bb("setup", "--yes")
    changed = (repo.path / "AGENTS.md").read_text() + "\nOne more rule.\n"
    write(repo, "AGENTS.md", changed)

    ran = repo.json("setup", "--undo", "--yes")

    rows = {row["part"]: row for row in ran.envelope["error"]["details"]["parts"]}
    assert (ran.status, ran.code) == (4, "UNDO_INCOMPLETE")
    assert rows["skill"]["outcome"] == "left"
    assert rows["skill"]["why"] == f"{repo.path / 'AGENTS.md'} was changed since"
    assert "bb init --undo --skill" in rows["skill"]["by_hand"]
    assert {row["outcome"] for part, row in rows.items() if part != "skill"} == {"undone"}
    assert (repo.path / "AGENTS.md").read_text() == changed
    assert repo.bb("init", "--undo", "--skill").status == 0, "as the answer says"
    assert outcomes(repo, "--undo", "--yes") == {"skill": "undone"}
    assert (repo.path / "AGENTS.md").read_text() == f"{AGENTS}\nOne more rule.\n"
    after = to_the_byte(repo.path)
    assert {name: after[name] for name in before if name != "AGENTS.md"} == {
        name: content for name, content in before.items() if name != "AGENTS.md"
    }


def test_only_one_part_is_undone_although_another_wrote_the_same_file(repo: Near):
    before = to_the_byte(repo.path)
    repo.bb("setup", "--yes")
    settings = repo.path / ".gemini" / "settings.json"

    assert outcomes(repo, "--undo", "--yes", "--only", "hooks-gemini") == {"hooks-gemini": "undone"}

    found = json.loads(settings.read_text())
    assert "hooks" not in found
    assert "bb" in found["mcpServers"]
    assert outcomes(repo, "--dry-run")["hooks-gemini"] == "to install"
    repo.bb("setup", "--undo", "--yes")
    assert to_the_byte(repo.path) == before


def test_what_was_there_before_setup_stays(repo: Near):
    repo.bb("init")
    repo.bb("hooks", "install")
    repo.bb("hooks", "install", "--editor", "claude")
    before = to_the_byte(repo.path)

    repo.bb("setup", "--yes")
    undone = outcomes(repo, "--undo", "--yes")

    assert {"ledger", "git-hooks", "hooks-claude"} & undone.keys() == set()
    assert to_the_byte(repo.path) == before


def test_a_damaged_record_is_refused_with_another_way(repo: Near):
    repo.bb("setup", "--yes")
    (repo.path / ".git" / "bb-setup.json").write_text('{"format": 1, "parts": [{}]}')

    ran = repo.json("setup", "--undo", "--yes")

    assert (ran.status, ran.code) == (4, "SETUP_RECORD_UNREADABLE")


def test_the_record_can_be_read_by_its_user_only(repo: Near):
    repo.bb("setup", "--yes")

    assert (repo.path / ".git" / "bb-setup.json").stat().st_mode & 0o777 == 0o600


def test_a_repository_that_was_moved_is_undone_at_its_new_place(repo: Near):
    before = to_the_byte(repo.path)
    repo.bb("setup", "--yes")
    repo.path.rename(repo.path.parent / "moved")
    moved = Near(repo.path.parent / "moved", repo.settings)

    assert set(outcomes(moved, "--undo", "--yes").values()) == {"undone"}
    assert to_the_byte(moved.path) == before


def test_agents_that_set_up_at_once_leave_one_setup_that_can_be_undone(tmp_path: Path):
    repo = furnished(tmp_path / "repo")
    before = to_the_byte(repo.path)
    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(lambda _: repo.started("setup", "--yes"), range(4)))

    assert [ran.status for ran in ended] == [0] * 4, [ran.err for ran in ended]
    assert sum(" installed " in ran.out for ran in ended) == 1, "the others found it there"
    assert set(outcomes(repo, "--undo", "--yes").values()) == {"undone"}
    assert to_the_byte(repo.path) == before
