"""Patterns for one name: how they are read, the one way they are written, and whether two share a name."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bb.coordination.holdings import globs
from bb.coordination.holdings.globs import DEPTH, STAR, InvalidScope, canonical_text, part

LETTERS = "ab.]-!^["
NAMES = [name for size in (1, 2, 3) for name in map("".join, product(LETTERS, repeat=size)) if name not in (".", "..")]


def names(text: str) -> set[str]:
    """Which of NAMES the pattern matches."""
    return {name for name in NAMES if globs.meet(part(text), name)}


# -- reading


@pytest.mark.parametrize(
    ("text", "matched", "unmatched"),
    [
        ("*", ["a", ".a", "...", "a b"], [".", "..", ""]),
        ("a*", ["a", "ab", "a."], ["b", "ba"]),
        ("*a", ["a", "ba", ".a"], ["ab"]),
        ("a*b*a", ["aba", "aabba", "abba"], ["aa", "ab", "abab"]),
        ("*ab*ab*", ["abab", "xabxabx", "aabab"], ["ab", "aab", "abba"]),
        ("?", ["a", "é", "]"], ["", ".", "ab"]),
        ("??", ["ab", ".a", "a."], ["..", "a", "abc"]),
        ("???", ["...", "abc"], ["ab"]),
        ("[ab]", ["a", "b"], ["c", "ab", "[ab]"]),
        ("[a-c]x", ["ax", "bx", "cx"], ["dx", "-x"]),
        ("[!ab]", ["c", "A", "!"], ["a", "b", "."]),
        ("[^ab]", ["c", "^"], ["a", "b", "."]),
        ("[]a]", ["]", "a"], ["[", "]a]"]),
        ("[!]a]", ["b", "!"], ["]", "a"]),
        ("[a-]", ["a", "-"], ["b"]),
        ("[-a]", ["a", "-"], ["b"]),
        ("[a!]", ["a", "!"], ["b"]),
        ("[a-c-e]", ["b", "-", "e"], ["d"]),
        ("[*?]", ["*", "?"], ["a"]),
        ("[[x]", ["[", "x"], ["]"]),
        ("[.-0]", ["0"], [".", "-"]),
        ("x[.-0]", ["x.", "x0"], ["x-", "x1"]),
        ("x[!a]", ["xb", "x."], ["xa", "x"]),
        ("x?", ["x.", "xb"], ["x", "xab"]),
        ("[[:]x", ["[x", ":x"], ["x"]),
        (".*", [".a", "...", ".. "], [".", "..", "a."]),
    ],
)
def test_a_pattern_matches_these_names_and_not_those(text: str, matched: list[str], unmatched: list[str]):
    assert [name for name in matched if not globs.meet(part(text), name)] == []
    assert [name for name in unmatched if globs.meet(part(text), name)] == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *(("src", "src"), ("{a}", "{a}"), ("a]", "a]"), ("a\\", "a\\")),
        *(("[a]", "a"), ("[a]b[c]", "abc"), ("[[]slug]", "[slug]"), ("[*]", "*"), ("[?]", "?"), ("[aa]", "a")),
        *(("[", "["), ("[a", "[a"), ("[]", "[]"), ("[!]", "[!]"), ("[^]", "[^]"), ("x[!", "x[!"), ("[]]", "]")),
        *(("[a-a]", "a"), ("[.]", "."), ("[.][.]", "..")),
    ],
)
def test_what_can_be_but_one_name_is_that_name(text: str, name: str):
    assert part(text) == name


def test_stars_alone_are_a_star_or_any_depth():
    assert (part("*"), part("**"), part("***")) == (STAR, DEPTH, DEPTH)


@pytest.mark.parametrize(
    "text", ["[z-a]", "[b-a]x", "[[:alpha:]]", "x[[:digit:]]y", "[![:space:]]", "[[.x.]]", "[[=e=]]", "[ -\U0001f600]"]
)
def test_what_cannot_be_decided_is_refused_with_a_hint(text: str):
    with pytest.raises(InvalidScope.error) as refusal:
        part(text)

    assert refusal.value.code == "INVALID_SCOPE"
    assert refusal.value.exit_status == 2
    assert refusal.value.hint


def test_a_class_has_at_most_4096_characters():
    assert globs.wildcards(part("[\u4e00-\u5dff]")) == 1  # that many
    with pytest.raises(InvalidScope.error):
        part("[\u4e00-\u5e00]")
    with pytest.raises(InvalidScope.error):
        part("[a\u4e00-\u5dff]")


# -- writing


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        *(("src", "src"), ("*", "*"), ("**", "**"), ("***", "**"), ("a**b", "a*b"), ("**a***", "*a*"), ("?", "?")),
        *(("[ba]", "[ab]"), ("[abc]", "[a-c]"), ("[a-b]", "[ab]"), ("[a-cb-d]", "[a-d]"), ("[aba]", "[ab]")),
        *(("[^a]", "[!a]"), ("[!cba]", "[!a-c]"), ("[!!]", "[!!]"), ("[!^]", "[!^]"), ("[!]]", "[!]]")),
        *(("[!-]", "[!-]"), ("[a!]", "[a!]"), ("[-!]", "[-!]"), ("[-^!]", "[-!^]"), ("[a-]", "[a-]"), ("[]-]", "[]-]")),
        *(("[]!]", "[]!]"), ("[\\-^]", "[]\\^]"), ("[a^!-]", "[a!^-]"), ("[+--]", "[+,-]"), ("[.-0]", "[.0]")),
        *(("[.]", "[.]"), ("[.][.]", "[.]."), ("[.]a", ".a"), ("[.]*", ".*"), ("[]]", "]"), ("[[]", "[[]")),
        *(("[a", "[[]a"), ("[*]*[?]", "[*]*[?]"), ("[[]a]", "[[]a]"), ("[:[]", "[:[]"), ("[*?[]", "[*?[]")),
    ],
)
def test_there_is_one_way_to_write_a_pattern(text: str, canonical: str):
    assert canonical_text(part(text)) == canonical
    assert part(canonical) == part(text)


@given(st.text("ab.]-!^[*?", min_size=1, max_size=8))
def test_what_is_written_is_read_as_it_was_meant(text: str):
    try:
        found = part(text)
    except InvalidScope.error:
        return
    assert part(canonical_text(found)) == found


@given(st.lists(st.sampled_from(LETTERS), min_size=1, max_size=8), st.booleans())
def test_a_class_matches_what_it_lists_and_only_that(members: list[str], is_negated: bool):
    body = "]" * ("]" in members) + "".join(each for each in members if each not in "]-!^")
    body += "".join(each for each in "!^" if each in members and (body or is_negated)) + "-" * ("-" in members)
    if not body:
        return
    listed = set(body)
    text = f"[{'!' * is_negated}{body}]"
    assume(not any(named in text[1:] for named in ("[.", "[:", "[=")))  # refused: a class with a name

    matched = names(text)

    assert matched == {each for each in LETTERS if (each in listed) is not is_negated} - {"."}


@pytest.mark.parametrize(
    ("text", "wildcards"), [("src", 0), ("[[]a]", 0), ("*", 1), ("**", 1), ("a*b?[cd][e]", 3), ("[!a]", 1), ("?*?", 3)]
)
def test_wildcards_are_counted(text: str, wildcards: int):
    assert globs.wildcards(part(text)) == wildcards


def test_what_classes_list_is_counted():
    assert globs.listed(part("[a-c]*[!xy]?")) == 5
    assert globs.listed(part("abc*")) == globs.listed(part("abc")) == globs.listed(DEPTH) == 0


@pytest.mark.parametrize(
    ("text", "letters"), [("src", "src"), ("te[s]t_*.py", "test_"), ("*a", ""), ("**", ""), ("[ab]c", ""), ("a?b", "a")]
)
def test_what_all_names_begin_with_is_known(text: str, letters: str):
    assert globs.first_letters(part(text)) == letters


@pytest.mark.parametrize(
    ("text", "loose"),
    [("src", "src"), ("a?b*c", "a*b*c"), ("[ab]x", "*x"), ("[!a]", "*"), ("x[*]*", "x[*]*"), ("[[]slug]", "[[]slug]")],
)
def test_a_loosened_pattern_has_stars_only(text: str, loose: str):
    assert globs.loosened(part(text)) == loose


# -- case and accents


@pytest.mark.parametrize(
    ("text", "small"),
    [("README", "readme"), ("É", "é"), ("ΟΔΟΣ", "οδοσ"), ("οδος", "οδοσ"), ("Σ", "σ"), ("İx", "İx"), ("ẞ", "ß")],
)
def test_letters_are_lowered_without_a_look_at_their_neighbours(text: str, small: str):
    assert globs.lower(text) == small


@given(st.text("aÉİΣς\u0307ẞI "), st.text("aÉİΣς\u0307ẞI "))
def test_what_is_lowered_in_pieces_fits_together(one: str, other: str):
    assert globs.lower(one) + globs.lower(other) == globs.lower(one + other)
    assert len(globs.lower(one)) == len(one)


@pytest.mark.parametrize(
    ("text", "name", "is_matched"),
    [
        ("[A-C]", "b", True),
        ("[A-z]x", "qx", True),
        ("[!A]", "a", False),
        ("[!a]", "b", True),
        ("READ*", "readme", True),
        ("[Éx]", "é", True),
        ("[İx]", "İ", True),
        ("?", "İ", True),
        ("Σ*", "ς", True),
    ],
)
def test_where_case_does_not_count_a_pattern_matches_any_case(text: str, name: str, is_matched: bool):
    assert globs.meet(globs.folded(part(text)), globs.folded(part(name))) is is_matched
    assert globs.meet(globs.folded(part(text)), globs.folded(name.upper() if name != "ς" else "Σ")) is is_matched


def test_a_class_of_one_letter_in_two_cases_is_that_letter():
    assert globs.folded(part("x[Aa]")) == "xa"
    assert part("x[Aa]") != "xa"


@pytest.mark.parametrize(("text", "bare"), [("src", "src"), ("café", "cafe"), ("cafe\u0301", "cafe"), ("ẖ", "h")])
def test_accents_can_be_left_out(text: str, bare: str):
    assert globs.bare(text) == bare


def test_what_is_composed_in_lower_case_only_is_the_same_name():
    assert globs.same(globs.lower("H\u0331"), globs.lower("\u1e96"))
    assert not globs.same("h", "\u1e96")
    assert not globs.same("é", "è")


# -- meeting


@pytest.mark.parametrize(
    ("one", "other", "do_meet"),
    [
        *(("*", "*", True), ("a*", "*b", True), ("a*", "b*", False), ("*a", "*b", False), ("a*b", "ac*", True)),
        *(("a*b", "a*c", False), ("ab*", "a*", True), ("a*a", "a", False), ("*a*", "*b*", True), ("a*b*", "*ba", True)),
        *(("[ab]*", "[bc]*", True), ("[ab]*", "[cd]*", False), ("[ab]", "[cd]", False), ("[ab]", "[bc]", True)),
        *(("[!a]", "[!b]", True), ("[!a]", "a", False), ("[!a]", "[ab]", True), ("[!ab]", "[ab]", False)),
        *(("?", "[ab]", True), ("?", "??", False), ("??", "*", True), ("a?", "?b", True), ("a?", "b?", False)),
        *(("???", "a*b*c*d", False), ("????", "a*b*c*d", True), ("a?c", "*b*", True), ("a?c", "*d", False)),
        *((".?", "?.", False), (".?", "?[.a]", True), ("*.", ".*", True), (".", "*", False), ("..", "*", False)),
        *(("?.", "[.]*", False), ("?", "[.a]", True), ("?", "[.!]", True), (".?", ".*", True), ("..*", "..?", True)),
        *(("test_*.py", "*_parser.py", True), ("test_*.py", "*.pyc", False), ("*.test.*", "a.*.ts", True)),
    ],
)
def test_patterns_meet_where_they_share_a_name(one: str, other: str, do_meet: bool):
    assert globs.meet(part(one), part(other)) is do_meet
    assert globs.meet(part(other), part(one)) is do_meet


PIECES = ["a", "b", ".", "*", "?", "[ab]", "[!a]", "[.b]", "[!.]"]
SHORT = [
    name for size in (1, 2, 3, 4) for name in map("".join, product("ab.z", repeat=size)) if name not in (".", "..")
]


def matches(pieces: list[str], name: str) -> bool:
    """The plain reading of a pattern, character by character."""
    if not pieces:
        return not name
    if pieces[0] == "*":
        return any(matches(pieces[1:], name[start:]) for start in range(len(name) + 1))
    fits = {"?": "ab.z", "[ab]": "ab", "[!a]": "b.z", "[.b]": ".b", "[!.]": "abz"}.get(pieces[0], pieces[0])
    return name[:1] != "" and name[0] in fits and matches(pieces[1:], name[1:])


THREE = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).filter(lambda pieces: "**" not in "".join(pieces))


@given(THREE, THREE)
def test_patterns_meet_exactly_where_going_through_all_names_finds_one(ours: list[str], theirs: list[str]):
    # Three pieces each: a shared name needs four characters at most, the two ends that one star leaves on either side.
    one, other = part("".join(ours)), part("".join(theirs))
    if one in globs.NO_NAMES or other in globs.NO_NAMES:  # scopes see to those
        return
    expected = any(matches(ours, name) and matches(theirs, name) for name in SHORT)
    assert globs.meet(one, other) is expected


def test_runs_are_laid_into_what_they_must_fill():
    def fits(wanted: str, there: str) -> bool:
        return wanted == there

    assert globs.matches_runs(["ab"], "ab", fits)
    assert not globs.matches_runs(["ab"], "abc", fits)
    assert globs.matches_runs(["a", "b", "c"], "axbxc", fits)
    assert globs.matches_runs(["a", "ab", "b"], "aaabb", fits)
    assert not globs.matches_runs(["ab", "bc"], "abc", fits)  # the b cannot serve twice
    assert not globs.matches_runs(["a", "bc", "c"], "abc", fits)
    assert globs.matches_runs(["", ""], "", fits)
