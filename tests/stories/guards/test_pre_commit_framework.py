"""bb's hooks in the pre-commit framework, as the real program calls them."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from tests.stories.guards.guards_support import HARBOR, OTTER, git, history, well, write
from tests.support import Scratch

PROGRAM = shutil.which("pre-commit", path=os.path.dirname(sys.executable)) or shutil.which("pre-commit")
OURS = yaml.safe_load((Path(__file__).resolve().parents[3] / ".pre-commit-hooks.yaml").read_text())
STAGES = ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"]
AS_HARBOR = {"BB_AGENT": HARBOR}

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="the program pre-commit is not installed")


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scratch:
    """bb's hooks are installed by the framework. They run the bb under test, instead of one built from a clone."""
    made = history(tmp_path / "repo")
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "home"))
    bb = f"{sys.executable} -P -m bb "
    local = [hook | {"language": "system", "entry": hook["entry"].replace("beadboard ", bb, 1)} for hook in OURS]
    (made.path / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [{"repo": "local", "hooks": local}]}))
    made.git("add", ".")
    made.git("commit", "--quiet", "-m", "Settings")
    words = [word for stage in STAGES for word in ("--hook-type", stage)]
    done = git(made, "-c", f"alias.install=!{PROGRAM} install {' '.join(words)}", "install")
    assert done.status == 0, done.err
    return made


def commit(repo: Scratch, path: str, *words: str, **settings: str):
    write(repo, path, f"{os.urandom(4).hex()}\n")
    well(git(repo, "add", path))
    return git(repo, "commit", *words, PRE_COMMIT_HOME=str(repo.path.parent / "home"), **settings)


def message(repo: Scratch) -> str:
    return repo.git("log", "-1", "--format=%B").rstrip("\n")


def test_every_stage_does_what_bbs_own_hooks_do(repo: Scratch, tmp_path: Path):
    refused = commit(repo, "src/parser/a.py", "-m", "Mine", **AS_HARBOR)
    assert refused.status == 1
    assert f"src/parser/a.py  {OTTER} holds src/parser" in refused.err
    repo.git("reset", "--quiet", "--hard")

    well(commit(repo, "lib/x.py", "-m", "One", **AS_HARBOR))
    assert message(repo) == f"One\n\nBB-Agent: {HARBOR}"
    well(commit(repo, "lib/x.py", "-m", "A person's"))
    assert message(repo) == "A person's"

    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i '1s/^/Typed/' \"$1\"\n")
    editor.chmod(0o755)
    well(commit(repo, "lib/x.py", GIT_EDITOR=str(editor), **AS_HARBOR))
    assert message(repo) == f"Typed\n\nBB-Agent: {HARBOR}"

    skipped = well(commit(repo, "src/parser/a.py", "--no-verify", "-m", "Skipped", **AS_HARBOR))
    assert f"src/parser/a.py, which {OTTER} holds" in skipped.out + skipped.err
    assert message(repo) == f"Skipped\n\nBB-Agent: {HARBOR}"
    assert [row["from_agent"] for row in repo.json("protocol", "incursions").data] == [HARBOR]
