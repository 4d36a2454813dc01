"""What is asked for is done, or refused: no option is taken and then counts for nothing."""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path

import pytest

from bb.ops import catalogue
from tests.near import Near, near
from tests.support import NOON

AMBER, COBALT = "amber-otter", "cobalt-harbor"
SECRET = "ghp_" + "aZ09" * 9
# What a face asks for, and the op need not know.
OF_THE_FACE = {("cbcl.canonical", "raw")}


@pytest.mark.parametrize("op", catalogue.all_ops(), ids=lambda op: op.name)
def test_every_op_uses_each_of_its_parameters(op: catalogue.Op):
    unused: set[str] = set()
    for call in op.forms or (op.call,):
        (function,) = ast.parse(textwrap.dedent(inspect.getsource(call))).body
        assert isinstance(function, ast.FunctionDef)
        names = [node for line in function.body for node in ast.walk(line) if isinstance(node, ast.Name)]
        used = {name.id for name in names if isinstance(name.ctx, ast.Load)}
        unused |= inspect.signature(call).parameters.keys() - used
    assert unused & {each.keyword for each in op.parameters} == {
        name for owner, name in OF_THE_FACE if owner == op.name
    }


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Near:
    made = near(Path(tmp_path_factory.mktemp("options")) / "repo", BB_NOW=NOON)
    for agent in (AMBER, COBALT):
        assert made.bb("agent", "register", "--name", agent, "--role", "builder").status == 0
    return made


def asked(repo: Near, key: str) -> str:
    """A question of one agent to another, by its id."""
    how = ["--visibility", "dm", "--directedness", "to_me", "--intent", "question", "--conversation", "c1"]
    words = ["Is it out?", "--recipient", COBALT, *how, "--idempotency-key", key, "--by", AMBER]
    return str(repo.json("chat", "send", *words).data["messageId"])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["chat", "react", "EVENT", "👍", "--signal", "seen", "--by", COBALT], "EMOJI"),
        (["chat", "react", "EVENT", "👍", "--note", "later", "--by", COBALT], "--note"),
        (["chat", "react", "EVENT", "👍", "--eta", "later", "--by", COBALT], "--eta"),
        (["chat", "react", "EVENT", "👍", "--until", "2099-01-01T00:00:00Z", "--by", COBALT], "--until"),
        (["chat", "react", "EVENT", "👍", "--remove", "--by", COBALT], "--remove"),
        (["chat", "claim", "EVENT", "--to", AMBER, "--release", "--agent", COBALT], "--to"),
        (["chat", "claim", "EVENT", "--renew", "--release", "--agent", COBALT], "--release"),
        (["chat", "claim", "EVENT", "--renew", "--takeover-stale", "--agent", COBALT], "--release"),
        (["chat", "claim", "EVENT", "--to", AMBER, "--ttl-ms", "60000", "--agent", COBALT], "--ttl-ms"),
        (["chat", "claim", "EVENT", "--release", "--ttl-ms", "60000", "--agent", COBALT], "--ttl-ms"),
        (["chat", "read", "EVENT", "--conversation", "c2", "--agent", COBALT], "--conversation"),
        (["chat", "outbox", "--platform-id", "7"], "--platform-id"),
        (["chat", "outbox", "--failed", "no"], "--failed"),
        (["chat", "outbox", "--unknown"], "--unknown"),
        (["chat", "outbox", "ack", "EVENT", "--follow"], "--follow"),
        (["check", "--staged", "--token", "3"], "--token"),
        (["ci", "check", "--base", "HEAD", "--local", "--remote", "origin"], "--remote"),
        (["blob", "get", "state/blobs/x", "--output", "y", "--offset", "3"], "--offset"),
        (["mcp", "install", "--host", "claude", "--agent", AMBER, "--undo"], "--agent"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_options_that_mean_nothing_together_are_refused(repo: Near, words: list[str], named: str):
    event = asked(repo, "k1")
    refused = repo.json(*(event if word == "EVENT" else word for word in words))

    assert (refused.status, refused.code) == (2, "INVALID_VALUE")
    assert named in refused.envelope["error"]["message"]


def test_a_sync_in_the_background_takes_no_remote(repo: Near):
    assert repo.json("sync", "--background", "--remote", "other").code == "ONE_DIRECTION"


def test_to_read_around_an_event_that_is_not_there_is_refused(repo: Near):
    event = asked(repo, "k2")

    for option in ("--before", "--after"):
        refused = repo.json("chat", "read", "--conversation", "c1", option, "nothing", "--agent", COBALT)
        assert (refused.status, refused.code) == (3, "NOT_FOUND")
        assert repo.json("chat", "read", "--conversation", "c1", option, event, "--agent", COBALT).status == 0


def test_why_a_message_is_called_back_is_recorded_masked_and_shown(repo: Near):
    event = asked(repo, "k3")
    done = repo.json("chat", "cancel", event, "--reason", f"wrong\nroom {SECRET}", "--agent", AMBER).data
    why = "wrong room [GitHub token]"

    assert done["reason"] == why
    for agent in (AMBER, COBALT):
        for verb in ("show", "explain"):
            assert repo.json("chat", verb, event, "--agent", agent).data["deletionReason"] == why
            assert f'cancelled: "{why}"' in repo.bb("chat", verb, event, "--agent", agent).out
    assert SECRET not in repo.bb("ledger", "export").out


def test_a_message_that_is_called_back_without_a_reason_has_none(repo: Near):
    event = asked(repo, "k4")

    assert "reason" not in repo.json("chat", "cancel", event, "--agent", AMBER).data
    assert "deletionReason" not in repo.json("chat", "show", event, "--agent", COBALT).data
    assert "cancelled:" not in repo.bb("chat", "show", event, "--agent", COBALT).out


def steps(repo: Near, event: str, name: str) -> list[str | None]:
    """What the steps of an event say under a NAME."""
    found = repo.json("chat", "show", event, "--agent", COBALT).data["steps"]
    return [each["about"].get(name) for each in found if each["step"] in ("reacted", "put_off")]


def test_a_note_beside_a_signal_that_is_there_already_is_recorded_once(repo: Near):
    event = asked(repo, "k5")
    for note in ([], ["--note", "in an hour"], ["--note", "in an hour"], []):
        assert repo.json("chat", "react", event, "--signal", "working", *note, "--by", COBALT).status == 0

    assert steps(repo, event, "note") == [None, "in an hour"]


def test_when_it_can_be_expected_is_recorded_though_it_is_put_off_for_that_reason_already(repo: Near):
    event = asked(repo, "k6")
    for eta in ([], ["--eta", "in an hour"], ["--eta", "in an hour"], []):
        assert repo.json("chat", "defer", event, "--reason", "the deploy runs", *eta, "--agent", COBALT).status == 0

    assert steps(repo, event, "eta") == [None, "in an hour"]
    assert len(set(steps(repo, event, "until"))) == 1
