"""The prompts of a group are files that a person may change, and they change together or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bb.kernel.errors import BbError
from bb.ledger.files import disk, disk_refusals
from bb.ledger.local import prompts

NAMES = ("preamble", "help", "standup")
GROUP = "g_1"


def there(home: Path) -> dict[str, str]:
    """Every file in the folder, by name."""
    folder = home / "groups" / GROUP / "prompts"
    return {path.name: path.read_text() for path in folder.iterdir()} if folder.exists() else {}


def change(home: Path, **wanted: str | None) -> dict[str, str | None]:
    with prompts.Change(str(home), GROUP, wanted) as changing:
        return changing.make()


def test_what_is_not_there_or_blank_is_no_prompt(tmp_path: Path):
    assert prompts.read(str(tmp_path), GROUP, NAMES) == {}
    change(tmp_path, help="Ask.", standup=" \n")
    assert prompts.read(str(tmp_path), GROUP, NAMES) == {"help": "Ask."}


def test_each_is_a_file_and_none_is_left_that_is_built_in_again(tmp_path: Path):
    change(tmp_path, help="Ask.", standup="Say.")
    paths = change(tmp_path, help=None, preamble="Dear “actor”\r\n")

    assert there(tmp_path) == {"standup.md": "Say.", "preamble.md": "Dear “actor”\n"}
    assert prompts.read(str(tmp_path), GROUP, NAMES)["preamble"] == "Dear “actor”\r\n"
    assert paths == {"help": None, "preamble": prompts.path_of(str(tmp_path), GROUP, "preamble")}


def test_what_does_not_come_to_pass_leaves_nothing(tmp_path: Path):
    change(tmp_path, help="Ask.")
    before = there(tmp_path)

    with pytest.raises(ZeroDivisionError), prompts.Change(str(tmp_path), GROUP, {"help": "Other.", "standup": "New."}):
        raise ZeroDivisionError

    assert there(tmp_path) == before


def test_a_full_disk_shows_before_anything_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    change(tmp_path, help="Ask.")
    before, replace = there(tmp_path), disk.replace

    def full(path: str, octets: bytes, **how: bool) -> None:
        if "standup" in path:
            raise disk_refusals.DiskFull()
        replace(path, octets, **how)

    monkeypatch.setattr(disk, "replace", full)
    with pytest.raises(disk_refusals.DiskFull.error):
        change(tmp_path, help="Other.", standup="New.")

    assert there(tmp_path) == before


def test_a_file_that_is_no_text_is_read_as_far_as_it_is(tmp_path: Path):
    change(tmp_path, help="x")
    path = prompts.path_of(str(tmp_path), GROUP, "help")
    Path(path).write_bytes(b"Ask \xff" + b"x" * prompts.MOST)

    read = prompts.read(str(tmp_path), GROUP, NAMES)["help"]

    assert read.startswith("Ask �x")
    assert len(read) == prompts.MOST


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_a_refusal(tmp_path: Path):
    tmp_path.chmod(0o500)
    with pytest.raises(BbError):
        change(tmp_path, help="Ask.")
