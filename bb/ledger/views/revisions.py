"""Names of commits, such as `main~3`, and what helps if a clone has no commit of that name."""

from __future__ import annotations

from bb.kernel.errors import NotFound, Usage
from bb.kernel.escaping import harmless, quoted
from bb.ledger.views.commits import HINT as MORE_HISTORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.kernel.errors import BbError
    from bb.ledger.views.commits import Reader

RELATIVE = "^~@:"  # what follows the name of a commit, as in HEAD^ and main~3
HERE = ("HEAD", "@")
LONGEST_BEGINNING = 40  # characters: only a whole id can be fetched
NAME_ONE = "name a commit, for example origin/main or 1a2b3c4"

InvalidRevision = Usage.declare("INVALID_REVISION", "The text is not a valid name of a commit", hint=NAME_ONE)

RevisionNotFound = NotFound.declare(
    "REVISION_NOT_FOUND", "This clone does not have that commit", hint="fetch it: `git fetch origin REVISION`"
)


def refuse_invalid(named: Mapping[str, str]) -> None:
    """Refuse what cannot be the name of a commit."""
    for option, name in named.items():
        if not name.strip() or not name.isprintable() or len(name) > 1000:
            raise InvalidRevision(f"{option} {harmless(name[:60])!r} is not a valid name of a commit")


def root(name: str) -> str:
    """The name of a commit without what is relative to it: HEAD for HEAD^, main for main~3."""
    return name[: next((place for place, mark in enumerate(name) if mark in RELATIVE and place), len(name))]


def not_found(option: str, name: str, reader: Reader, remote: str | None, known_as: str | None = None) -> BbError:
    """The refusal of a NAME that is no commit for READER, which may know it by another name. REMOTE is where the clone
    fetches from."""
    has_root = reader.commit_named(root(known_as or name)) is not None
    hint = _hint(name, remote, has_root=has_root, is_cut=bool(reader.cuts))
    return RevisionNotFound(f"{option} {harmless(name[:60])!r} is not a commit in this clone", hint=hint)


def _hint(name: str, remote: str | None, *, has_root: bool, is_cut: bool) -> str:
    start = root(name)
    steps = name[len(start) :]
    if not name.strip("0"):
        return "it stands for no commit, as for a new branch; name the branch that the change is meant for: origin/main"
    if has_root and not (is_cut and steps.strip("^~0123456789") == ""):
        return f"name a commit; `git log --oneline {quoted(start)}` lists those that {start} has"
    if start in HERE and not has_root:
        return "no commit is checked out here: `git switch BRANCH` checks out a branch"
    if is_cut:
        return MORE_HISTORY
    if start.startswith("-"):
        return NAME_ONE
    if remote is None:
        return "this clone has no remote to fetch it from; `git log --oneline --all` lists the commits that are here"
    if len(start) < LONGEST_BEGINNING and not start.strip("0123456789abcdef"):
        return f"if it is the beginning of an id, fetch the branches: `git fetch {quoted(remote)}`"
    return (
        f"fetch it: `git fetch {quoted(remote)} {quoted(start.removeprefix(f'{remote}/'))}`; "
        f"`git ls-remote {quoted(remote)}` lists what there is to fetch"
    )
