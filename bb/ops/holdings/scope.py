"""Pure questions about scopes (Operative Protocol §5)."""

from __future__ import annotations

import os

from bb.coordination.holdings import scopes
from bb.ledger.git import work_tree
from bb.ledger.git.place import NotARepository
from bb.ops.catalogue import op
from bb.ops.params import Plain, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk


class Compared(Plain):
    """A path or pattern."""

    metavar = "SCOPE"


class Root(Plain):
    """The root that relative scopes start from; the repository's unless given."""

    metavar = "DIR"


class Platform(Text):
    """Whose rules for paths: posix or windows. This machine's unless given."""

    choices = ("posix", "windows")


@op(
    "scope.compare",
    reads=True,
    examples=(
        "bb scope compare 'src/*' src/lib/parser.ts",
        r"bb scope compare 'C:\Repo\Src' 'c:\repo\src\a.ts' --root 'C:\Repo' --platform windows",
    ),
    ignore_case="Compare without regard to case, as the repository does where core.ignorecase is set.",
)
def compare(
    desk: Desk,
    a: Compared,
    b: Compared,
    *,
    root: Root | None = None,
    platform: Platform | None = None,
    ignore_case: bool = False,
) -> dict[str, Any]:
    """Whether two scopes are the same (exact), share a path (partial), or share none (disjoint).

    Both are made canonical first: resolved against the root, with `/` between names, without dots or a slash at the
    end; on Windows case does not count. `*`, `?`, `[...]` and `**` are patterns, and whether two patterns share a path
    is decided exactly. Nothing is looked up: the paths need not exist.
    """
    rules = platform or work_tree.PLATFORM
    at = root if root is not None else _root(desk)
    start = at if root is not None or platform else desk.cwd
    for each in (a, b):
        scopes.refuse_ambiguous(each, rules)
    one, other = (scopes.scope(each, root=at, cwd=start, platform=rules) for each in (a, b))
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
    except NotARepository:
        return desk.cwd


def _minds_no_case(desk: Desk) -> bool:
    try:
        return work_tree.minds_no_case(desk.place)
    except NotARepository:
        return os.name == "nt"
