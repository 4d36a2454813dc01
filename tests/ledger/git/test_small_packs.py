"""Small packs are put together, and no object is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.ledger.git import small_packs
from tests.support import Scratch, scratch


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scratch:
    """A repository with four packs of a commit each."""
    monkeypatch.setattr(small_packs, "MOST_PACKS", 3)
    repo = scratch(tmp_path / "repo")
    for number in range(4):
        (repo.path / "file").write_text(f"{number}\n")
        repo.git("add", "file")
        repo.git("commit", "--quiet", "-m", str(number))
        repo.git("repack", "-d", "-q")
    assert len(packs(repo)) == 4
    return repo


def packs(repo: Scratch) -> list[Path]:
    return sorted((repo.path / ".git" / "objects" / "pack").glob("*.pack"))


def objects(repo: Scratch) -> list[str]:
    return sorted(repo.git("cat-file", "--batch-all-objects", "--batch-check").splitlines())


@pytest.mark.parametrize("setting", ["", "pack.packSizeLimit=1m", "pack.indexVersion=1", "repack.writeBitmaps=true"])
def test_many_small_packs_become_one(packed: Scratch, setting: str):
    before = objects(packed)
    if setting:
        packed.git("config", *setting.split("="))

    small_packs.put_together(str(packed.path / ".git"))

    assert len(packs(packed)) == 1
    assert objects(packed) == before
    packed.git("fsck", "--full", "--strict")


@pytest.mark.parametrize("ending", [".keep", ".promisor", ".bitmap"])
def test_a_pack_with_another_file_beside_it_is_left_alone(packed: Scratch, ending: str):
    kept = packs(packed)[0]
    kept.with_suffix(ending).touch()

    small_packs.put_together(str(packed.path / ".git"))

    assert kept in packs(packed)
    assert len(packs(packed)) == 4, "without it there are few"


def test_few_packs_stay(packed: Scratch, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(small_packs, "MOST_PACKS", 4)
    before = packs(packed)

    small_packs.put_together(str(packed.path / ".git"))

    assert packs(packed) == before


def test_a_pack_whose_index_is_damaged_is_left_alone(packed: Scratch, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(small_packs, "MOST_PACKS", 2)
    damaged = packs(packed)[0].with_suffix(".idx")
    damaged.chmod(0o644)
    damaged.write_bytes(b"nonsense" * 200)

    small_packs.put_together(str(packed.path / ".git"))

    assert damaged.with_suffix(".pack") in packs(packed)
    assert len(packs(packed)) == 2


def test_what_git_cannot_put_together_stays(packed: Scratch):
    before = packs(packed)
    before[0].chmod(0o644)
    before[0].write_bytes(b"nonsense")

    small_packs.put_together(str(packed.path / ".git"))

    assert packs(packed) == before
