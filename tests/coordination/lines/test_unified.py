"""Differences as text: `git apply` makes the one version from the other, and each line stands with its owners."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from bb.coordination.lines import unified, weave
from bb.coordination.lines.unified import OwnedLines
from tests.coordination.lines.lines_support import HARBOR, OTTER, edits, lines
from tests.support import environment


def version(chance: random.Random, before: list[bytes] | None = None) -> list[bytes]:
    """A file of some lines, or BEFORE with some of its lines changed."""
    if before is None:
        found = [b"line %d\n" % chance.randrange(30) for _ in range(chance.randrange(40))]
    else:
        found = [line for line in before if chance.random() > 0.1]
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(found) + 1)
            found[at:at] = [b"new %d\n" % chance.randrange(9) for _ in range(chance.randrange(1, 4))]
    found = [line if line.endswith(b"\n") else line + b"\n" for line in found]
    odd = chance.random()
    if found and odd < 0.3:
        found[-1] = found[-1][:-1]
    elif found and odd < 0.5:
        found[0] = found[0][:-1] + b"\r\n"
    elif found and odd < 0.6:
        found[0] = b"\xff\xfe latin \xe9\n"
    return found


def test_git_apply_makes_the_version_after_from_the_one_before(tmp_path: Path):
    chance = random.Random(24)
    pairs = [(version(chance), []) for _ in range(10)] + [([], version(chance)) for _ in range(10)]
    pairs += [(before, version(chance, before)) for before in (version(chance) for _ in range(180))]
    pairs += [([b"a\n"], [b"a"]), ([b"a"], [b"a\n"]), ([b"a"], [b"a\n", b"b"]), ([b"\n"] * 9, [b"\n"] * 10)]
    patch = []
    for number, (before, after) in enumerate(pairs):
        (tmp_path / f"f{number}").write_bytes(b"".join(before))
        if before != after:
            patch += [b"--- a/f%d\n+++ b/f%d\n" % (number, number), *unified.hunks(before, after)]

    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        input=b"".join(patch),
        cwd=tmp_path,
        env=environment(GIT_CEILING_DIRECTORIES=str(tmp_path.parent)),
        capture_output=True,
    )

    assert done.returncode == 0, done.stderr.decode()
    for number, (_, after) in enumerate(pairs):
        file = tmp_path / f"f{number}"
        assert (file.read_bytes() if file.exists() else b"") == b"".join(after), number


def test_equal_versions_have_no_hunk():
    assert list(unified.hunks(lines("a b"), lines("a b"))) == []


@pytest.mark.parametrize(("between", "hunks"), [(6, 1), (7, 2)])
def test_changes_whose_contexts_meet_are_one_hunk(between: int, hunks: int):
    middle = [b"m%d\n" % n for n in range(between)]

    found = list(unified.hunks([b"a\n", *middle, b"z\n"], [b"A\n", *middle, b"Z\n"]))

    assert sum(line.startswith(b"@@") for line in found) == hunks


def test_the_changes_of_each_owner_stand_together_with_their_places():
    woven, now = edits("a b c d e", (OTTER, "a B c d e"), (HARBOR, "a B c d e f g"), (OTTER, "a B c e f g"))

    found = list(unified.by_owner(woven, lines("a b c d e"), now))

    assert found == [
        OwnedLines((OTTER,), 1, 1, lines("b"), lines("B")),
        OwnedLines((OTTER,), 3, 3, lines("d"), []),
        OwnedLines((HARBOR,), 5, 4, [], lines("f g")),
    ]


def test_neighbouring_lines_of_two_owners_are_two_changes():
    woven, now = edits("a", (OTTER, "a mine"), (HARBOR, "a mine theirs"))

    found = list(unified.by_owner(woven, lines("a"), now))

    assert [(one.owners, one.added) for one in found] == [((OTTER,), lines("mine")), ((HARBOR,), lines("theirs"))]


def test_an_unchanged_file_has_no_changes():
    assert list(unified.by_owner(weave.unchanged(2), lines("a b"), lines("a b"))) == []
