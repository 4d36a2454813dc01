"""`bb setup`: one command sets up a repository, says what it did, and changes nothing the second time."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bb.ledger.wiring import ci_files
from tests.near import Near
from tests.stories.setup.setup_support import empty, furnished, outcomes, plain_path, to_the_byte, write
from tests.support import scratch

EVERYWHERE = ["ledger", "git-hooks", "skill"]
INSTRUCTIONS = ["AGENTS.md"]
OF_CLAUDE = ["hooks-claude", "mcp-claude"]


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    return empty(tmp_path / "repo")


def program(repo: Near, name: str, text: str = "#!/bin/sh\n") -> None:
    """Put a program on the PATH."""
    path = Path(plain_path(repo.path.parent)) / name
    path.write_text(text)
    path.chmod(0o755)


def test_without_a_terminal_it_asks_for_yes_and_changes_nothing(repo: Near):
    before = to_the_byte(repo.path)

    ran = repo.bb("setup", "--only", "ledger")

    assert ran.status == 2
    assert "SETUP_NOT_CONFIRMED" in ran.err
    assert "bb setup --only ledger --yes" in ran.err
    assert to_the_byte(repo.path) == before


def test_the_plan_changes_nothing_and_lists_every_part(repo: Near):
    (repo.path / ".claude").mkdir()
    before = to_the_byte(repo.path)

    assert outcomes(repo, "--dry-run") == {
        **dict.fromkeys(["ledger", "git-hooks", *OF_CLAUDE, "skill"], "to install"),
        "ci": "skipped",
    }
    assert to_the_byte(repo.path) == before


def test_again_it_changes_nothing(repo: Near):
    write(repo, "CLAUDE.md", "Use tabs.\n")
    assert outcomes(repo, "--yes") == {
        **dict.fromkeys(["ledger", "git-hooks", *OF_CLAUDE, "skill"], "installed"),
        "ci": "skipped",
    }
    before = to_the_byte(repo.path)

    again = outcomes(repo, "--yes")

    assert set(again.values()) == {"already there", "skipped"}
    assert to_the_byte(repo.path) == before
    assert repo.bb("setup", "--yes").out.startswith("Nothing to change in ")


def test_what_it_wrote_itself_is_no_sign_of_a_host(repo: Near):
    first = outcomes(repo, "--yes")

    assert first == {**dict.fromkeys(EVERYWHERE, "installed"), "hooks": "skipped", "ci": "skipped"}
    assert outcomes(repo, "--yes").keys() == first.keys()


@pytest.mark.parametrize(
    ("file", "parts"),
    [
        (".claude/agents/x.md", OF_CLAUDE),
        (".codex/config.toml", ["hooks-codex", "mcp-codex"]),
        ("GEMINI.md", ["hooks-gemini", "mcp-gemini"]),
        ("opencode.json", ["mcp-opencode"]),
        (".cursor/rules/x.mdc", ["mcp-cursor"]),
        (".vscode/launch.json", ["mcp-vscode"]),
        (".gitlab-ci.yml", ["ci-gitlab"]),
        (".github/CODEOWNERS", ["ci-github"]),
    ],
)
def test_a_file_shows_which_host_or_service_is_in_use(repo: Near, file: str, parts: list[str]):
    write(repo, file, "{}" if file.endswith("json") else "")

    assert set(parts) <= outcomes(repo, "--dry-run").keys()


def test_a_folder_in_which_only_bb_wrote_is_no_sign(repo: Near):
    write(repo, ".github/hooks/bb.json", "{}\n")

    assert "ci-github" not in outcomes(repo, "--dry-run")
    write(repo, ".github/CODEOWNERS", "")
    assert "ci-github" in outcomes(repo, "--dry-run")


def test_a_program_on_the_path_shows_which_host_is_in_use(repo: Near):
    program(repo, "codex")

    report = repo.json("setup", "--dry-run").data

    assert [(each["host"], each["signs"]) for each in report["hosts"]] == [("codex", ["codex on the PATH"])]


def test_the_origin_shows_which_ci_is_in_use(repo: Near):
    repo.git("remote", "add", "origin", "git@gitlab.example.org:ada/kettle.git")

    assert outcomes(repo, "--yes")["ci-gitlab"] == "installed"
    assert (repo.path / ".gitlab-ci.yml").read_text() == "include:\n  - local: .gitlab/bb.yml\n"


def test_a_pipeline_that_exists_is_not_edited(repo: Near):
    write(repo, ".gitlab-ci.yml", "test:\n  script: [make]\n")

    report = repo.json("setup", "--yes").data

    assert any("add `- local: .gitlab/bb.yml` to `include:`" in step for step in report["steps"])
    assert (repo.path / ".gitlab-ci.yml").read_text() == "test:\n  script: [make]\n"


def test_only_takes_parts_kinds_and_hosts(repo: Near):
    program(repo, "gemini")

    assert list(outcomes(repo, "--dry-run", "--only", "skill", "--only", "ledger")) == ["ledger", "skill"]
    assert list(outcomes(repo, "--dry-run", "--only", "hooks")) == ["hooks-gemini"]
    assert "mcp-cursor" in outcomes(repo, "--dry-run", "--only", "cursor"), "named, although it was not found"
    refused = repo.bb("setup", "--only", "vim")
    assert refused.status == 2
    assert "must be one of ledger, git-hooks" in refused.err


def test_a_kind_for_which_nothing_was_found_says_so(repo: Near):
    assert outcomes(repo, "--dry-run", "--only", "mcp", "--only", "ci") == {"mcp": "skipped", "ci": "skipped"}


def test_a_ci_file_of_an_older_bb_is_renewed_and_an_edited_one_stays(repo: Near, monkeypatch: pytest.MonkeyPatch):
    write(repo, ".github/CODEOWNERS", "")
    repo.bb("setup", "--yes")
    file = repo.path / ".github" / "workflows" / "bb.yml"
    written = file.read_bytes()
    monkeypatch.setattr(ci_files, "template", lambda _: b"# newer\nbb ci check\n")

    assert outcomes(repo, "--dry-run")["ci-github"] == "newer available"
    file.write_bytes(written.replace(b"@main", b"@0123456789abcdef"))
    assert outcomes(repo, "--yes")["ci-github"] == "already there"
    file.write_bytes(written)
    assert outcomes(repo, "--yes")["ci-github"] == "renewed"
    assert file.read_bytes() == b"# newer\nbb ci check\n"
    assert outcomes(repo, "--undo", "--yes")["ci-github"] == "undone"
    assert not file.exists()


def test_a_workflow_that_calls_bb_already_is_enough(repo: Near):
    write(repo, ".github/workflows/checks.yml", "run: bb ci check --base main\n")

    row = next(row for row in repo.json("setup", "--yes").data["parts"] if row["part"] == "ci-github")

    assert (row["outcome"], row["where"]) == ("already there", ".github/workflows/checks.yml")


def test_a_part_that_cannot_be_installed_does_not_stop_the_others(repo: Near):
    write(repo, ".claude/settings.json", '{\n  // mine\n  "hooks": {}\n}\n')

    ran = repo.json("setup", "--yes")

    rows = {row["part"]: row for row in ran.envelope["error"]["details"]["parts"]}
    assert ran.status == 4
    assert ran.code == "SETUP_INCOMPLETE"
    assert rows["hooks-claude"]["outcome"] == "refused"
    assert rows["hooks-claude"]["code"] == "SETTINGS_UNREADABLE"
    assert rows["hooks-claude"]["by_hand"]
    assert [rows[part]["outcome"] for part in (*EVERYWHERE, "mcp-claude")] == ["installed"] * 4
    assert (repo.path / ".claude" / "settings.json").read_text() == '{\n  // mine\n  "hooks": {}\n}\n'


def test_personal_hooks_are_enough_where_the_shared_settings_have_comments(repo: Near):
    write(repo, ".claude/settings.json", '{\n  // mine\n  "hooks": {}\n}\n')
    row = next(row for row in repo.json("setup", "--dry-run").data["parts"] if row["part"] == "hooks-claude")
    assert "comments" in row["why"]
    *_, command = row["by_hand"].split(": bb ")

    assert repo.bb(*command.split()).status == 0

    assert outcomes(repo, "--yes")["hooks-claude"] == "already there"


@pytest.mark.skipif(os.name == "nt", reason="permissions")
def test_read_only_settings_are_not_replaced(repo: Near):
    write(repo, ".claude/settings.json", "{}\n")
    (repo.path / ".claude" / "settings.json").chmod(0o444)

    assert outcomes(repo, "--yes")["hooks-claude"] == "refused"
    (repo.path / ".mcp.json").chmod(0o444)
    assert outcomes(repo, "--yes")["mcp-claude"] == "already there", "nothing would be written"
    assert (repo.path / ".claude" / "settings.json").read_text() == "{}\n"


def test_a_refusal_at_a_shared_hooks_folder_names_what_to_do(repo: Near):
    (repo.path / ".githooks").mkdir()
    repo.git("config", "core.hooksPath", ".githooks")

    ran = repo.bb("setup", "--yes")

    assert ran.status == 4
    assert "bb hooks install --anywhere" in ran.out
    assert list((repo.path / ".githooks").iterdir()) == []


def test_a_bare_repository_gets_what_needs_no_work_tree(tmp_path: Path):
    made = scratch(tmp_path / "made")
    made.git("clone", "--quiet", "--bare", str(made.path), str(tmp_path / "bare.git"))
    bare = Near(tmp_path / "bare.git", {"PATH": plain_path(tmp_path)})

    found = outcomes(bare, "--yes")

    assert (found["ledger"], found["git-hooks"], found["skill"]) == ("installed", "installed", "skipped")
    assert outcomes(bare, "--undo", "--yes") == {"git-hooks": "undone", "ledger": "undone"}


def test_in_a_subdirectory_and_in_a_worktree_it_sets_up_the_tree_around(repo: Near):
    (repo.path / "src" / "deep").mkdir(parents=True)
    report = json.loads(repo.bb("setup", "--yes", "--json", cwd=repo.path / "src" / "deep").out)["data"]
    assert report["repository"] == str(repo.path)
    assert report["to_commit"]["command"].startswith(f"git -C {repo.path} add -- ")

    repo.git("worktree", "add", "--quiet", "-b", "side", str(repo.path.parent / "side"))
    side = Near(repo.path.parent / "side", repo.settings)
    found = outcomes(side, "--yes")
    assert (found["ledger"], found["git-hooks"], found["skill"]) == ("already there", "already there", "installed")
    assert outcomes(side, "--undo", "--yes") == {"skill": "undone"}, "the rest belongs to the first work tree"


def test_another_users_repository_is_refused(repo: Near):
    ran = repo.json("setup", "--yes", GIT_TEST_ASSUME_DIFFERENT_OWNER="1")

    assert (ran.status, ran.code) == (5, "UNSAFE_REPOSITORY")


@pytest.mark.skipif(os.name == "nt", reason="permissions")
def test_a_read_only_file_is_refused_and_the_rest_is_installed(repo: Near):
    write(repo, "AGENTS.md", "Read this.\n")
    (repo.path / "AGENTS.md").chmod(0o444)

    ran = repo.json("setup", "--yes")

    rows = {row["part"]: row for row in ran.envelope["error"]["details"]["parts"]}
    assert rows["skill"]["why"] == "AGENTS.md is read-only"
    assert rows["git-hooks"]["outcome"] == "installed"


def test_the_files_to_commit_are_named_until_they_are_committed(repo: Near):
    write(repo, "notes.txt", "mine\n")
    repo.git("add", "notes.txt")

    plan = repo.json("setup", "--yes").data["to_commit"]

    assert plan["paths"] == [".agents/skills/beadboard-driver", ".claude/skills/beadboard-driver", *INSTRUCTIONS]
    assert plan["command"].endswith("-m 'Set up bb' -- " + " ".join(plan["paths"])), "notes.txt is staged, but not ours"
    repo.git("add", "--", *plan["paths"])
    repo.git("-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", "Set up bb")
    assert repo.json("setup", "--yes").data["to_commit"] is None


def test_the_program_is_named_so_that_a_shell_finds_this_one(repo: Near):
    launcher = "#!/bin/sh\nexec python3 -m bb.start\n"
    babashka = "#!/bin/sh\n# a Clojure interpreter\n"
    program(repo, "bb", launcher)
    assert repo.json("setup", "--dry-run").data["program"] == "bb"

    program(repo, "bb", babashka)
    program(repo, "beadboard", launcher)
    report = repo.json("setup", "--dry-run").data
    assert report["program"] == "beadboard"
    assert "another program" in report["program_note"]

    program(repo, "beadboard", babashka)
    assert os.path.isabs(repo.json("setup", "--dry-run").data["program"])


def test_hooks_of_an_older_bb_are_renewed_with_their_options(repo: Near):
    program(repo, "bb", "#!/bin/sh\nexec python3 -m bb.start\n")
    repo.bb("hooks", "install", "--editor", "claude", "--agent", "amber-otter")
    settings = repo.path / ".claude" / "settings.json"
    written = settings.read_text()
    assert outcomes(repo, "--dry-run")["hooks-claude"] == "already there", "the person chose these options"

    settings.write_text(written.replace('"timeout": 10', '"timeout": 5'))
    assert outcomes(repo, "--dry-run")["hooks-claude"] == "newer available"
    assert outcomes(repo, "--yes")["hooks-claude"] == "renewed"

    assert settings.read_text() == written
    assert outcomes(repo, "--undo", "--yes")["hooks-claude"] == "undone"
    assert '"timeout": 5' in settings.read_text()


def test_a_person_reads_one_line_for_each_part(tmp_path: Path):
    repo = furnished(tmp_path / "repo")

    out = repo.bb("setup", "--yes").out

    lines = [line.split("  ")[1] for line in out.splitlines() if line.startswith("  ") and line[2].isalpha()]
    assert lines == [
        *("ledger", "git-hooks", "hooks-claude", "hooks-codex", "hooks-gemini"),
        *("mcp-claude", "mcp-codex", "mcp-gemini", "skill", "ci-github"),
    ]
    assert "your own pre-commit runs first" in out
    assert "review the hooks with /hooks" in out
