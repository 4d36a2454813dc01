"""The plugin for OpenCode, run by Node as OpenCode runs it: it asks bb, and prevents what bb refuses."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.stories.agents.agents_support import HARBOR, crew, reserve, send
from tests.support import ROOT, Scratch, environment

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs node")

# Calls the hooks of the plugin in the order of its input; prints what became of each call.
DRIVER = """
import { BbPlugin } from PLUGIN
const hooks = await BbPlugin({ directory: process.cwd() })
const results = []
for (const [name, input, output] of JSON.parse(process.argv[2])) {
  try {
    await hooks[name](input, output)
    results.push(output ?? null)
  } catch (error) {
    results.push({ prevented: error.message })
  }
}
console.log(JSON.stringify(results))
"""


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """Where cobalt-harbor holds src/a.py, and the plugin is installed."""
    made = crew(tmp_path / "repo", HARBOR)
    reserve(made, HARBOR, "src/a.py")
    program = tmp_path / "bb"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m bb "$@"\n')
    program.chmod(0o755)
    wanted = ("hooks", "install", "--editor", "opencode", "--register", "--auto-reserve", "--program", str(program))
    made.json(*wanted).data  # noqa: B018  (must succeed)
    return made


def run(repo: Scratch, *calls: tuple[str, Any, Any]) -> list[Any]:
    """What becomes of each call of a hook, in one run of the editor."""
    plugin = (repo.path / ".opencode" / "plugins" / "bb.js").as_uri()
    driver = repo.path.parent / "driver.mjs"
    driver.write_text(DRIVER.replace("PLUGIN", json.dumps(plugin)))
    done = subprocess.run(
        [str(NODE), str(driver), json.dumps(calls)],
        cwd=repo.path,
        env=environment(**repo.settings),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[Any] = json.loads(done.stdout)
    return found


def before(tool: str, session: str = "s1", **args: str) -> tuple[str, Any, Any]:
    return ("tool.execute.before", {"tool": tool, "sessionID": session, "callID": "c1"}, {"args": args})


def done(tool: str, session: str = "s1", **args: str) -> tuple[str, Any, Any]:
    call = {"tool": tool, "sessionID": session, "callID": "c1", "args": args}
    return ("tool.execute.after", call, {"title": "", "output": "ok"})


def system(session: str = "s1") -> tuple[str, Any, Any]:
    return ("experimental.chat.system.transform", {"sessionID": session}, {"system": []})


def agents(repo: Scratch) -> list[str]:
    return [row["agent_id"] for row in repo.json("agent", "list").data if row["agent_id"] != HARBOR]


def test_an_edit_of_a_held_file_is_prevented_and_a_free_one_is_reserved(repo: Scratch):
    held, free, shell = run(
        repo,
        before("edit", filePath="src/a.py", oldString="1", newString="2"),
        before("write", filePath="src/b.py", content="2"),
        before("bash", command="echo 3 > src/a.py"),
    )

    assert f"src/a.py is reserved by {HARBOR}" in held["prevented"]
    assert f"src/a.py is reserved by {HARBOR}" in shell["prevented"]
    assert "prevented" not in free
    (name,) = agents(repo)
    assert (name, "src/b.py") in [
        (row["by"], row["data"]["scope"]) for row in repo.json("ledger", "log", "--kind", "x.bb.reserved").data
    ]


def test_the_model_is_told_its_name_at_each_call_and_the_shell_knows_the_session(repo: Scratch):
    first, again, shell = run(
        repo, system(), system(), ("shell.env", {"sessionID": "s1", "cwd": "."}, {"env": {"A": "1"}})
    )

    (name,) = agents(repo)
    assert f"you are {name}" in first["system"][0]
    assert again == first
    assert shell["env"] == {"A": "1", "BB_SESSION": "s1"}


def test_news_come_with_the_prompt(repo: Scratch):
    run(repo, system())
    (name,) = agents(repo)
    send(repo, HARBOR, name)
    words = {"id": "prt_1", "type": "text", "text": "Go on."}

    (told,) = run(repo, ("chat.message", {"sessionID": "s1"}, {"message": {"id": "msg_1"}, "parts": [words]}))

    assert told["parts"][0] == words
    assert "Parser is done." in told["parts"][1]["text"]
    assert told["parts"][1] | {"text": ""} == {
        "id": "prt_1b",
        "sessionID": "s1",
        "messageID": "msg_1",
        "type": "text",
        "synthetic": True,
        "text": "",
    }


def test_an_unknown_tool_is_named_in_its_result(repo: Scratch):
    given = {"path": "src/b.py", "content": "x"}
    _, first, again = run(repo, before("serena_put", **given), done("serena_put", **given), done("serena_put", **given))

    assert "does not know the tool serena_put" in first["output"]
    assert again["output"] == "ok"


def test_a_sub_agent_is_the_agent_of_its_parent(repo: Scratch):
    created = {"event": {"type": "session.created", "properties": {"info": {"id": "s2", "parentID": "s1"}}}}
    _, told, _, child = run(repo, system(), system("s1"), ("event", created, None), system("s2"))

    assert child == told
    assert len(agents(repo)) == 1


def test_the_end_of_the_editor_ends_the_session_and_it_can_go_on(repo: Scratch):
    run(repo, before("write", filePath="src/b.py", content="2"))
    (name,) = agents(repo)
    shown = repo.json("agent", "show", "--agent", name).data
    assert shown["session_ended_at"]
    assert [row["scope"] for row in repo.json("agent", "status").data["reservations"]] == ["src/a.py"]

    run(repo, before("write", filePath="src/b.py", content="2"))

    assert agents(repo) == [name]


def test_without_bb_tools_run(repo: Scratch):
    (repo.path.parent / "bb").unlink()

    assert run(repo, before("edit", filePath="src/a.py"), system()) == [
        {"args": {"filePath": "src/a.py"}},
        {"system": []},
    ]
