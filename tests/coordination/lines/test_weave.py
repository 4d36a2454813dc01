"""Whose each uncommitted line is, while several agents edit one file and commit their own lines."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.lines import line_diff, weave
from bb.coordination.lines.edits import edited
from bb.coordination.lines.new_base import rebased
from bb.coordination.lines.weave import ADDED, DELETED, KEPT, NOBODY, Run, Weave

OTTER, HARBOR, IGUANA = "amber-otter", "cobalt-harbor", "vital-iguana"
AGENTS = (OTTER, HARBOR, IGUANA)


def lines(text: str) -> list[bytes]:
    """Each word of TEXT is a line."""
    return [f"{word}\n".encode() for word in text.split()]


def text(some: list[bytes]) -> str:
    return " ".join(line.decode().strip() for line in some)


class File:
    """A file that agents edit and commit."""

    def __init__(self, base: str) -> None:
        self.base = lines(base)
        self.now = list(self.base)
        self.weave = weave.unchanged(len(self.base))

    def edit(self, agent: str, after: str) -> File:
        return self.put(agent, lines(after))

    def put(self, agent: str, after: list[bytes]) -> File:
        self.weave = edited(self.weave, self.base, self.now, after, agent)
        self.now = after
        return self

    def commit(self, *agents: str) -> File:
        after = weave.content(self.weave, self.base, self.now, frozenset(agents))
        self.weave, self.base = weave.committed(self.weave, frozenset(agents)), after
        return self

    def move_to(self, new_base: str) -> File:
        after = lines(new_base)
        self.weave, self.base = rebased(self.weave, self.base, self.now, after), after
        return self

    def of(self, *agents: str) -> str:
        return text(weave.content(self.weave, self.base, self.now, frozenset(agents)))

    @property
    def shown(self) -> str:
        """`+word:owner` and `-word:owner` for each change."""
        base, now, parts = iter(self.base), iter(self.now), []
        for run in self.weave:
            for _ in range(run.count):
                old = next(base) if run.kind != ADDED else b""
                new = next(now) if run.kind != DELETED else b""
                parts.append(f"{run.kind}{text([new or old])}:{'+'.join(run.owners)}" if run.kind != KEPT else "=")
        assert not [*base, *now], "the weave covers the base and the file, to the last line"
        return " ".join(part for part in parts if part != "=")


# -- one edit


def test_what_an_agent_changes_is_its_own():
    file = File("a b c").edit(OTTER, "a B c d")

    assert file.shown == f"-b:{OTTER} +B:{OTTER} +d:{OTTER}"


def test_two_agents_lines_beside_each_other_are_taken_apart():
    file = File("a b c d").edit(OTTER, "a B c d").edit(HARBOR, "a B C d")

    assert file.of(OTTER) == "a B c d"
    assert file.of(HARBOR) == "a b C d"
    assert file.of(OTTER, HARBOR) == "a B C d"


def test_a_line_between_two_lines_of_another_is_ones_own():
    file = File("a").edit(OTTER, "a x y").edit(HARBOR, "a x new y")

    assert file.of(HARBOR) == "a new"
    assert file.of(OTTER) == "a x y"


def test_an_uncommitted_line_that_another_rewrites_belongs_to_both():
    file = File("a b").edit(OTTER, "a B b").edit(HARBOR, "a BB b")

    assert file.shown == f"+BB:{OTTER}+{HARBOR}"
    assert [file.of(OTTER), file.of(HARBOR), file.of(OTTER, HARBOR)] == ["a b", "a b", "a BB b"]
    (hunk,) = weave.hunks(file.weave)
    assert not hunk.is_whole_for(frozenset({OTTER}))
    assert not hunk.is_whole_for(frozenset({HARBOR}))
    assert hunk.is_whole_for(frozenset({OTTER, HARBOR}))
    assert hunk.is_whole_for(frozenset({IGUANA}))


def test_if_as_many_lines_come_as_go_only_the_rewritten_ones_are_entangled():
    file = File("a b c").edit(OTTER, "A b C").edit(HARBOR, "A1 b2 C")

    assert file.shown == f"-a:{OTTER} +A1:{OTTER}+{HARBOR} -b:{HARBOR} +b2:{HARBOR} -c:{OTTER} +C:{OTTER}"
    assert file.of(HARBOR) == "a b2 c"


def test_an_uncommitted_line_that_is_deleted_again_leaves_nothing():
    assert File("a").edit(OTTER, "a x").edit(HARBOR, "a").shown == ""


@pytest.mark.parametrize("who", [OTTER, HARBOR])
def test_a_line_that_is_put_back_is_no_change(who: str):
    assert File("a b c").edit(OTTER, "a c").edit(who, "a b c").shown == ""
    assert File("a b c").edit(OTTER, "a B1 B2 c").edit(who, "a b c").shown == ""


def test_a_line_of_another_that_only_moves_keeps_its_owner():
    file = File("a b c d e").edit(OTTER, "a new b c d e").edit(HARBOR, "a b c d new e")

    assert file.shown == f"+new:{OTTER}"


def test_a_change_outside_of_every_bracket_is_nobodys_until_it_is_claimed():
    file = File("a b").edit(NOBODY, "a x b")
    assert file.of(OTTER) == "a b"
    assert file.of(NOBODY) == "a x b"

    file.weave = weave.claimed(file.weave, OTTER)
    assert file.of(OTTER) == "a x b"


def test_a_claim_takes_no_line_of_another():
    file = File("a b").edit(HARBOR, "a x b").edit(NOBODY, "a X b y")

    file.weave = weave.claimed(file.weave, OTTER)
    assert file.shown == f"+X:{OTTER}+{HARBOR} +y:{OTTER}"


# -- commits and other bases


def test_a_commit_leaves_the_lines_of_others_as_changes():
    file = File("a b c").edit(OTTER, "a B c").edit(HARBOR, "a B c d").commit(OTTER)

    assert text(file.base) == "a B c"
    assert file.shown == f"+d:{HARBOR}"


def test_a_commit_of_another_hand_is_found_in_the_new_base():
    file = File("a b c").edit(OTTER, "a B c").edit(HARBOR, "a B c d").move_to("a B c")

    assert file.shown == f"+d:{HARBOR}"


def test_a_rebase_brings_lines_that_the_file_lacks():
    file = File("a b c").edit(OTTER, "a B c").move_to("zero a b c")

    assert file.shown == f"-zero:{NOBODY} -b:{OTTER} +B:{OTTER}"


def test_a_commit_that_is_taken_back_leaves_lines_of_nobody():
    file = File("a").edit(OTTER, "a x").commit(OTTER).move_to("a")

    assert file.shown == f"+x:{NOBODY}"


def test_a_last_line_without_its_end_gets_one_where_a_line_follows():
    file = File("a")
    file.base = file.now = [b"a\n", b"end"]
    file.weave = weave.unchanged(2)
    file.put(OTTER, [b"a\n", b"end\n", b"x\n"]).put(HARBOR, [b"a\n", b"end\n", b"x\n", b"y\n"])

    assert weave.content(file.weave, file.base, file.now, frozenset({HARBOR})) == [b"a\n", b"end\n", b"y\n"]
    assert weave.content(file.weave, file.base, file.now, frozenset()) == [b"a\n", b"end"]


# -- any edits of several agents, in any order

ACTS = ["edit", "edit", "edit", "commit", "base"]
WORDS = st.sampled_from(["a", "b", "c", "d", "e"])
TEXTS = st.lists(WORDS, max_size=9).map(" ".join)


@st.composite
def histories(draw: st.DrawFn) -> tuple[str, list[tuple[str, str, str]]]:
    """A base, and what agents do: edit the file, commit their lines, or bring in another base."""
    steps = st.tuples(st.sampled_from(ACTS), st.sampled_from((*AGENTS, NOBODY)), TEXTS)
    return draw(TEXTS), draw(st.lists(steps, max_size=8))


def check(woven: Weave, base: list[bytes], now: list[bytes]) -> None:
    assert weave.length_of_base(woven) == len(base)
    assert weave.length_of_now(woven) == len(now)
    everybody = weave.owners(woven)
    assert weave.content(woven, base, now, everybody) == now
    assert weave.content(woven, base, now, frozenset()) == base
    assert all(run.count > 0 and bool(run.owners) == (run.kind != KEPT) for run in woven)
    assert all((one.kind, one.owners) != (two.kind, two.owners) for one, two in itertools.pairwise(woven))


@given(histories())
def test_the_weave_is_always_the_base_and_the_file(history: tuple[str, list[tuple[str, str, str]]]):
    base, steps = history
    file = File(base)
    for act, agent, content in steps:
        before = set(weave.owners(file.weave))
        if act == "edit":
            file.edit(agent, content)
            assert set(weave.owners(file.weave)) <= before | {agent}
        elif act == "base":
            file.move_to(content)
            assert set(weave.owners(file.weave)) <= before | {NOBODY}
        else:
            present = list(file.now)
            file.commit(agent)
            assert file.now == present, "a commit leaves the file as it is"
            assert (agent,) not in {run.owners for run in file.weave}
        check(file.weave, file.base, file.now)
        if file.base == file.now:
            assert file.shown == "" or act != "edit"


@given(st.lists(st.tuples(st.sampled_from(AGENTS), st.integers(0, 30), st.booleans()), max_size=14), st.randoms())
def test_agents_that_edit_only_their_own_lines_commit_exactly_these(edits: list[tuple[str, int, bool]], random):
    """Each inserts lines with its name anywhere and deletes lines of its own only: no line is ever another's."""
    file = File(" ".join(f"base{at}" for at in range(6)))
    count = 0
    for agent, place, is_deletion in edits:
        after = list(file.now)
        own = [at for at, line in enumerate(after) if line.startswith(agent.encode())]
        if is_deletion and own:
            del after[own[place % len(own)]]
        else:
            count += 1
            after.insert(place % (len(after) + 1), f"{agent}{count}\n".encode())
        file.put(agent, after)
    everything = list(file.now)
    seen: list[bytes] = []
    order = list(AGENTS)
    random.shuffle(order)
    for agent in order:
        before = list(file.base)
        file.commit(agent)
        new = [line for line in file.base if line not in before]
        assert all(line.startswith(agent.encode()) for line in new)
        seen += new
    assert file.base == file.now == everything
    assert len(seen) == len(set(seen)), "no line is committed twice"


# -- the difference of two versions


@given(st.lists(WORDS, max_size=30), st.lists(WORDS, max_size=30))
def test_between_the_changes_both_versions_are_equal(before: list[str], after: list[str]):
    a, b = lines(" ".join(before)), lines(" ".join(after))
    rebuilt: list[bytes] = []
    at = 0
    for first, end, start, stop in line_diff.changes(a, b):
        assert first >= at
        rebuilt += a[at:first]
        assert len(rebuilt) == start
        rebuilt += b[start:stop]
        assert (first, start) != (end, stop)
        at = end
    assert rebuilt + a[at:] == b


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\nb\n", [b"a\n", b"b\n"]),
        (b"a\r\nb\rc\x0bd\x85", [b"a\r\n", b"b\rc\x0bd\x85"]),
        (b"\n\n", [b"\n", b"\n"]),
    ],
)
def test_only_a_line_feed_ends_a_line(content: bytes, expected: list[bytes]):
    assert line_diff.split(content) == expected
    assert b"".join(expected) == content


def test_a_new_block_among_equal_ones_is_one_change():
    before = lines("def one end def two end")
    after = lines("def one end def new end def two end")

    assert len(line_diff.changes(before, after)) == 1


def test_two_long_versions_without_a_line_in_common_are_one_change():
    before, after = [b"a\n"] * 3000, [b"b\n"] * 3000

    assert line_diff.changes(before, after) == [(0, 3000, 0, 3000)]


def test_the_weave_of_run_records_is_joined_and_without_empty_runs():
    assert weave.woven([Run(KEPT, 1), Run(KEPT, 2), Run(ADDED, 0, (OTTER,)), Run(ADDED, 1, (OTTER,))]) == (
        Run(KEPT, 3),
        Run(ADDED, 1, (OTTER,)),
    )


def test_a_committed_block_among_equal_lines_is_found_in_the_new_base():
    file = File("one . . two . . three").edit(OTTER, "one . . new . . two . . three")
    file.edit(HARBOR, "one . . new . . two . . other . . three")

    file.move_to("zero one . . new . . two . . three")

    assert file.shown == f"-zero:{NOBODY} +other:{HARBOR} +.:{HARBOR} +.:{HARBOR}"
    assert file.move_to("one . . new . . two . . three").of(OTTER) == "one . . new . . two . . three"


def test_the_commit_of_two_owners_together_is_found_in_the_new_base():
    file = File("a b c").edit(OTTER, "x a b c").edit(HARBOR, "x a b c y").edit(IGUANA, "x a z b c y")

    assert file.move_to("x a b c y").shown == f"+z:{IGUANA}"
