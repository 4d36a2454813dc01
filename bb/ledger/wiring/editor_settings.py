"""Editor settings in a work tree: adds, removes and finds our hooks. All other content is left unchanged."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from bb.coordination.wiring import editor_hooks
from bb.coordination.wiring.editor_hooks import Wiring
from bb.kernel.errors import Refused
from bb.kernel.json_text import NotJson
from bb.ledger.files import work_tree_files

T = TypeVar("T")

LARGEST = 1 << 22
EMPTY = "{}\n"

SettingsUnreadable = Refused.declare(
    "SETTINGS_UNREADABLE",
    "The editor's settings file is invalid, so it was left unchanged",
    hint="correct the file, or add the hooks by hand: docs/editor-hooks.md shows how",
)


def install(work_tree: str, wanted: Wiring, *, is_local: bool = False, dry_run: bool = False) -> tuple[str, bool]:
    """Add our hooks to an editor's settings. Returns the path, and whether the file changed, or would change."""
    name = name_of(wanted.editor, is_local=is_local)
    is_changed = change(work_tree, name, lambda text: editor_hooks.wired(text or EMPTY, wanted), dry_run=dry_run)
    return absolute_path(work_tree, name), is_changed


def uninstall(work_tree: str, editor: str, *, is_local: bool = False, dry_run: bool = False) -> tuple[str, bool]:
    """Remove our hooks from an editor's settings. Returns the path, and whether there were any. An empty file is
    deleted."""
    name = name_of(editor, is_local=is_local)
    is_changed = change(
        work_tree, name, lambda text: editor_hooks.unwired(text, editor) if text else text, dry_run=dry_run
    )
    return absolute_path(work_tree, name), is_changed


def change(work_tree: str, name: str, edit: Callable[[str], str], *, dry_run: bool = False) -> bool:
    """Apply EDIT to the settings file NAME; EDIT gets an empty text if there is no file. Returns whether the text
    changed, or would change. A file that becomes empty is deleted, and so is its folder if that becomes empty."""
    path = absolute_path(work_tree, name)
    before = _text(path, work_tree_files.read(work_tree, name, LARGEST))
    text = before if before.strip() else ""
    after = _checked(path, lambda: edit(text))
    if after in (before, text) or dry_run:
        return after not in (before, text)
    if after.strip() in ("", EMPTY.strip()):
        work_tree_files.remove(work_tree, name)
    else:
        work_tree_files.write(work_tree, name, after.encode())
    return True


def installed(work_tree: str, editor: str, *, is_local: bool = False) -> tuple[str, list[str]]:
    """The path of an editor's settings, and the moments at which it calls our hooks."""
    path = file_of(work_tree, editor, is_local=is_local)
    text = _text(path, work_tree_files.read_file(path, name_of(editor, is_local=is_local), LARGEST))
    return path, _checked(path, lambda: editor_hooks.moments(text, editor)) if text.strip() else []


def file_of(work_tree: str, editor: str, *, is_local: bool) -> str:
    """The path of an editor's settings for a project, or, if IS_LOCAL, of this user's settings in the project."""
    return absolute_path(work_tree, name_of(editor, is_local=is_local))


def name_of(editor: str, *, is_local: bool) -> str:
    """The same path, relative to the top of the work tree."""
    return (editor_hooks.FILES | (editor_hooks.LOCAL_FILES if is_local else {}))[editor]


def absolute_path(work_tree: str, name: str) -> str:
    return os.path.join(work_tree, *name.split("/"))


def _checked(path: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except (NotJson, AttributeError) as error:
        raise SettingsUnreadable(f"{path} is invalid: {error}", path=path) from error


def _text(path: str, octets: bytes | None) -> str:
    try:
        return (octets or b"").decode()
    except UnicodeDecodeError as error:
        raise SettingsUnreadable(f"{path} is not valid UTF-8", path=path) from error
