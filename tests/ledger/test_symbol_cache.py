"""The cache of symbols: it belongs to exact contents, and damage to it changes no answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.ledger.lines import grammars, symbol_cache

CONTENT = b"".join(b"def f%d():\n    return 1\n\n\n" % number for number in range(2000))


def found(store: Path, content: bytes = CONTENT) -> list[str]:
    symbol_cache._latest.clear()  # as a new process
    return [one.name for one in symbol_cache.symbols("src/a.py", content, str(store))]


def test_a_large_file_is_looked_up_the_second_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = found(tmp_path)
    monkeypatch.setattr(grammars, "symbols", lambda *_: pytest.fail("it was not looked up"))

    assert found(tmp_path) == first
    assert len(first) == 2000


def test_other_contents_have_their_own_symbols(tmp_path: Path):
    found(tmp_path)

    assert found(tmp_path, CONTENT + b"def last():\n    pass\n")[-1] == "last"
    assert len(list((tmp_path / "symbols").iterdir())) == 1


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b'{"of": 1}', b"\xff\xfe", b'{"symbols": [["a", "b", 2, 1]]}', b'{"symbols": [[1, 2]]}'],
)
def test_a_damaged_cache_is_ignored(tmp_path: Path, damage: bytes):
    first = found(tmp_path)
    (file,) = (tmp_path / "symbols").iterdir()
    for octets in (damage, file.read_bytes().split(b'"symbols"')[0] + damage.partition(b"{")[2]):
        file.write_bytes(octets)
        assert found(tmp_path) == first


def test_where_nothing_can_be_written_the_answer_is_the_same(tmp_path: Path):
    (tmp_path / "symbols").write_text("a file is in the way")

    assert len(found(tmp_path)) == 2000
