"""`bb chat serve --socket`: several harnesses at once, one for each agent."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import time
from pathlib import Path

import pytest

from tests.stories.attention.harness_support import AMBER, BLUE, CAPABILITIES, Caller, Harness, World, dm, without
from tests.waiting import PATIENCE

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no such sockets")


def test_each_harness_is_handed_what_is_for_its_agent(world: World):
    path = world.serve()
    amber, blue = world.caller(path, AMBER), world.caller(path, BLUE)
    world.says(dm("1", "check the deploy?"), dm("2", "and the build?", to=BLUE))
    world.wait(5, amber)
    blue.ask("ping")

    assert amber.take()["eventId"] == "1"
    assert blue.take()["eventId"] == "2"
    assert amber.refusal("chat.read_thread", eventId="2").code == "not_found"


def test_only_its_owner_may_connect(world: World):
    path = world.serve()

    assert stat.S_ISSOCK(path.stat().st_mode)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_there_is_one_server_at_a_socket(world: World):
    path = world.serve()

    done = world.repo.json("chat", "serve", "--socket", str(path))

    assert (done.status, done.code) == (6, "ALREADY_SERVING")
    assert world.caller(path, AMBER).ask("ping") == {}


def test_a_socket_that_was_left_behind_is_replaced(world: World):
    path = world.serve()
    (server,) = world.servers
    server.kill()
    server.communicate()
    world.servers.clear()
    assert path.exists()

    world.serve()

    assert world.caller(path, AMBER).ask("ping") == {}


def test_nothing_but_a_socket_is_ever_replaced(world: World, tmp_path: Path):
    path = tmp_path / "notes"
    path.write_text("mine")

    assert world.repo.json("chat", "serve", "--socket", str(path)).code == "CANNOT_LISTEN"
    assert world.repo.json("chat", "serve", "--socket", str(tmp_path / "no" / "such")).code == "CANNOT_LISTEN"
    assert world.repo.json("chat", "serve", "--socket", str(tmp_path / ("x" * 120))).code == "CANNOT_LISTEN"
    assert path.read_text() == "mine"


def test_it_leaves_no_socket_behind(world: World):
    path = world.serve()
    (server,) = world.servers

    server.send_signal(signal.SIGTERM)

    assert server.wait(PATIENCE) == 0
    assert not path.exists()


def test_of_two_harnesses_of_one_agent_the_newer_one_is_handed_everything(world: World):
    path = world.serve()
    world.says(dm("1", "check the deploy?"))
    older, other = world.caller(path, AMBER), world.caller(path, BLUE)
    world.wait(5, older)
    assert older.events() == ["1"]

    newer = world.caller(path, AMBER)

    told = older.receive()
    assert told
    assert (told["method"], told["params"]["data"]["code"]) == ("notifications/message", "superseded_session")
    assert older.receive() is None
    assert newer.take()["reliability"]["attempt"] == 2
    assert other.news() == []


def test_who_only_hands_in_supersedes_nobody(world: World):
    path = world.serve()
    harness = world.caller(path, AMBER)
    bridge = world.caller(path, AMBER, without("injection.immediate", "injection.buffered", "injection.notify"))
    bridge.ask("chat/ingest", lines=[dm("1", "check the deploy?")])
    world.wait(5, bridge)
    bridge.ask("ping")

    assert harness.take()["eventId"] == "1"
    assert bridge.news() == []


def test_a_server_may_be_for_one_agent_alone(world: World):
    path = world.serve("s", "--agent", AMBER)

    assert (
        world.caller(path).refusal("initialize", protocolVersion="x", session={"agent": BLUE}).code
        == "permission_denied"
    )
    assert world.caller(path).initialize()["agent"] == AMBER


def test_one_that_speaks_nonsense_disturbs_no_other(world: World):
    path = world.serve()
    good, bad = world.caller(path, AMBER), world.caller(path)
    bad.line.write(b"x" * (1 << 20) + b"\n{]\n")
    for _ in range(2):
        found = bad.receive()
        assert found
        assert found["error"]["code"] == -32700
    with contextlib.suppress(OSError):
        bad.line.write(b"x" * (20 << 20))  # a line without an end

    assert good.ask("ping") == {}
    with contextlib.suppress(OSError):
        assert bad.receive() is None


def test_one_that_does_not_read_is_let_go(world: World):
    path = world.serve()
    good, deaf = world.caller(path, AMBER), world.caller(path, BLUE)
    asking = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode() + b"\n"
    deadline = time.monotonic() + PATIENCE
    is_let_go = False
    while not is_let_go and time.monotonic() < deadline:
        try:
            deaf.line.write(asking * 20)
        except OSError:
            is_let_go = True

    assert is_let_go
    assert good.ask("ping") == {}


def test_there_is_room_for_many_and_not_for_more(world: World):
    path = world.serve()
    harnesses = [world.caller(path, AMBER)]
    with contextlib.ExitStack() as stack:
        for _ in range(63):
            caller = Caller(path)
            stack.callback(caller.close)
        assert harnesses[0].ask("ping") == {}
        late = Harness(Caller(path))
        stack.callback(late.close)

        found = late.receive()

        assert found
        assert found["error"]["data"]["code"] == "too_many_harnesses"
        assert late.receive() is None
    assert harnesses[0].ask("ping") == {}
    world.caller(path, BLUE)


def test_what_a_harness_can_do_is_its_own(world: World):
    path = world.serve()
    amber, blue = world.caller(path, AMBER), world.caller(path, BLUE, {**CAPABILITIES, "chatTools": {}})

    assert len(amber.ask("tools/list")["tools"]) == 7
    assert blue.ask("tools/list")["tools"] == []
