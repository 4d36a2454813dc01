"""What the stories about CI share: a project with agents and a published ledger, and checkouts as CI makes them."""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bb.ledger.journal import writers
from tests.near import Near
from tests.stories.agents.agents_support import HARBOR, OTTER, crew, moment, reserve
from tests.support import Ran, Scratch, copied, environment, made_once

BRANCH = "refs/heads/bb-ledger"
__all__ = ["HARBOR", "OTTER", "Project", "project", "reserve"]


@dataclass
class Project:
    """Where agents work (`repo`), and the bare repository that it is pushed to (`hub`)."""

    repo: Scratch
    hub: Scratch
    minutes: float = 0

    @property
    def url(self) -> str:
        return f"file://{self.hub.path}"

    def at(self, minutes: float) -> Project:
        """From now on it is so many minutes after noon."""
        self.minutes = minutes
        self.repo.settings["BB_NOW"] = moment(minutes)
        return self

    def commit(
        self, agent: str | None, changes: dict[str, str | None], *trailers: str, written: float | None = None
    ) -> str:
        """Commit CHANGES (None deletes) as AGENT, now; WRITTEN so many minutes after noon."""
        for name, text in changes.items():
            path = self.repo.path / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        self.repo.git("add", "--all", "--force")
        return self.committed(agent, *trailers, written=written)

    def committed(self, agent: str | None, *trailers: str, written: float | None = None) -> str:
        """Commit what is staged; the commit."""
        lines = [*trailers, *([f"BB-Agent: {agent}"] if agent else [])]
        message = "Change\n\n" + "\n".join(lines)
        self.git("commit", "--quiet", "--allow-empty", "-m", message, written=written)
        return self.head()

    def git(self, *words: str, written: float | None = None) -> str:
        """Git in the place where agents work, at the time it is."""
        author = moment(self.minutes if written is None else written)
        return dated(self.repo, *words, author=author, committer=moment(self.minutes))

    def head(self, name: str = "HEAD") -> str:
        return self.repo.git("rev-parse", name).strip()

    def publish(self, alter: Callable[[dict[str, bytes]], None] | None = None) -> str:
        """Put the ledger on the hub's branch, ALTERed first where somebody is up to no good; the commit."""
        files = {"bb.json": charter()}
        for journal in self.repo.store.glob("j/*/*.jsonl"):
            writer = journal.parent.name
            files[f"w/{writer[:2]}/{writer}/{journal.stem}.jsonl"] = journal.read_bytes()
        if alter:
            alter(files)
        return self.publish_tree([("100644", "blob", self.blob(octets), path) for path, octets in files.items()])

    def blob(self, octets: bytes) -> str:
        (self.repo.path.parent / "blob").write_bytes(octets)
        return self.repo.git("hash-object", "-w", "--no-filters", str(self.repo.path.parent / "blob")).strip()

    def publish_tree(self, entries: list[tuple[str, str, str, str]]) -> str:
        """Put these entries (mode, kind, object, path) on the hub's branch."""
        tree = self._tree(entries)
        message = "bb: events [skip ci]\n\nBb-Generation: 7\n"
        commit = self.git("commit-tree", tree, "-m", message).strip()
        self.repo.git("push", "--quiet", "--force", str(self.hub.path), f"{commit}:{BRANCH}")
        return commit

    def _tree(self, entries: list[tuple[str, str, str, str]]) -> str:
        folders: dict[str, list[tuple[str, str, str, str]]] = {}
        rows = []
        for mode, kind, name, path in entries:
            first, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(first, []).append((mode, kind, name, rest))
            else:
                rows.append(f"{mode} {kind} {name}\t{path}")
        rows += [f"040000 tree {self._tree(inside)}\t{first}" for first, inside in folders.items()]
        (self.repo.path.parent / "tree").write_text("".join(f"{row}\0" for row in rows))
        script = 'git mktree -z --missing < "$0"'
        return sh(self.repo, script, str(self.repo.path.parent / "tree")).strip()

    def push(self, *branches: str) -> None:
        for branch in branches or ("main",):
            self.repo.git(
                "push", "--quiet", "--force", "origin", f"HEAD:refs/heads/{branch}" if branch == "main" else branch
            )

    def checkout(self, name: str, *options: str, branch: str = "work") -> Scratch:
        """A fresh checkout of BRANCH, with no ledger of its own: what CI starts with."""
        path = self.repo.path.parent / name
        self.repo.git("clone", "--quiet", "--branch", branch, *options, self.url, str(path))
        return Near(path, {"BB_NOW": moment(self.minutes)})

    def check(self, at: Scratch | None = None, *words: str, base: str = "origin/main") -> Ran:
        return (at or self.repo).json("ci", "check", "--base", base, *words)


def charter(**changes: Any) -> bytes:
    said = {"repo": "0123456789ab", "format": 1, "min_reader": 1, "min_writer": 1, "epoch": 1}
    return json.dumps(said | changes).encode()


def project(path: Path) -> Project:
    """Two agents at noon; `main` is pushed, and `work` is what they commit to. OTTER holds src/parser."""
    original = _project()
    for name in ("repo", "hub.git"):
        copied(original / name, path / name)
    repo = Near(path / "repo")
    made = Project(repo, Near(path / "hub.git"))
    repo.git("remote", "set-url", "origin", made.url)
    (owner,) = repo.store.glob("j/*/owner.json")
    writers.mint(str(repo.store / "j"), owner.parent.name)  # as if the original had been moved here
    return made.at(10)


@functools.cache
def _project() -> Path:
    """What every project is a copy of."""
    path = made_once("project")
    repo = crew(path / "repo", OTTER, HARBOR)
    repo.git("branch", "--move", "main")
    hub = Near(path / "hub.git")
    repo.git("init", "--quiet", "--bare", "--initial-branch=main", str(hub.path))
    hub.git("config", "uploadpack.allowFilter", "true")
    made = Project(repo, hub)
    repo.git("remote", "add", "origin", made.url)
    made.commit(None, {"README.md": "Read me.\n", "src/parser/lex.py": "1\n", "docs/index.md": "Docs.\n"})
    made.push("main")
    repo.git("fetch", "--quiet", "origin")
    repo.git("checkout", "--quiet", "-b", "work")
    reserve(repo, OTTER, "src/parser").data  # noqa: B018  (must succeed)
    return path


def dated(repo: Scratch, *words: str, author: str, committer: str) -> str:
    """Git with these dates."""
    script = (
        'GIT_AUTHOR_DATE="$0" GIT_COMMITTER_DATE="$1"; export GIT_AUTHOR_DATE GIT_COMMITTER_DATE; shift; exec git "$@"'
    )
    return sh(repo, script, author, committer, *IDENTITY, *words)


IDENTITY = ("-c", "user.name=Tester", "-c", "user.email=tester@example.invalid")


def sh(repo: Scratch, script: str, *words: str) -> str:
    done = subprocess.run(["sh", "-c", script, *words], cwd=repo.path, env=environment(), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def told(ran: Ran) -> list[tuple[str, str, str]]:
    """What a verdict says: severity, rule and path of every finding."""
    answer = ran.envelope["data"] if ran.status == 0 else ran.envelope["error"]["details"]
    return [(each["severity"], each["rule"], each["path"]) for each in answer["findings"]]
