"""A machine of a fleet whose disk is full, or can only be read: its commands say so, and do not blame the engine."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT


def said(folder: Path, story: str) -> list[dict[str, Any]]:
    """What the commands of a story of `small_disk` said."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("mounts of a single process need Linux and unshare")
    command = ["unshare", "--mount", sys.executable, "-m", "tests.stories.fleet.small_disk", str(folder), story]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if "not permitted" in done.stdout + done.stderr:
        pytest.skip("this user may not mount a file system")
    if "Skipped" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_full_disk_is_told_as_that_and_the_engine_is_not_called_away(tmp_path: Path):
    reserve, *others = said(tmp_path, "full")

    assert json.loads(reserve["out"])["error"]["code"] == "GRANT_PENDING"
    assert "FLEET_RESULTS_NOT_SAVED" in others[0]["out"]
    for each in (reserve, *others):
        assert "engine cannot be reached" not in each["out"]


def test_on_a_disk_that_is_read_only_reading_works_with_and_without_the_log_of_a_relay(tmp_path: Path):
    for each in said(tmp_path, "read_only"):
        answer = json.loads(each["out"])
        assert answer["error"]["code"] == "PATH_HELD", each
        assert "fleet" in answer["error"]["details"]


def test_reading_works_where_no_file_can_be_made_any_more(tmp_path: Path):
    (check,) = said(tmp_path, "no_inode")

    assert json.loads(check["out"])["error"]["code"] == "PATH_HELD"
