"""The figures that the pages have to keep, measured as `scripts/bench-web` measures them: only with `--long`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT

MINUTES = 5


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("chromium"), reason="no Chromium is installed")
def test_pages_are_painted_and_updated_in_time_and_memory_stays_flat(tmp_path: Path):
    figures = tmp_path / "figures.json"
    command = [sys.executable, str(ROOT / "scripts" / "bench-web"), "--minutes", str(MINUTES), "--json", str(figures)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60 * (MINUTES + 10))

    found = json.loads(figures.read_text())
    assert [each["name"] for each in found if each["over"]] == [], ran.stdout
    assert {each["budget"] for each in found} >= {300, 1000, 2, 10}
