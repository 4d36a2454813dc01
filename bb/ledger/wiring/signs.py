"""Looks for the files and programs that show which hosts and CI services a repository uses."""

from __future__ import annotations

import os

from bb.coordination.wiring import hosts, marked_section
from bb.ledger.files import disk
from bb.ledger.files.launchers import first_on_path
from bb.ledger.git import git, program
from bb.ledger.wiring import skill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

OURS = (".github/hooks/bb.json",)  # hooks of VS Code, in a folder that is otherwise a sign of GitHub
CI_FILES = (".github", ".gitlab-ci.yml")


def files_in(work_tree: str, names: Sequence[str]) -> list[str]:
    """The NAMES that exist in WORK_TREE. What bb wrote does not count: a folder with nothing else, or a file that has
    only its section."""
    return [name for name in names if _is_sign(work_tree, name)]


def _is_sign(work_tree: str, name: str) -> bool:
    path = os.path.join(work_tree, *name.split("/"))
    if os.path.isdir(path):
        inside = _files_below(work_tree, path)
        first = next(inside, None)
        return first is None or not _is_ours(first) or any(not _is_ours(file) for file in inside)
    return os.path.lexists(path) and not (path.endswith(".md") and _has_only_section(path))


def _files_below(work_tree: str, path: str) -> Iterator[str]:
    for folder, _, names in os.walk(path):
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), work_tree).replace(os.sep, "/")


def _is_ours(file: str) -> bool:
    """Whether bb wrote a file, by its name in the work tree."""
    return f"/skills/{skill.NAME}/" in file or file in OURS


def _has_only_section(path: str) -> bool:
    text = (disk.read_small(path) or b"").decode("utf-8", "replace") if os.path.isfile(path) else ""
    try:
        return marked_section.inside(text) is not None and not marked_section.without(text).strip()
    except marked_section.Unclear:
        return False


def programs(env: Mapping[str, str]) -> list[str]:
    """The programs of hosts that are on the PATH."""
    return [name for name in hosts.all_programs() if first_on_path(name, env)]


def origin(top: str) -> str:
    """The address of the remote `origin`; empty if there is none."""
    try:
        return git.run(["config", "--get", "remote.origin.url"], at=top).strip()
    except program.GitFailed:
        return ""
