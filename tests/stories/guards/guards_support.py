"""What the stories of guards share: a repository with some history in which one agent holds a part, and a git that runs
its hooks as a user's would, in the name of an agent or of the person."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.stories.agents.agents_support import HARBOR, OTTER, crew, reserve
from tests.support import NOON, Ran, Scratch, environment

IDENTITY = {
    "GIT_AUTHOR_NAME": "Tester",
    "GIT_AUTHOR_EMAIL": "tester@example.invalid",
    "GIT_COMMITTER_NAME": "Tester",
    "GIT_COMMITTER_EMAIL": "tester@example.invalid",
    "GIT_EDITOR": "true",
    "BB_NOW": NOON,
}
FILES = {"src/parser/a.py": "one\n", "src/parser/b.py": "two\n", "docs/guide.md": "three\n", "lib/x.py": "four\n"}
HOOK = """#!/bin/sh
"{python}" -P -m bb check --staged --json >> "{log}"
"""


def history(path: Path) -> Scratch:
    """A repository with a commit, in which OTTER holds src/parser and HARBOR holds nothing."""
    repo = crew(path, OTTER, HARBOR)
    for name, text in FILES.items():
        write(repo, name, text)
    repo.git("add", ".")
    repo.git("commit", "--quiet", "-m", "Files")
    assert reserve(repo, OTTER, "src/parser").status == 0
    return repo


def write(repo: Scratch, name: str, text: str, *, cwd: Path | None = None) -> None:
    path = (cwd or repo.path) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def git(repo: Scratch, *words: str | bytes, cwd: Path | None = None, stdin: str = "", **settings: str) -> Ran:
    """Run git as a person would; with BB_AGENT among the SETTINGS, as that agent would."""
    done = subprocess.run(
        ["git", *words],
        cwd=cwd or repo.path,
        env=environment(**(IDENTITY | settings)),
        input=stdin.encode(),
        capture_output=True,
    )
    return Ran(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def well(ran: Ran) -> Ran:
    """RAN, which must have succeeded."""
    assert ran.status == 0, f"{ran.out}{ran.err}"
    return ran


def guard(repo: Scratch) -> None:
    """A hand-written pre-commit hook that notes down every verdict."""
    path = repo.path / ".git" / "hooks" / "pre-commit"
    path.parent.mkdir(exist_ok=True)
    path.write_text(HOOK.format(python=sys.executable, log=repo.path / ".git" / "verdicts"))
    path.chmod(0o755)


def verdicts(repo: Scratch) -> list[dict[str, Any]]:
    """What the hook has said, each time it ran."""
    log = repo.path / ".git" / "verdicts"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def last_paths(repo: Scratch) -> dict[str, str]:
    """The verdict on each path of the last commit that was judged."""
    found = verdicts(repo)[-1]
    told = found["data"] or found["error"]["details"]
    return {each["path"]: each["verdict"] for each in told["paths"]}


def paths(ran: Ran) -> dict[str, str]:
    """The verdict on each path, of an answer or a refusal."""
    told = ran.envelope["data"] or ran.envelope["error"]["details"]
    return {each["path"]: each["verdict"] for each in told["paths"]}


def staged(repo: Scratch, agent: str | None = HARBOR, *more: str, **settings: Any) -> Ran:
    """What `bb check --staged` answers."""
    return repo.json("check", "--staged", *(["--agent", agent] if agent else []), *more, **settings)
