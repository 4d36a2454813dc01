"""The work tree: where a written scope really lies, and whether the repository minds the case of letters."""

from __future__ import annotations

import os

from bb.coordination import scopes
from bb.coordination.scopes import Scope, ScopeOutside
from bb.ledger import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.place import Place

PLATFORM = "windows" if os.name == "nt" else "posix"
SPECIAL = frozenset("*?[")
IGNORE_FILE = ".bbignore"  # at the root: what may be changed whoever holds it
LARGEST_IGNORE = 1 << 20  # bytes; a larger one lets nothing be changed


def scope_of(place: Place, cwd: str, written: str, *, is_path: bool = False) -> Scope:
    """The scope that a user WROTE, standing in CWD.

    A text that names something there is that path, whatever wildcards it seems to hold: `app/[slug]/page.tsx` is a
    common name. And a path through a symbolic link is the path it leads to, as long as that lies in the repository.
    """
    found = _found(place, cwd, written, is_path)
    is_file = found.path is not None and os.path.isfile(os.path.join(root_of(place), found.path))
    return found.but(is_file=True) if is_file else found


def _found(place: Place, cwd: str, written: str, is_path: bool) -> Scope:
    root = root_of(place)
    cwd = cwd if place.work_tree else root
    is_path = is_path or (not SPECIAL.isdisjoint(written) and os.path.lexists(os.path.join(cwd, written)))
    try:
        found = scopes.scope(written, root=root, cwd=cwd, platform=PLATFORM, is_path=is_path)
    except ScopeOutside:
        return _through_links(os.path.join(cwd, written), root, is_path)
    if _has_link(root, found.text):
        return _through_links(os.path.join(root, found.text), root, is_path)
    return found


def is_there(place: Place, scope: Scope) -> bool:
    """Whether a literal scope exists in this work tree. A pattern is about what may come."""
    return scope.path is None or place.work_tree is None or os.path.lexists(os.path.join(place.work_tree, scope.path))


def root_of(place: Place) -> str:
    """What scopes are relative to."""
    return place.work_tree or place.common


def minds_no_case(place: Place) -> bool:
    """Whether `core.ignorecase` is set in the repository's own configuration, as git does on file systems like that."""
    section, found = b"", os.name == "nt"
    for line in (disk.read_small(os.path.join(place.common, "config")) or b"").lower().splitlines():
        name, _, value = line.partition(b"=")
        if line.lstrip().startswith(b"["):
            section = line.strip()
        elif section == b"[core]" and name.strip() == b"ignorecase":
            found = value.split(b"#")[0].split(b";")[0].strip() in (b"true", b"yes", b"on", b"1", b"")
    return found


def _has_link(root: str, text: str) -> bool:
    path = root
    for part in _literal_parts(text):
        path = os.path.join(path, part)
        if os.path.islink(path):
            return True
    return False


def _through_links(path: str, root: str, is_path: bool) -> Scope:
    """PATH with its links followed, up to the first wildcard. What leads out of the repository stays as it is."""
    parts = os.path.abspath(path).split(os.sep)
    literal = parts if is_path else parts[: len(list(_literal_parts("/".join(parts))))]
    real = os.path.realpath(os.sep.join(literal) or os.sep)
    followed = os.path.join(real, *parts[len(literal) :])
    try:
        return scopes.scope(followed, root=os.path.realpath(root), cwd=root, platform=PLATFORM, is_path=is_path)
    except ScopeOutside:
        return scopes.scope(path, root=root, cwd=root, platform=PLATFORM, is_path=is_path)


def _literal_parts(text: str) -> list[str]:
    """The components before the first one that holds a wildcard."""
    parts = text.split("/")
    return parts[: next((place for place, part in enumerate(parts) if not SPECIAL.isdisjoint(part)), len(parts))]
