"""The hosts that run agents: their names, and the signs that a repository or a machine uses them.

A host counts as used if the repository has one of its files, or if one of its programs is on the PATH. Files that bb
itself wrote are no sign: otherwise a second `bb setup` would find hosts that the first one did not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bb.kernel.record import Record

CLAUDE, CODEX, GEMINI = "claude", "codex", "gemini"
OPENCODE, CURSOR, VSCODE = "opencode", "cursor", "vscode"


class Host(Record):
    """A host: its title, its files in a repository, and its programs."""

    title: str
    files: tuple[str, ...]
    programs: tuple[str, ...]


HOSTS = {
    CLAUDE: Host("Claude Code", (".claude", "CLAUDE.md", ".mcp.json"), ("claude",)),
    CODEX: Host("Codex", (".codex",), ("codex",)),
    GEMINI: Host("Gemini CLI", (".gemini", "GEMINI.md"), ("gemini",)),
    OPENCODE: Host("OpenCode", (".opencode", "opencode.json", "opencode.jsonc"), ("opencode",)),
    CURSOR: Host("Cursor", (".cursor", ".cursorrules"), ("cursor", "cursor-agent")),
    VSCODE: Host("VS Code", (".vscode", ".github/copilot-instructions.md"), ("code",)),
}


class Used(Record):
    """A host that is in use, and the signs of it: files of the repository, or programs."""

    host: str
    signs: tuple[str, ...]


def in_use(files: Collection[str], programs: Collection[str]) -> list[Used]:
    """The hosts in use, given the FILES of the repository and the PROGRAMS on the PATH."""
    found = []
    for name, host in HOSTS.items():
        signs = [file for file in host.files if file in files]
        signs += [f"{program} on the PATH" for program in host.programs if program in programs]
        if signs:
            found.append(Used(name, tuple(signs)))
    return found


def all_files() -> Sequence[str]:
    """The files of all hosts."""
    return [file for host in HOSTS.values() for file in host.files]


def all_programs() -> Sequence[str]:
    """The programs of all hosts."""
    return [program for host in HOSTS.values() for program in host.programs]
