"""The folder in which git looks for hooks. Existing hooks are never lost.

Installing renames an existing hook, so its bytes, permissions and link are kept. Uninstalling renames it back. Both can
be repeated, also after an interruption.
"""

from __future__ import annotations

import os
import sys

from bb.kernel.errors import Conflict, Refused
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.git import git
from bb.ledger.git.place import Place
from bb.ledger.wiring import hook_script
from bb.ledger.wiring.hook_script import HOOKS, KEPT, MADE_FOLDER

OURS, CHANGED, FOREIGN, NONE = "ours", "changed", "foreign", "none"
PRIVATE = ("local", "worktree")  # scopes of settings that apply to this repository only
LARGEST = 1 << 24

HooksOff = Refused.declare(
    "HOOKS_OFF", "Git's hooks are disabled here", hint="`git config --show-origin core.hooksPath` shows the setting"
)

HooksShared = Refused.declare(
    "HOOKS_SHARED",
    "The folder of hooks does not belong to this clone alone",
    hint="add `bb hook pre-commit || exit` to its pre-commit hook, or use --anywhere to install ours there",
)

HookInTheWay = Conflict.declare(
    "HOOK_IN_THE_WAY",
    "There is a hook, and another hook of the same name was renamed by an earlier installation",
    hint="keep the right one, remove the other, and repeat the command",
)


class Hook(Record):
    """One hook in the folder."""

    name: str
    path: str
    octets: bytes | None  # None if there is no hook
    kept: bytes | None  # the renamed hook that was there before ours, if any

    @property
    def state(self) -> str:
        if self.octets is None:
            return NONE
        if not hook_script.is_ours(self.octets):
            return FOREIGN
        return OURS if hook_script.is_unchanged(self.octets) else CHANGED

    @property
    def aside(self) -> str:
        return self.path + KEPT


class Folder(Record):
    """The folder in which git looks for hooks."""

    path: str
    why_shared: str = ""  # the reason why the folder is shared; empty if it belongs to this clone

    @property
    def is_husky(self) -> bool:
        return os.path.basename(self.path) == "_" and os.path.isfile(os.path.join(self.path, "h"))

    def hooks(self) -> list[Hook]:
        """The hooks that bb installs, in their current state."""
        return [self._hook(name) for name in HOOKS]

    def _hook(self, name: str) -> Hook:
        path = os.path.join(self.path, name)
        return Hook(name, path, _contents(path), _contents(path + KEPT))

    def wanted(self, name: str, hooks: list[Hook]) -> bytes:
        """The script for the hook NAME in this folder."""
        made_folder = not os.path.isdir(self.path) or any(
            MADE_FOLDER.encode() in (hook.octets or b"") for hook in hooks
        )
        launcher = [] if self.why_shared else _launcher()
        return hook_script.script(name, launcher, is_read=self.is_husky, made_folder=made_folder)


def folder(place: Place) -> Folder:
    """The folder in which git looks for this repository's hooks."""
    top = place.work_tree or place.common
    scope, setting = git.hooks_path(top) or ("", "")
    path = os.path.join(top, setting) if setting else os.path.join(place.common, "hooks")
    path = os.path.normpath(path)
    if os.path.lexists(path) and not os.path.isdir(path):
        raise HooksOff(f"core.hooksPath is {path}, which is not a folder")
    if scope and scope not in PRIVATE:
        return Folder(path, "other repositories use, too")
    is_visible = place.work_tree is not None and _lies_in(path, place.work_tree) and not _lies_in(path, place.common)
    if is_visible and not git.is_ignored(top, os.path.join(path, "pre-commit")):
        return Folder(path, "is part of the work tree")
    return Folder(path)


def _lies_in(path: str, folder: str) -> bool:
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))


def install(at: Folder, *, dry_run: bool) -> dict[str, str]:
    """Install our hooks. Returns the action for each, done or planned."""
    hooks = at.hooks()
    scripts = {hook.name: at.wanted(hook.name, hooks) for hook in hooks}
    for hook in hooks:
        _refuse_to_lose(hook)
    done = {hook.name: _what_to_do(hook, scripts[hook.name]) for hook in hooks}
    if not dry_run:
        disk.make_folder(at.path)
        for hook in hooks:
            if done[hook.name] != "unchanged":
                _write(hook, scripts[hook.name])
    return done


def _refuse_to_lose(hook: Hook) -> None:
    if hook.state == CHANGED:
        raise HookInTheWay(f"bb installed {hook.path}, but it was changed since", path=hook.path)
    if hook.state == FOREIGN and hook.kept not in (None, hook.octets):
        message = f"bb did not install {hook.path}, and cannot rename it, because {hook.aside} exists"
        raise HookInTheWay(message, path=hook.path, kept=hook.aside)


def _what_to_do(hook: Hook, wanted: bytes) -> str:
    if hook.state == OURS:
        return "unchanged" if hook.octets == wanted else "renewed"
    return "chained" if hook.state == FOREIGN or hook.kept is not None else "installed"


def uninstall(at: Folder, *, dry_run: bool) -> dict[str, str]:
    """Remove our hooks and restore the earlier ones. Returns the action for each, done or planned."""
    hooks = at.hooks()
    made_folder = any(hook.state == OURS and MADE_FOLDER.encode() in (hook.octets or b"") for hook in hooks)
    done = {hook.name: _undone(hook) for hook in hooks}
    if not dry_run:
        for hook in hooks:
            _take_away(hook, done[hook.name])
        if made_folder and not disk.names(at.path):
            os.rmdir(at.path)
    return done


def _undone(hook: Hook) -> str:
    if hook.state == CHANGED:
        return "left"
    if hook.state == FOREIGN:
        return "restored" if hook.kept == hook.octets else "left" if hook.kept is not None else "not ours"
    return "restored" if hook.kept is not None else "removed" if hook.state == OURS else "none"


def _take_away(hook: Hook, how: str) -> None:
    try:
        if how == "restored":
            os.replace(hook.aside, hook.path)
        elif how == "removed":
            os.unlink(hook.path)
    except OSError as error:
        raise disk.refusal(error) from error


def _write(hook: Hook, octets: bytes) -> None:
    temporary = f"{hook.path}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o755)
        try:
            disk.write_all(fd, octets)
        finally:
            os.close(fd)
        if hook.state == FOREIGN:
            os.replace(hook.path, hook.aside)
        os.replace(temporary, hook.path)
    except OSError as error:
        disk.remove_if_there(temporary)
        raise disk.refusal(error) from error


def _contents(path: str) -> bytes | None:
    """The contents of a hook; empty for a broken link; None if there is no hook."""
    if not os.path.lexists(path):
        return None
    return disk.read_small(path, LARGEST) or b""


def _launcher() -> list[str]:
    """The command that starts this bb: the program beside its interpreter, else the interpreter."""
    program = os.path.join(os.path.dirname(sys.executable), "bb")
    if os.name != "nt" and os.access(program, os.X_OK):
        return [program]
    return [sys.executable.replace("\\", "/"), "-P", "-m", "bb"]
