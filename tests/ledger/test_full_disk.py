"""A disk that is really full: what is refused is not there, and what is there is acknowledged."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.grids import repeats, some
from tests.ledger.full_disk import writing_verbs
from tests.support import ROOT

PAGES = 14  # no verb needs more


def calls(folder: Path, *words: str) -> list[dict[str, Any]]:
    """What was seen of each call on a full disk."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("mounts of a single process need Linux and unshare")
    disk = folder / "disk"
    disk.mkdir()
    command = ["unshare", "--mount", sys.executable, "-m", "tests.ledger.full_disk", str(disk), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if "not permitted" in done.stdout + done.stderr:
        pytest.skip("this user may not mount a file system")
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_honest(seen: dict[str, Any]) -> None:
    """A refusal has recorded nothing, nothing of before is lost, and the ledger is sound."""
    assert not seen["code"] or not seen["recorded"], seen
    assert not seen["changed"], seen
    assert not seen["torn"], seen
    assert seen["sound"], seen


def test_at_every_byte_of_its_line_a_record_is_there_or_refused(tmp_path: Path):
    found = calls(tmp_path, "positions", "1" if len(repeats(1, 2)) > 1 else "20")

    for seen in found:
        assert_honest(seen)
    assert {seen["code"] for seen in found} <= {"", "DISK_FULL"}
    assert found[0]["code"] == "DISK_FULL"


def test_no_verb_refuses_what_it_has_recorded(tmp_path: Path):
    always = ["agent.reserve", "start", "sync"]
    others = [name for name in writing_verbs() if name not in always]

    for seen in calls(tmp_path, "verbs", str(PAGES), *always, *some(others, 1)):
        assert_honest(seen)
        assert seen["code"] != "INTERNAL_ERROR", seen


def test_a_hub_without_space_is_told_as_that_and_nothing_is_lost(tmp_path: Path):
    found = calls(tmp_path, "hub", "9")

    assert {seen["code"] for seen in found} == {"", "HUB_FULL"}
    assert all(seen["sound"] and not seen["torn"] and not seen["changed"] for seen in found)


def test_a_pull_that_does_not_fit_is_refused_as_that(tmp_path: Path):
    found = calls(tmp_path, "pulled", "16")

    assert {seen["code"] for seen in found} <= {"", "DISK_FULL"}
    assert "DISK_FULL" in {seen["code"] for seen in found}
    for seen in found:
        assert_honest(seen)
