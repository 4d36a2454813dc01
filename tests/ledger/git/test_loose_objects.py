"""What bb puts into git's store is on the disk before a ref leads to it, and an emptied object is written again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from bb.ledger.files import disk
from bb.ledger.git import git
from bb.ledger.git.loose_objects import LooseObjects
from tests.stories.travel.travel_support import AMBER, clone, hub
from tests.support import Scratch


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    made = Scratch(tmp_path)
    made.git("init", "-q")
    return made


def test_an_object_that_a_power_failure_emptied_is_written_again(repo: Scratch):
    loose = LooseObjects(str(repo.path / ".git"), 40)
    name = loose.keep("blob", b"text\n")
    path = repo.path / ".git" / "objects" / name[:2] / name[2:]
    path.chmod(0o644)
    path.write_bytes(b"")

    assert loose.keep("blob", b"text\n") == name
    assert repo.git("cat-file", "blob", name) == "text\n"


def test_an_object_that_git_packed_meanwhile_is_not_waited_for(repo: Scratch):
    loose = LooseObjects(str(repo.path / ".git"), 40)
    name = loose.keep("blob", b"text\n")
    folder = repo.path / ".git" / "objects" / name[:2]
    (folder / name[2:]).unlink()
    folder.rmdir()

    loose.wait_for_disk()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the files of descriptors are not shown")
def test_no_ref_leads_to_a_commit_whose_objects_are_not_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    here = clone(hub(tmp_path / "hub.git"), "here")
    here.ask("agent.register", name=AMBER, role="builder")
    on_disk: set[str] = set()
    led_to: list[set[str]] = []
    sync_data, start = disk.sync_data, git.start

    def noting(fd: int) -> None:
        on_disk.add(Path(os.readlink(f"/proc/self/fd/{fd}")).name)
        sync_data(fd)

    def starting(arguments: list[str], **how: Any) -> git.Asked:
        if arguments[0] == "update-ref":
            led_to.append(
                {line.split()[0][2:] for line in here.git("rev-list", "--objects", arguments[2]).splitlines()}
            )
            assert led_to[-1] <= on_disk
        return start(arguments, **how)

    monkeypatch.setattr(disk, "sync_data", noting)
    monkeypatch.setattr(git, "start", starting)
    here.sync(publish=True)

    assert len(led_to) == 1
    assert len(led_to[0]) > 3
