"""Real agent programs behind `bb chat attach`: messages wake them, and they answer with bb's tools or with text."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hosts import tools
from tests.hosts.bench import SECONDS, Bench
from tests.hosts.model.turns import Call, Step, Turn
from tests.hosts.programs import ACP_EXAMPLE, HOSTS, Host
from tests.support import ROOT

pytestmark = pytest.mark.hosts

AMBER = "amber-otter"
SPEAKING = [host.name for host in HOSTS.values() if host.acp]
ANSWER = {"inReplyTo": "github:m1", "content": "By tool.", "visibility": "dm", "directedness": "to_other"}
ALONE = "Copilot CLI takes no MCP server on stdio from an ACP client"


class Attached:
    """A host behind `bb chat attach`, in a repository that knows one agent."""

    def __init__(self, host: Host, folder: Path) -> None:
        assert host.path.exists(), f"{host.package} {host.version} is not installed: run scripts/test --hosts"
        self.host, self.bench = host, Bench(host, folder)
        self.bench.bb("init", "--register", AMBER, "--role", "builder")
        self.bench.bb("chat", "bind", AMBER, "--handle", "github:amber")
        self.told: list[dict[str, Any]] = []
        self.process: subprocess.Popen[bytes] | None = None
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def attach(self, *options: str, script: tuple[Step, ...] = (), program: list[str] | None = None) -> None:
        self.bench.model.script = list(script)
        words = program or [str(self.host.path), *self.host.acp]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bb", "chat", "attach", "--json", "--agent", AMBER, *options, "--", *words],
            cwd=self.bench.repo.path,
            env=self.bench.env | {"PYTHONPATH": str(ROOT), "BB_SYNC": "off"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        threading.Thread(target=self._read, args=(self.process,), daemon=True).start()
        self.until("ready")

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        with process.stdout:
            for line in process.stdout:
                self._lines.put(line)
        self._lines.put(b"")

    def until(self, event: str, **about: Any) -> dict[str, Any]:
        """The next document about EVENT with these members."""
        while line := self._lines.get(timeout=SECONDS):
            self.told.append(json.loads(line))
            if self.told[-1].get("event") == event and about.items() <= self.told[-1].items():
                return self.told[-1]
        raise AssertionError(f"no {event}: {self.told}")

    def says(self, text: str, **more: Any) -> None:
        """A person writes to the agent in private."""
        said = {"type": "message", "eventId": "m1", "source": {"platform": "github"}, "author": {"id": "ada"}}
        said |= {"conversation": {"id": "D1", "kind": "dm"}, "target": {"recipient": "amber"}}
        line = json.dumps(said | {"content": [{"type": "text", "text": text}], **more})
        found = self.bench.repo.started("chat", "ingest", "--json", stdin=line)
        assert found.status == 0, found.out

    def answers(self) -> list[str]:
        rows = self.bench.bb("chat", "read", "--conversation", "D1", "--agent", AMBER)["items"]
        return [row["parts"][0]["text"] for row in rows if row["author"] == f"agent:{AMBER}"]

    def close(self) -> None:
        self.bench.close()
        if self.process:
            self.process.terminate()
            try:
                assert self.process.wait(SECONDS) == 0
            finally:
                self.process.kill()


@pytest.fixture
def attached(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Attached]:
    found = Attached(ACP_EXAMPLE if request.param == ACP_EXAMPLE.name else HOSTS[request.param], tmp_path)
    yield found
    found.close()


def speaking(**missing: str) -> pytest.MarkDecorator:
    """Run a test for every host that speaks ACP. MISSING says for which it is not true, and why."""
    marks = {name: pytest.mark.xfail(reason=reason, strict=True) for name, reason in missing.items()}
    found = [pytest.param(name, marks=[marks[name]] if name in marks else []) for name in SPEAKING]
    return pytest.mark.parametrize("attached", found, indirect=True)


def chat(host: str) -> Turn:
    """The turn in which a model answers with bb's chat tool."""
    (call,) = tools.mcp(host, "chat")[0]
    return [Call(call.tool, {"tool": "send_message", "arguments": ANSWER | {"idempotencyKey": "k1"}})]


@speaking(copilot=ALONE)
def test_the_model_answers_with_bbs_tool_which_needs_no_permission(attached: Attached):
    attached.attach("--permissions", "deny", script=(chat(attached.host.name), "I have answered."))

    attached.says("Is the build green?")
    attached.until("ended", owed=False)

    assert attached.answers() == ["By tool."]
    assert "C2A RESPONSE RULES" in attached.bench.model.turns[0].text
    assert "Is the build green?" in attached.bench.model.turns[0].text


@pytest.mark.parametrize("attached", ["copilot"], indirect=True)
def test_copilot_gets_bbs_tools_from_its_own_settings(attached: Attached):
    attached.bench.bb("mcp", "install", "--host", "claude", "--program", "bb")
    attached.attach(script=(chat("copilot"), "I have answered."))

    attached.says("Is the build green?")
    attached.until("ended", owed=False)

    assert attached.answers() == ["By tool."]


@speaking()
def test_the_text_of_the_model_is_the_answer_if_it_sends_nothing(attached: Attached):
    attached.attach(script=("It is green.",))

    attached.says("Is the build green?")
    attached.until("answered")

    assert attached.answers() == ["It is green."]


@pytest.mark.parametrize("attached", ["gemini", "opencode"], indirect=True)
@pytest.mark.parametrize("refuse", [(), ("--refuse",)])
def test_the_person_is_asked_before_a_command_runs(attached: Attached, refuse: tuple[str, ...]):
    if attached.host.name == "opencode":
        (attached.bench.repo.path / "opencode.json").write_text('{"permission": {"bash": "ask"}}\n')
    attached.attach(script=(tools.shell(attached.host.name, "touch made"), "Done."))

    attached.says("Make a file.")
    asked = attached.until("permission_asked")
    attached.bench.bb("chat", "confirm", asked["confirmation"], *refuse)
    attached.until("ended")

    assert (attached.bench.repo.path / "made").exists() is not bool(refuse)


@speaking()
def test_an_edit_cancels_the_turn_and_the_new_text_is_answered(attached: Attached):
    is_cancelled = threading.Event()

    def edit() -> Turn:
        attached.says("Is dev green?", type="edit", version=2)
        assert is_cancelled.wait(SECONDS)
        return "Main is green."

    attached.attach(script=(edit, "Dev is green."))
    attached.says("Is main green?")
    attached.until("cancelled")
    is_cancelled.set()
    attached.until("ended", owed=False)

    assert attached.answers() == ["Dev is green."]
    assert "Is dev green?" in attached.bench.model.turns[-1].text


@pytest.mark.parametrize("attached", [ACP_EXAMPLE.name], indirect=True)
@pytest.mark.parametrize(("policy", "said"), [("allow", "successfully updated"), ("deny", "skip the configuration")])
def test_the_agent_in_the_examples_of_the_sdk(attached: Attached, policy: str, said: str):
    attached.attach("--permissions", policy, program=["node", str(attached.host.path)])

    attached.says("Change the configuration.")
    attached.until("ended", owed=False)

    assert said in attached.answers()[0]
    assert [each["title"] for each in attached.told if each["event"] == "working"] == [
        "Reading project files",
        "Modifying critical configuration file",
    ]
