"""Carriers, relays and calls of git in a process with more than 1,024 open files."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the limit is that of POSIX systems")


@pytest.mark.each
@pytest.mark.parametrize(
    "tests",
    [
        "contracts/test_all_carriers.py::test_a_wait_ends_when_a_file_can_be_read",
        "contracts/test_all_carriers.py::test_a_reader_finds_what_came",
        "ledger/fleet/test_relay.py::test_flush_sends_everything_and_fresh_brings_it_to_the_other_machine",
        "ledger/fleet/test_relay.py::test_an_ask_is_refused_within_two_seconds_if_the_engine_is_away_and_nothing_was_sent",
    ],
)
def test_many_open_files_are_no_hindrance(tests: str):
    command = [sys.executable, "-m", "pytest", "-p", "tests.many_files", "-p", "no:cacheprovider", f"tests/{tests}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
