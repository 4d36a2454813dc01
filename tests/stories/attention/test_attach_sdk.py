"""`bb chat attach` with an agent on the published SDK of the Agent Client Protocol."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.stories.attention.attach_support import Attached, line

PROGRAM = [sys.executable, str(Path(__file__).with_name("sdk_agent.py"))]


def test_a_turn_with_a_permission_is_answered(attached: Attached):
    attached.attach("--permissions", "allow", program=PROGRAM)

    attached.says("m1")
    attached.until("ended", owed=False)

    assert [each["event"] for each in attached.told] == [
        *("starting", "ready", "delivered", "started", "working"),
        *("permission_decided", "answered", "ended"),
    ]
    assert attached.answers() == ["yes bb"]


def test_a_turn_is_cancelled_when_its_message_changes(attached: Attached):
    attached.attach("--permissions", "deny", program=PROGRAM)
    attached.says("m1", "Wait.")
    attached.until("started")

    edited = line("m1", "Go on.", {"id": "D1", "kind": "dm"}, target={"recipient": "amber"})
    attached.ingest(edited | {"type": "edit", "version": 2})
    attached.until("ended", owed=False)

    assert attached.answers() == ["no bb"]
