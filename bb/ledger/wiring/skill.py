"""Installs and removes the skill in a work tree, in the folders where agents look for it. Other files are unchanged.

The whole plan is made, and refused if necessary, before the first file is written. Then each file is replaced whole.
"""

from __future__ import annotations

import os

from bb.coordination.wiring import marked_section
from bb.kernel.errors import Refused
from bb.kernel.record import Record
from bb.ledger.files import disk, work_tree_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

NAME = "beadboard-driver"
INSTRUCTIONS_FILE = "AGENTS.md"
# Codex, Gemini CLI, OpenCode and most others look in the first; Claude Code looks in the second only.
HOMES = (".agents/skills", ".claude/skills")
LARGEST = 1 << 20  # bytes of a file that is read as a text
CREATED, CHANGED, UNCHANGED, REMOVED, LEFT = "created", "changed", "unchanged", "removed", "left"
NOT_OURS = "it was changed since, or bb did not write it"

SkillFileUnfit = Refused.declare(
    "SKILL_FILE_UNFIT",
    "A file of the skill cannot be written; nothing was changed",
    hint="correct or move the file; docs/skill.md shows how to install the skill by hand",
)


class Piece(Record):
    """The plan for one file: its path in the work tree, the outcome, and its new text."""

    path: str
    outcome: str
    text: str | None = None
    why: str | None = None


def install_plan(work_tree: str) -> list[Piece]:
    """The plan for installing the skill, file by file."""
    shipped = dict(_shipped(_source() / NAME, NAME))
    pieces = []
    for home in _homes(work_tree):
        texts = {f"{home}/{name}": marked_section.sealed(text) for name, text in shipped.items()}
        pieces += [_written(work_tree, path, text) for path, text in texts.items()]
        pieces += [
            Piece(path, REMOVED) for path, text in _present(work_tree, home) if text is not None and path not in texts
        ]
    return [*pieces, _told(work_tree)]  # last, because it refers to the others


def removal_plan(work_tree: str) -> list[Piece]:
    """The plan for removing the skill, file by file."""
    pieces = [
        Piece(path, LEFT, why=NOT_OURS) if text is None else Piece(path, REMOVED)
        for home in _homes(work_tree)
        for path, text in _present(work_tree, home)
    ]
    return [*pieces, *_untold(work_tree)]


def carry_out(work_tree: str, pieces: list[Piece]) -> None:
    """Carry out the plan PIECES in WORK_TREE."""
    for piece in pieces:
        if piece.outcome == REMOVED:
            work_tree_files.remove(work_tree, piece.path)
        elif piece.text is not None:
            work_tree_files.write(work_tree, piece.path, piece.text.encode())


def _source() -> Traversable:
    """The folder of the skill: in the installed package, or beside the package in a checkout."""
    from importlib import resources  # noqa: PLC0415  (only `bb init` needs it)

    package = resources.files("bb")
    carried = package / "skills"
    return carried if carried.is_dir() else package.joinpath("..", "skills")


def _shipped(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _shipped(entry, f"{path}/{entry.name}")
        elif entry.name.endswith(".md"):
            yield f"{path}/{entry.name}", entry.read_bytes().decode().replace("\r\n", "\n")


def _homes(work_tree: str) -> list[str]:
    """The folders for skills. If one is a link to another, as in many repositories, it is left out."""
    homes: dict[str, str] = {}
    for home in HOMES:
        homes.setdefault(os.path.realpath(os.path.join(work_tree, *home.split("/"))), home)
    return list(homes.values())


def _present(work_tree: str, home: str) -> Iterator[tuple[str, str | None]]:
    """The existing files of the skill, each with its text, or None if bb did not write it or it was changed."""
    start = os.path.join(work_tree, *home.split("/"), NAME)
    if not _is_within(work_tree, start):
        return  # files outside the work tree are not touched
    for folder, _, names in os.walk(start):
        for name in sorted(names):
            path = os.path.join(folder, name)
            text = None if os.path.islink(path) else _text(path)
            is_ours = text is not None and marked_section.is_whole(text)
            yield os.path.relpath(path, work_tree).replace(os.sep, "/"), text if is_ours else None


def _written(work_tree: str, path: str, wanted: str) -> Piece:
    before = _read(work_tree, path)
    if before is None:
        return Piece(path, CREATED, wanted)
    if not marked_section.is_whole(before):
        return Piece(path, LEFT, why=NOT_OURS)
    is_same = before.replace("\r\n", "\n") == wanted
    return Piece(path, UNCHANGED) if is_same else Piece(path, CHANGED, wanted)


def _told(work_tree: str) -> Piece:
    before = _read(work_tree, INSTRUCTIONS_FILE)
    ours = (_source() / "AGENTS.snippet.md").read_bytes().decode().replace("\r\n", "\n")
    try:
        after = marked_section.put(before, ours)
    except marked_section.Unclear as error:
        raise SkillFileUnfit(f"{INSTRUCTIONS_FILE} is invalid: {error}", path=INSTRUCTIONS_FILE) from error
    if before is None:
        return Piece(INSTRUCTIONS_FILE, CREATED, after)
    return Piece(INSTRUCTIONS_FILE, UNCHANGED) if after == before else Piece(INSTRUCTIONS_FILE, CHANGED, after)


def _untold(work_tree: str) -> Iterator[Piece]:
    path = os.path.join(work_tree, INSTRUCTIONS_FILE)
    text = None if os.path.islink(path) else _text(path)
    try:
        ours = None if text is None else marked_section.inside(text)
    except marked_section.Unclear as error:
        yield Piece(INSTRUCTIONS_FILE, LEFT, why=str(error))
        return
    if text is None or ours is None:
        return
    if not marked_section.is_whole(ours):
        yield Piece(INSTRUCTIONS_FILE, LEFT, why=NOT_OURS)
    elif (rest := marked_section.without(text)) or not text.endswith("\n"):
        yield Piece(INSTRUCTIONS_FILE, CHANGED, rest)
    else:
        yield Piece(INSTRUCTIONS_FILE, REMOVED)


def _text(path: str) -> str | None:
    """The text of a file; None if it is not a file or not UTF-8."""
    if not os.path.isfile(path):
        return None
    try:
        return (disk.read_small(path, LARGEST) or b"").decode()
    except UnicodeDecodeError:
        return None


def _read(work_tree: str, path: str) -> str | None:
    """The text of the file at PATH; None if there is none. Refused if the file cannot be replaced."""
    whole = os.path.join(work_tree, *path.split("/"))
    _refuse_odd_folders(work_tree, path)
    if not os.path.lexists(whole):
        return None
    try:
        work_tree_files.refuse_links(work_tree, path)
    except work_tree_files.LinkInTheWay.error as error:
        raise SkillFileUnfit(error.message, path=path) from error
    if why := _why_unfit(whole):
        raise SkillFileUnfit(f"{path} {why}", path=path)
    try:
        return (disk.read_small(whole, LARGEST) or b"").decode()
    except UnicodeDecodeError as error:
        raise SkillFileUnfit(f"{path} is not valid UTF-8", path=path) from error


def _why_unfit(path: str) -> str | None:
    if not os.path.isfile(path):
        return "is a folder" if os.path.isdir(path) else "is not a regular file"
    status = os.stat(path)
    if not status.st_mode & 0o222 or not os.access(path, os.R_OK | os.W_OK):  # root could write it, but should not
        return "is read-only"
    return "is too large" if status.st_size >= LARGEST else None


def _refuse_odd_folders(work_tree: str, path: str) -> None:
    """Refuse a PATH that leads out of the work tree, through a file, or into a read-only folder."""
    steps = path.split("/")[:-1]
    for depth in range(len(steps) + 1):
        name = "/".join(steps[:depth])
        folder = os.path.join(work_tree, *steps[:depth])
        if not os.path.lexists(folder):
            return
        if not os.path.isdir(folder):
            raise SkillFileUnfit(f"{name} is not a folder", path=name)
        if not _is_within(work_tree, folder):
            raise SkillFileUnfit(f"{name} leads out of the work tree, to {os.path.realpath(folder)}", path=name)
        if not os.stat(folder).st_mode & 0o222 or not os.access(folder, os.W_OK):
            raise SkillFileUnfit(f"{name or 'the work tree'} is read-only", path=name or ".")


def _is_within(work_tree: str, path: str) -> bool:
    root = os.path.realpath(work_tree)
    return os.path.realpath(path).startswith(os.path.join(root, "")) or os.path.realpath(path) == root
