"""The settings files of editors in a work tree: our hooks put in, taken out, looked for. All else stays as it is."""

from __future__ import annotations

import os

from bb.coordination.wiring import editor_hooks
from bb.kernel.errors import Refused
from bb.kernel.json_text import NotJson
from bb.ledger.files import work_tree_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from bb.coordination.wiring.editor_hooks import Wiring

    T = TypeVar("T")

LARGEST = 1 << 22
EMPTY = "{}\n"


class SettingsUnreadable(Refused):
    """The settings of the editor are not what they should be, so nothing was changed in them."""

    code = "SETTINGS_UNREADABLE"
    hint = "mend them, or add the hooks by hand: docs/editor-hooks.md shows how"


def install(work_tree: str, wanted: Wiring, *, is_local: bool = False, dry_run: bool = False) -> tuple[str, bool]:
    """Put our hooks into an editor's settings; the file, and whether it had, or would have, to be changed."""
    name = name_of(wanted.editor, is_local=is_local)
    is_changed = change(work_tree, name, lambda text: editor_hooks.wired(text or EMPTY, wanted), dry_run=dry_run)
    return whole(work_tree, name), is_changed


def uninstall(work_tree: str, editor: str, *, is_local: bool = False, dry_run: bool = False) -> tuple[str, bool]:
    """Take our hooks out of an editor's settings; the file, and whether there were any. An emptied file goes too."""
    name = name_of(editor, is_local=is_local)
    is_changed = change(work_tree, name, lambda text: editor_hooks.unwired(text) if text else text, dry_run=dry_run)
    return whole(work_tree, name), is_changed


def change(work_tree: str, name: str, edit: Callable[[str], str], *, dry_run: bool = False) -> bool:
    """EDIT the settings of that NAME, which is given nothing where nothing stands; whether that changes, or would
    change, anything. A file in which nothing is left goes, and so does its folder then."""
    path = whole(work_tree, name)
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
    """An editor's settings file, and the moments for which it calls our hooks."""
    path = file_of(work_tree, editor, is_local=is_local)
    text = _text(path, work_tree_files.read_whole(path, name_of(editor, is_local=is_local), LARGEST))
    return path, _checked(path, lambda: editor_hooks.moments(text)) if text.strip() else []


def file_of(work_tree: str, editor: str, *, is_local: bool) -> str:
    """Where an editor keeps the settings of a project, or those of one person in it where it has any."""
    return whole(work_tree, name_of(editor, is_local=is_local))


def name_of(editor: str, *, is_local: bool) -> str:
    """The same, as seen from the top of the work tree."""
    return (editor_hooks.FILES | (editor_hooks.LOCAL_FILES if is_local else {}))[editor]


def whole(work_tree: str, name: str) -> str:
    return os.path.join(work_tree, *name.split("/"))


def _checked(path: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except (NotJson, AttributeError) as error:
        raise SettingsUnreadable(f"{path} cannot be understood: {error}", path=path) from error


def _text(path: str, octets: bytes | None) -> str:
    try:
        return (octets or b"").decode()
    except UnicodeDecodeError as error:
        raise SettingsUnreadable(f"{path} is not valid UTF-8", path=path) from error
