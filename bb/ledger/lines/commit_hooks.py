"""Runs the hooks of a commit as git runs them, on a tree that is checked out aside."""

from __future__ import annotations

import os

from bb.kernel.errors import Refused
from bb.kernel.record import Record
from bb.ledger.files import disk, processes
from bb.ledger.git import program
from bb.ledger.git.commit_index import CommitIndex
from bb.ledger.lines.throwaway_tree import ThrowawayTree, throwaway_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bb.ledger.git.place import Place

BEFORE, MESSAGE, CHECK, AFTER = "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"
NAMES = (BEFORE, MESSAGE, CHECK, AFTER)
PATIENCE = 3600.0  # seconds; a hook may run tests
LARGEST = 1 << 24  # bytes of a message

HookFailed = Refused.declare(
    "HOOK_FAILED", "A hook of the repository has refused the commit", hint="read what it printed, and mend that"
)


class Judged(Record):
    """What the hooks made of a commit: its tree and its message."""

    tree: str
    message: str


def judged(place: Place, hooks: Mapping[str, str], tree: str, message: str, env: Mapping[str, str]) -> Judged:
    """Run HOOKS, by name, on TREE and MESSAGE. They may change both, as they may for `git commit`."""
    with throwaway_tree(place, tree, env) as aside:
        around = _environment(place, aside, env)
        _run(hooks, BEFORE, [], aside, around)
        tree = CommitIndex(place.git_dir, {**env, "GIT_INDEX_FILE": aside.index}).tree()
        file = os.path.join(aside.git_dir, "COMMIT_EDITMSG")
        disk.replace(file, message.encode("utf-8", "surrogateescape"))
        _run(hooks, MESSAGE, [file, "message"], aside, around)
        _run(hooks, CHECK, [file], aside, around)
        octets = disk.read_small(file, LARGEST) or b""
        return Judged(tree, octets.decode("utf-8", "surrogateescape"))


def run_after(place: Place, hook: str, env: Mapping[str, str]) -> None:
    """Run the hook after a commit, in the work tree. Its failure changes nothing."""
    around = _kept(env) | {"GIT_DIR": place.git_dir}
    _start([hook], place.work_tree or "", around)


def _environment(place: Place, aside: ThrowawayTree, env: Mapping[str, str]) -> dict[str, str]:
    """What git tells its hooks: the repository, the index of the commit, and that no editor will open."""
    return _kept(env) | {
        "GIT_DIR": place.git_dir,
        "GIT_WORK_TREE": aside.folder,
        "GIT_INDEX_FILE": aside.index,
        "GIT_EDITOR": ":",
        "BB_RUN_TREE": aside.folder,
    }


def _kept(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name not in program.SCRUBBED}


def _run(
    hooks: Mapping[str, str], name: str, arguments: Sequence[str], aside: ThrowawayTree, env: Mapping[str, str]
) -> None:
    if name not in hooks:
        return
    status, output = _start([hooks[name], *arguments], aside.folder, env)
    if status != 0:
        said = output.decode("utf-8", "replace").strip()
        raise HookFailed(f"the hook {name} ended with status {status}", hook=name, output=said[-4000:])


def _start(command: Sequence[str], folder: str, env: Mapping[str, str]) -> tuple[int | None, bytes]:
    """Run a hook in FOLDER. On Windows, git's own shell runs it."""
    words = ["sh", "-c", 'cd "$0" && exec "$@"', folder, *command]
    status, out, err = processes.start(words, env).communicate(b"", PATIENCE)
    return status, out + err
