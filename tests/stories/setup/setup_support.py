"""What the stories of `bb setup` share: a repository with files of a person, and a folder to the byte."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tests.near import Near, near
from tests.support import NOON, Scratch

# A PATH with git and a shell, and without any host.
TOOLS = ("git", "sh", "bash", "cat", "dirname", "basename", "sed", "grep", "env", "python3")

CLAUDE = (
    '{\n\t"permissions" : {"allow": ["Bash(ls)"]},\n\n\t"hooks": { "PreToolUse": [ {"matcher": "Bash", "hooks": [\n'
    '\t\t{"type": "command", "command": "./guard.sh"}]} ] }  }'
)
CODEX = '# my settings\r\nmodel = "o"   # fast\r\n[mcp_servers.docs]\r\ncommand = "docs"'
GEMINI = '{ "theme":"dark",\r\n   "mcpServers" : {} }\r\n\r\n'
AGENTS = "# For agents\n\nRun the tests."  # without a line end
HOOK = "#!/bin/sh\necho before >> hook-ran\n"
VSCODE = '{\n  // the servers of the team\n  "servers": {},\n}\n'
FILES = {
    ".claude/settings.json": CLAUDE,
    ".codex/config.toml": CODEX,
    ".gemini/settings.json": GEMINI,
    "AGENTS.md": AGENTS,
    "CLAUDE.md": "Use tabs.\r\n",
    ".github/CODEOWNERS": "* @ada\n",
    "src/a.py": "x = 1\n",
}


def empty(path: Path) -> Near:
    """A repository without files, on a machine without hosts."""
    return near(path, BB_NOW=NOON, PATH=plain_path(path.parent))


def furnished(path: Path) -> Near:
    """A repository with settings in odd forms, a hook, a read-only file and an empty folder."""
    repo = empty(path)
    for name, text in FILES.items():
        write(repo, name, text)
    hook = repo.path / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK)
    hook.chmod(0o750)
    (repo.path / "AGENTS.md").chmod(0o640)
    (repo.path / ".agents").mkdir(mode=0o700)
    return repo


def write(repo: Scratch, name: str, text: str) -> None:
    path = repo.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def plain_path(folder: Path) -> str:
    """A folder for PATH that contains only common tools."""
    where = folder / "tools"
    where.mkdir(exist_ok=True)
    for name in TOOLS:
        found = next(
            (Path(at) / name for at in os.environ["PATH"].split(os.pathsep) if (Path(at) / name).exists()), None
        )
        if found and not (where / name).exists():
            (where / name).symlink_to(found)
    return str(where)


def to_the_byte(folder: Path) -> dict[str, tuple[int, object]]:
    """Every file, link and folder below FOLDER with its permissions and contents. git's own index may be refreshed."""
    return {str(path.relative_to(folder)): _as_it_is(path) for path in sorted(folder.rglob("*"))}


def _as_it_is(path: Path) -> tuple[int, object]:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return 0, os.readlink(path)
    return stat.S_IMODE(status.st_mode), path.read_bytes() if path.is_file() else None


def outcomes(repo: Scratch, *words: str, **settings: str) -> dict[str, str]:
    """The outcome of each part, from `bb setup WORDS --json`, whether it succeeds or not."""
    envelope = repo.json("setup", *words, **settings).envelope
    report = envelope["data"] or envelope["error"]["details"]
    return {row["part"]: row["outcome"] for row in report["parts"]}
