"""What the stories of editors share: payloads as an editor sends them, and what it makes of the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support import Ran, Scratch

DATA = Path(__file__).resolve().parents[2] / "data" / "hooks"


def payload(name: str, files: Path, command: str = "", **more: Any) -> str:
    """The payload of that NAME, about FILES and sent from there: a recorded one if there is one."""
    host, _, short = name.partition("/")
    (file,) = [*DATA.glob(f"recorded/{host}-*/{short}.json")] or [DATA / f"{name}.json"]
    text = file.read_text()
    found = json.loads(text.replace("CWD", json.dumps(str(files))[1:-1]))
    if command:
        found["tool_input"]["command"] = command
    return json.dumps(found | more)


def hook(repo: Scratch, verb: str, name: str, *words: str, cwd: Path | None = None, **more: Any) -> Ran:
    """What `bb hook VERB` answers to the recorded payload of that NAME."""
    settings = {
        key: more.pop(key) for key in list(more) if key.startswith(("BB_", "CLAUDE_", "CODEX_", "GEMINI_", "OPENCODE_"))
    }
    said = payload(name, cwd or repo.path, **more)
    ran = repo.bb("hook", verb, *words, stdin=said, cwd=cwd, **settings)
    assert "INTERNAL_ERROR" not in ran.err, ran.err
    return ran


def reply(ran: Ran) -> dict[str, Any]:
    """What the editor reads: one JSON object, or nothing."""
    assert ran.status == 0, ran.err
    return json.loads(ran.out) if ran.out else {}


def refusal(ran: Ran) -> str:
    """Why the editor must not run the tool; empty when it may."""
    said = reply(ran)
    verdict = said.get("hookSpecificOutput", {})
    if said.get("decision") == "deny":
        return str(said["reason"])
    if said.get("permission") == "deny":
        return str(said["agent_message"])
    return str(verdict["permissionDecisionReason"]) if verdict.get("permissionDecision") == "deny" else ""


def context(ran: Ran) -> str:
    """What the editor's agent is told; empty when that is nothing."""
    return str(reply(ran).get("hookSpecificOutput", {}).get("additionalContext", ""))
