"""What only a person can do after `bb setup`: allow, review and restart in each host, and commit the files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from bb.coordination.guards import changes
from bb.coordination.wiring import hosts, setup_parts
from bb.kernel.escaping import quoted
from bb.ledger.git import git
from bb.ledger.wiring import skill
from bb.ops.desk.desk import Desk

FRESH = (setup_parts.INSTALLED, setup_parts.RENEWED, setup_parts.PLANNED, setup_parts.NEWER)

# host -> what the person does in it, by kind of part
IN_HOSTS: Mapping[str, Mapping[str, str]] = {
    hosts.CLAUDE: {
        setup_parts.HOOKS: "start a new session in this repository; /hooks lists the hooks",
        setup_parts.MCP: "allow the MCP server `bb` when Claude Code asks",
    },
    hosts.CODEX: {
        setup_parts.HOOKS: (
            "trust this project when Codex asks, then review the hooks with /hooks. Until then Codex skips them "
            "and does not say so"
        ),
        setup_parts.MCP: "restart Codex, which then starts `bb mcp`",
    },
    hosts.GEMINI: {
        setup_parts.HOOKS: "restart it, and trust this folder when it asks. In an untrusted folder it skips the hooks",
        setup_parts.MCP: "/mcp shows whether it has started `bb mcp`",
    },
    hosts.OPENCODE: {setup_parts.HOOKS: "restart it", setup_parts.MCP: "restart it"},
    hosts.CURSOR: {setup_parts.HOOKS: "restart it", setup_parts.MCP: "enable `bb` in its settings, under MCP"},
    hosts.VSCODE: {
        setup_parts.HOOKS: "start a new chat with an agent",
        setup_parts.MCP: "allow the MCP server `bb` when it asks",
    },
}
REVIEW = "in {}, replace `main` by the commit of bb that you have reviewed. CI judges what `bb sync` has published"
IN_CI = {
    setup_parts.GITHUB: "GitHub: " + REVIEW.format(".github/workflows/bb.yml"),
    setup_parts.GITLAB: "GitLab: " + REVIEW.format(".gitlab/bb.yml"),
}
ABSOLUTE = (
    "These files call {}, a path of this machine. Before you commit them, put bb on the PATH (uv tool install, pipx) "
    "and run bb setup again"
)


def for_person(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The steps that follow from the ROWS of a setup."""
    steps = [f"{row['part']}: {row['by_hand']}" for row in rows if row["by_hand"]]
    fresh = {row["part"] for row in rows if row["outcome"] in FRESH}
    for host, by_kind in IN_HOSTS.items():
        its = [by_kind[part.kind] for part in setup_parts.PARTS if part.host == host and part.name in fresh]
        steps += [f"{hosts.HOSTS[host].title}: {'; '.join(dict.fromkeys(its))}"] if its else []
    return steps + [text for service, text in IN_CI.items() if f"{setup_parts.CI}-{service}" in fresh]


def to_commit(desk: Desk, files: Sequence[str], *, is_undo: bool = False) -> dict[str, Any] | None:
    """The FILES that are not committed, and the command that commits them. None if everything is committed.

    After an undo, only files that had been committed before are in question.
    """
    work_tree = desk.place.work_tree
    inside = [] if work_tree is None else [os.path.relpath(path, work_tree) for path in files]
    names = sorted({name.replace(os.sep, "/") for name in inside if not name.startswith((os.pardir, ".git" + os.sep))})
    if work_tree is None or not names:
        return None
    untracked = f"--untracked-files={'no' if is_undo else 'all'}"
    literal = [f":(literal){name}" for name in names]
    listed = git.output(["status", "--porcelain=v1", "-z", untracked, "--", *literal], at=work_tree)
    paths = sorted({by_folder(path) for path in changes.changed_paths(listed)})
    title = "Remove bb" if is_undo else "Set up bb"
    return {"paths": paths, "command": _commit(desk, work_tree, " ".join(map(quoted, paths)), title)} if paths else None


def _commit(desk: Desk, work_tree: str, words: str, title: str) -> str:
    """The command that commits the files WORDS with a TITLE, and nothing else that is staged."""
    run = "git" if desk.cwd == work_tree else f"git -C {quoted(work_tree)}"
    is_staged = git.output(["diff", "--cached", "--name-only", "-z"], at=work_tree)
    return f"{run} add -- {words} && {run} commit -m '{title}'" + (f" -- {words}" if is_staged else "")


def by_folder(path: str) -> str:
    """A file of the skill in short: its folder."""
    folder, found, _ = path.partition(f"/{skill.NAME}/")
    return f"{folder}/{skill.NAME}" if found else path
