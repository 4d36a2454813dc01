"""What a daemon leaves behind in its home when it ends."""

from __future__ import annotations

from pathlib import Path

from bb.daemon.clients.endpoint import Endpoint
from bb.ledger.local import descriptor


def test_a_daemon_that_leaves_keeps_its_lock_until_its_process_has_closed_all_files(tmp_path: Path):
    home = tmp_path / "home"
    endpoint = Endpoint(str(home), {})
    endpoint.claim()

    endpoint.leave()

    assert descriptor.is_running(str(home))
