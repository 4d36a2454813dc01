"""Scopes and their overlap: the clauses of Operative Protocol §5, awkward pairs, and what must hold for any two."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import product

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bb.coordination.holdings import scopes
from bb.coordination.holdings.globs import DEPTH, NO_NAMES, STAR
from bb.coordination.holdings.scopes import DISJOINT, EXACT, PARTIAL, InvalidScope, Scope, ScopeOutside
from bb.kernel.errors import BbError
from tests.examples import examples

ROOT = "/repo"
BOTH_RULES = pytest.mark.parametrize("ignore_case", [False, True])


def scope(written: str, cwd: str = ROOT, *, root: str = ROOT, is_path: bool = False) -> Scope:
    return scopes.scope(written, root=root, cwd=cwd, is_path=is_path)


def windows(written: str, cwd: str = r"C:\Repo", *, root: str = r"C:\Repo", is_path: bool = False) -> Scope:
    return scopes.scope(written, root=root, cwd=cwd, platform="windows", is_path=is_path)


def overlap(one: str | Scope, other: str | Scope, *, ignore_case: bool = False) -> str:
    """The class of two scopes, which is the same both ways round."""
    a, b = (scope(each) if isinstance(each, str) else each for each in (one, other))
    found = scopes.compare(a, b, ignore_case=ignore_case)
    assert scopes.compare(b, a, ignore_case=ignore_case) == found
    assert scopes.comparison(a, ignore_case=ignore_case)(b) == found
    return found


# -- §5.1 Normalization pipeline


@pytest.mark.parametrize(
    ("written", "cwd", "text"),
    [
        ("lib", "/repo/src", "src/lib"),
        (".", "/repo/src", "src"),
        ("..", "/repo/src", "."),
        ("../docs", "/repo/src/deep/..", "docs"),
        ("repo/src", "/", "src"),
        ("../repo/src", "/repo", "src"),
        ("/repo/src", "/elsewhere", "src"),
        ("/../repo/src", "/", "src"),
        ("//repo//src", "/", "src"),
        ("*.py", "/repo/app/[slug]", "app/[[]slug]/*.py"),
        ("x", "/repo/{a,b}", "[{]a,b}/x"),
        ("../x", "/repo/*", "x"),
        ("~/x", "/repo", "~/x"),
    ],
)
def test_5_1_1_a_scope_is_resolved_against_where_one_stands(written: str, cwd: str, text: str):
    assert scope(written, cwd).text == text


@pytest.mark.parametrize(
    ("written", "root", "text"),
    [
        ("/home/[x]/src/*", "/home/[x]", "src/*"),
        ("/a*/b", "/a*", "b"),
        ("/x", "/", "x"),
        ("/", "/", "."),
        ("..", "/", "."),
    ],
)
def test_5_1_1_the_roots_own_name_may_hold_wildcards(written: str, root: str, text: str):
    assert scope(written, root, root=root).text == text


@pytest.mark.parametrize(
    ("written", "cwd", "text"),
    [
        (r"src\lib\a.py", r"C:\Repo", "src/lib/a.py"),
        (r"src/lib\a.py", r"C:\Repo", "src/lib/a.py"),
        (r"C:\Repo\Src", r"D:\elsewhere", "Src"),
        (r"c:/rEPO/Src/", r"C:\Repo", "Src"),
        (r"\Repo\Src", r"C:\anywhere", "Src"),
        (r"..\docs\.\x\\", r"C:\Repo\Src", "docs/x"),
        (r"C:\Repo", r"C:\Repo", "."),
        ("src\\*", r"C:\Repo", "src/*"),
        ("c", r"C:\Repo\a", "a/c"),
    ],
)
def test_5_1_2_on_windows_a_backslash_is_a_separator(written: str, cwd: str, text: str):
    assert windows(written, cwd).text == text


def test_5_1_2_on_posix_a_backslash_is_a_character():
    assert scope(r"src\lib").text == r"src\lib"
    assert overlap(r"src\lib", "src/lib") == DISJOINT
    assert overlap(r"src\lib", "src?lib") == PARTIAL


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"\\server\share\repo\src", "src"),
        (r"\\SERVER\Share\Repo\Src", "Src"),
        ("//server/share/repo", "."),
        ("src", "src"),
    ],
)
def test_5_1_2_a_share_on_windows_is_a_root(written: str, text: str):
    share = r"\\server\share\repo"

    assert windows(written, share, root=share).text == text
    assert scopes.absolute(windows("x", share, root=share), root=share, platform="windows") == "//server/share/repo/x"


@pytest.mark.parametrize("written", [r"D:\Repo\src", r"C:\Repository", "..", r"\\server\share\Repo", r"\Rep", r"C:\\"])
def test_5_1_what_lies_outside_on_windows_is_refused(written: str):
    with pytest.raises(ScopeOutside.error):
        windows(written)


@pytest.mark.parametrize("written", ["C:src", "C:", "c:*", r"\\server", "//", r"\\\share\x", r"\\server\\x"])
def test_5_1_what_windows_would_resolve_by_other_means_is_refused(written: str):
    with pytest.raises(InvalidScope.error) as refusal:
        windows(written)
    assert refusal.value.hint


def test_5_1_3_windows_paths_compare_in_lower_case_and_keep_their_own():
    found = windows(r"Src\Lib.PY")

    assert found.text == "Src/Lib.PY"
    assert scopes.absolute(found, root=r"C:\Repo", platform="windows") == "c:/repo/src/lib.py"
    assert scopes.absolute(found, root="/Repo", platform="posix") == "/Repo/Src/Lib.PY"


@pytest.mark.parametrize(("written", "text"), [("src/", "src"), ("src///", "src"), ("src/*/", "src/*"), ("./", ".")])
def test_5_1_4_a_slash_at_the_end_goes(written: str, text: str):
    assert scope(written).text == text


@pytest.mark.parametrize(
    ("root", "platform", "text", "expected"),
    [
        ("/", "posix", ".", "/"),
        ("/", "posix", "x", "/x"),
        ("/repo", "posix", ".", "/repo"),
        ("/repo/", "posix", "src/*", "/repo/src/*"),
        ("C:\\", "windows", ".", "c:/"),
        ("C:\\", "windows", "X", "c:/x"),
    ],
)
def test_5_1_4_only_a_root_ends_in_a_slash(root: str, platform: str, text: str, expected: str):
    assert scopes.absolute(Scope(text), root=root, platform=platform) == expected


@pytest.mark.parametrize("written", ["..", "../repo2", "/etc", "/", "a/../../x", "/repos", "/Repo/x", "/*/x", "/repo*"])
def test_5_1_what_lies_outside_is_refused_with_a_hint(written: str):
    with pytest.raises(ScopeOutside.error) as refusal:
        scope(written)

    assert (refusal.value.code, refusal.value.exit_status) == ("SCOPE_OUTSIDE", 4)
    assert refusal.value.hint
    assert ROOT in refusal.value.message


def test_5_1_a_root_that_is_not_absolute_is_refused():
    with pytest.raises(InvalidScope.error, match="'here' is not an absolute path"):
        scope("x", root="here")


@pytest.mark.parametrize(
    "written",
    [
        *("", " ", "\u3000", "\t"),
        *("a\0", "a\nb", "\x7f", "a\x85", "\x1b[31m", "\ud800", "a\udcffb"),
        *("a" * 4097, "é" * 4097, "/".join(["*a"] * 65), "?" * 65, "*" + "?" * 64),
        *("{a,b}", "src/{a,b}/x", "{a/b,c}", "{{a},b}", "{a{b,c}}", "{1..3}", "{,}", "x{a,[}]}"),
        *("[[:alpha:]]", "src/[[:digit:]]*", "[z-a]", "!x", "*/..", "src/a*/../b", "[ab]/../c", "**/.."),
    ],
)
def test_what_cannot_be_a_scope_or_be_decided_is_refused_with_a_hint(written: str):
    with pytest.raises(InvalidScope.error) as refusal:
        scope(written)

    assert (refusal.value.code, refusal.value.exit_status) == ("INVALID_SCOPE", 2)
    assert refusal.value.hint
    assert refusal.value.message.isascii() or "…" in refusal.value.message
    assert len(refusal.value.message) < 500


@pytest.mark.parametrize(
    "written",
    [
        *(
            "a" * 4096,
            "/".join(["*"] * 64),
            "*" * 4096,
            "?" * 64,
            " a ",
            "a b",
            "{id}",
            "{a",
            "a,b",
            "{a}{b}",
            "x}",
            "a,{b}",
        ),
        *("a..b", "...", "[{]a,b}", "{[,]x}", "{a}..{b}", "(group)/@modal", "a!", "./!x", "#x", "$x", "a:b", "é", "🙂"),
        *("\u200d", "a\u2028b"),
    ],
)
def test_what_is_odd_but_clear_is_accepted(written: str):
    found = scope(written)

    assert scopes.stored(found.text) == found


# -- the canonical text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        *(("src/**", "src/*"), ("src/**/*", "src/*"), ("**", "*"), ("**/*", "*"), ("**/**", "*"), ("*", "*")),
        *(("src/**/**/*", "src/*"), ("src/*/**", "src/*/*"), ("src/**/*/*", "src/*/*"), ("**/**/a", "**/a")),
        *(("a/**/**/b/**", "a/**/b/*"), ("a***b", "a*b"), ("**a", "*a"), ("***/a", "**/a"), ("a/***", "a/*")),
        *(
            ("[a]", "a"),
            ("[*]", "[*]"),
            ("[?]a", "[?]a"),
            ("[", "[[]"),
            ("a[b/c]", "a[[]b/c]"),
        ),
        *(("[cab]", "[a-c]"), ("[^a]", "[!a]"), ("[{]a,b}", "[{]a,b}"), ("{[,]}", "[{],}"), ("[{]a}", "{a}")),
        *(("[.]", "[.]"), ("[.][.]/a", "[.]./a"), ("e\u0301", "é"), ("\u212b", "å".upper()), ("Src/É", "Src/É")),
    ],
)
def test_a_scope_has_one_text_however_it_was_written(written: str, text: str):
    assert scope(written).text == text
    assert scope(text).text == text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        *(
            ("app/[slug]/page.tsx", "app/[[]slug]/page.tsx"),
            ("app/[...all]/x", "app/[[]...all]/x"),
            ("a*b?", "a[*]b[?]"),
        ),
        *(
            ("**", "[*][*]"),
            ("{a,b}", "[{]a,b}"),
            ("!x", "!x"),
            ("[!]x]", "[[]!]x]"),
            ("plain", "plain"),
            ("{id}", "{id}"),
        ),
        *(("[[:alpha:]]", "[[][[]:alpha:]]"), ("[z-a]", "[[]z-a]"), ("./*/../x", "x"), ("src/", "src"), (".", ".")),
    ],
)
def test_in_a_path_every_character_stands_for_itself(path: str, text: str):
    found = scope(path, is_path=True)

    assert found.text == text
    assert found.is_literal
    assert found.path == path.replace("./*/../", "").rstrip("/")
    assert scopes.stored(text) == found
    assert scope(f"./{text}") == found


@pytest.mark.parametrize("written", ["*", "a/**/b", "src/?", "[ab]", "[!a]/x"])
def test_a_pattern_is_no_path(written: str):
    assert not scope(written).is_literal
    assert scope(written).path is None


@pytest.mark.parametrize(
    "text",
    [
        *("", "/", "/src", "src/", "a//b", "./a", "a/..", "..", "src/**", "**", "a**b", "[a]", "[ba]", "[^a]", "["),
        *("e\u0301", "a\nb", "\ud800", "{a,b}", "[z-a]", "[[:alpha:]]", "a" * 4097, "?" * 65, "[.][.]", "[e\u0301]"),
        "[" * 1_000_000,
        "[!-~]" * 60,
    ],
)
def test_what_is_not_canonical_is_no_stored_scope(text: str):
    assert scopes.stored(text) is None


@pytest.mark.parametrize("written", ["[\u0301e]", "e[\u0301x]", "[ab\u0301]"])
def test_a_mark_that_would_change_its_neighbour_in_a_class_is_refused_or_has_one_text(written: str):
    try:
        found = scope(written)
    except InvalidScope.error:
        return
    assert scope(found.text) == found


# -- §5.2 Scope classes, §5.3 Required examples


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("src/*", "src/lib/parser.ts", PARTIAL),
        ("src/lib", "src/lib/parser.ts", PARTIAL),
        ("src/lib/parser.ts", "src/lib/parser.ts", EXACT),
        ("src/lib", "src/components", DISJOINT),
    ],
)
@BOTH_RULES
def test_5_3_required_examples(one: str, other: str, expected: str, ignore_case: bool):
    assert overlap(one, other, ignore_case=ignore_case) == expected


@pytest.mark.parametrize("other", ["src", "src/lib/a.py", "*", "**/x", "é", "[[]x]"])
def test_5_2_the_root_contains_everything(other: str):
    assert overlap(".", other) == PARTIAL
    assert overlap(".", ".") == EXACT


@pytest.mark.parametrize(
    ("one", "other"), [("src/lib", "src/library"), ("src/lib", "src/lib.py"), ("a", "ab/c"), ("é", "éa")]
)
@BOTH_RULES
def test_5_2_the_start_of_a_name_is_no_parent(one: str, other: str, ignore_case: bool):
    assert overlap(one, other, ignore_case=ignore_case) == DISJOINT


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        # dots, slashes, backslashes, spaces
        *(("./src/../src/lib/", "src//lib", EXACT), ("src/.", "src", EXACT), (".hidden/x", "*", PARTIAL)),
        *(("src/.env", "src/*", PARTIAL), ("src/.env", "src/?env", PARTIAL), ("...", "..?", PARTIAL)),
        *(("a b/c", "a b", PARTIAL), ("a b", "a  b", DISJOINT), (" a", "a", DISJOINT)),
        # prefixes
        *(
            ("src/*", "src", PARTIAL),
            ("src/*", "src/**", EXACT),
            ("src/*", "srcs/a", DISJOINT),
            ("src*", "srcs/a", PARTIAL),
        ),
        *(
            ("src*", "src", PARTIAL),
            ("src*", "source", DISJOINT),
            ("*", "x/y/z", PARTIAL),
            ("src/*/*", "src/a", PARTIAL),
        ),
        # wildcard against wildcard
        *(("src/*/a.py", "src/b/*.py", PARTIAL), ("src/*/a.py", "src/b/c.py", DISJOINT), ("[ab]*", "[bc]*", PARTIAL)),
        *(
            ("a*b", "ac*", PARTIAL),
            ("src/*.py", "docs/*.md", DISJOINT),
            ("[ab]", "[cd]", DISJOINT),
            ("[!a]", "a", DISJOINT),
        ),
        *(("src/*.py", "src/*.md", DISJOINT), ("src/test_*", "src/*_test.py", PARTIAL), ("a?", "a", DISJOINT)),
        *(("?.?", "a*", PARTIAL), ("*.ts", "*.tsx", DISJOINT), ("*.d.ts", "*.ts", PARTIAL)),
        # any depth
        *(("**/x", "x", PARTIAL), ("**/x", "a/b/x", PARTIAL), ("**/x", "a", PARTIAL), ("a/**/x", "b/x", DISJOINT)),
        *(("a/**/x", "a/x/b", PARTIAL), ("**/*.py", "docs/*.md", PARTIAL), ("a/**/b", "a/**/c", PARTIAL)),
        # what matches nothing
        *(("[.]", ".", DISJOINT), ("[.]", "*", DISJOINT), ("[.]", "[.]", EXACT), ("a/[.][.]", "a", DISJOINT)),
        *(("**/[.]", "**/a", DISJOINT), (".?", "?.", DISJOINT), (".*", "?.", DISJOINT), (".*", "*.", PARTIAL)),
        # composed and decomposed
        *(("caf\u00e9", "cafe\u0301", EXACT), ("caf?", "cafe\u0301", PARTIAL), ("caf\u00e9/x", "cafe\u0301", PARTIAL)),
        *(("\u212b", "\u00c5", EXACT), ("e", "é", DISJOINT)),
    ],
)
def test_5_2_two_scopes_are_partial_exactly_if_they_share_a_path(one: str, other: str, expected: str):
    assert overlap(one, other) == expected


@pytest.mark.parametrize(
    ("one", "other", "sensitive", "insensitive"),
    [
        ("Src/Lib", "src/lib", DISJOINT, EXACT),
        ("SRC", "src/lib", DISJOINT, PARTIAL),
        ("Src/*", "src/LIB", DISJOINT, PARTIAL),
        ("*.PY", "*.py", DISJOINT, EXACT),
        ("[A-C]x", "bX", DISJOINT, PARTIAL),
        ("[Aa]x", "ax", PARTIAL, EXACT),
        ("[!A]", "a", PARTIAL, DISJOINT),
        ("ÉCOLE", "école", DISJOINT, EXACT),
        ("É*", "école", DISJOINT, PARTIAL),
        ("ΟΔΟΣ", "οδος", DISJOINT, EXACT),
        ("ΟΔΟΣ/x", "οδοσ", DISJOINT, PARTIAL),
        ("H\u0331", "\u1e96", DISJOINT, EXACT),
        ("H\u0331/x", "\u1e96/*", DISJOINT, PARTIAL),
        ("H*", "H\u0331", PARTIAL, PARTIAL),
        ("İ", "?", PARTIAL, PARTIAL),
        ("İ*", "[İx]y", PARTIAL, PARTIAL),
        ("App/[[]Slug]", "app/[[]slug]", DISJOINT, EXACT),
    ],
)
def test_case_counts_or_does_not(one: str, other: str, sensitive: str, insensitive: str):
    assert overlap(one, other, ignore_case=False) == sensitive
    assert overlap(one, other, ignore_case=True) == insensitive


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("app/s/page.tsx", DISJOINT),
        ("app/[slug]/page.tsx", DISJOINT),  # a pattern: one of four letters
        ("app/*/page.tsx", PARTIAL),
        ("app/[[]slug]", PARTIAL),
        ("app/[[]slug]/page.tsx", EXACT),
        ("app/[[]*", PARTIAL),
        ("app/[[]id]/page.tsx", DISJOINT),
        ("app", PARTIAL),
    ],
)
def test_brackets_in_a_file_name_are_not_a_pattern(other: str, expected: str):
    page = scope("app/[slug]/page.tsx", is_path=True)

    assert overlap(page, other) == expected


@pytest.mark.parametrize(
    ("claimed", "path", "is_covered"),
    [
        *(("src", "src/a.py", True), ("src", "src", True), ("src", "srcs", False), ("src/a.py", "src", False)),
        *((".", "x", True), (".", ".", True), ("*", "x/y", True), ("*", ".", False), ("src/*", "src", False)),
        *(("src/*.py", "src/a.py", True), ("src/*.py", "src/a.md", False), ("src/*.py", "src/a.py/b", True)),
        *(("**/x", "x", True), ("**/x", "a/x/b", True), ("**/x", "a/b", False), ("a/**/b/**/c", "a/b/b/x/c", True)),
        *(("a/**/b/**/c", "a/c/b", False), ("**/a/b", "a/a/b", True), ("[.]", "x", False), ("*/a", "a", False)),
    ],
)
def test_a_scope_covers_what_it_matches_and_what_lies_beneath(claimed: str, path: str, is_covered: bool):
    named = scope(path, is_path=True)

    assert scopes.covers(scope(claimed), named, ignore_case=False) is is_covered
    assert scopes.covers(scope(claimed.upper()), named, ignore_case=True) is is_covered


def test_no_pattern_lies_within_a_scope():
    assert not scopes.covers(scope("src"), scope("src/*"), ignore_case=False)


@pytest.mark.parametrize(
    ("written", "lead"),
    [
        *((".", "/"), ("*", "/"), ("src/lib", "/src/lib/"), ("src/*", "/src/"), ("src/test_*.py", "/src/test_")),
        *(("**/x", "/"), ("a/**/x", "/a/"), ("Src/ÉA", "/src/ea/"), ("a?c/x", "/a"), ("[ab]c", "/"), ("a[*]*", "/a*")),
        *(("app/[[]slug]/x", "/app/[slug]/x/"), ("ΟΔΟΣ", "/οδοσ/")),
    ],
)
def test_a_lead_is_what_all_covered_paths_begin_with(written: str, lead: str):
    assert scopes.lead(scope(written)) == lead


# -- hostile input


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("*" * 4096, "a" * 4096, PARTIAL),
        ("a*" * 63 + "b", "a" * 4000, DISJOINT),
        ("*a" * 64, "a*" * 64, PARTIAL),
        ("a" * 2000 + "?c", "*" + "a" * 1000 + "bd*", DISJOINT),
        ("**/a/" * 63 + "**/b", "a/" * 2000 + "c", PARTIAL),
        ("*/" * 63 + "b", "*/" * 63 + "c", DISJOINT),
        ("[a-\u007e]" * 40, "[!b-\u00b0]*" * 20, PARTIAL),
        ("[" * 1300, "]" * 4000, DISJOINT),
        ("a/" * 2000 + "b", "a/" * 2000 + "c", DISJOINT),
        ("a/" * 2000 + "*", "a/" * 2000 + "c", PARTIAL),
    ],
    ids=range(10),
)
@BOTH_RULES
def test_hostile_scopes_are_decided_at_once(one: str, other: str, expected: str, ignore_case: bool):
    assert overlap(one, other, ignore_case=ignore_case) == expected


# -- any two scopes, against a walk over names that are really there
#
# A generated name has three pieces at most. Two such names share a name if at all then one of at most four characters
# (what stands at the two ends of a star on one side, merged with the other's), so all those are tried. Depth needs no
# bound: the walk ends when no new state is reached.

PIECES = ["a", "b", "A", ".", "*", "?", "[ab]", "[!a]", "[A-Z]", "[a-c]", "[^.]", "[.A]"]
MEMBERS = {"[ab]": "ab", "[A-Z]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "[a-c]": "abc", "[.A]": ".A", "[!a]": "a", "[^.]": "."}
LETTERS = "abA.z"
TRIED = [name for size in (1, 2, 3, 4) for name in map("".join, product(LETTERS, repeat=size)) if name not in NO_NAMES]


def _expression(pieces: tuple[str, ...], ignore_case: bool) -> str:
    text = ""
    for piece in pieces:
        members = MEMBERS.get(piece, piece)
        members = members.lower() if ignore_case else members
        if piece[0] == "[":
            text += f"[{'^/' if piece[1] in '!^' else ''}{re.escape(members)}]"
        else:
            text += {"*": "[^/]*", "?": "[^/]"}.get(piece, re.escape(members))
    return text


@cache
def _matched(pieces: tuple[str, ...], ignore_case: bool) -> frozenset[str]:
    fits = re.compile(_expression(pieces, ignore_case)).fullmatch
    return frozenset(name for name in TRIED if fits(name) and not (ignore_case and "A" in name))


def _moves(names: list[tuple[str, ...]], place: int, ignore_case: bool) -> Iterator[tuple[int, frozenset[str]]]:
    """Where one name more leads from PLACE, and which names do. At the end any name will do."""
    if place == len(names):
        yield place, _matched(("*",), ignore_case)
    elif names[place] == ("*", "*"):
        yield place, _matched(("*",), ignore_case)
        yield from _moves(names, place + 1, ignore_case)
    else:
        yield place + 1, _matched(names[place], ignore_case)


def share_a_path(one: list[tuple[str, ...]], other: list[tuple[str, ...]], ignore_case: bool) -> bool:
    ahead, seen = [(0, 0)], {(0, 0)}
    while ahead:
        i, j = ahead.pop()
        if i == len(one) and j == len(other):
            return True
        for k, ours in _moves(one, i, ignore_case):
            for m, theirs in _moves(other, j, ignore_case):
                if (k, m) not in seen and not ours.isdisjoint(theirs):
                    seen.add((k, m))
                    ahead.append((k, m))
    return False


NAME = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map(tuple)
ANY_DEPTH = st.just(("*", "*"))
# `**` at the end covers what lies beneath and not the directory itself: another rule, with tests of its own
LAST = NAME.filter(lambda pieces: pieces != ("*", "*"))
GENERATED = st.tuples(st.lists(NAME | ANY_DEPTH, max_size=2), LAST).map(lambda found: [*found[0], found[1]])


def _is_readable(names: list[tuple[str, ...]]) -> bool:
    """Not what reads as something else: a name of dots or stars."""
    return all("".join(name).strip(".") and (name == ("*", "*") or "**" not in "".join(name)) for name in names)


def _text(names: list[tuple[str, ...]]) -> str:
    return "/".join(map("".join, names))


@examples(1000)
@given(GENERATED.filter(_is_readable), GENERATED.filter(_is_readable), st.booleans())
def test_two_scopes_are_disjoint_exactly_if_no_path_is_covered_by_both(
    one: list[tuple[str, ...]], other: list[tuple[str, ...]], ignore_case: bool
):
    ours, theirs = scope(_text(one)), scope(_text(other))

    found = overlap(ours, theirs, ignore_case=ignore_case)

    if found != EXACT:  # which is decided by the text
        assert (found == PARTIAL) is share_a_path(one, other, ignore_case)
    if found != DISJOINT:
        leads = sorted([scopes.lead(ours), scopes.lead(theirs)])
        assert leads[1].startswith(leads[0])


PATH = st.lists(st.sampled_from(["a", "b", "A", "ab", ".a", "z", "bA.", "aa"]), min_size=1, max_size=5).map("/".join)


@examples(500)
@given(GENERATED.filter(_is_readable), PATH, st.booleans())
def test_a_scope_covers_exactly_the_paths_that_match_it_and_what_lies_beneath(
    names: list[tuple[str, ...]], path: str, ignore_case: bool
):
    whole = "".join(
        "(?:[^/]+/)*" if name == ("*", "*") else f"(?=[^/]){_expression(name, ignore_case)}/" for name in names
    )
    is_covered = re.match(whole, (path.lower() if ignore_case else path) + "/") is not None
    claimed, file = scope(_text(names)), scope(path).replace(is_file=True)

    assert scopes.covers(claimed, file, ignore_case=ignore_case) is is_covered
    if not claimed.is_literal:
        assert overlap(claimed, file, ignore_case=ignore_case) == (PARTIAL if is_covered else DISJOINT)


WORDS = st.text("abA.É\u0301\u0316\u0331Hh\u1e96İiΣςσ/*?[]^!-{},🙂 ", min_size=1, max_size=12)


def _scope_or_none(written: str, *, is_path: bool = False) -> Scope | None:
    try:
        return scope(written, is_path=is_path)
    except BbError:
        return None


@examples(500)
@given(WORDS, WORDS)
@example("É*", "É\u0316")
@example("H*", "H\u0331")
@example("J\u0316\u030c", "\u01f0\u0316")
@example("ΟΔΟΣ", "οδος/x")
def test_of_two_scopes_that_overlap_one_lead_begins_with_the_other(one: str, other: str):
    ours, theirs = _scope_or_none(one), _scope_or_none(other)
    assume(ours is not None and theirs is not None)
    assert ours is not None
    assert theirs is not None
    found = {overlap(ours, theirs, ignore_case=rule) for rule in (False, True)}
    leads = sorted([scopes.lead(ours), scopes.lead(theirs)])

    assert found == {DISJOINT} or leads[1].startswith(leads[0])


WAYS = ["{0}", "{0}", "{1}", "?", "*", "[{0}x]"]  # to write a character in a pattern
MATCHED = st.lists(st.tuples(st.sampled_from("abA.éÉẖσ*?{/"), st.sampled_from(WAYS)), min_size=1, max_size=8)


def _as_pattern(character: str, way: str) -> str:
    if character == "/":
        return "/**/" if way == "*" else "/"
    return way.format("[*]" if character == "*" else character, character.swapcase())


@examples(500)
@given(MATCHED, st.booleans())
def test_the_lead_of_a_file_passes_the_sieve_of_every_scope_that_covers_it(found: list[tuple[str, str]], rule: bool):
    claimed = _scope_or_none("".join(_as_pattern(*each) for each in found))
    file = _scope_or_none("".join(character for character, _ in found), is_path=True)
    if claimed is None or file is None or not scopes.covers(claimed, file, ignore_case=rule):
        return
    assert _passes(file, claimed)


def _passes(file: Scope, claimed: Scope) -> bool:
    base = sqlite3.connect(":memory:")
    (passes,) = base.execute("select ? glob ?", (scopes.lead(file), scopes.sieve(claimed))).fetchone()
    base.close()
    return bool(passes)


@pytest.mark.parametrize(
    ("file", "claimed", "passes"),
    [
        *(("src/a.py", "src/*.py", True), ("src/a.md", "src/*.py", False), ("src/x/a.md", "src/**/*.py", False)),
        *(("src/a.py", "SRC/**/*.py", True), ("a/b/c", "a/**/c", True), ("a/b/c", "a/**/d", False)),
    ],
)
def test_a_sieve_holds_back_what_cannot_be_covered(file: str, claimed: str, passes: bool):
    assert _passes(scope(file), scope(claimed)) is passes


TEXTS = st.text(max_size=40) | st.text("ab.*?[]^!-{},/\\:C\ud800\0\u0301é", max_size=40)


@pytest.mark.parametrize("written", ["[ ]", "[ ][ ]", "./ ", "src/../ ", "[\u3000]"])
def test_a_scope_whose_text_would_be_blank_is_refused_like_a_blank_one(written: str):
    with pytest.raises(InvalidScope.error, match="a scope must not be blank"):
        scope(written)
    assert scope(f"src/{written.removeprefix('src/../').removeprefix('./')}").text.startswith("src/")


@examples(500)
@given(TEXTS, st.sampled_from(["posix", "windows"]), st.booleans())
@example("[ ]", "posix", False)
@example("./ ", "posix", True)
def test_any_text_is_a_scope_or_a_refusal_and_a_scopes_text_means_itself(written: str, platform: str, is_path: bool):
    root = ROOT if platform == "posix" else r"C:\Repo"
    try:
        found = scopes.scope(written, root=root, cwd=root, platform=platform, is_path=is_path)
    except BbError:
        return

    assert scopes.stored(found.text) == found
    assert scope(f"./{found.text}") == found
    assert scopes.lead(found).startswith("/")
    assert found.is_literal is (found.path is not None)
    if is_path:
        assert found.is_literal
    if found.path is not None:
        assert scope(found.path, is_path=True) == found


@examples(500)
@given(st.text("aB.-/ !]{}*", max_size=6) | TEXTS | st.just("a" * 4097))
@example(".")
@example("..")
@example("a/./b")
@example("../a")
@example("a/..")
@example("a//b")
@example("")
@example("{a,b}")
@example("a\x7f")
def test_a_path_without_special_characters_is_recognised_as_the_rule_would(text: str):
    """Most texts are checked, and have their lead, without being parsed. A class of one character in front of the path
    keeps that from happening, and changes nothing else."""
    parsed, plain = scopes.stored(f"[*]/{text}"), scopes.stored(text)

    assert (plain is None) is (parsed is None) or text == "." or len(text) > 4092
    if plain is not None and parsed is not None:
        assert scopes.lead(parsed) == "/*" + scopes.lead(plain)


@given(TEXTS)
def test_whatever_the_ledger_has_is_a_scope_or_nothing(text: str):
    found = scopes.stored(text)

    assert found is None or (found.text == text and overlap(found, found) == EXACT)


@examples(500)
@given(WORDS, WORDS, st.booleans(), st.booleans())
def test_overlap_is_the_same_both_ways_round(one: str, other: str, ignore_case: bool, is_file: bool):
    ours, theirs = _scope_or_none(one), _scope_or_none(other, is_path=is_file)
    assume(ours is not None and theirs is not None)
    assert ours is not None
    assert theirs is not None
    assert overlap(ours, theirs.replace(is_file=is_file), ignore_case=ignore_case) in (EXACT, PARTIAL, DISJOINT)


def test_parts_end_without_any_depth():
    assert scope("a/**/b/**").parts == ("a", DEPTH, "b", STAR)


# -- what git names


@pytest.mark.parametrize(
    "path", ["src/a\tb", "src/line\nfeed", "src/\udcff", "src/{a,b}", "src/[x]", "src/*", "src/!x", "src/x" * 3000]
)
@BOTH_RULES
def test_what_git_names_lies_in_the_directory_it_lies_in(path: str, ignore_case: bool):
    assert scopes.covers(scope("src"), scopes.existing(path), ignore_case=ignore_case)
    assert scopes.covers(scope("s*/*"), scopes.existing(path), ignore_case=ignore_case)
    assert not scopes.covers(scope("docs"), scopes.existing(path), ignore_case=ignore_case)
    assert not scopes.covers(scope("src/*.py"), scopes.existing(path), ignore_case=ignore_case)


@given(st.lists(st.text(st.characters(exclude_characters="/\0"), min_size=1), min_size=1).map("/".join))
def test_what_git_names_is_a_literal_path(path: str):
    assume(not set(NO_NAMES) & set(path.split("/")))

    assert scopes.existing(path).path == unicodedata.normalize("NFC", path)


@pytest.mark.parametrize("written", ["[.]", "[.][.]", ".[.]", "a/[.]", "a/[.][.]/b", "[.]/b"])
def test_a_class_that_spells_a_dot_directory_is_a_pattern_without_a_path(written: str):
    found = scope(written)

    assert found.path is None
    assert not found.is_literal
    assert scope(found.text) == found
