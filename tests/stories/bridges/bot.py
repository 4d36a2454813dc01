"""The bots of docs/bridges/, each run as the program that its page shows, in a repository of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.near import near
from tests.support import ROOT, environment
from tests.waiting import until

OTTER = "amber-otter"
PAGES = ROOT / "docs" / "bridges"
STORED = ROOT / "tests" / "data" / "surfaces"
# When a bot is killed: before it has read what to post, before and after it is posted, and before and after bb is told.
STEPS = ["before read", "before post", "after post", "before confirm", "after confirm"]
SHIM = """#!/bin/sh
[ -z "$KILL" ] && exec "$REAL_BB" "$@"
exec "$PYTHON" "$0.py" "$@"
"""
# `bb` between the bot and the real one; the bot is killed before or after a line is passed on.
RELAY = """
import os, signal, subprocess, sys
real = subprocess.Popen([os.environ["REAL_BB"], *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

def at(step):
    if os.environ["KILL"] == step:
        os.kill(os.getppid(), signal.SIGKILL)
        os._exit(1)

def passed(line, to):
    to.write(line)
    to.flush()

if "ingest" in sys.argv:
    for line in sys.stdin.buffer:
        at("before ingest")
        passed(line, real.stdin)
        answer = real.stdout.readline()
        at("after ingest")
        passed(answer, sys.stdout.buffer)
else:
    for count, line in enumerate(real.stdout):
        at("before read")
        at("after confirm" if count else "")
        passed(line, sys.stdout.buffer)
        line = sys.stdin.buffer.readline()
        at("before confirm")
        passed(line, real.stdin)
"""


def program(platform: str) -> str:
    """The program of the page."""
    (found,) = re.findall(r"```python\n(.*?)```", (PAGES / f"{platform}.md").read_text(), re.DOTALL)
    return str(found)


def stored(platform: str, name: str) -> dict[str, Any]:
    """A recorded payload."""
    found: dict[str, Any] = json.loads((STORED / platform / f"{name}.json").read_text())
    return found


class World:
    """A repository with one agent, and the bot of one platform in it."""

    def __init__(self, path: Path, platform: str, **settings: str) -> None:
        self.repo = near(path / "repo")
        self.platform = platform
        self._settings = settings
        self._bots: list[subprocess.Popen[bytes]] = []
        self._script = path / "bot.py"
        self._script.write_text(program(platform))
        self._bin = path / "bin"
        self._bin.mkdir()
        (self._bin / "bb").write_text(SHIM)
        (self._bin / "bb").chmod(0o755)
        (self._bin / "bb.py").write_text(RELAY)
        self.port = 0
        self._listens = "listening" in self._script.read_text()
        assert self.repo.bb("agent", "register", "--name", OTTER, "--role", "builder").status == 0

    def start(self, kill: str = "") -> subprocess.Popen[bytes]:
        """Start the bot; with KILL, it is killed at that step."""
        env = environment(**self._settings, KILL=kill, PORT="0", REAL_BB=str(Path(sys.executable).with_name("bb")))
        env["PYTHON"] = sys.executable
        env["PATH"] = f"{self._bin}{os.pathsep}{env['PATH']}"
        bot = subprocess.Popen(
            [sys.executable, str(self._script)],
            cwd=self.repo.path,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._bots.append(bot)
        assert bot.stdout
        if self._listens:
            self.port = int(bot.stdout.readline().split()[-1])
        return bot

    def kill(self) -> None:
        """Kill the bot that was started last, as a machine does that is switched off."""
        self._bots[-1].kill()

    def wait_until_ended(self) -> None:
        """Wait until the bot that was started last has ended."""
        self._bots[-1].wait()

    def close(self) -> None:
        for bot in self._bots:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(bot.pid, signal.SIGKILL)
            bot.wait()
            if bot.stdout:
                bot.stdout.close()

    def bb(self, *words: str, **settings: Any) -> Any:
        """The answer of a command, which must succeed."""
        ran = self.repo.json(*words, **settings)
        assert ran.status == 0, ran.out + ran.err
        return ran.data

    def say(self, text: str, conversation: str, key: str, *words: str) -> str:
        """The agent says TEXT: the message's id."""
        how = ("--conversation", conversation, "--visibility", "channel", "--directedness", "ambient")
        return str(self.bb("chat", "send", text, "--by", OTTER, *how, "--idempotency-key", key, *words)["messageId"])

    def answer(self, text: str, event: str, key: str, visibility: str = "thread", *words: str) -> str:
        """The agent answers EVENT with TEXT: the message's id."""
        how = ("--in-reply-to", event, "--visibility", visibility, "--directedness", "to_other")
        return str(self.bb("chat", "send", text, "--by", OTTER, *how, "--idempotency-key", key, *words)["messageId"])

    def outbox(self) -> list[dict[str, Any]]:
        """What is still to be posted."""
        found: list[dict[str, Any]] = self.bb("chat", "outbox")
        return found

    def wait_until_posted(self) -> None:
        """Wait until nothing is left to be posted."""
        until(lambda: not self.outbox(), lambda: f"an empty outbox: {self.outbox()}")

    def events(self) -> dict[str, dict[str, Any]]:
        """What the agent can see, by id."""
        rows = self.bb("chat", "list", "--agent", OTTER, "--include-silent", "--limit", "200")["events"]
        return {row["eventId"]: row for row in rows}


@contextlib.contextmanager
def world(path: Path, platform: str, **settings: str) -> Iterator[World]:
    """A world that ends with all its bots."""
    made = World(path, platform, **settings)
    try:
        yield made
    finally:
        made.close()
