"""The real programs: which versions, where they are kept, and how each is run headless against a scripted model.

A host starts with an empty home, a dummy key, telemetry and updates off, and all of the internet behind a proxy that
is not there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEAD = "http://127.0.0.1:9"  # the discard port, where nobody listens
PROXIES = dict.fromkeys(["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"], DEAD)
LOOPBACK = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
QUIET = {"DO_NOT_TRACK": "1", "NO_COLOR": "1", "CI": "1", "TERM": "dumb"}
TRUSTED = "--dangerously-bypass-hook-trust"  # Codex runs no hook that nobody has reviewed with /hooks
KEY = "dummy-key-for-tests"


@dataclass(frozen=True)
class Host:
    """An agent program of the npm registry."""

    name: str
    package: str
    version: str
    program: str
    settings: Callable[[Path, Path, str], dict[str, str]]  # writes the home's files; the variables
    words: tuple[str, ...]  # the command line, before the prompt
    resuming: tuple[str, ...]  # the same, to go on with the last session
    like: str = ""  # the host whose hooks and servers it reads, if it has no settings of its own for them
    acp: tuple[str, ...] = ()  # the arguments with which it speaks the Agent Client Protocol

    @property
    def folder(self) -> Path:
        return cache() / f"{self.name}-{self.version}"

    @property
    def path(self) -> Path:
        return self.folder / "node_modules" / (self.program if "/" in self.program else f".bin/{self.program}")


def cache() -> Path:
    """Where the programs are installed."""
    kept = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("BB_HOSTS") or f"{kept}/bb-hosts")


def isolated(home: Path, shims: Path) -> dict[str, str]:
    """The environment in which a host runs."""
    path = os.pathsep.join([str(shims), *os.environ["PATH"].split(os.pathsep)])
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "SHELL": "/bin/bash"} | PROXIES | LOOPBACK | QUIET


def write(path: Path, content: dict[str, Any] | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2) + "\n")


def _claude(home: Path, repo: Path, url: str) -> dict[str, str]:
    write(
        home / ".claude.json",
        {"hasCompletedOnboarding": True, "projects": {str(repo): {"hasTrustDialogAccepted": True}}},
    )
    write(home / ".claude" / "settings.json", {"enableAllProjectMcpServers": True})
    off = dict.fromkeys(["DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING"], "1")
    off |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1"}
    return off | {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY}


def _codex(home: Path, repo: Path, url: str) -> dict[str, str]:
    write(
        home / ".codex" / "config.toml",
        f"""\
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"

[analytics]
enabled = false

[model_providers.scripted]
name = "Scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"

[projects."{repo}"]
trust_level = "trusted"
""",
    )
    return {"OPENAI_API_KEY": KEY}


def _gemini(home: Path, repo: Path, url: str) -> dict[str, str]:
    write(
        home / ".gemini" / "settings.json",
        {
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
        },
    )
    write(home / ".gemini" / "trustedFolders.json", {str(repo): "TRUST_FOLDER"})
    return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url}


def _opencode(home: Path, repo: Path, url: str) -> dict[str, str]:
    model = {"name": "scripted", "tool_call": True, "limit": {"context": 100000, "output": 10000}}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "Scripted", "models": {"scripted": model}}
    provider |= {"options": {"baseURL": f"{url}/v1", "apiKey": KEY}}
    schema = "https://opencode.ai/config.json"
    config = {"$schema": schema, "autoupdate": False, "share": "disabled", "model": "scripted/scripted"}
    write(home / ".config" / "opencode" / "opencode.json", config | {"provider": {"scripted": provider}})
    # With a plugin, OpenCode installs a package of its own, and waits for it: a minute, if npm tries again.
    write(home / ".npmrc", "fetch-retries=0\n")
    off = ["OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD"]
    return dict.fromkeys(off, "1")


def _copilot(home: Path, repo: Path, url: str) -> dict[str, str]:
    offline = {"COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false", "COPILOT_ALLOW_ALL": "true"}
    provider = {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": KEY, "COPILOT_MODEL": "gpt-5"}
    return offline | provider


HOSTS = {
    host.name: host
    for host in (
        Host(
            name="claude",
            package="@anthropic-ai/claude-code",
            version="2.1.330",
            program="claude",
            settings=_claude,
            words=("--dangerously-skip-permissions", "--print"),
            resuming=("--dangerously-skip-permissions", "--continue", "--print"),
        ),
        Host(
            name="codex",
            package="@openai/codex",
            version="0.169.0",
            program="codex",
            settings=_codex,
            words=("exec", TRUSTED),
            resuming=("exec", "resume", "--last", TRUSTED),
        ),
        Host(
            name="gemini",
            package="@google/gemini-cli",
            version="0.61.0",
            program="gemini",
            settings=_gemini,
            words=("--model", "gemini-2.5-pro", "--approval-mode", "yolo", "--prompt"),
            resuming=("--resume", "latest", "--model", "gemini-2.5-pro", "--approval-mode", "yolo", "--prompt"),
            acp=("--model", "gemini-2.5-pro", "--acp"),
        ),
        Host(
            name="opencode",
            package="opencode-ai",
            version="1.18.33",
            program="opencode",
            settings=_opencode,
            words=("run",),
            resuming=("run", "--continue"),
            acp=("acp",),
        ),
        Host(
            name="copilot",
            package="@github/copilot",
            version="1.0.102",
            program="copilot",
            settings=_copilot,
            words=("--allow-all", "--prompt"),
            resuming=("--continue", "--allow-all", "--prompt"),
            like="claude",
            acp=("--acp",),
        ),
    )
}

# The agent in the examples of the SDK of the Agent Client Protocol. Later versions of the package leave them out.
ACP_EXAMPLE = Host(
    name="acp-sdk",
    package="@agentclientprotocol/sdk",
    version="1.9.0",
    program="@agentclientprotocol/sdk/dist/examples/agent.js",
    settings=lambda *_: {},
    words=(),
    resuming=(),
)
