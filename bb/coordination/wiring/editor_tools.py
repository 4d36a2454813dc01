"""The tools of editors that change files or run commands: their names, and the members of their input.

For a tool of an MCP server only the last part of the name counts. A tool that is in no table, but is given a path and a
content, probably changes a file; bb does not judge it, and says so.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

PATH_NAMES = ("file_path", "filePath", "path")

# Tools that change files, and the members of their input that hold paths.
EDITS = {
    # Copilot CLI gives its tools the names of Claude Code's, but its own members.
    **dict.fromkeys(["Edit", "MultiEdit", "Write", "Update", "StrReplace", "Delete", "replace"], PATH_NAMES),
    **dict.fromkeys(
        ["NotebookEdit", "EditNotebook", "notebook_edit"], ("notebook_path", "target_notebook", *PATH_NAMES)
    ),
    **dict.fromkeys(["write_file", "edit_file", "create_file", "delete_file", "str_replace_editor"], PATH_NAMES),
    **dict.fromkeys(["edit", "write", "create", "multiedit"], PATH_NAMES),  # OpenCode, Copilot CLI
    **dict.fromkeys(["replace_string_in_file", "insert_edit_into_file", "edit_notebook_file"], PATH_NAMES),  # VS Code
    **dict.fromkeys(
        ["multi_replace_string_in_file", "editFiles", "createFile"], ("replacements", "files", *PATH_NAMES)
    ),
    "move_file": ("source", "destination"),
}
PATCHES = {"apply_patch": ("command", "input", "patch", "patchText")}
SHELLS = dict.fromkeys(
    [
        *(
            "Bash",
            "PowerShell",
            "Monitor",
            "run_shell_command",
            "shell_command",
            "exec_command",
            "shell",
            "local_shell",
        ),
        *("bash", "powershell", "Shell", "run_in_terminal", "runTerminalCommand"),
    ],
    ("command", "cmd"),
)
FOLDERS = ("workdir", "dir_path", "directory")  # OpenCode; Gemini CLI; Qwen Code. Codex gives its `cwd` instead.
BEGIN_PATCH = "*** Begin Patch"
PATCH_HEADERS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")

# What the members of an unknown tool are called if it changes a file, in lower case and without underscores.
PATH_MEMBERS = (
    *("filepath", "path", "file", "filename", "absolutepath", "relativepath", "notebookpath", "targetfile"),
    *("targetpath", "destination", "uri"),
)
CONTENT_MEMBERS = frozenset(
    [
        *("content", "contents", "text", "newtext", "newstring", "newstr", "newsource", "newcontent", "body", "code"),
        *(
            "edits",
            "filetext",
            "patch",
            "diff",
            "replacement",
            "replacements",
            "codeedit",
            "insert",
            "inserttext",
            "oldstring",
        ),
    ]
)
OWN_SERVER = "_bb_"  # the tools of bb's own MCP server: mcp__bb__turn, mcp_bb_turn, bb_turn


def bare_name(tool: str) -> str:
    """The name of a tool without that of its MCP server. Gemini CLI and OpenCode join the two with one underscore, so
    that only the end of the name tells which tool it is."""
    if tool.startswith("mcp__"):
        return tool.rpartition("__")[2]
    if tool.startswith("MCP:"):
        return tool.removeprefix("MCP:")
    if "_" not in tool or changes_files(tool) or tool in SHELLS:
        return tool
    return next((name for name in (*EDITS, *PATCHES, *SHELLS) if "_" in name and tool.endswith(f"_{name}")), tool)


def paths(name: str, given: dict[str, Any]) -> tuple[str, ...]:
    """The files that a tool would change, without duplicates."""
    found = [path for named in EDITS.get(name, ()) for path in _paths_in(given.get(named))]
    for named in PATCHES.get(name, ()):
        found += patched(member(given, named))
    if name in SHELLS and BEGIN_PATCH in (line := command(name, given)):
        found += patched(line)  # Codex also accepts a patch in a shell command
    return tuple(dict.fromkeys(found))


def _paths_in(value: object) -> Iterator[str]:
    """The path or paths in a member: a text, a list of texts, or a list of objects with a path each."""
    for each in value if isinstance(value, list) else (value,):
        found = [each.get(named) for named in PATH_NAMES] if isinstance(each, dict) else [each]
        yield from (path for path in found if isinstance(path, str) and path)


def patched(patch: str) -> Iterator[str]:
    """The files in the headers of a patch in Codex's format. Codex accepts indented headers."""
    for line in map(str.strip, patch.split("\n")):
        header = next((prefix for prefix in PATCH_HEADERS if line.startswith(prefix)), None)
        if header and (path := line[len(header) :].strip()):
            yield path


def command(name: str, given: dict[str, Any]) -> str:
    """The command line of a shell tool. A list of words is joined, with each word quoted. A backslash of PowerShell
    separates folders, and does not quote."""
    for named in SHELLS.get(name, ()):
        value = given.get(named)
        if isinstance(value, str):
            return value.replace("\\", "/") if name.lower() == "powershell" else value
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            return " ".join("'" + word.replace("'", "'\\''") + "'" for word in value)
    return ""


def folder(name: str, given: dict[str, Any]) -> str:
    """The folder in which a shell tool runs its command, if it is told one; else empty."""
    return next(filter(None, (member(given, named) for named in FOLDERS)), "") if name in SHELLS else ""


def changes_files(name: str) -> bool:
    """Whether a tool of this NAME changes files."""
    return name in EDITS or name in PATCHES


def unknown_edit(tool: str, given: dict[str, Any]) -> str:
    """The path that a tool which is in no table seems to write; empty if it does not seem to write any."""
    name = bare_name(tool)
    if not tool or changes_files(name) or name in SHELLS or OWN_SERVER in f"_{tool}":
        return ""
    members = {named.replace("_", "").lower(): named for named in given}
    if CONTENT_MEMBERS.isdisjoint(members):
        return ""
    found = [member(given, members[named]) for named in PATH_MEMBERS if named in members]
    return next(filter(None, found), "")


def member(given: dict[str, Any], name: str) -> str:
    """A member of a payload; empty if it is missing or not a text."""
    value = given.get(name)
    return value if isinstance(value, str) else ""
