"""Comparing scopes (Operative Protocol §5)."""

from __future__ import annotations

import os
from typing import Any

from bb.coordination.holdings import intended_paths, scopes
from bb.ledger.git import work_tree
from bb.ledger.git.place import NotARepository
from bb.ops.catalogue import op
from bb.ops.desk.desk import Desk
from bb.ops.params import Text, UncheckedText


class Compared(UncheckedText):
    """A path or pattern."""

    metavar = "SCOPE"


class Platform(Text):
    """The path rules to use: posix or windows. Default: those of this machine."""

    choices = ("posix", "windows")


@op(
    "scope.compare",
    reads=True,
    examples=(
        "bb scope compare 'src/*' src/lib/parser.ts",
        r"bb scope compare 'C:\Repo\Src' 'c:\repo\src\a.ts' --root 'C:\Repo' --platform windows",
    ),
)
def compare(
    desk: Desk,
    a: Compared,
    b: Compared,
    *,
    root: UncheckedText | None = None,
    platform: Platform | None = None,
    ignore_case: bool = False,
) -> dict[str, Any]:
    """Compare two scopes: equal (exact), with a common path (partial), or without one (disjoint).

    Both are made canonical first: relative to the root, with `/` as separator, without `.` and `..` and without a
    trailing slash. On Windows case is ignored. `*`, `?`, `[...]` and `**` are patterns; whether two patterns have a
    common path is decided exactly. The paths need not exist.

    Parameters:
        a (SCOPE-A): The first path or pattern.
        b (SCOPE-B): The second path or pattern.
        root (DIR): The root of relative scopes. Default: the repository's root.
        ignore_case: Ignore case. Default: only if the repository sets core.ignorecase.
    """
    rules = platform or work_tree.PLATFORM
    at = root if root is not None else _root(desk)
    start = at if root is not None or platform else desk.cwd
    for text in (a, b):
        intended_paths.refuse_ambiguous(text, rules)
    one, other = (scopes.scope(text, root=at, cwd=start, platform=rules) for text in (a, b))
    folds = ignore_case or rules == "windows" or (root is None and _minds_no_case(desk))
    return {
        "class": scopes.compare(one, other, ignore_case=folds),
        "a": {"canonical": one.text, "absolute": scopes.absolute(one, root=at, platform=rules)},
        "b": {"canonical": other.text, "absolute": scopes.absolute(other, root=at, platform=rules)},
        "root": at,
        "platform": rules,
        "ignore_case": folds,
    }


def _root(desk: Desk) -> str:
    try:
        return work_tree.root_of(desk.place)
    except NotARepository.error:
        return desk.cwd


def _minds_no_case(desk: Desk) -> bool:
    try:
        return work_tree.is_case_insensitive(desk.place)
    except NotARepository.error:
        return os.name == "nt"
