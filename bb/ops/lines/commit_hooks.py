"""The hooks that a commit of bb has to run: those of the repository that are not bb's own."""

from __future__ import annotations

import os

from bb.ledger.files import disk
from bb.ledger.git import git
from bb.ledger.wiring import hook_script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.git.place import Place

NAMES = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
LARGEST = 1 << 20


def of_others(place: Place) -> dict[str, str]:
    """The hooks of a commit that do more than bb's own scripts: `bb commit` itself does what those do."""
    top = place.work_tree or place.common
    _, setting = git.hooks_path(top) or ("", "")
    folder = os.path.join(top, setting) if setting else os.path.join(place.common, "hooks")
    found = {}
    for name in NAMES:
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and os.path.isfile(path) and not _is_only_ours(path):
            found[name] = path
    return found


def _is_only_ours(path: str) -> bool:
    octets = disk.read_small(path, LARGEST) or b""
    return hook_script.is_ours(octets) and not os.path.exists(path + hook_script.KEPT)
