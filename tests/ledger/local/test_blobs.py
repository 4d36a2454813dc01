"""An attachment is what its name says, or it is refused."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.ledger.files import disk_refusals
from bb.ledger.local import blobs
from bb.ledger.local.blobs import BlobDamaged, BlobNotFound, BlobTooLarge
from bb.messaging.chat.references import InvalidAttachments

OCTETS = b"what was attached\0\xff"
HASH = hashlib.sha256(OCTETS).hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path)


def files(store: str) -> list[Path]:
    return sorted((Path(store) / "blobs").iterdir())


def test_what_is_kept_is_read_back_and_says_what_it_is(store: str):
    kept = blobs.keep(store, OCTETS, "shot.png")

    assert kept == {
        "path": f"state/blobs/{HASH}_shot.png",
        "title": "shot.png",
        "bytes": len(OCTETS),
        "sha256": HASH,
    }
    assert blobs.read(store, kept["path"]) == OCTETS
    assert [file.name for file in files(store)] == [f"{HASH}_shot.png"]


def test_nothing_is_an_attachment_too(store: str):
    assert blobs.read(store, blobs.keep(store, b"", "empty")["path"]) == b""


def test_the_same_bytes_under_the_same_name_are_written_once(store: str):
    first = blobs.keep(store, OCTETS, "a.txt")
    (file,) = files(store)
    before = file.stat().st_ino
    assert blobs.keep(store, OCTETS, "a.txt") == first
    assert file.stat().st_ino == before

    blobs.keep(store, OCTETS, "b.txt")
    assert len(files(store)) == 2


@given(st.text(max_size=300))
def test_no_name_leads_out_of_the_folder(name: str):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        kept = blobs.keep(folder, OCTETS, name)
        assert [file.name for file in files(folder)] == [kept["path"].removeprefix("state/blobs/")]
        assert blobs.read(folder, kept["path"]) == OCTETS
        assert sorted(each.name for each in Path(folder).iterdir()) == ["blobs"]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a.txt",
        "/etc/passwd",
        "state/blobs/",
        f"state/blobs/{HASH}",
        f"state/blobs/{HASH}_",
        f"state/blobs/{HASH}_../../x",
        f"state/blobs/../{HASH}_x",
        f"state/blobs/{HASH}_a/b",
        f"state/blobs/{HASH.upper()}_x",
        f"state/blobs/{HASH[:-1]}_x",
        f"state/blobs/{HASH}_.hidden",
        f"state/blobs/{HASH}_x\0",
        f"state/blobs/{HASH}_x\n",
        7,
        None,
        [],
        {},
    ],
)
def test_what_is_no_path_of_an_attachment_is_refused(store: str, path: Any):
    with pytest.raises(InvalidAttachments.error) as refusal:
        blobs.read(store, path)
    assert refusal.value.exit_status == 2


def test_an_attachment_that_is_elsewhere_is_not_found(store: str):
    with pytest.raises(BlobNotFound.error) as refusal:
        blobs.read(store, f"state/blobs/{HASH}_x")
    assert "clone" in (refusal.value.hint or "")


def test_an_attachment_that_is_another_than_its_name_says_is_refused(store: str):
    kept = blobs.keep(store, OCTETS, "x")
    (file,) = files(store)
    for wrong in (OCTETS + b"!", b"", OCTETS[:-1]):
        file.write_bytes(wrong)
        with pytest.raises(BlobDamaged.error):
            blobs.read(store, kept["path"])


def test_what_was_damaged_is_kept_again_when_it_is_attached_again(store: str):
    kept = blobs.keep(store, OCTETS, "x")
    (file,) = files(store)
    file.write_bytes(b"something else")

    assert blobs.keep(store, OCTETS, "x") == kept
    assert blobs.read(store, kept["path"]) == OCTETS


def test_an_attachment_has_a_largest_size(store: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blobs, "LARGEST", 10)
    assert blobs.keep(store, b"x" * 10, "x")["bytes"] == 10
    with pytest.raises(BlobTooLarge.error) as refusal:
        blobs.keep(store, b"x" * 11, "x")
    assert refusal.value.details == {"bytes": 11}


def test_a_message_may_only_refer_to_what_is_there(store: str):
    kept = blobs.keep(store, OCTETS, "x")
    attachment = {"path": kept["path"], "bytes": 1}
    blobs.must_be_there(store, attachment)
    assert attachment["bytes"] == len(OCTETS), "whatever its sender said"

    (file,) = files(store)
    file.write_bytes(b"another")
    with pytest.raises(InvalidAttachments.error):
        blobs.must_be_there(store, attachment)
    file.unlink()
    with pytest.raises(InvalidAttachments.error):
        blobs.must_be_there(store, attachment)


def test_an_attachment_that_is_a_folder_or_leads_elsewhere_is_refused(store: str, tmp_path: Path):
    kept = blobs.keep(store, OCTETS, "x")
    (file,) = files(store)
    file.unlink()
    (tmp_path / "secret").write_bytes(b"secret")
    file.symlink_to(tmp_path / "secret")
    with pytest.raises(BlobDamaged.error):
        blobs.read(store, kept["path"])
    file.unlink()
    file.mkdir()
    with pytest.raises(BlobNotFound.error):
        blobs.read(store, kept["path"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_in_the_place_of_an_attachment_makes_nobody_wait(store: str):
    kept = blobs.keep(store, OCTETS, "x")
    (file,) = files(store)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(BlobNotFound.error):
        blobs.read(store, kept["path"])
    assert blobs.read(store, blobs.keep(store, OCTETS, "x")["path"]) == OCTETS


def test_a_full_disk_leaves_nothing_half(store: str, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(disk_refusals.DiskFull.error):
        blobs.keep(store, OCTETS, "x")
    assert files(store) == []
