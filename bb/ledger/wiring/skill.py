"""Installs and removes the skill in a work tree, in the folders where agents look for it. Other files are unchanged.

The whole plan is made, and refused if necessary, before the first file is written. Then each file is replaced whole.
"""

from __future__ import annotations

import os

from bb.coordination.wiring import instruction_imports, marked_section
from bb.coordination.wiring.instruction_imports import GEMINI_FILE, IMPORTS
from bb.kernel.errors import Refused
from bb.kernel.json_text import NotJson
from bb.kernel.record import Record
from bb.ledger.files import disk, work_tree_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.resources.abc import Traversable

NAME = "beadboard-driver"
INSTRUCTIONS_FILE = "AGENTS.md"
# Codex, Gemini CLI, OpenCode and most others look in the first; Claude Code looks in the second only.
HOMES = (".agents/skills", ".claude/skills")
SIGNS_OF_GEMINI = (".gemini", "GEMINI.md")  # without them nobody uses Gemini CLI here
NO_SETTINGS = "{}\n"
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
    return [*pieces, *_told(work_tree)]  # last, because they refer to the others


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


def _told(work_tree: str) -> Iterator[Piece]:
    """AGENTS.md, and what makes the hosts read it that do not read it by themselves."""
    yield _section(work_tree, INSTRUCTIONS_FILE, (_source() / "AGENTS.snippet.md").read_bytes().decode())
    there = [name for name in IMPORTS if os.path.lexists(os.path.join(work_tree, *name.split("/")))]
    if there and not any(_includes_agents(work_tree, name) for name in there):
        yield _if_fit(there[0], lambda: _section(work_tree, there[0], IMPORTS[there[0]]))
    if any(os.path.exists(os.path.join(work_tree, name)) for name in SIGNS_OF_GEMINI):
        yield _if_fit(GEMINI_FILE, lambda: _setting(work_tree, instruction_imports.with_agents))


def _untold(work_tree: str) -> Iterator[Piece]:
    for name in (INSTRUCTIONS_FILE, *IMPORTS):
        yield from _without_section(work_tree, name)
    if os.path.exists(os.path.join(work_tree, *GEMINI_FILE.split("/"))):
        piece = _if_fit(GEMINI_FILE, lambda: _setting(work_tree, instruction_imports.without_agents))
        yield from [piece] if piece.outcome in (CHANGED, REMOVED) else []


def _includes_agents(work_tree: str, name: str) -> bool:
    """Whether the CLAUDE.md NAME includes AGENTS.md already by words of the user, or is a link to it."""
    path = os.path.join(work_tree, *name.split("/"))
    if os.path.realpath(path) == os.path.realpath(os.path.join(work_tree, INSTRUCTIONS_FILE)):
        return True
    text = _text(path) or ""
    return marked_section.BEGIN not in text and instruction_imports.includes_agents(text)


def _if_fit(name: str, piece: Callable[[], Piece]) -> Piece:
    """The PIECE for a file of another program, which is left as it is if bb cannot change it."""
    try:
        return piece()
    except (SkillFileUnfit.error, NotJson) as error:
        return Piece(name, LEFT, why=str(error))


def _setting(work_tree: str, edit: Callable[[str], str]) -> Piece:
    """The change of Gemini CLI's settings by EDIT."""
    before = _read(work_tree, GEMINI_FILE)
    text = before if before and before.strip() else NO_SETTINGS
    after = edit(text)
    if after == text:
        return Piece(GEMINI_FILE, UNCHANGED)
    if after.strip() == NO_SETTINGS.strip():
        return Piece(GEMINI_FILE, REMOVED)
    return Piece(GEMINI_FILE, CREATED if before is None else CHANGED, after)


def _section(work_tree: str, name: str, ours: str) -> Piece:
    before = _read(work_tree, name)
    try:
        after = marked_section.put(before, ours.replace("\r\n", "\n"))
    except marked_section.Unclear as error:
        raise SkillFileUnfit(f"{name} is invalid: {error}", path=name) from error
    if before is None:
        return Piece(name, CREATED, after)
    return Piece(name, UNCHANGED) if after == before else Piece(name, CHANGED, after)


def _without_section(work_tree: str, name: str) -> Iterator[Piece]:
    path = os.path.join(work_tree, name)
    text = None if os.path.islink(path) else _text(path)
    try:
        ours = None if text is None else marked_section.inside(text)
    except marked_section.Unclear as error:
        yield Piece(name, LEFT, why=str(error))
        return
    if text is None or ours is None:
        return
    if not marked_section.is_whole(ours):
        yield Piece(name, LEFT, why=NOT_OURS)
    elif (rest := marked_section.without(text)) or not text.endswith("\n"):
        yield Piece(name, CHANGED, rest)
    else:
        yield Piece(name, REMOVED)


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
