"""The work tree: where a written scope really lies, and whether the repository minds the case of letters."""

from __future__ import annotations

import os

from bb.coordination.holdings import scopes
from bb.coordination.holdings.scopes import Scope, ScopeOutside
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.git.place import Place

PLATFORM = "windows" if os.name == "nt" else "posix"
SPECIAL = frozenset("*?[")
IGNORE_FILE = ".bbignore"  # at the root: what may be changed whoever holds it
LARGEST_IGNORE = 1 << 20  # bytes; a larger one lets nothing be changed


def scope_of(place: Place, cwd: str, written: str, *, is_path: bool = False, is_exact: bool = False) -> Scope:
    """The scope that a user WROTE, standing in CWD.

    What is a PATH and does not exist is a file that will be made, unless it was written with a slash at its end. What
    looks like another path is refused, unless it exists, or a program named it and it is EXACT.

    A text that names something there is that path, whatever wildcards it seems to hold: `app/[slug]/page.tsx` is a
    common name. And a path through a symbolic link is the path it leads to, as long as that lies in the repository.
    """
    if not is_exact and meant(place, cwd, written, is_path=is_path):
        scopes.refuse_ambiguous(_given(place, cwd, written)[1], PLATFORM, is_path=is_path)
    found = _found(place, cwd, written, is_path)
    return found.but(is_file=True) if _is_file(place, cwd, written, found, is_path) else found


def meant(place: Place, cwd: str, written: str, *, is_path: bool) -> str | None:
    """The path that is probably meant by what is WRITTEN, where nothing is called just so; None where there is none."""
    above, given = _given(place, cwd, written)
    plain = scopes.meant(given, PLATFORM, is_path=is_path)
    is_called_so = plain is not None and "\0" not in written and os.path.lexists(os.path.join(cwd, written))
    return None if plain is None or is_called_so else above + plain


def _given(place: Place, cwd: str, written: str) -> tuple[str, str]:
    """What of WRITTEN stands for where the user is, and the rest: directories above are called what they are called."""
    tops = () if "\\" not in written and " " not in written and written.isascii() else (cwd, root_of(place))
    above = next((top + "/" for top in tops if written.startswith(top + "/")), "")
    return above, written[len(above) :]


def _is_file(place: Place, cwd: str, written: str, found: Scope, is_path: bool) -> bool:
    if found.path is None:
        return False
    there = os.path.join(root_of(place), found.path)
    if not is_path:
        return os.path.isfile(there)
    if os.path.isfile(there):
        return True
    # The name on the disk may be written with other accents than the one that is compared.
    is_folder = written.endswith(("/", os.sep)) or os.path.isdir(there) or os.path.isdir(os.path.join(cwd, written))
    return not is_folder and found.text != "."


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
