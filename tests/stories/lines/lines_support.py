"""What the stories of lines share: agents that edit files of one work tree, by hand or with an editor's hooks."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.near import Near
from tests.stories.agents.agents_support import HARBOR, OTTER, crew
from tests.support import NOON, Ran, Scratch, environment

TWENTY = "".join(f"line {n}\n" for n in range(1, 21))


class Desk:
    """A repository in which OTTER and HARBOR work."""

    def __init__(self, repo: Scratch) -> None:
        self.repo = Near(repo.path, repo.settings)
        for name, value in {"user.name": "Tester", "user.email": "tester@example.invalid"}.items():
            self.repo.git("config", name, value)

    # -- files and git

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.repo.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def read(self, name: str) -> str:
        return (self.repo.path / name).read_bytes().decode()

    def git(self, *words: str) -> str:
        return self.repo.git(*words)

    def by_hand(self, *words: str, agent: str | None = None, **settings: str) -> Ran:
        """git as an agent or the person runs it, with hooks."""
        who = {"BB_AGENT": agent} if agent else {}
        done = subprocess.run(
            ["git", *words],
            cwd=self.repo.path,
            env=environment(BB_NOW=NOON, GIT_EDITOR="true", **who, **settings),
            capture_output=True,
            text=True,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def committed(self, name: str, revision: str = "HEAD") -> str:
        return self.git("show", f"{revision}:{name}")

    def staged(self, name: str) -> str:
        return self.git("show", f":{name}")

    def base(self, **files: str) -> None:
        """Commit FILES, whose names have `__` for a slash and `_dot_` for a dot."""
        for name, text in files.items():
            self.write(name.replace("__", "/").replace("_dot_", "."), text)
        self.git("add", "-A")
        self.git("commit", "-qm", "Base")

    # -- agents

    def bb(self, agent: str | None, *words: str, **settings: Any) -> Ran:
        ran = self.repo.bb(*words, **({"BB_AGENT": agent} if agent else {}), **settings)
        assert "INTERNAL_ERROR" not in ran.out + ran.err, ran
        return ran

    def ask(self, agent: str | None, *words: str, **settings: Any) -> Any:
        """The data of an answer, which must be one."""
        return self.bb(agent, *words, "--json", **settings).data

    def refused(self, agent: str | None, *words: str, **settings: Any) -> dict[str, Any]:
        """The error of a refusal, which says so in text too and changes neither branch nor files."""
        before = self.git("for-each-ref"), self.git("status", "--porcelain")
        error: dict[str, Any] = self.bb(agent, *words, "--json", **settings).envelope["error"]
        told = self.bb(agent, *words, **settings)
        assert told.err.startswith(f"Error: [{error['code']}] "), told
        assert (self.git("for-each-ref"), self.git("status", "--porcelain")) == before
        return error

    def edits(self, agent: str, name: str, change: Callable[[str], str] | str | bytes | None) -> None:
        """AGENT edits a file between `bb edit begin` and `bb edit end`; None deletes it."""
        assert self.bb(agent, "edit", "begin", name).status == 0
        if change is None:
            (self.repo.path / name).unlink()
        else:
            self.write(name, change(self.read(name)) if callable(change) else change)
        assert self.bb(agent, "edit", "end", name).status == 0

    def replaces(self, agent: str, name: str, old: str, new: str) -> None:
        assert old in self.read(name)
        self.edits(agent, name, lambda text: text.replace(old, new, 1))

    def commits(self, agent: str | None, *words: str, message: str = "Work") -> Any:
        return self.ask(agent, "commit", "-m", message, *words)

    def whose(self, name: str) -> list[list[str] | None]:
        """The agents of each line, as `bb blame` tells: none for a committed line, an empty list for nobody known."""
        return [row["agents"] for row in self.ask(None, "blame", name)["lines"]]

    # -- hooks of an editor

    def hook(self, moment: str, agent: str, tool: str, given: dict[str, Any]) -> str:
        """What the agent is told by the hook of Claude Code; empty if it is told nothing."""
        event = {"pre-tool": "PreToolUse", "post-tool": "PostToolUse"}[moment]
        payload = {"hook_event_name": event, "session_id": f"S-{agent}", "cwd": str(self.repo.path)}
        payload |= {"tool_name": tool, "tool_input": given}
        ran = self.bb(agent, "hook", moment, stdin=json.dumps(payload))
        assert ran.status == 0, ran.err
        if not ran.out.strip():
            return ""
        said = json.loads(ran.out)["hookSpecificOutput"]
        return str(said.get("permissionDecisionReason") or said.get("additionalContext") or "")

    def tool(self, agent: str, tool: str, given: dict[str, Any], act: Callable[[], object]) -> str:
        """AGENT's tool runs between its hooks, unless it is refused: the refusal, or what is said after it."""
        why = self.hook("pre-tool", agent, tool, given)
        if why:
            return why
        act()
        return self.hook("post-tool", agent, tool, given)

    def tool_edit(self, agent: str, name: str, old: str, new: str) -> str:
        given = {"file_path": str(self.repo.path / name), "old_string": old, "new_string": new}
        return self.tool(agent, "Edit", given, lambda: self.write(name, self.read(name).replace(old, new, 1)))

    def tool_write(self, agent: str, name: str, content: str) -> str:
        given = {"file_path": str(self.repo.path / name), "content": content}
        return self.tool(agent, "Write", given, lambda: self.write(name, content))

    def shell(self, agent: str, command: str) -> str:
        def run() -> None:
            subprocess.run(["sh", "-c", command], cwd=self.repo.path, env=environment(), check=True)

        return self.tool(agent, "Bash", {"command": command}, run)


def desk(path: Path, text: str = TWENTY) -> Desk:
    """Two agents, and one committed file `a.py` of twenty lines."""
    made = Desk(crew(path, OTTER, HARBOR))
    made.base(a_dot_py=text)
    return made


def is_root() -> bool:
    return os.name != "nt" and os.geteuid() == 0
