"""A failed system call is refused with the path that it was about, and with what can be done about it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from bb.cli.programs import daemon
from bb.daemon.clients.endpoint import Endpoint
from bb.kernel.errors import BbError
from bb.ledger.files import disk, disk_refusals
from bb.ledger.files.disk_refusals import InDaemonHome


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_the_path_is_named(number: int):
    refusal = disk.refusal(OSError(number, os.strerror(number), "/elsewhere/x"))

    assert "/elsewhere/x" in refusal.message
    assert os.strerror(number) in refusal.message
    assert "ledger" not in refusal.message
    assert refusal.details == {"path": "/elsewhere/x"}


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EIO])
def test_the_home_of_the_daemon_is_named_with_the_setting_that_helps(number: int):
    with pytest.raises(BbError) as refused, InDaemonHome("/home/.cccc"):
        raise OSError(number, os.strerror(number), "/home/.cccc/daemon")

    assert "/home/.cccc/daemon" in refused.value.message
    assert "set CCCC_HOME" in str(refused.value.hint)


def test_a_full_disk_is_a_full_disk_in_the_home_of_the_daemon_too():
    with pytest.raises(disk_refusals.DiskFull.error), InDaemonHome("/home/.cccc"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_the_system_has_not_refused_is_not_about_the_home():
    with pytest.raises(disk_refusals.NotAFile.error), InDaemonHome("/home/.cccc"):
        raise disk_refusals.NotAFile()


def test_a_daemon_whose_home_cannot_be_made_says_so(tmp_path: Path):
    (tmp_path / "file").touch()
    home = str(tmp_path / "file" / ".cccc")

    for start in (Endpoint(home, {}).claim, lambda: daemon.start({"CCCC_HOME": home}, None)):
        with pytest.raises(BbError) as refused:
            start()
        assert home in refused.value.message
        assert "set CCCC_HOME" in str(refused.value.hint)
