"""A day's work in which every text is hostile, shown by every command that shows any of it."""

from __future__ import annotations

import pytest

from tests.hostile import has_raw, haunted_scene
from tests.near import Near
from tests.scene import AMBER, COBALT

SHOWN = [
    "status",
    "problems",
    "timeline --limit 500",
    "sessions list",
    "sessions show bb-1.1",
    "resume --agent amber-otter",
    "agent list",
    "agent status",
    "agent show --agent evil-5",
    "agent inbox --agent amber-otter",
    "agent inbox --agent user",
    "protocol list",
    "protocol incursions",
    "check src/parser/dates.py --agent cobalt-harbor",
    "check docs/parser.md --agent cobalt-harbor",
    "chat list --agent amber-otter --body --limit 200",
    "chat pending --agent amber-otter",
    "chat knocks --agent cobalt-harbor",
    "chat digest --agent cobalt-harbor --peek",
    "chat audit",
    "cbcl conversations --agent amber-otter",
    "cbcl conversations dates --agent amber-otter",
    "cbcl pending --agent amber-otter",
    "cbcl beliefs --agent cobalt-harbor",
    "group show",
    "actor list",
    "events --limit 500",
    "ledger log --limit 500",
    "ledger status",
    "doctor",
]


@pytest.fixture(scope="module")
def haunted(tmp_path_factory: pytest.TempPathFactory) -> Near:
    return haunted_scene(tmp_path_factory.mktemp("scene"))


@pytest.mark.parametrize("command", SHOWN)
def test_hostile_text_is_shown_harmless_by(haunted: Near, command: str):
    told = haunted.bb(*command.split(), PYTHONIOENCODING="utf-8")

    assert told.status in (0, 3, 4, 7), told.err
    assert told.out + told.err
    assert not has_raw(told.out + told.err)
    assert not [line for line in (told.out + told.err).splitlines() if line.startswith("Error: [FORGED]")]


@pytest.mark.parametrize("command", SHOWN)
def test_hostile_text_is_ascii_in_json(haunted: Near, command: str):
    asked = haunted.bb(*command.split(), "--json")

    assert asked.out.isascii()
    assert not has_raw(asked.out)
    assert asked.out.count("\n") == 1


def test_the_scene_is_what_it_says(haunted: Near):
    assert {agent["agent_id"] for agent in haunted.json("agent", "list").data} >= {AMBER, COBALT, "evil-5"}
