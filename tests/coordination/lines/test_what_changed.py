"""What a commit of another agent changed in a file, in a few words: renamed, moved, removed what one uses."""

from __future__ import annotations

import pytest

from bb.coordination.lines import what_changed
from bb.coordination.lines.what_changed import WhatChanged

PARSE = b"def parse(text):\n    words = text.split()\n    return [int(word) for word in words]\n"
FORMAT = b"def form(number):\n    text = str(number)\n    return text.rjust(8)\n"
ADD = b"def add(one, other):\n    total = one + other\n    return total\n"
OLD = PARSE + b"\n\n" + FORMAT + b"\n\n" + ADD


def between(new: bytes, *own: bytes, path: str = "src/number.py") -> WhatChanged:
    return what_changed.between(path, OLD, new, own)


def test_a_renamed_symbol_is_told_with_both_names():
    """Issue 24: my next turn says what changed in three lines (renamed, moved, removed what I use), not a diff."""
    found = between(OLD.replace(b"def parse", b"def read_numbers"), b"    return parse(line)\n")

    assert found.renamed == (("parse", "read_numbers"),)
    assert found.used == ("parse",)
    assert found.removed == ()


def test_a_removed_symbol_is_told_and_whether_one_uses_it():
    found = between(PARSE + b"\n\n" + ADD, b"x = form(3)\n")

    assert (found.removed, found.used) == (("form",), ("form",))
    assert between(PARSE + b"\n\n" + ADD, b"x = add(3, 4)\n").used == ()


def test_a_changed_symbol_is_told():
    found = between(OLD.replace(b"rjust(8)", b"rjust(10)"))

    assert (found.changed, found.removed, found.used) == (("form",), (), ())


def test_a_symbol_that_moved_is_told():
    found = between(ADD + b"\n\n" + PARSE + b"\n\n" + FORMAT)

    assert found.moved
    assert (found.renamed, found.removed, found.changed) == ((), (), ())


def test_a_word_counts_only_as_a_whole():
    assert between(PARSE + b"\n\n" + ADD, b"x = transform(3)  # formal\n").used == ()
    assert between(PARSE + b"\n\n" + ADD, b"x = self.form(3)\n").used == ("form",)


def test_a_method_is_used_by_its_last_name():
    old = b"class Reader:\n    def parse(self):\n        return 1\n\n    def keep(self):\n        return 2\n"
    new = b"class Reader:\n    def keep(self):\n        return 2\n"

    found = what_changed.between("src/reader.py", old, new, [b"reader.parse()\n"])

    assert found.used == ("Reader.parse",)


def test_at_most_three_symbols_of_a_kind_are_named_and_those_in_use_come_first():
    many = b"".join(b"def f%d():\n    one = %d\n    return one\n\n\n" % (n, n) for n in range(9))

    found = what_changed.between("src/many.py", many, many.replace(b"return one", b"return one + 1"), [b"f7() + f8()\n"])

    assert len(found.changed) == what_changed.MOST
    assert found.changed[:2] == ("f7", "f8")
    assert found.used == ("f7", "f8")


@pytest.mark.parametrize("path", ["data.bin", "README", "x.unknown", "a.json", "a.md", "a.rs"])
@pytest.mark.parametrize("new", [b"", b"\xff\xfe\x00", b"{", b"# Head\n\ntext\n", b"{" * 5000])
def test_whatever_the_files_contain_there_is_an_answer(path: str, new: bytes):
    found = what_changed.between(path, OLD, new, [b"\xff\xfe parse\n", b""])

    assert isinstance(found, WhatChanged)


def test_nothing_changed_is_nothing_to_tell():
    assert between(OLD, b"parse\n") == WhatChanged()
