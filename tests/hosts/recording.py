"""Payloads of real hosts, without what is of one run or one machine: tests/data/hooks/recorded/HOST-VERSION/NAME.json.

The ordinary tests play these files. `BB_RECORD_HOOKS=1 scripts/test --hosts -k recorded` writes them anew.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.hosts import tools
from tests.hosts.bench import HELD, HOLDER, Bench, Call
from tests.hosts.model.turns import Call as Asked
from tests.hosts.model.turns import Turn
from tests.hosts.programs import Host

RECORDED = Path(__file__).resolve().parents[1] / "data" / "hooks" / "recorded"
MOVE = f"""\
*** Begin Patch
*** Add File: docs/new.md
+*** Update File: no/header.md
*** Update File: docs/old.md
*** Move to: {HELD}
@@
-x
+y
*** End Patch
"""
NAMES = {"run_shell_command": "shell"}  # the rest are named as their tools are
SESSIONS = {  # the ids that stand for the recorded ones
    "claude": "8c35adc1-0000-4000-8000-000000000001",
    "codex": "0199a213-81c0-7800-8aa1-bbab2a035a53",
    "gemini": "3f0d4c52-7a0e-4c0e-9a43-0b6a3c1d2e4f",
}
SCRUBBED = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"), "2026-01-05T12:00:00.000Z"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d(-\d\d)?"), "2026-01-05T12-00"),
    (re.compile(r"sessions/\d{4}/\d\d/\d\d/"), "sessions/2026/01/05/"),
    (re.compile(r'"(duration_ms|seconds_since_last_response|context_tokens)":\d+'), r'"\1":10'),
    (re.compile(r"(PGID|Wall time): [\d.]+"), r"\1: 0"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UUID"),
)


def folder(host: Host) -> Path:
    return RECORDED / f"{host.name}-{host.version}"


def record(bench: Bench) -> dict[str, Any]:
    """The payloads of two runs by name. The model uses all tools that write, and nobody holds anything."""
    bench.bb("agent", "release", "--agent", HOLDER, "--all")
    (bench.repo.path / "docs").mkdir()
    (bench.repo.path / "docs" / "old.md").write_text("x\n")
    bench.run(*_script(bench))
    found = bench.calls()
    bench.run("Done.", words=bench.host.resuming)
    payloads: dict[str, Any] = {}
    for call in [*found, *bench.calls()]:
        if call.words[0] == "hook":
            payloads.setdefault(_name(call), json.loads(_scrubbed(bench, call)))
    return {name: each for name, each in payloads.items() if not name.startswith("after-mcp")}  # bb's own answers


def _script(bench: Bench) -> list[Turn]:
    name, path = bench.host.name, str(bench.repo.path / HELD)
    common = [*tools.edit(name, bench.repo.path / HELD), tools.shell(name, "COMMAND"), *tools.mcp(name, "session")]
    if name == "codex":
        patch = "apply_patch <<'EOF'\n" + tools.PATCH.format(path=HELD) + "EOF"
        return [*common, tools.shell(name, patch), [Asked("apply_patch", MOVE)], "Done."]
    written = {"claude": "Write", "gemini": "write_file"}[name]
    return [*common, [Asked(written, {"file_path": path, "content": "x = 1\n"})], "Done."]


def _name(call: Call) -> str:
    """A name for a payload: the moment, or the tool."""
    payload, moment = call.payload, call.words[1]
    if moment not in ("pre-tool", "post-tool"):
        is_again = payload.get("source") == "resume" or payload.get("stop_hook_active")
        return f"{moment}{'-again' if is_again else ''}"
    tool, said = payload["tool_name"], json.dumps(payload["tool_input"])
    name = NAMES.get(tool, re.sub("_+", "-", tool).lower())
    if "*** Begin Patch" in said:
        name = "patch-in-shell" if tool == "Bash" else f"{name}{'-move' if '*** Move to' in said else ''}"
    return name if moment == "pre-tool" else f"after-{name}"


def _scrubbed(bench: Bench, call: Call) -> str:
    """The text of a payload, with constants for paths, names, ids and times."""
    host, home = bench.host.name, str(bench.folder / "home")
    text, session = call.heard, call.payload["session_id"]
    for old, new in (
        (str(bench.repo.path), "CWD"),
        (re.sub(r"[^A-Za-z0-9]", "-", str(bench.repo.path)), "x"),
        (home, "/home/someone"),
        (session, "SESSION"),
        (bench.agent, "amber-otter"),
    ):
        text = text.replace(old, new)
    for pattern, new in SCRUBBED:
        text = pattern.sub(new, text)
    return text.replace("SESSION", SESSIONS[host]).replace(session[:8], SESSIONS[host][:8])


def shape(value: Any) -> Any:
    """The members of a payload and their kinds, whatever their values."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in sorted(value.items())}
    return [shape(each) for each in value[:1]] if isinstance(value, list) else type(value).__name__


def write(host: Host, payloads: dict[str, Any]) -> None:
    folder(host).mkdir(parents=True, exist_ok=True)
    for name, payload in payloads.items():
        (folder(host) / f"{name}.json").write_text(json.dumps(payload, indent=2, ensure_ascii=False) + "\n")
