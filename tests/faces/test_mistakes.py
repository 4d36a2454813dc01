"""A mistake in the words of a command is answered with the command that was probably meant."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.near import Near, near
from tests.support import NOON

MEANT = [
    ("reserve --path src --bead b", "reserve src --bead b"),
    ("reserve --paths=src --bead b", "reserve src --bead b"),
    ("agent reserve --path src --bead b", "agent reserve --scope src --bead b"),
    ("agent reserve --path=src --bead b", "agent reserve --scope=src --bead b"),
    ("agent reserve src --bead b", "reserve src --bead b"),
    ("send --recipient ada 'hello there'", "send ada 'hello there'"),
    ("agent send ada hello", "send ada hello"),
    ("agent send --to ada --message hello", "agent send --to ada --body hello"),
    ("agent ack k.1", "ack k.1"),
    ("ack --id k.1", "ack k.1"),
    ("agent show ada", "agent show --agent ada"),
    ("agent register ada --role builder", "agent register --name ada --role builder"),
    ("agent heartbeat ada", "agent heartbeat --agent ada"),
    ("check --scope src", "check src"),
    ("inbox --unread", "inbox --state unread"),
    ("blocked user x --low", "blocked user x --urgency low"),
    ("status --jsn", "status --json"),
    ("watch --agnt ada", "watch --agent ada"),
    ("reserv src", "reserve src"),
    ("agent reserv --scope src", "agent reserve --scope src"),
    ("hold src", "reserve src"),
    ("message ada 'hello there'", "send ada 'hello there'"),
    ("heartbeat", "agent heartbeat"),
    ("agnt list", "agent list"),
]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Near:
    return near(tmp_path_factory.mktemp("mistakes") / "repo", BB_NOW=NOON)


@pytest.mark.parametrize(("typed", "meant"), MEANT)
def test_the_command_that_was_meant_is_named(repo: Near, typed: str, meant: str):
    refused = repo.json(*shlex.split(typed))

    assert refused.status == 2
    assert refused.envelope["error"]["hint"] == f"did you mean `bb {meant}`?"


@pytest.mark.parametrize(
    "typed", ["status --qqq", "frobnicate", "inbox --zzz=1", f"reserve --path {'x' * 200}", "reserve --path 'a`b'"]
)
def test_what_resembles_nothing_or_cannot_be_shown_has_the_help_as_its_hint(repo: Near, typed: str):
    refused = repo.json(*shlex.split(typed))

    assert refused.status == 2
    assert "--help`" in refused.envelope["error"]["hint"]


def test_a_control_character_does_not_reach_the_hint(repo: Near):
    refused = repo.bb("reserve", "--path", "a\x1b[2Jb", "--bead", "b")

    assert "\x1b" not in refused.err


@pytest.mark.parametrize("category", ["handoff", "Handoff", "HANDOFF"])
def test_a_choice_may_be_typed_in_any_case(tmp_path: Path, category: str):
    repo = near(tmp_path / "repo", BB_NOW=NOON, BB_AGENT="amber-otter")
    for name in ("amber-otter", "cobalt-harbor"):
        repo.bb("agent", "register", "--name", name, "--role", "builder", BB_AGENT=name)

    sent = repo.json("send", "cobalt-harbor", "Done.", "--bead", "bb-1", "--category", category).data

    assert sent["category"] == "HANDOFF"
    assert repo.json("protocol", "list", "--type", category.lower()).data[0]["event_type"] == "HANDOFF"
    assert repo.json("agent", "list", "--liveness", "ACTIVE").status == 0
    assert repo.json("call", "agent.list", "--args", '{"liveness": "ACTIVE"}').code == "INVALID_VALUE"
