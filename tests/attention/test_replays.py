"""Each script in tests/data/replays is answered as it expects. A script shows one rule; its first line says which."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.attention.rehearsal.replay import Replay
from bb.kernel import json_text
from tests.support import ROOT

SCRIPTS = sorted((ROOT / "tests" / "data" / "replays").glob("*.jsonl"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_replay_is_answered_as_it_expects(script: Path):
    lines = script.read_text().splitlines()
    steps = [json_text.loads(line) for line in lines if line.strip() and not line.startswith("#")]
    played = Replay()

    for step in steps:
        played.step(step)

    assert lines[0].startswith("# "), "the first line says what the script shows"
    assert any("expect" in step for step in steps), "a script that expects nothing shows nothing"
