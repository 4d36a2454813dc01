"""A repository in which a real host works, set up as a user sets it up, and a record of what the host gave to bb."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bb.coordination.wiring import editors
from tests.hosts.model.server import Model, serve
from tests.hosts.model.turns import Step
from tests.hosts.programs import Host, isolated
from tests.support import ROOT, Ran, Scratch, scratch

HOLDER = "cobalt-harbor"
HELD, FREE = "src/a.py", "src/b.py"
HOOKS_IN = 5  # seconds
SECONDS = 90  # a host that takes longer hangs

# `bb` on the host's PATH: it keeps the variables, the input and the output of each call, and changes nothing.
SHIM = """\
#!/bin/sh
export PYTHONPATH='{root}'
kept='{records}'/$(date +%s%N)-$$
env > "$kept.env"
echo "$*" > "$kept.words"
bb() {{
    '{python}' -m bb "$@"
}}
case "$1" in
mcp) tee "$kept.in" | bb "$@" | tee "$kept.out" ;;
*)
    if [ "$1" = hook ]; then cat; fi > "$kept.in"
    bb "$@" < "$kept.in" > "$kept.out" 2> "$kept.err"
    status=$?
    cat "$kept.out"
    cat "$kept.err" >&2
    : > "$kept.ended"
    exit $status
    ;;
esac
"""


@dataclass(frozen=True)
class Call:
    """One call of bb by a host."""

    words: list[str]
    env: dict[str, str]
    heard: str  # what bb read from its stdin
    said: str  # what it wrote to its stdout

    @property
    def verb(self) -> str:
        return " ".join(self.words[:2]) if self.words[0] == "hook" else self.words[0]

    @property
    def payload(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.heard)
        return found


@dataclass
class Bench:
    """A host at work in a repository."""

    host: Host
    folder: Path
    model: Model = field(default_factory=Model)

    def __post_init__(self) -> None:
        for name in ("home", "shims", "records"):
            (self.folder / name).mkdir(parents=True)
        self.repo: Scratch = scratch(self.folder / "repo")
        shim = self.folder / "shims" / "bb"
        shim.write_text(SHIM.format(root=ROOT, python=sys.executable, records=self.folder / "records"))
        shim.chmod(0o755)
        self.env = isolated(self.folder / "home", shim.parent)
        self.server = serve(self.model)
        self.env |= self.host.settings(self.folder / "home", self.repo.path, self.model.url)
        self.program = shim
        self.ran = Ran(0, "", "")
        self.noted: dict[str, Any] = {}  # what a test has seen while the host was running
        self._fill()

    def set_up(self) -> None:
        """Install what the documentation names for a host: hooks, the MCP server and the skill."""
        name = self.host.like or self.host.name
        if name in editors.HOSTS:
            self.bb("hooks", "install", "--editor", name, "--register", "--auto-reserve", "--program", "bb")
        self.bb("mcp", "install", "--host", name, "--program", "bb")
        self.bb("init", "--skill")

    def set_up_at_once(self) -> None:
        """Install what `bb setup` installs for a host: also the hooks of git. There, Copilot CLI has its own hooks."""
        name = "vscode" if self.host.name == "copilot" else self.host.name
        parts = ["ledger", "git-hooks", "skill", f"hooks-{name}", f"mcp-{name}"]
        only = [word for part in parts for word in ("--only", part)]
        done = self.repo.started("setup", "--yes", *only, "--json", PATH=self.env["PATH"])
        assert done.status == 0, done.out

    def _fill(self) -> None:
        """Two files, one of which another agent holds."""
        for path in (HELD, FREE):
            (self.repo.path / path).parent.mkdir(exist_ok=True)
            (self.repo.path / path).write_text("x = 1\n")
        self.repo.git("add", "src")
        self.repo.git("commit", "-qm", "Add two files")
        self.bb("init", "--register", HOLDER, "--role", "builder")
        self.bb("agent", "reserve", "--agent", HOLDER, "--scope", HELD, "--bead", "bb-1")

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def agents(self) -> list[str]:
        """The names that were registered in this repository, the holder's not among them."""
        added = [line["by"] for line in self.bb("ledger", "log", "--kind", "actor.add")]
        return [name for name in added if name != HOLDER]

    @property
    def agent(self) -> str:
        """The only agent besides the holder."""
        (name,) = self.agents
        return name

    @property
    def reserved(self) -> list[tuple[str, str]]:
        """The agents and scopes of all reservations that were made."""
        return [(line["by"], line["data"]["scope"]) for line in self.bb("ledger", "log", "--kind", "x.bb.reserved")]

    def bb(self, *words: str) -> Any:
        """The data of bb's answer to WORDS, which must succeed."""
        return self.repo.started(*words, "--json").data

    def run(self, *script: Step, prompt: str = "Go on.", words: tuple[str, ...] | None = None) -> Ran:
        """Run the host with a PROMPT until it ends; the model follows the SCRIPT."""
        self.model.script = list(script)
        self.model.heard.clear()
        self._clear()
        command = [str(self.host.path), *(self.host.words if words is None else words), prompt]
        with subprocess.Popen(
            command,
            cwd=self.repo.path,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                out, err = process.communicate()
                err += f"\n(killed after {SECONDS} seconds)".encode()
        return Ran(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def text(self, path: str) -> str:
        return (self.repo.path / path).read_text()

    def told_after(self, beginning: str) -> str:
        """What the model was told, from BEGINNING on."""
        found = self.model.turns[-1].text
        assert beginning in found, f"the model was not told: {beginning}"
        return found[found.index(beginning) :]

    def mcp_answer(self, tool: str) -> dict[str, Any]:
        """What the MCP server answered to the only call of a TOOL."""
        (server,) = self.calls("mcp")
        asked = [json.loads(line) for line in server.heard.splitlines()]
        (number,) = [each["id"] for each in asked if each.get("params", {}).get("name") == tool]
        (answer,) = [each for each in map(json.loads, server.said.splitlines()) if each.get("id") == number]
        found: dict[str, Any] = json.loads(answer["result"]["content"][0]["text"])
        return found

    def _clear(self) -> None:
        for file in (self.folder / "records").iterdir():
            file.unlink()

    def wait_for_hooks(self) -> None:
        """Wait until the hooks that have been called have ended. A host may go on before the hook after a tool ends."""
        deadline = time.monotonic() + HOOKS_IN
        before = -1
        while time.monotonic() < deadline:
            begun, ended = (len(list((self.folder / "records").glob(f"*.{ending}"))) for ending in ("words", "ended"))
            if begun == before and ended >= begun - len(self.calls("mcp")):
                return
            before = begun
            time.sleep(0.3)

    def calls(self, verb: str = "") -> list[Call]:
        """The calls of bb in the last run, in order; those of VERB if it is given."""
        found = [_call(file) for file in sorted((self.folder / "records").glob("*.words"))]
        return [call for call in found if not verb or call.verb == verb]


def _call(words: Path) -> Call:
    def text(ending: str) -> str:
        file = words.with_suffix(ending)
        return file.read_text(errors="replace") if file.exists() else ""

    pairs = (line.split("=", 1) for line in text(".env").splitlines() if "=" in line)
    return Call(words.read_text().split(), dict(pairs), text(".in"), text(".out"))


Days = Callable[[str], Bench]


def days_of(made: Callable[[str], Bench], work: Callable[[Bench], None]) -> Iterator[Days]:
    """The working day of each host, which happens once, when a test asks for it first."""
    done: dict[str, Bench] = {}

    def day(name: str) -> Bench:
        if name not in done:
            done[name] = made(name)
            work(done[name])
        return done[name]

    yield day
    for bench in done.values():
        bench.close()
