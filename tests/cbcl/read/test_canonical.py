"""The canonical form: RFC 9804's octets, with what tells a string from everything else."""

from __future__ import annotations

import hashlib

import pytest

from bb.cbcl.read import canonical
from bb.cbcl.read.tree import text_of
from tests.cbcl.trees import definition, read, tree

HINT = b"[24:text/plain;charset=utf-8]"


def octets(text: str) -> bytes:
    return canonical.octets(tree(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("()", b"()"),
        ("(tell @bob)", b"(4:tell4:@bob)"),
        ('(tell @bob "hi")', b"(4:tell4:@bob" + HINT + b"2:hi)"),
        ('("")', b"(" + HINT + b"0:)"),
        ("(a (b) ())", b"(1:a(1:b)())"),
        ("('q :k @a)", b"(2:'q2::k2:@a)"),
        ("(#t #f)", b"(2:#t2:#f)"),
        ("(007 -0 1.50)", b"(1:71:03:1.5)"),
        ("(speak? type? = &key &optional &rest)", b"(6:speak?5:type?1:=4:&key9:&optional5:&rest)"),
        (r'("\"\\\n\r\t")', b"(" + HINT + b'5:"\\\n\r\t)'),
        ('("é漢😀")', b"(" + HINT + b"9:" + "é漢😀".encode() + b")"),
        ("(abcdefghij)", b"(10:abcdefghij)"),
    ],
)
def test_8_every_atom_is_its_length_in_octets_and_its_one_spelling(text: str, expected: bytes):
    assert octets(text) == expected


@pytest.mark.parametrize("name", ["route", "1", ":k", "'q", "@a", "#t", "1.5", "=", "&key", "()"])
def test_8_a_string_is_never_taken_for_what_it_spells(name: str):
    assert octets(f'("{name}")') != octets(f"({name})")
    assert octets(f'("{name}")').startswith(b"(" + HINT)


def test_8_layout_comments_and_spellings_of_the_same_vanish():
    bare = "(envelope :timestamp 2025-01-15T14:30:00Z (signed 007 (tell @b (1.50 007))))"
    other = """( envelope ; when
      :timestamp "2025-01-15T14:30:00Z" (signed "007" (tell @b(1.5 7)))) """

    assert canonical.octets(read(bare).node) == canonical.octets(read(other).node)
    assert b"3:007" in canonical.octets(read(bare).node)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(tell @b :a 1 :c 2)", "(tell @b :c 2 :a 1)"),
        ("(define d :extends cbcl)", "(define d)"),
        ("(define d :author @a :extends e)", "(define d :extends e :author @a)"),
        ("(define d :resources (:max-expansion 9))", "(define d :resources (:max-expansion-size 9))"),
        ("(define d (extend p (&key a b) x))", "(define d (extend p (&key a &key b) x))"),
    ],
)
def test_8_order_is_kept_and_nothing_is_left_out(one: str, other: str):
    assert octets(one) != octets(other)


def test_8_a_definition_is_known_by_its_own_tree_wherever_it_stands():
    text = '(define d :author @a (extend p (x) (tell @b "x" :k x)))'
    wheres = (text, f"(signed abc {text})", f"(meta {text})", f"(meta (teach @b (signed abc {text})))")

    digests = {canonical.digest(definition(each).node) for each in wheres}

    assert digests == {hashlib.sha256(octets(text)).hexdigest()}


def test_8_canonical_text_and_canonical_octets_are_of_the_same_tree():
    text = '(tell @b (x "y" \'z :k @a 1.0 #t ()) :p 1)'

    assert canonical.octets(tree(text_of(tree(text)))) == octets(text)
