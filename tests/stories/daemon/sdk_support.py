"""Published clients of CCCC, unchanged, each in a process of its own; and what they are told, as the specification
types it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from tests.stories.daemon.ipc_support import Refusal
from tests.stories.daemon.ipc_types import checked, faults_of_event, moment
from tests.support import ROOT, environment

CLIENTS = ROOT / ".venv" / "clients"
DRIVER = Path(__file__).with_name("sdk_driver.py")
# Methods that wrap an operation of another name.
WRAPPED = dict.fromkeys(
    (
        "coordination_brief_update",
        "coordination_note_add",
        "task_create",
        "task_update",
        "task_move",
        "task_restore",
        "task_delete",
        "agent_state_update",
        "agent_state_clear",
        "meta_merge",
    ),
    "context_sync",
)


class Raised(Exception):
    """The client has raised something else than a refusal of the daemon's."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.type = found["type"]
        super().__init__(f"{found['type']}: {found['text']}")


class Client:
    """One client. Its methods are called by name, with the arguments they have; every answer is checked."""

    def __init__(self, version: str, home: Path) -> None:
        folder = CLIENTS / f"cccc-sdk-{version}"
        if not folder.is_dir():
            pytest.fail(f"there is no {folder}: `scripts/install --dev` puts it there")
        self._process = subprocess.Popen(
            [sys.executable, str(DRIVER)],
            env=environment(PYTHONPATH=str(folder), CCCC_HOME=str(home)),
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def __getattr__(self, method: str) -> Callable[..., dict[str, Any]]:
        if method.startswith("_"):
            raise AttributeError(method)
        return lambda **args: self._called(method, args)

    def _called(self, method: str, args: dict[str, Any]) -> dict[str, Any]:
        result = self._say("call", method, args)
        assert isinstance(result, dict), result
        op = str(args["op"]) if method == "call" else WRAPPED.get(method, method)
        return checked(op, result)

    def code(self, method: str, **args: Any) -> str:
        """Call what is refused; the code of the refusal."""
        with pytest.raises(Refusal) as refused:
            self._called(method, args)
        return refused.value.code

    def listen(self, name: str, **args: Any) -> Listening:
        """Listen to a group."""
        self._say("listen", name, args)
        return Listening(name, self._say)

    def _say(self, what: str, name: str, args: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"what": what, "name": name, "args": args}).encode() + b"\n")
        self._process.stdin.flush()
        return _result(json.loads(self._process.stdout.readline()))


class Listening:
    """A stream that a client listens to."""

    def __init__(self, name: str, say: Callable[[str, str, Any], Any]) -> None:
        self._name = name
        self._say = say

    def event(self, seconds: float = 20.0) -> dict[str, Any]:
        """The next event."""
        while True:
            found = self._next(seconds)
            item = _result(found, "item")
            assert isinstance(item, dict), found
            if item["t"] == "event":
                assert faults_of_event(item["event"]) == []
                return item["event"]  # type: ignore[no-any-return]
            assert item["t"] == "heartbeat", item
            assert moment(item["ts"])

    def events(self, count: int) -> list[dict[str, Any]]:
        return [self.event() for _ in range(count)]

    def is_quiet(self, seconds: float = 0.3) -> bool:
        """Whether nothing comes for a while."""
        return "nothing" in self._next(seconds)

    def has_ended(self) -> bool:
        return "ended" in self._next(20.0)

    def _next(self, seconds: float) -> dict[str, Any]:
        found = self._say("next", self._name, seconds)
        assert isinstance(found, dict)
        return found


def _result(said: dict[str, Any], member: str = "result") -> Any:
    if raised := said.get("raised"):
        if raised["type"] == "DaemonAPIError":
            raise Refusal(raised)
        raise Raised(raised)
    return said.get(member)
