"""A fleet keeps no line: no refusal, hook or message advises to get in line, and places of before the fleet end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import engines
from tests.near import Near, near

OTTER, HARBOR = "amber-otter", "cobalt-harbor"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Near:
    """One clone in a fleet, whose engine nobody asks: its relay does not run. Two agents, one of which holds src, and
    waited for docs when the fleet began."""
    folder, server = tmp_path_factory.mktemp("line"), engines.shared_postgres()
    made = near(folder / "clone", BB_DAEMON="off", CCCC_HOME=str(folder / "home"))
    made.git("init", "--quiet", "--bare", "../hub.git")
    made.git("remote", "add", "origin", "../hub.git")
    for agent in (OTTER, HARBOR):
        assert made.bb("agent", "register", "--name", agent, "--role", "builder").status == 0
    for agent, scope in ((OTTER, "src"), (HARBOR, "docs")):
        assert made.bb("reserve", scope, "--agent", agent).status == 0
    assert made.json("reserve", "docs", "--queue", "--agent", OTTER).data["state"] == "queued"
    (made.path / "src").mkdir()
    (made.path / "src" / "a.py").write_text("".join(f"x{n} = {n}\n" for n in range(40)))
    made.git("add", "src")
    assert made.bb("sync", "--publish").status == 0
    begun = made.bb("fleet", "begin", server.conninfo(server.database()))
    assert begun.status == 0, begun.err
    return made


def advice(text: str) -> None:
    assert "--queue" not in text, text
    assert "in line" not in text, text


@pytest.mark.parametrize(
    "words",
    [
        ["reserve", "src/a.py"],
        ["reserve", "src/a.py", "--shared"],
        ["reserve", "src/a.py", "--open"],
        ["reserve", "src/a.py", "--exclusive", "--fallback", "local"],
        ["check", "src/a.py"],
        ["check", "--staged"],
        ["reserve", "src/a.py", "--deadline", "20"],
        ["reserve", "src/a.py", "--queue"],
        ["reserve", "src/a.py", "--key", "k"],
        ["reserve", "src/a.py", "--allow-overlap"],
    ],
    ids=" ".join,
)
def test_a_refusal_advises_what_is_possible(fleet: Near, words: list[str]):
    asked, told = fleet.json(*words, "--agent", HARBOR), fleet.bb(*words, "--agent", HARBOR)

    assert asked.status
    advice(asked.envelope["error"]["hint"])
    advice(told.err.partition("Hint:")[2])


def test_an_editor_s_hook_advises_what_is_possible(fleet: Near):
    payload = {"hook_event_name": "PreToolUse", "tool_name": "Write", "session_id": "s", "cwd": str(fleet.path)}
    payload["tool_input"] = {"file_path": str(fleet.path / "src" / "a.py"), "content": "y = 1\n"}  # type: ignore[assignment]

    told = fleet.bb("hook", "pre-tool", "--agent", HARBOR, stdin=json.dumps(payload))

    assert "src/a.py" in told.out + told.err
    advice(told.out + told.err)
    assert "--wait 300" in told.out + told.err


def test_places_of_before_the_fleet_end_and_their_agents_are_told_how_to_wait(fleet: Near, tmp_path: Path):
    assert fleet.bb("release", "docs", "--agent", HARBOR).status == 0

    turn = fleet.json("turn", "--agent", OTTER).data

    assert "docs" not in str(fleet.json("agent", "status", "--agent", OTTER).data["reservations"])
    letters = fleet.json("agent", "inbox", "--agent", OTTER).data
    assert any("which keeps no line" in letter["subject"] for letter in letters), (turn, letters)
    assert any("bb reserve docs --wait 300" in letter["body"] for letter in letters)
    assert tmp_path
