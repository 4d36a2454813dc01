"""The cache of symbols: it gives the answers that the file gives, and neither damage nor a change of the file makes it
give others."""

from __future__ import annotations

import os
from binascii import crc32
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.holdings import scopes
from bb.coordination.holdings.scopes import Scope
from bb.coordination.lines import symbol, symbol_table
from bb.coordination.lines.symbol import FUNCTION, KEY, Symbol
from bb.ledger.files import disk
from bb.ledger.lines import grammars, symbol_cache
from bb.ledger.lines.regions_now import RegionsNow, Version
from tests.examples import examples
from tests.grids import some

SAMPLES = Path(__file__).parent.parent / "data" / "symbols"
CONTENT = b"".join(b"def f%d():\n    return 1\n\n\n" % number for number in range(400))


@pytest.fixture(autouse=True)
def new_process() -> Iterator[None]:
    symbol_cache._latest.clear()
    yield
    symbol_cache._latest.clear()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_bytes(CONTENT)
    return tmp_path


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every change of a file counts as long ago."""
    monkeypatch.setattr(disk, "LONGEST_TICK", -1 << 62)


def version(root: Path, path: str = "a.py", store: str | None = "store") -> Version:
    """The file as a new process sees it."""
    symbol_cache._latest.clear()
    found = RegionsNow(str(root), str(root / store) if store else None).file(Scope(path, is_file=True))
    assert found is not None
    return found


def lines(root: Path, name: str) -> list[tuple[int, int]]:
    return [(one.first, one.end) for one in version(root).named(name)]


def kept(root: Path) -> Path:
    (file,) = (root / "store" / "symbols").iterdir()
    return file


# -- when the file is read


@pytest.mark.usefixtures("settled")
def test_a_file_that_has_not_changed_is_not_read_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = lines(root, "f7")
    monkeypatch.setattr(symbol_cache, "read", lambda _: pytest.fail("it was read"))
    monkeypatch.setattr(grammars, "symbols", lambda *_: pytest.fail("its symbols were looked for"))

    assert lines(root, "f7") == first == [(28, 30)]
    assert lines(root, "nope") == []
    assert len(version(root).symbols) == 400


def test_a_file_that_was_just_changed_is_read_but_its_symbols_are_known(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "LONGEST_TICK", 1 << 62)
    first = lines(root, "f7")
    monkeypatch.setattr(grammars, "symbols", lambda *_: pytest.fail("its symbols were looked for"))

    assert lines(root, "f7") == first
    monkeypatch.setattr(disk, "LONGEST_TICK", -1 << 62)
    assert lines(root, "f7") == first  # read for the last time: its status is kept now
    monkeypatch.setattr(symbol_cache, "read", lambda _: pytest.fail("it was read"))
    assert lines(root, "f7") == first


def test_a_second_change_within_one_tick_is_seen(root: Path) -> None:
    """Size and times of both versions are equal, as on a file system with a coarse clock."""
    file = root / "a.py"
    before = file.stat()
    assert lines(root, "f7") == [(28, 30)]

    with file.open("r+b") as same_inode:
        same_inode.write(CONTENT.replace(b"def f7()", b"def g7()"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert (lines(root, "f7"), lines(root, "g7")) == ([], [(28, 30)])


@pytest.mark.usefixtures("settled")
def test_another_file_with_the_same_size_and_time_is_seen(root: Path) -> None:
    before = (root / "a.py").stat()
    assert lines(root, "f7") == [(28, 30)]

    (root / "b.py").write_bytes(CONTENT.replace(b"def f7()", b"def g7()"))
    os.utime(root / "b.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    (root / "b.py").replace(root / "a.py")

    assert (lines(root, "f7"), lines(root, "g7")) == ([], [(28, 30)])


@pytest.mark.usefixtures("settled")
def test_a_file_that_is_gone_binary_or_no_file_has_no_kept_symbols(root: Path) -> None:
    assert lines(root, "f7")
    (root / "a.py").unlink()
    assert lines(root, "f7") == []
    now = RegionsNow(str(root), str(root / "store"))
    (root / "a.py").write_bytes(b"\0" + CONTENT)
    (root / "b.py").mkdir()
    assert [now.file(Scope(name, is_file=True)) for name in ("a.py", "b.py")] == [None, None]


def test_two_names_of_one_file_have_their_own_symbols(root: Path) -> None:
    (root / "a.md").hardlink_to(root / "a.py")

    assert lines(root, "f7")
    assert version(root, "a.md").symbols == []


def test_there_are_few_cache_files_however_many_files_are_asked_about(root: Path) -> None:
    for number in range(300):
        (root / f"{number}.md").write_bytes(b"# Title\n" * 600)
        assert version(root, f"{number}.md").symbols

    assert len(os.listdir(root / "store" / "symbols")) <= 256


# -- damage


@pytest.mark.usefixtures("settled")
def test_no_damage_changes_an_answer(root: Path) -> None:
    first = lines(root, "f399")
    file = kept(root)
    sound = file.read_bytes()
    for at in some(range(len(sound)), len(sound) // 200):
        flipped = sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :]
        zeros = sound[:at] + b"\0" * len(sound[at:])
        for damaged in (sound[:at], flipped, zeros, sound[at:]):
            file.write_bytes(damaged)
            assert lines(root, "f399") == first


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("row", [b"x", b"9\t3\tfunction\tf7", b"a\tb\tc\tf7", b"1\t2\t\xff\tf7", b"f7"])
def test_a_cache_that_another_program_wrote_is_ignored(root: Path, row: bytes) -> None:
    first = lines(root, "f7")
    line = kept(root).read_bytes()[8:].partition(b"\n")[0]
    octets = line + b"\n" + row + b"\tf7\n"
    kept(root).write_bytes(b"%08x" % crc32(octets) + octets)

    assert lines(root, "f7") == first
    assert len(version(root).symbols) == 400


def test_where_nothing_can_be_written_the_answer_is_the_same(root: Path) -> None:
    (root / "store").mkdir()
    (root / "store" / "symbols").write_text("a file is in the way")

    assert lines(root, "f7") == [(28, 30)]


# -- the same answers


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.sample")), ids=lambda path: path.stem)
def test_regions_overlap_with_the_cache_as_without(root: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbol_cache, "SMALL", 0)
    name = path.stem
    content = path.read_bytes()
    (root / name).write_bytes(content)
    names = [*dict.fromkeys(one.name for one in grammars.symbols(name, content))][:25]
    some = [*names, *(one.rpartition(".")[2] for one in names[:5]), "gone", "new:fresh", f"new:{names[0]}", "2-5"]
    regions = [scopes.in_region(Scope(name, is_file=True), region) for region in dict.fromkeys(some)]

    def answers(store: str | None) -> list[object]:
        symbol_cache._latest.clear()
        now = RegionsNow(str(root), store)
        return [
            *(now.overlap(one, other, scopes.EXACT) for one, other in product(regions, regions)),
            *((now.located(one), now.has_vanished(one), now.named(one)) for one in regions),
        ]

    plain = answers(None)
    assert answers(str(root / "store")) == plain  # filled
    monkeypatch.setattr(symbol_cache, "of_content", lambda *_: pytest.fail("the cache did not answer"))
    assert answers(str(root / "store")) == plain  # asked


NAMES = st.text("ab.\t\\ é\ud800", min_size=1, max_size=5)


@examples(300)
@given(
    st.lists(st.tuples(NAMES, st.sampled_from([FUNCTION, KEY]), st.integers(0, 99), st.integers(1, 9))),
    NAMES | st.text("ab\n", max_size=3),
)
def test_a_table_finds_what_a_search_of_all_symbols_finds(rows: list[tuple[str, str, int, int]], name: str) -> None:
    found = [Symbol(each, kind, first, first + count) for each, kind, first, count in rows]
    table = symbol_table.table(found)

    assert table is not None
    assert table.symbols() == found
    for wanted in (name, *(one.name for one in found), *(one.name.rpartition(".")[2] for one in found)):
        assert table.named(wanted) == symbol.named(wanted, found)


def test_a_name_with_a_line_feed_is_in_no_table() -> None:
    assert symbol_table.table([Symbol("a\n1\t2\tkey\tb", KEY, 0, 1)]) is None
