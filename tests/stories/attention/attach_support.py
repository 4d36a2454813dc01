"""`bb chat attach` with an agent program of our own: what it is to do, what it was sent, and what bb tells of it."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tests import preloaded
from tests.near import near
from tests.support import environment
from tests.waiting import PATIENCE

AMBER = "amber-otter"
PROGRAM = Path(__file__).with_name("acp_agent.py")
ANSWER = [["text", "It is green."]]


class Attached:
    """A repository with an agent, and a `bb chat attach` for it. Time passes as it does; nothing here waits for it:
    messages come from a platform where people write whole messages."""

    def __init__(self, path: Path) -> None:
        self.folder = path
        self.repo = near(path / "repo")
        self.repo.json("init")
        self.repo.json("agent", "register", "--name", AMBER, "--role", "builder")
        self.repo.json("chat", "bind", AMBER, "--handle", "github:amber", "--role", "@backend")
        self.told: list[dict[str, Any]] = []  # the documents that bb has printed
        self.process: preloaded.Process | None = None

    def script(self, *turns: Any, **more: Any) -> None:
        """What the agent program is to do: the steps of each turn, and how it greets."""
        (self.folder / "script.json").write_text(json.dumps({"turns": list(turns) or [ANSWER], **more}))

    def attach(self, *options: str, program: list[str] | None = None, **settings: str) -> None:
        command = program or [sys.executable, str(PROGRAM), str(self.folder)]
        words = ["chat", "attach", "--json", "--agent", AMBER, *options, "--", *command]
        env = environment(**(self.repo.settings | settings))
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = preloaded.start("bb chat serve", words, cwd=self.repo.path, env=env, **pipes)
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(self.process,), daemon=True).start()

    def _read(self, process: preloaded.Process) -> None:
        assert process.stdout
        for line in process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def next(self) -> dict[str, Any] | None:
        """The next document; None at the end."""
        line = self._lines.get(timeout=PATIENCE)
        if not line:
            return None
        self.told.append(json.loads(line))
        return self.told[-1]

    def until(self, event: str, **about: Any) -> dict[str, Any]:
        """The next document about EVENT with these members."""
        while found := self.next():
            if found.get("event") == event and about.items() <= found.items():
                return found
        assert self.process
        assert self.process.stderr
        raise AssertionError(f"no {event}: {self.told} {self.process.stderr.read().decode()}")

    def end(self) -> tuple[int, dict[str, Any] | None]:
        """The exit status, and the last document if it is a refusal."""
        while self.next():
            pass
        last = self.told[-1] if self.told and "ok" in self.told[-1] else None
        assert self.process
        return self.process.wait(PATIENCE), last

    def stop(self, number: int) -> tuple[int, dict[str, Any] | None]:
        """Send a signal, and wait for the end."""
        assert self.process
        self.process.send_signal(number)
        return self.end()

    def says(self, event: str, text: str = "Is the build green?", **more: Any) -> None:
        """A person writes to the agent in private."""
        where = {"id": "D1", "kind": "dm"}
        self.ingest(line(event, text, where, target={"recipient": "amber"}, **more))

    def ingest(self, *lines: dict[str, Any]) -> None:
        self.repo.json("chat", "ingest", stdin="\n".join(map(json.dumps, lines)))

    def bb(self, *words: str) -> Any:
        return self.repo.json(*words).data

    def steps(self, event: str) -> list[str]:
        """What has become of an event."""
        return [row["step"] for row in self.bb("chat", "show", event, "--agent", AMBER)["steps"]]

    def answers(self, conversation: str = "D1") -> list[str]:
        """What the agent has sent to a conversation."""
        rows = self.bb("chat", "read", "--conversation", conversation, "--agent", AMBER)["items"]
        return [row["parts"][0]["text"] for row in rows if row["author"] == f"agent:{AMBER}"]

    def heard(self, method: str) -> list[dict[str, Any]]:
        """The members of what the agent program was sent with a METHOD."""
        lines = (self.folder / "heard.jsonl").read_text().splitlines()
        return [found.get("params") for found in map(json.loads, lines) if found.get("method") == method]

    def prompts(self) -> list[str]:
        return [params["prompt"][0]["text"] for params in self.heard("session/prompt")]

    def close(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdout, self.process.stderr):
                if stream:
                    stream.close()


def line(event: str, text: str, where: dict[str, str], **more: Any) -> dict[str, Any]:
    said = {"type": "message", "eventId": event, "source": {"platform": "github"}, "conversation": where}
    return {**said, "author": {"id": "ada", "kind": "human"}, "content": [{"type": "text", "text": text}], **more}
