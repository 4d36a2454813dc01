"""The CI files that `bb setup` writes: copies of the templates in docs/ci."""

from __future__ import annotations

import os

from bb.coordination.wiring.setup_parts import GITHUB, GITLAB
from bb.kernel.record import Record
from bb.ledger.files import disk, work_tree_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 1 << 20
FILES = {GITHUB: ".github/workflows/bb.yml", GITLAB: ".gitlab/bb.yml"}
GITLAB_MAIN = ".gitlab-ci.yml"
INCLUDE = "include:\n  - local: .gitlab/bb.yml\n"
CALLS = (b"bb ci check", b"bb-ci", b"/.github/actions/check@", b".gitlab/bb.yml")  # what a CI file says that calls bb


class CiFile(Record):
    """One file of the plan."""

    path: str
    text: bytes


class CiPlan(Record):
    """The files to write, the file that calls bb already, and a step that only a person can do."""

    files: tuple[CiFile, ...]
    called_in: str = ""
    by_hand: str = ""


def plan(work_tree: str, service: str) -> CiPlan:
    """The plan for a CI service. Files that exist stay as they are."""
    if called_in := next(_calling(work_tree, service), ""):
        return CiPlan((), called_in)
    wanted = {FILES[service]: template(service)}
    if service == GITLAB:
        wanted[GITLAB_MAIN] = INCLUDE.encode()
    missing = [name for name in wanted if not os.path.lexists(os.path.join(work_tree, *name.split("/")))]
    by_hand = ""
    if service == GITLAB and GITLAB_MAIN not in missing:
        by_hand = f"add `- local: {FILES[GITLAB]}` to `include:` in {GITLAB_MAIN}"
    return CiPlan(tuple(CiFile(name, wanted[name]) for name in missing), "", by_hand)


def renewal(work_tree: str, service: str) -> CiPlan:
    """The plan to replace our file by the present template; without files if it is the same."""
    name, text = FILES[service], template(service)
    return CiPlan((CiFile(name, text),) if _text(work_tree, name) != text else (), name)


def write(work_tree: str, planned: CiPlan) -> None:
    for file in planned.files:
        work_tree_files.write(work_tree, file.path, file.text)


def template(service: str) -> bytes:
    """The text of a template: in the installed package, or in docs beside the package in a checkout."""
    from importlib import resources  # noqa: PLC0415  (only `bb setup` needs it)

    package = resources.files("bb")
    carried = package / "ci"
    return ((carried if carried.is_dir() else package.joinpath("..", "docs", "ci")) / f"{service}.yml").read_bytes()


def _calling(work_tree: str, service: str) -> Iterator[str]:
    """The CI files in WORK_TREE that call bb."""
    folder = ".github/workflows"
    names = [f"{folder}/{name}" for name in disk.names(os.path.join(work_tree, *folder.split("/")))]
    for name in names if service == GITHUB else [GITLAB_MAIN]:
        octets = _text(work_tree, name)
        if any(call in octets for call in CALLS):
            yield name


def _text(work_tree: str, name: str) -> bytes:
    path = os.path.join(work_tree, *name.split("/"))
    return (disk.read_small(path, LARGEST) or b"") if os.path.isfile(path) else b""
