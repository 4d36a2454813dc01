"""Operative Protocol §5: the normalisation pipeline, the classes, and patterns against brute force."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.holdings import globs, scopes
from bb.coordination.holdings.scopes import InvalidScope, Scope, ScopeOutside
from bb.kernel.errors import BbError
from tests.examples import examples


def scope(written: str, cwd: str = "/repo", *, is_path: bool = False) -> Scope:
    return scopes.scope(written, root="/repo", cwd=cwd, is_path=is_path)


def windows(written: str, cwd: str = "C:\\Repo") -> Scope:
    return scopes.scope(written, root="C:\\Repo", cwd=cwd, platform="windows")


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("src/lib", "src/lib"),
        ("./src/./lib/", "src/lib"),
        ("src//lib///", "src/lib"),
        ("docs/../src/lib", "src/lib"),
        ("/repo/src/lib", "src/lib"),
        ("/repo", "."),
        (".", "."),
        ("src dir/a b.py", "src dir/a b.py"),
        ("src\\lib", "src\\lib"),  # on posix a backslash is a character like any other
        ("cafe\u0301", "caf\u00e9"),
        ("src/**", "src/*"),
        ("src/**/*", "src/*"),
        ("src/**/**/a", "src/**/a"),
        ("src/a**b", "src/a*b"),
        ("src/[x]", "src/x"),
    ],
)
def test_5_1_a_scope_has_one_canonical_form(written: str, canonical: str):
    assert scope(written).text == canonical


def test_5_1_1_a_scope_is_resolved_from_where_one_stands():
    assert scope("lib/../x", cwd="/repo/src/deep").text == "src/deep/x"
    assert scope("../a", cwd="/repo/src").text == "a"


@pytest.mark.parametrize(
    "written", [r"C:\Repo\src\lib", "c:/repo/SRC/lib/", r"src\lib", r"src/.\lib", r"\Repo\src\lib"]
)
def test_5_1_2_and_3_windows_separators_and_case(written: str):
    found = windows(written)

    assert scopes.absolute(found, root="C:\\Repo", platform="windows") == "c:/repo/src/lib"
    assert scopes.compare(found, windows("Src/Lib"), ignore_case=True) == "exact"


def test_5_1_4_only_the_root_keeps_its_slash():
    at_root = scopes.scope("/", root="/", cwd="/")
    assert scopes.absolute(at_root, root="/", platform="posix") == "/"
    assert scopes.absolute(scope("src/"), root="/repo", platform="posix") == "/repo/src"


@pytest.mark.parametrize("written", ["..", "../x", "/etc/passwd", "src/../../x", "/repository/x"])
def test_5_1_what_lies_outside_is_refused(written: str):
    with pytest.raises(ScopeOutside.error):
        scope(written)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "  ",
        "a\0b",
        "a\nb",
        "\x1b[2J",
        "src/{a,b}.py",
        "[[:alpha:]]",
        "[z-a]",
        "!src",
        "*/../x",
        "x" * 5000,
        "?" * 600,
    ],
)
def test_5_what_cannot_be_decided_is_refused_and_never_called_disjoint(written: str):
    with pytest.raises(InvalidScope.error):
        scope(written)


PAIRS = [
    ("src/*", "src/lib/parser.ts", "partial"),
    ("src/lib", "src/lib/parser.ts", "partial"),
    ("src/lib/parser.ts", "src/lib/parser.ts", "exact"),
    ("src/lib", "src/components", "disjoint"),
    ("src/lib", "src/library", "disjoint"),
    ("src", "src/*", "partial"),
    (".", "anything/at/all", "partial"),
    (".", ".", "exact"),
    ("*", "x", "partial"),
    ("src/*.py", "src/a.py", "partial"),
    ("src/*.py", "docs/*.md", "disjoint"),
    ("src/*/a.py", "src/b/*.py", "partial"),
    ("src/[ab]*", "src/[bc]*", "partial"),
    ("src/[ab]", "src/[cd]", "disjoint"),
    ("a*b", "ac*", "partial"),
    ("a*b", "c*", "disjoint"),
    ("**/x", "a/b/c/x", "partial"),
    ("**/x", "x", "partial"),
    ("a/?", "a/bb", "disjoint"),
    ("a/[!b]", "a/b", "disjoint"),
    ("Src/A", "src/a", "disjoint"),
    ("src/a b", "src/a", "disjoint"),
]


@pytest.mark.parametrize(("one", "other", "expected"), PAIRS)
def test_5_2_the_class_of_two_scopes_both_ways_round(one: str, other: str, expected: str):
    assert scopes.compare(scope(one), scope(other), ignore_case=False) == expected
    assert scopes.compare(scope(other), scope(one), ignore_case=False) == expected


@pytest.mark.parametrize(("one", "other"), [("SRC/A.py", "src/a.PY"), ("ÄRGER", "ärger")])
def test_5_1_3_where_case_does_not_count_it_does_not(one: str, other: str):
    assert scopes.compare(scope(one), scope(other), ignore_case=True) == "exact"
    assert scopes.compare(scope(one), scope(other), ignore_case=False) == "disjoint"


def test_a_path_is_itself_whatever_wildcards_it_seems_to_hold():
    page = scope("app/[slug]/page*.tsx", is_path=True)

    assert page.is_literal
    assert scopes.compare(page, scope("app/s/page1.tsx"), ignore_case=False) == "disjoint"
    assert scopes.compare(page, scope("app/*/page?.tsx"), ignore_case=False) == "partial"
    assert scopes.stored(page.text) == page


def test_a_file_has_nothing_beneath_it_for_a_pattern_to_meet():
    file, unknown = scope("src/a.txt").replace(is_file=True), scope("src/a.txt")

    assert scopes.compare(scope("src/**/*.py"), file, ignore_case=False) == "disjoint"
    assert scopes.compare(scope("src/**/*.py"), unknown, ignore_case=False) == "partial"
    assert scopes.compare(scope("src/*.txt"), file, ignore_case=False) == "partial"
    assert scopes.compare(scope("src"), file, ignore_case=False) == "partial"


# -- against brute force: every path over a few names, matched by an independent translation to regular expressions

NAMES = ["a", "b", "A", ".a", "aa", "c"]
PATHS = ["/".join(names) for count in range(1, 6) for names in itertools.product(NAMES, repeat=count)]
PARTS = st.sampled_from(["a", "b", "A", "*", "?", "**", "[ab]", "[!a]", "[A]", "[a-b]"])
PATTERNS = st.lists(PARTS, min_size=1, max_size=3).map("/".join)


def paths_of(found: Scope, *, ignore_case: bool) -> set[str]:
    return _paths_of(found.text, ignore_case)


def _matching(text: str, ignore_case: bool) -> re.Pattern[str]:
    translated = {"*": "[^/]*", "?": "[^/]", "[ab]": "[ab]", "[a-b]": "[ab]", "[!a]": "[^/a]"}
    parts = text.split("/")
    whole = ""
    for place, part in enumerate(parts):
        if part == "**":
            whole += "(?:[^/]+/)*"
        else:
            whole += translated.get(part, re.escape(part)) + ("/" if place + 1 < len(parts) else "")
    return re.compile(whole + "(?:/.*)?", re.IGNORECASE if ignore_case else 0)


_known: dict[tuple[str, bool], set[str]] = {}


def _paths_of(text: str, ignore_case: bool) -> set[str]:
    if (text, ignore_case) not in _known:
        fits = _matching(text, ignore_case)
        _known[text, ignore_case] = {path for path in PATHS if fits.fullmatch(path)}
    return _known[text, ignore_case]


@examples(400)
@given(PATTERNS, PATTERNS, st.booleans())
def test_overlap_equals_brute_force_on_all_paths_and_is_symmetric(one: str, other: str, ignore_case: bool):
    a, b = scope(one), scope(other)
    common = paths_of(a, ignore_case=ignore_case) & paths_of(b, ignore_case=ignore_case)

    found = scopes.compare(a, b, ignore_case=ignore_case)

    assert (found != "disjoint") is bool(common)
    assert scopes.compare(b, a, ignore_case=ignore_case) == found
    if common:  # what the index looks for
        assert scopes.lead(a).startswith(scopes.lead(b)) or scopes.lead(b).startswith(scopes.lead(a))


@examples(300)
@given(PATTERNS, st.sampled_from(PATHS), st.booleans())
def test_covering_a_path_equals_matching_it(pattern: str, path: str, ignore_case: bool):
    a, file = scope(pattern), scope(path, is_path=True).replace(is_file=True)
    matches = bool(_matching(a.text, ignore_case).fullmatch(path))

    assert scopes.covers(a, file, ignore_case=ignore_case) is matches
    if not a.is_literal:
        assert (scopes.compare(a, file, ignore_case=ignore_case) != "disjoint") is matches


@given(st.text(max_size=30))
def test_any_text_is_a_scope_or_refused_and_its_canonical_form_is_its_own(text: str):
    try:
        found = scope(text)
    except BbError:
        return
    assert scopes.stored(found.text) == found
    assert scope(found.text, is_path=False) == found


@given(st.text(max_size=30))
def test_what_a_ledger_says_never_raises(text: str):
    found = scopes.stored(text)
    assert found is None or found.text == text


def test_hostile_patterns_are_decided_in_no_time():
    one = scope("/".join(["*a*b*c"] * 12))
    other = scope("/".join(["a*b*c*"] * 12))
    assert scopes.compare(one, other, ignore_case=True) == "partial"
    assert globs.wildcards(globs.part("*a?[bc]")) == 3
