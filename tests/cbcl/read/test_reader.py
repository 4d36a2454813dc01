"""The reader: which octets are which tokens, how deep and how long a text may be, and where a mistake is said to be."""

from __future__ import annotations

import pytest

from bb.cbcl.read import reader
from bb.cbcl.read.reader import (
    DEPTH,
    DEPTH_MOST,
    DEPTH_RECOMMENDED,
    ENCODING,
    LEX,
    LIMIT,
    PAREN,
    SIZE_RECOMMENDED,
    STRUCTURE,
    Bounds,
    Malformed,
    Text,
)
from bb.cbcl.read.tree import as_json, text_of
from tests.cbcl.trees import octets, place, read, refused, steps, tree


def atom(written: str | bytes) -> list[object]:
    """What an atom within a list is read as."""
    (found,) = tree(b"(" + octets(written) + b")").value
    return as_json(found)


def lexes(written: str | bytes) -> tuple[str, int]:
    """Why what stands in a list is refused, and at which octet of it."""
    with pytest.raises(Malformed.error) as refusal:
        tree(b"(" + octets(written) + b")")
    reason, offset = place(refusal.value)
    return reason, offset - 1


# -- §1 tokens


@pytest.mark.parametrize(
    ("written", "pair"),
    [
        ("abc", ["sym", "abc"]),
        ("aBc", ["sym", "aBc"]),
        ("-", ["sym", "-"]),
        ("--", ["sym", "--"]),
        ("_", ["sym", "_"]),
        ("12-3", ["sym", "12-3"]),
        ("3pm", ["sym", "3pm"]),
        ("1_000", ["sym", "1_000"]),
        ("-7-", ["sym", "-7-"]),
        ("5e3", ["sym", "5e3"]),
        ("f81d4fae-7dec-11d0-a765-00a0c91e6bf6", ["sym", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"]),
        ("2025-01-15", ["sym", "2025-01-15"]),
        ("'a", ["qsym", "a"]),
        ("'42", ["qsym", "42"]),
        (":key", ["kw", "key"]),
        (":42", ["kw", "42"]),
        (":-", ["kw", "-"]),
        ("@bob", ["agent", "bob"]),
        ("@42", ["agent", "42"]),
        ("#t", ["bool", True]),
        ("#f", ["bool", False]),
        ("t", ["sym", "t"]),
        ("42", ["num", "42"]),
        ("-7", ["num", "-7"]),
        ("1.5", ["num", "1.5"]),
        ("speak?", ["op", "speak?"]),
        ("type?", ["op", "type?"]),
        ("=", ["op", "="]),
        ("&key", ["op", "&key"]),
        ("&optional", ["op", "&optional"]),
        ("&rest", ["op", "&rest"]),
    ],
)
def test_1_a_run_is_one_token_as_a_whole(written: str, pair: list[object]):
    assert atom(written) == pair


NO_TOKENS = r"""
#true #T #F # #t1 ##t 1. .5 1.2.3 -.5 -1. 1.5e3 1,5 a:b a.b a? A->B a|b a* a@b a'b a#t a&b <a> {a} [a] $a ~ `a ^
: ::a :a:b :a.b :@a :'a @ @@a @a.b @a:b @ed25519:alice ' ''a '@a '(a & &keys &KEY Speak? Type? type?? speak?x
2025-01-15T14:30:00 2025-1-15T14:30:00Z 14:30 a-b/c a_b= \a a\n
"""


@pytest.mark.parametrize("written", NO_TOKENS.split())
def test_1_a_run_that_is_no_token_as_a_whole_is_none_in_part(written: str):
    assert lexes(written) == (LEX, 0)


@pytest.mark.parametrize("written", ["+1", "1e+3", "==", "a/b", "ab=", "+", "/", "2025-01-15T14:30:00Z"])
def test_1_a_date_and_base64_are_tokens_only_where_they_are_expected(written: str):
    assert place(refused(f"(tell @b {written})")) == (LEX, 9)
    assert place(refused(f"(tell @b (x ({written})))")) == (LEX, 13)
    assert place(refused(f"(tell @b :timestamp {written})")) == (LEX, 20)
    assert place(refused(f"(lang d (p {written}))")) == (LEX, 11)


def test_1_no_run_is_split_into_two_tokens():
    assert lexes("a:b") == (LEX, 0)
    assert lexes("& key") == (LEX, 0)
    assert lexes("x 12.x") == (LEX, 2)


@pytest.mark.parametrize(
    ("written", "at"),
    [('a"b"', 1), ('"a"b', 3), ('"a""b"', 3), ('#t"x"', 2), ('"x":k', 3), ('"x"@a', 3), ('12"x"', 2), ('"x"#t', 3)],
)
def test_1_two_atoms_have_something_between_them(written: str, at: int):
    assert lexes(written) == (LEX, at)


@pytest.mark.parametrize("written", ['"a";x\n"b"', "a(b)c", '"a"("b")"c"', '()"x"', "a;\nb", "(a)(b)"])
def test_1_a_parenthesis_or_a_comment_is_enough_between_atoms(written: str):
    assert tree(f"({written})").value


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("007", "7"),
        ("0", "0"),
        ("000", "0"),
        ("-0", "0"),
        ("-000", "0"),
        ("-007", "-7"),
        ("1.50", "1.5"),
        ("1.00", "1.0"),
        ("01.10", "1.1"),
        ("0.0", "0.0"),
        ("-0.0", "0.0"),
        ("-0.00", "0.0"),
        ("-0.50", "-0.5"),
        ("-00.05", "-0.05"),
        ("100", "100"),
        ("100.0", "100.0"),
    ],
)
def test_1_a_number_has_one_spelling(written: str, number: str):
    assert atom(written) == ["num", number]


def test_1_a_number_is_exact_however_long():
    digits = "9" * 10_000

    assert atom(digits) == ["num", digits]
    assert atom(f"-{digits}.{digits}") == ["num", f"-{digits}.{digits}"]
    assert atom("0.1000000000000000055511151231257827") == ["num", "0.1000000000000000055511151231257827"]


# -- §1 strings


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r'""', ""),
        (r'"a b"', "a b"),
        (r'"\"\\\n\r\t"', '"\\\n\r\t'),
        (r'"\\n"', "\\n"),
        ('"(;:@#\'"', "(;:@#'"),
        ('"é漢😀"', "é漢😀"),
        ('"é\\n漢"', "é\n漢"),
        ('"\u0085\u202e\ufeff"', "\u0085\u202e\ufeff"),
        ('"e\u0301"', "e\u0301"),
    ],
)
def test_1_a_string_says_its_characters(written: str, text: str):
    assert atom(written) == ["str", text]


@pytest.mark.parametrize("octet", [*range(0x20), 0x7F])
def test_1_no_control_stands_in_a_string(octet: int):
    assert lexes(b'"ab' + bytes([octet]) + b'c"') == (LEX, 3)


@pytest.mark.parametrize("escape", [chr(each) for each in range(0x20, 0x7F) if chr(each) not in '"\\nrt'])
def test_1_an_unknown_escape_is_refused_and_never_kept(escape: str):
    assert lexes(f'"ab\\{escape}"') == (LEX, 3)


@pytest.mark.parametrize("written", ['"', '"abc', '"abc\\"', '"abc\\', '"é'])
def test_1_a_string_ends(written: str):
    text = "(tell @b " + written
    refusal = refused(text)

    assert refusal.details["reason"] == LEX
    assert len(text.encode()) - 1 <= refusal.details["offset"] <= len(text.encode())


# -- §1 separators and comments


@pytest.mark.parametrize(
    "text",
    [
        '(tell @b "x")',
        '(tell\t@b\r\n"x")',
        '( tell @b "x" )',
        ' \t\r\n(tell @b "x")\r\n ',
        '(tell @b\r"x")',
        ';first\n(tell ;a\n@b;b\r\n"x";"(" \n);last',
        ';\n(tell @b;\té\u202e\n"x");',
    ],
)
def test_1_layout_and_comments_say_nothing(text: str):
    assert text_of(read(text).node) == '(tell @b "x")'


@pytest.mark.parametrize("octet", [0x00, 0x0B, 0x0C, 0x1B, 0x1C, 0x7F])
def test_1_other_controls_separate_nothing(octet: int):
    assert lexes(bytes([octet]) + b" a") == (LEX, 0)
    assert lexes(b"a " + bytes([octet])) == (LEX, 2)
    assert place(refused(b"(tell @b);a" + bytes([octet]) + b"\n")) == (LEX, 11)


@pytest.mark.parametrize("space", ["\u00a0", "\u0085", "\u2003", "\u2028", "\u3000", "\u200b"])
def test_1_no_space_of_unicode_separates(space: str):
    assert lexes(f"a {space} b") == (LEX, 2)


@pytest.mark.parametrize("written", ["é", "aé", "@é", ":é", "'é"])
def test_1_names_are_ascii(written: str):
    assert lexes(f"x {written}")[0] == LEX


@pytest.mark.parametrize("comment", [";a\rb\n", ";a\r", ";\r\r\n"])
def test_1_a_carriage_return_ends_no_comment(comment: str):
    assert place(refused(f"(tell @b){comment}")) == (LEX, 9 + comment.index("\r"))


# -- §1 encoding


@pytest.mark.parametrize(
    ("octets", "at"),
    [
        (b"\x80", 0),
        (b"a\xff", 1),
        (b"\xc0\x80", 0),
        (b"\xc1\xbf", 0),
        (b"\xe0\x80\x80", 0),
        (b"\xe2\x82", 0),
        (b"\xed\xa0\x80", 0),
        (b"\xf0\x80\x80\x80", 0),
        (b"\xf0\x9f\x98", 0),
        (b"\xf4\x90\x80\x80", 0),
        (b"\xf5\x80\x80\x80", 0),
        (b"\xf8\x88\x80\x80\x80", 0),
    ],
)
def test_1_octets_that_are_no_utf_8_are_refused(octets: bytes, at: int):
    before = '(tell @b "é'.encode()

    assert place(refused(before + octets + b'")')) == (ENCODING, len(before) + at)
    assert place(refused(before + b'" ;' + octets)) == (ENCODING, len(before) + 3 + at)


def test_1_a_byte_order_mark_is_refused():
    assert place(refused(b"\xef\xbb\xbf(tell @b)")) == (ENCODING, 0)


def test_1_nothing_is_normalised():
    assert text_of(read('(tell @b "\u212b e\u0301 \ufb01")').node) == '(tell @b "\u212b e\u0301 \ufb01")'


# -- the order of checks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"(((((((\xff" + b" " * 40, (LIMIT, 40)),
        (b'(a (b ) "\\x \xff', (ENCODING, 12)),
        (b"(a (b) ] (((((", (LEX, 7)),
        (b"(a (b (c (d (e ] ", (DEPTH, 12)),
        (b"(nobody ] ", (LEX, 8)),
        (b"(nobody) x", (STRUCTURE, 9)),
        (b"(nobody) ]", (LEX, 9)),
        (b"(nobody))", (PAREN, 8)),
    ],
)
def test_size_then_encoding_then_tokens_and_nesting_then_grammar(text: bytes, expected: tuple[str, int]):
    assert place(refused(text, Bounds(depth=4, size=40))) == expected


# -- §5 size and depth


@pytest.mark.parametrize("bounds", [Bounds(), Bounds(size=100), Bounds(size=9)])
def test_5_a_text_as_long_as_is_read_is_read(bounds: Bounds):
    text = b"(tell @b)" + b" " * (bounds.size - 9)

    assert text_of(read(text, bounds).node) == "(tell @b)"
    assert place(refused(text + b" ", bounds)) == (LIMIT, bounds.size)


def test_5_a_mebibyte_is_read_unless_something_else_is_said():
    assert Bounds().size == SIZE_RECOMMENDED == 1_048_576


def deep(levels: int) -> str:
    """A message whose lists stand that deep in each other."""
    return "(tell @b " + "(" * (levels - 1) + ")" * levels


@pytest.mark.parametrize("most", [1, 2, 31, 32, 33, 63, 64])
def test_5_lists_stand_as_deep_in_each_other_as_is_allowed_and_no_deeper(most: int):
    bounds = Bounds(depth=most)

    assert read(deep(most), bounds).node
    assert read(deep(max(most - 1, 1)), bounds).node
    refusal = refused(deep(most + 1), bounds)
    assert place(refusal) == (DEPTH, 9 + most - 1)
    assert str(most) in refusal.message


def test_5_thirty_two_levels_are_read_unless_something_else_is_said():
    assert Bounds().depth == DEPTH_RECOMMENDED == 32
    assert read(deep(32)).node
    assert place(refused(deep(33))) == (DEPTH, 40)


@pytest.mark.parametrize("asked", [64, 65, 1000])
def test_5_no_more_than_sixty_four_levels_are_ever_read(asked: int):
    bounds = Bounds(depth=asked)

    assert read(deep(64), bounds).node
    assert place(refused(deep(65), bounds)) == (DEPTH, 9 + DEPTH_MOST - 1)


def test_5_depth_is_not_length():
    assert len(tree("(" + "()" * 10_000 + ")").value) == 10_000


def test_5_a_million_parentheses_are_refused_at_the_first_that_is_too_deep():
    assert place(refused(b"(" * 1_000_000)) == (DEPTH, 32)
    assert steps(lambda: refused(b"(" * 1_000_000)) < 2_000


# -- parentheses, and what a text is as a whole


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (STRUCTURE, 0)),
        (" ;only a comment", (STRUCTURE, 16)),
        ("tell", (STRUCTURE, 0)),
        ('  "x"', (STRUCTURE, 2)),
        ("(tell @b) (tell @c)", (STRUCTURE, 10)),
        ("(tell @b)x", (STRUCTURE, 9)),
        ("(tell @b) ; and\n @c", (STRUCTURE, 17)),
        (")", (PAREN, 0)),
        ("(tell @b))", (PAREN, 9)),
        ("(tell @b", (PAREN, 8)),
        ("(tell @b (x)", (PAREN, 12)),
        ("(", (PAREN, 1)),
    ],
)
def test_a_text_is_exactly_one_list(text: str, expected: tuple[str, int]):
    assert place(refused(text)) == expected


def test_a_list_that_does_not_end_is_named_by_where_it_begins():
    assert "octet 9 has no closing parenthesis" in refused("(tell @b (x (y) z").message


def test_trees_are_read_one_by_one_and_those_before_a_mistake_are_kept():
    found = Text(b"(a) b (c (d)) ]").trees()

    assert [text_of(next(found)) for _ in range(3)] == ["(a)", "b", "(c (d))"]
    with pytest.raises(Malformed.error):
        next(found)


# -- where a mistake is


@pytest.mark.parametrize(
    ("text", "offset", "line", "column"),
    [
        ("(tell @b ])", 9, 1, 10),
        ("(tell\n@b\n  ])", 11, 3, 3),
        ("(tell\r\n@b ])", 10, 2, 4),
        ('(tell @b "é漢😀" ])', 21, 1, 16),
        (";é\n(tell @b ])", 13, 2, 10),
        ('(tell @b "é"\n "漢" ])', 21, 2, 6),
        ("(tell @b é)", 9, 1, 10),
        ("(tell\r@b ])", 9, 1, 10),
        ("", 0, 1, 1),
        ("(tell @b\n", 9, 2, 1),
    ],
)
def test_a_mistake_is_at_an_octet_and_on_a_line_in_a_column_of_characters(
    text: str, offset: int, line: int, column: int
):
    refusal = refused(text)

    assert (refusal.details["offset"], refusal.details["line"], refusal.details["column"]) == (offset, line, column)
    assert f"(line {line}, column {column})" in refusal.message


def test_every_node_knows_the_octet_it_begins_at():
    text = '(tell @bob "é" :k \'q #t 1.5 (x))'
    found = tree(text)

    begins = [text.encode()[each.at :].decode()[:2] for each in found.value]
    assert begins == ["te", "@b", '"é', ":k", "'q", "#t", "1.", "(x"]
    assert found.at == 0


# -- what a refusal repeats


HOSTILE = "\x1b]0;x\x07\x9b\u202e"


@pytest.mark.parametrize(
    "text",
    [
        f"(tell @b {HOSTILE})",
        f"(tell @b a{HOSTILE})",
        f'(tell @b "{HOSTILE}")',
        f"(tell @b) ;{HOSTILE}",
        f"{HOSTILE}",
        f"(x{HOSTILE})",
        f"(tell @b \u202e{'x' * 1000})",
        f"(tell @b x\u202e{'x' * 1000})",
        f"(tell @b {'x.' * 1000})",
        f"({'x' * 1000} @b)",
        f'(tell @b "" :{"x" * 1000} 1 :{"x" * 1000} 2)',
        f"(tell @b {'a/' * 1000})",
        f"(envelope :{'x' * 1000} 1 (tell @b))",
        f"(with-limits :{'x' * 1000} 1 (tell @b))",
        f"(meta (define d :{'x' * 1000} y))",
        f"(meta (define d (extend p () {'a/' * 1000})))",
        f'(tell @b "\\{chr(27)}")',
    ],
)
def test_a_refusal_repeats_no_control_and_no_more_than_a_few_characters(text: str):
    refusal = refused(text)

    assert refusal.message.isprintable()
    assert len(refusal.message) < 250
    assert refusal.code == "SYNTAX_ERROR"
    assert refusal.hint


@pytest.mark.parametrize("cut", range(20, 26))
def test_an_excerpt_may_be_cut_within_a_character(cut: int):
    assert reader.excerpt(("x" * cut + "漢" * 9).encode().decode("latin-1")).isprintable()


# -- how much work it is


@pytest.mark.parametrize(
    "piece",
    [
        '(tell @b "x" :k 1)\n',
        '"\\n" ',
        "a/ ",
        "1.5 ",
        ";\n",
        "((())) ",
        "x",
        "2025-01-15T1",
        '"x',
        "\\",
        "9",
        "é",
        "&key ",
    ],
)
def test_twice_the_text_is_no_more_than_twice_the_work(piece: str):
    def work(count: int) -> int:
        return steps(lambda: _gone_through(piece.encode() * count))

    assert work(2_000) <= 2.1 * work(1_000) + 100


def _gone_through(octets: bytes) -> None:
    try:
        for _ in Text(octets).trees():
            pass
    except Malformed.error:
        pass


@pytest.mark.parametrize(
    ("text", "reason", "offset"),
    [
        ("(hello @b)()", STRUCTURE, 10),
        ("(hello @b)\n x", STRUCTURE, 12),
        ("(hello @b) ; c\n :k", STRUCTURE, 16),
        ('(hello @b) "x"', STRUCTURE, 11),
        ("(hello @b) #x", LEX, 11),
        ("(hello @b) (", PAREN, 12),
        ("(hello @b) x )", PAREN, 13),
        ("(hello @b) (x 1.)", LEX, 14),
        ("x (hello @b 1.)", LEX, 12),
    ],
)
def test_1_what_is_no_token_and_no_list_is_told_before_what_is_one_too_many(text: str, reason: str, offset: int):
    with pytest.raises(Malformed.error) as refusal:
        reader.single_tree(Text(text.encode()))
    assert (refusal.value.details["reason"], refusal.value.details["offset"]) == (reason, offset)
