"""A repository can bring links. bb writes nothing through them: not outside the work tree, and not into `.git`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bb.ledger.files import work_tree_files
from tests.near import near
from tests.support import Scratch

WRITERS = {
    ".codex": ["hooks", "install", "--editor", "codex"],
    ".claude": ["hooks", "install", "--editor", "claude"],
    ".gemini": ["hooks", "install", "--editor", "gemini"],
    ".cursor": ["mcp", "install", "--host", "cursor"],
    ".vscode": ["mcp", "install", "--host", "vscode"],
    ".agents": ["init", "--skill"],
    ".bb": ["ledger", "mirror"],
    "hookdir": ["hooks", "install", "--anywhere"],
}


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    made = near(tmp_path / "repo")
    assert made.bb("agent", "register", "--name", "amber-otter", "--role", "x").status == 0
    made.git("config", "core.hooksPath", "hookdir/below")
    return made


@pytest.mark.parametrize("folder", WRITERS)
def test_a_committed_link_to_elsewhere_is_not_followed(repo: Scratch, tmp_path: Path, folder: str):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (repo.path / folder).symlink_to(elsewhere)
    repo.git("add", folder)

    refused = repo.json(*WRITERS[folder])

    assert refused.code in ("LINK_IN_THE_WAY", "SKILL_FILE_UNFIT"), refused.out
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("folder", WRITERS)
def test_a_committed_link_into_git_s_own_directory_is_not_followed(repo: Scratch, folder: str):
    (repo.path / folder).symlink_to(".git/objects")
    before = sorted((repo.path / ".git" / "objects").rglob("*"))

    refused = repo.json(*WRITERS[folder])

    assert refused.code in ("LINK_IN_THE_WAY", "SKILL_FILE_UNFIT"), refused.out
    assert sorted((repo.path / ".git" / "objects").rglob("*")) == before


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (".codex/hooks.json", ["hooks", "install", "--editor", "codex"]),
        (".claude/settings.json", ["hooks", "uninstall", "--editor", "claude"]),
        (".mcp.json", ["mcp", "install", "--host", "claude"]),
        (".codex/config.toml", ["mcp", "install", "--host", "codex", "--dry-run"]),
        ("AGENTS.md", ["init", "--skill"]),
        (".bb/ledger/.gitattributes", ["ledger", "mirror"]),
    ],
)
@pytest.mark.parametrize("there", [True, False], ids=["there", "dangling"])
def test_a_committed_link_in_the_place_of_a_file_is_not_written_through(
    repo: Scratch, tmp_path: Path, file: str, words: list[str], there: bool
):
    target = tmp_path / "target"
    if there:
        target.write_text("{}\n")
    (repo.path / file).parent.mkdir(parents=True, exist_ok=True)
    (repo.path / file).symlink_to(target)

    ran = repo.json(*words)

    assert (target.read_text() if there else target.exists()) == ("{}\n" if there else False)
    assert (repo.path / file).is_symlink()
    if words[0] != "ledger":  # the mirror leaves an attributes file that is there
        assert ran.code in ("LINK_IN_THE_WAY", "SKILL_FILE_UNFIT"), ran.out


def test_a_folder_that_is_a_link_to_another_in_the_same_work_tree_is_followed(repo: Scratch):
    (repo.path / "shared").mkdir()
    (repo.path / ".codex").symlink_to("shared")

    assert repo.bb("hooks", "install", "--editor", "codex").status == 0
    assert (repo.path / "shared" / "hooks.json").is_file()
    assert repo.bb("hooks", "uninstall", "--editor", "codex").status == 0
    assert not (repo.path / "shared" / "hooks.json").exists()


def test_the_refusal_says_what_to_do(repo: Scratch, tmp_path: Path):
    (repo.path / ".codex").symlink_to(tmp_path)

    ran = repo.bb("hooks", "install", "--editor", "codex")

    assert ran.status == 4
    assert f"LINK_IN_THE_WAY] .codex/hooks.json would be written out of the work tree, to {tmp_path}" in ran.err
    assert "Hint: replace the link" in ran.err


def test_a_link_that_appears_after_the_path_was_looked_at_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    (root / "a").mkdir(parents=True)
    elsewhere.mkdir()
    looked: Callable[[str, str], list[str]] = work_tree_files._steps

    def and_then_swapped(top: str, path: str) -> list[str]:
        steps = looked(top, path)
        if not (root / "a").is_symlink():
            (root / "a").rmdir()
            (root / "a").symlink_to(elsewhere)
        return steps

    monkeypatch.setattr(work_tree_files, "_steps", and_then_swapped)

    with pytest.raises(work_tree_files.LinkInTheWay.error):
        work_tree_files.write(str(root), "a/b.json", b"{}")
    assert list(elsewhere.iterdir()) == []


def test_a_file_in_the_work_tree_is_replaced_whole_and_keeps_its_permissions(tmp_path: Path):
    file = tmp_path / "a" / "b.json"
    work_tree_files.write(str(tmp_path), "a/b.json", b"one")
    file.chmod(0o600)
    work_tree_files.write(str(tmp_path), "a/b.json", b"two")

    assert file.read_bytes() == b"two"
    assert os.stat(file).st_mode & 0o777 == 0o600
    assert [each.name for each in file.parent.iterdir()] == ["b.json"]


def test_an_output_that_the_user_named_is_the_user_s_word(repo: Scratch, tmp_path: Path):
    (repo.path / "out.jsonl").symlink_to(tmp_path / "real.jsonl")

    assert repo.bb("ledger", "export", "--output", "out.jsonl").status == 0
    assert (tmp_path / "real.jsonl").read_text()
    assert (repo.path / "out.jsonl").is_symlink()
