"""The recorded payloads of the ordinary tests are what the hosts give to their hooks."""

from __future__ import annotations

import json
import os

import pytest

from bb.coordination.wiring import editors
from tests.hosts import recording
from tests.hosts.bench import Bench
from tests.hosts.recording import folder, shape

pytestmark = pytest.mark.hosts

EVENTS = {name for host in editors.HOSTS for name, _ in editors.called_by(host)}  # those at which bb is called


@pytest.mark.parametrize("bench", recording.SESSIONS, indirect=True)
def test_the_recorded_payloads_have_the_form_that_the_host_gives_them(bench: Bench):
    payloads = recording.record(bench)
    if os.environ.get("BB_RECORD_HOOKS"):
        recording.write(bench.host, payloads)

    recorded = {file.stem: json.loads(file.read_text()) for file in folder(bench.host).glob("*.json")}
    called = {name: each for name, each in recorded.items() if each["hook_event_name"] in EVENTS}
    assert {name: shape(each) for name, each in payloads.items()} == {
        name: shape(each) for name, each in called.items()
    }
