"""Whose a change is: brackets of edits, commands that are going on, contents that return, files that move."""

from __future__ import annotations

import pytest

from bb.coordination.lines import authorship, weave
from bb.coordination.lines.authorship import Going
from bb.coordination.lines.file_state import ABSENT, Version
from bb.coordination.lines.weave import ADDED, DELETED, Run, unattributed
from tests.coordination.lines.lines_support import HARBOR, IGUANA, OTTER, PLAIN_FILE, A, B, C, edits, lines, state

NOBODY = unattributed(7)

AUTHORS = [
    # who edits the file, whose formatters run, whose other commands run: the author of a change
    ([], [], [], None),
    ([OTTER], [], [], OTTER),
    ([OTTER, HARBOR], [], [], None),
    ([], [OTTER], [], OTTER),
    ([OTTER], [HARBOR], [], None),
    ([OTTER], [OTTER], [], OTTER),
    ([], [], [OTTER], OTTER),
    ([], [], [OTTER, HARBOR], None),
    ([OTTER], [], [HARBOR], OTTER),  # a command that may write gives way to an edit
    ([], [OTTER], [HARBOR, IGUANA], OTTER),
    ([OTTER, HARBOR], [], [IGUANA], None),
]


@pytest.mark.parametrize(("editors", "rewriting", "others", "author"), AUTHORS)
def test_a_change_has_an_author_if_exactly_one_agent_can_have_made_it(
    editors: list[str], rewriting: list[str], others: list[str], author: str | None
):
    assert Going(editors, rewriting, others).author() == author


def test_the_author_besides_an_agent_is_the_only_other_one_that_can_have_made_a_change():
    assert Going([OTTER, HARBOR], [], []).author_besides(OTTER) == HARBOR
    assert Going([OTTER, HARBOR, IGUANA], [], []).author_besides(OTTER) is None
    assert Going([OTTER], [], []).author_besides(OTTER) is None
    assert Going([OTTER], [], [HARBOR]).author_besides(OTTER) is None, "the edit of the agent explains the change"
    assert Going([], [], [OTTER, HARBOR]).author_besides(OTTER) == HARBOR


@pytest.mark.parametrize(
    ("octets", "is_binary"),
    [(b"", False), (b"text\n", False), (b"a\0b", True), (b"x" * 7999 + b"\0", True), (b"x" * 8000 + b"\0", False)],
)
def test_a_file_is_binary_if_git_says_so(octets: bytes, is_binary: bool):
    assert authorship.is_binary(octets) == is_binary


class Versions:
    """Contents by blob id."""

    def __init__(self, **contents: str) -> None:
        self.contents = {name * 40: lines(text) for name, text in contents.items()}

    def __call__(self, version: Version) -> list[bytes]:
        return self.contents[version.blob] if version.blob else []


def version(blob: str) -> Version:
    return Version(blob, PLAIN_FILE)


def test_a_change_of_the_content_is_the_author_s():
    known, now = state(weave.unchanged(3), A, A), version(B)

    found = authorship.after_look(known, version(A), now, Versions(a="x y z", b="x Y z"), OTTER, NOBODY)

    assert found == (Run("=", 1), Run(DELETED, 1, (OTTER,)), Run(ADDED, 1, (OTTER,)), Run("=", 1))


def test_a_file_that_is_as_head_has_it_has_no_changes():
    known = state(edits("x y", (OTTER, "x Y"))[0], A, B)

    assert authorship.after_look(known, version(A), version(A), Versions(a="x y"), OTTER, NOBODY) == weave.unchanged(2)


def test_a_content_that_the_file_had_before_has_the_owners_that_it_had_then():
    """As after `git stash` and `git stash pop`."""
    first = state(edits("x y z", (OTTER, "x Y z"), (HARBOR, "x Y Z"))[0], A, B)
    stashed = state(weave.unchanged(3), A, A)

    popped = authorship.after_look(
        stashed, version(A), version(B), Versions(a="x y z", b="x Y Z"), IGUANA, NOBODY, [stashed, first]
    )

    assert popped == first.weave


def test_the_latest_of_several_earlier_states_with_the_same_content_counts():
    first = state(edits("x y", (OTTER, "x Y"))[0], A, B, n=1)
    second = state(edits("x y", (HARBOR, "x Y"))[0], A, B, n=2)
    stashed = state(weave.unchanged(2), A, A, n=3)

    popped = authorship.after_look(
        stashed, version(A), version(B), Versions(a="x y", b="x Y"), IGUANA, NOBODY, [stashed, second, first]
    )

    assert weave.owners(popped) == {HARBOR}


def test_a_content_that_returns_on_another_base_is_put_on_that_base():
    first = state(edits("x y z", (OTTER, "x y Z"))[0], A, B)
    stashed = state(weave.unchanged(3), C, C)

    popped = authorship.after_look(
        stashed, version(C), version(B), Versions(a="x y z", b="x y Z", c="X y z"), HARBOR, NOBODY, [first]
    )

    assert weave.owners(popped) == {OTTER, NOBODY}, "going back to x is nobody's known work"


def test_lines_that_a_reset_takes_out_of_head_are_unattributed():
    known = state(weave.unchanged(2), A, A)

    found = authorship.after_look(known, version(C), version(A), Versions(a="x y", c="x"), OTTER, NOBODY)

    assert found == (Run("=", 1), Run(ADDED, 1, (NOBODY,)))


def test_a_binary_file_belongs_to_everybody_who_changed_it():
    known = state((Run(DELETED, 1, (OTTER,)), Run(ADDED, 1, (OTTER,))), A, B, is_whole=True)

    assert authorship.as_whole(known, version(A), version(C), HARBOR, NOBODY) == (
        Run(DELETED, 1, (OTTER, HARBOR)),
        Run(ADDED, 1, (OTTER, HARBOR)),
    )


def test_a_new_binary_file_only_adds_and_a_removed_one_only_deletes():
    absent, present = state((), "", "", is_whole=True), state((), A, A, is_whole=True)

    assert authorship.as_whole(absent, ABSENT, version(B), OTTER, NOBODY) == (Run(ADDED, 1, (OTTER,)),)
    assert authorship.as_whole(present, version(A), ABSENT, OTTER, NOBODY) == (Run(DELETED, 1, (OTTER,)),)


def test_a_binary_file_that_changed_before_anybody_looked_is_nobody_s():
    known = state((), A, B, is_whole=True)

    assert weave.owners(authorship.as_whole(known, version(C), version(B), OTTER, NOBODY)) == {NOBODY}


def test_a_binary_file_that_is_as_head_has_it_is_unchanged():
    known = state((), A, B, is_whole=True)

    assert authorship.as_whole(known, version(A), version(A), OTTER, NOBODY) == weave.unchanged(1)
    assert authorship.as_whole(known, ABSENT, ABSENT, OTTER, NOBODY) == ()


def test_uncommitted_lines_of_a_moved_file_keep_their_owners():
    donor, donor_now = edits("x y z", (HARBOR, "x new y z"))
    moved = lines("x new y z more")
    weave_here = (Run(ADDED, len(moved), (OTTER,)),)

    found = authorship.carried_over(weave_here, moved, donor, donor_now)

    assert weave.owners_of_lines(found) == [(OTTER,), (HARBOR,), (OTTER,), (OTTER,), (OTTER,)]


def test_lines_that_were_changed_with_the_move_are_the_mover_s():
    donor, donor_now = edits("x y z", (HARBOR, "x new y z"))
    moved = lines("x NEW y z")

    found = authorship.carried_over((Run(ADDED, 4, (OTTER,)),), moved, donor, donor_now)

    assert weave.owners(found) == {OTTER}


def test_carrying_lines_over_leaves_kept_and_deleted_lines_alone():
    weave_here, now = edits("head tail", (OTTER, "head x new"))
    donor, donor_now = edits("x", (HARBOR, "x new"))

    found = authorship.carried_over(weave_here, now, donor, donor_now)

    assert weave.owners_of_lines(found) == [(), (OTTER,), (HARBOR,)]
    assert (Run(DELETED, 1, (OTTER,))) in found


# -- several edits at once


def appends(text: str) -> authorship.Result:
    return lambda content: content + text.encode()


def replaces(old: str, new: str) -> authorship.Result:
    return lambda content: content.replace(old.encode(), new.encode()) if old.encode() in content else None


def in_turn(after: str, needed: str = "", **tools: authorship.Result) -> tuple[str, ...]:
    named = {{"otter": OTTER, "harbor": HARBOR, "iguana": IGUANA}[name]: tool for name, tool in tools.items()}
    return authorship.in_turn(b"x", after.encode(), named, needed)


def test_a_change_is_made_by_those_whose_tools_make_it_one_after_the_other():
    a, b = appends("a"), appends("b")

    assert in_turn("xa", otter=a, harbor=b) == (OTTER,)
    assert in_turn("xab", otter=a, harbor=b) == (OTTER, HARBOR)
    assert in_turn("xba", otter=a, harbor=b) == (HARBOR, OTTER)
    assert in_turn("xbc", otter=a, harbor=b, iguana=replaces("b", "bc")) == (HARBOR, IGUANA)


def test_a_change_that_no_tools_make_is_made_by_nobody():
    assert in_turn("xc", otter=appends("a"), harbor=appends("b")) == ()
    assert in_turn("xaa", otter=appends("a")) == (), "a tool is used once"
    assert in_turn("x", otter=replaces("y", "z")) == ()


def test_of_two_tools_that_make_the_same_it_was_the_one_that_has_ended():
    same = appends("a")

    assert in_turn("xa", otter=same, harbor=same) == ()
    assert in_turn("xa", otter=same, harbor=same, needed=HARBOR) == (HARBOR,)


def test_a_search_among_many_tools_ends():
    tools = {f"agent-{n}": replaces(f"<{n}>", f"[{n}]") for n in range(30)}
    before = "".join(f"<{n}>" for n in range(30)).encode()

    assert authorship.in_turn(before, b"something else", tools) == ()
    assert authorship.in_turn(before, before.replace(b"<7>", b"[7]"), tools) == ("agent-7",)
