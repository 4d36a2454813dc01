"""The entry for `bb mcp` in the configuration of an MCP host: insert and remove it.

The file belongs to the user: only our entry is changed, and no other character. The file is often committed, so the
entry has no secrets and no machine-specific paths; the program is found by its name.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from bb.kernel import json_text
from bb.kernel.errors import Conflict
from bb.kernel.json_edit import member, members, put, root, without_member
from bb.kernel.json_text import NotJson
from bb.kernel.record import Record

NAME = "bb"
CLAUDE, CURSOR, VSCODE, GEMINI, CODEX, OPENCODE = "claude", "cursor", "vscode", "gemini", "codex", "opencode"
FOLDER = "${workspaceFolder}"  # the open directory, for hosts that start servers in another directory
PASSED_ON = ["BB_AGENT"]  # Codex passes an environment variable to a server only if it is listed
EMPTY = "{}\n"
# opencode inserts this member into a configuration without it, so a new file has it from the start.
SCHEMA = '{\n  "$schema": "https://opencode.ai/config.json"\n}\n'

NameTaken = Conflict.declare(
    "MCP_NAME_TAKEN",
    "The configuration already has another server with that name",
    hint="rename that server in the file, or add the entry for bb by hand under another name: see docs/mcp.md",
)


class Host(Record):
    """The file of a host's project configuration, and the member that lists its servers."""

    file: str
    servers: str
    note: str
    is_toml: bool = False
    is_told_where: bool = False
    is_one_list: bool = False
    new: str = EMPTY  # the text of a new file


HOSTS = {
    CLAUDE: Host(
        ".mcp.json", "mcpServers", "Claude Code asks whether to trust it in its next session; Copilot CLI reads it too"
    ),
    CURSOR: Host(".cursor/mcp.json", "mcpServers", "enable it in Cursor's settings, under MCP", is_told_where=True),
    VSCODE: Host(".vscode/mcp.json", "servers", "VS Code asks whether to trust it, then starts it", is_told_where=True),
    GEMINI: Host(".gemini/settings.json", "mcpServers", "Gemini CLI uses it from its next session on; check with /mcp"),
    CODEX: Host(".codex/config.toml", "mcp_servers", "Codex uses it once the project is trusted", is_toml=True),
    OPENCODE: Host("opencode.json", "mcp", "opencode uses it from its next session on", is_one_list=True, new=SCHEMA),
}


class Wanted(Record):
    """The options of our entry."""

    host: str
    program: str = "bb"
    agent: str | None = None


def entry(wanted: Wanted) -> dict[str, Any]:
    """Our entry in the configuration of a host."""
    host = HOSTS[wanted.host]
    where = ["--directory", FOLDER] if host.is_told_where else []
    args = ["mcp", *where, *(["--agent", wanted.agent] if wanted.agent else [])]
    if host.is_one_list:
        return {"type": "local", "command": [wanted.program, *args], "enabled": True}
    kind = {"type": "stdio"} if wanted.host == VSCODE else {}
    return kind | {"command": wanted.program, "args": args} | ({"env_vars": PASSED_ON} if host.is_toml else {})


def manual_instruction(wanted: Wanted) -> str:
    """Our entry on one line, as an instruction for a user who edits the configuration by hand."""
    host, ours = HOSTS[wanted.host], entry(wanted)
    if host.is_toml:
        header, *lines = _toml_lines(ours)
        return f"the table {header} with {', '.join(lines)}"
    return f"{json_text.dumps(NAME)}: {json_text.dumps(ours)} in {host.servers}"


def is_ours(found: object) -> bool:
    """Whether an entry starts `bb mcp`, whatever the program's name."""
    if not isinstance(found, dict):
        return False
    words = _words(found)
    own = words[1:3] if words[1:2] != ["-m"] else words[3:]  # after `python -m bb`
    return own[:1] == ["mcp"] and set(own[1:2]) <= {"--directory", "--agent"}


def command_of(wanted: Wanted) -> list[str]:
    """The words of the command in our entry."""
    return [str(word) for word in _words(entry(wanted))]


def _words(found: dict[str, Any]) -> list[Any]:
    """The command of an entry and its arguments, in the form of any host."""
    command, args = found.get("command"), found.get("args", [])
    return [*(command if isinstance(command, list) else [command]), *(args if isinstance(args, list) else [])]


def wired(text: str, wanted: Wanted) -> str:
    """TEXT, the configuration of a host, with our entry in it once. Members that a user added to it are kept."""
    host = HOSTS[wanted.host]
    current = _found(text, host)
    if current is not None and not is_ours(current):
        raise NameTaken(f"{host.file} already has a server {NAME!r} that was not added by bb", file=host.file)
    whole = (current or {}) | entry(wanted)
    if current == whole:
        return text
    return _with_toml(unwired(text, wanted.host), whole) if host.is_toml else _with_json(text, host, whole)


def installed(text: str, name: str) -> dict[str, Any] | None:
    """Our entry in TEXT, the configuration of the host NAME; None if there is none."""
    found = _found(text, HOSTS[name])
    return found if is_ours(found) else None


def options(found: dict[str, Any], name: str) -> Wanted | None:
    """The options with which bb wrote the entry FOUND of the host NAME; None if bb does not write such an entry."""
    words = _words(found)
    if not words or not all(isinstance(word, str) for word in words):
        return None
    agent = words[words.index("--agent") + 1 :][:1] if "--agent" in words else []
    wanted = Wanted(name, words[0], agent[0] if agent else None)
    ours = entry(wanted)
    return (
        wanted
        if {member: found.get(member) for member in ("command", "args") if member in ours}
        == {member: ours[member] for member in ("command", "args") if member in ours}
        else None
    )


def unwired(text: str, name: str) -> str:
    """TEXT without our entry, and without members that become empty."""
    host = HOSTS[name]
    if not is_ours(_found(text, host)):
        return text
    return _without_toml(text) if host.is_toml else _without_json(text, host)


def _found(text: str, host: Host) -> Any:
    """The entry with our name, or None."""
    servers = _read(text, host).get(host.servers)
    if servers is not None and not isinstance(servers, dict):
        raise NotJson(f"its {host.servers} is not an object")
    return servers.get(NAME) if servers else None


def _read(text: str, host: Host) -> dict[str, Any]:
    if host.is_toml:
        return _read_toml(text)
    try:
        content: dict[str, Any] = json_text.loads(text[root(text) :]) if text else {}
    except NotJson as error:
        if is_relaxed(text):
            raise NotJson("it seems to have comments, or commas at the ends of lists") from error
        raise
    return content


# -- JSON

# JSON with comments and trailing commas, as VS Code allows it. The first group skips quoted texts.
COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')


def is_relaxed(text: str) -> bool:
    """Whether TEXT, which is not JSON, becomes a JSON object without its comments and trailing commas."""
    plain = LAST_COMMA.sub(lambda found: found[1] or "", COMMENT.sub(lambda found: found[1] or " ", text))
    with suppress(NotJson):
        return isinstance(json_text.loads(plain), dict)
    return False


def _with_json(text: str, host: Host, wanted: dict[str, Any]) -> str:
    text = _without_entry(text or host.new, host)
    if member(text, root(text), host.servers) is None:
        text = put(text, root(text), 0, {}, host.servers)
    servers = member(text, root(text), host.servers)
    return put(text, servers.value if servers else 0, 1, wanted, NAME)


def _without_json(text: str, host: Host) -> str:
    text = _without_entry(text, host)
    servers = member(text, root(text), host.servers)
    if servers and not members(text, servers.value)[0]:
        text = without_member(text, root(text), host.servers)
        return EMPTY if text == host.new else text
    return text


def _without_entry(text: str, host: Host) -> str:
    servers = member(text, root(text), host.servers)
    return text if servers is None else without_member(text, servers.value, NAME)


# -- TOML. There is no TOML writer: our lines are appended as text, and the result is parsed to verify it.

HEADER = re.compile(rf"^[ \t]*\[mcp_servers\.{NAME}(\.[^\]]*)?\][ \t]*(#.*)?$")
ANY_HEADER = re.compile(r"^[ \t]*\[")


def _read_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise NotJson(str(error)) from None


def _with_toml(text: str, wanted: dict[str, Any]) -> str:
    if any(isinstance(value, dict) for value in wanted.values()):
        raise NotJson(f"mcp_servers.{NAME} has a nested table, which bb cannot write")
    line_end = "\r\n" if "\r\n" in text else "\n"
    lines = [*_toml_lines(wanted), ""]
    before = text if not text or text.endswith("\n") else text + line_end
    after = before + (line_end if before else "") + line_end.join(lines)
    return _proven(text, after, wanted)


def _toml_lines(ours: dict[str, Any]) -> list[str]:
    return [f"[mcp_servers.{NAME}]", *(f"{key} = {json_text.dumps(value)}" for key, value in ours.items())]


def _without_toml(text: str) -> str:
    """TEXT without our table and its nested tables. A line in a multi-line string may look like our header, so the
    candidates are tried, the last one first, until the result is correct."""
    lines = text.splitlines(keepends=True)
    headers = [place for place, line in enumerate(lines) if HEADER.match(line.rstrip("\r\n"))]
    for chosen in ({place} for place in reversed(headers)):
        with suppress(NotJson):
            return _proven(text, _without_tables(lines, chosen), None)
    return _proven(text, _without_tables(lines, set(headers)), None)


def _without_tables(lines: Sequence[str], headers: set[int]) -> str:
    """LINES without the tables that begin at HEADERS. Comments before the next table belong to that table."""
    kept: list[str] = []
    loose: list[str] = []  # comments and blank lines that are ours only if more lines of ours follow
    is_within = False
    for place, line in enumerate(lines):
        if place in headers:
            if not is_within and kept and not kept[-1].strip():
                kept.pop()  # the empty line that was inserted before our table
            is_within = True
        elif ANY_HEADER.match(line):
            is_within = False
        if not is_within:
            kept += [*loose, line]
            loose = []
        elif line.strip() and not line.lstrip().startswith("#"):
            loose = []
        else:
            loose.append(line)
    return "".join([*kept, *loose])


def _proven(before: str, after: str, wanted: dict[str, Any] | None) -> str:
    """AFTER, if it differs from BEFORE only in our entry."""
    expected = _read_toml(before)
    servers = {name: value for name, value in expected.pop("mcp_servers", {}).items() if name != NAME}
    servers |= {} if wanted is None else {NAME: wanted}
    if _read_toml(after) != expected | ({"mcp_servers": servers} if servers else {}):
        raise NotJson("its servers are written in a form that bb cannot change")
    return after
