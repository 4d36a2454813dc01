"""Protects bb's own files in a clone from an agent's tools: the ledger, its refs, and bb's hooks."""

from __future__ import annotations

import os

from bb.coordination.guards.harmed_files import ITSELF, HarmedFile
from bb.kernel import escaping
from bb.ledger.files import disk
from bb.ledger.git import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bb.ops.desk.desk import Desk

REFS = os.path.join("refs", "bb")
LARGEST_HOOK = 1 << 16
WHY = (
    "`{}` would harm files of bb: {}. Instead: leave them; `bb doctor` shows what is wrong and what mends it, or ask "
    "the person: `bb send user 'TEXT'`"
)
EDITED = (
    "{} is a file of bb, which only bb may change. Instead: leave it; `bb doctor` shows what is wrong and what mends it"
)


def is_about(desk: Desk, directory: str | None) -> bool:
    """Whether a command in DIRECTORY works on this clone. An unknown directory is none."""
    if directory is None:
        return False
    try:
        here = place.find(os.path.normpath(os.path.join(desk.cwd, directory)), {})
    except place.NotARepository.error:
        return False
    return os.path.realpath(here.common) == os.path.realpath(desk.place.common)


def refusal(desk: Desk, harmed: Sequence[HarmedFile]) -> str:
    """Why a command that harms these files is refused; empty if none of them is bb's."""
    common = os.path.realpath(desk.place.common)
    near = [
        (file, named)
        for file in harmed
        for named in _names(desk, file.path, follows=file.follows)
        if file.harms(named, common, common) or named.startswith(common)
    ]
    ours = list(_protected(desk, common)) if near else []
    for file, named in near:
        found = next((own for own in ours if file.harms(named, own, common)), None)
        if found:
            return WHY.format(escaping.clipped(file.command, 200), escaping.name(found))
    return ""


def refused_edit(desk: Desk, paths: Sequence[str]) -> str:
    """Why an editor's tool may not change these files; empty if none of them is bb's."""
    common = os.path.realpath(desk.place.common)
    ours = list(_protected(desk, common))
    for path in paths:
        file = HarmedFile(path, ITSELF, "")
        if any(file.harms(named, own, common) for named in _names(desk, path) for own in ours):
            return EDITED.format(escaping.name(path))
    return ""


def _names(desk: Desk, path: str, *, follows: bool = True) -> tuple[str, ...]:
    """The absolute paths that PATH may mean, with the file that a link leads to if it FOLLOWS."""
    written = os.path.normpath(os.path.join(desk.cwd, path))
    above = os.path.join(os.path.realpath(os.path.dirname(written)), os.path.basename(written))
    return written, above, *([os.path.realpath(written)] if follows else [])


def _protected(desk: Desk, common: str) -> Iterator[str]:
    from bb.ledger.wiring import hook_script  # noqa: PLC0415  (few commands name a file in git's folder)

    yield os.path.realpath(desk.place.store)
    yield os.path.join(common, REFS)
    folder = os.path.join(common, "hooks")
    for name in hook_script.HOOKS:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and hook_script.is_ours(disk.read_small(path, LARGEST_HOOK) or b""):
            yield path
