"""The work tree: resolves a scope as written to its path, and tells whether the repository ignores case."""

from __future__ import annotations

import os

from bb.coordination.holdings import scopes
from bb.coordination.holdings.scopes import Scope, ScopeOutside
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from bb.ledger.git.place import Place

PLATFORM = "windows" if os.name == "nt" else "posix"
SPECIAL = frozenset("*?[")
IGNORE_FILE = ".bbignore"  # at the root: lists paths that any agent may change, reserved or not
LARGEST_IGNORE = 1 << 20  # bytes; a larger file exempts no path


def scope_of(place: Place, cwd: str, written: str, *, is_path: bool = False, is_exact: bool = False) -> Scope:
    """The scope for the text WRITTEN by a user in CWD.

    With IS_PATH, a path that does not exist is a future file, unless it ends in a slash. An ambiguous text is refused,
    unless that path exists, or IS_EXACT because a program named it.

    A text that names an existing path is that path, even if it contains wildcards: `app/[slug]/page.tsx` is a common
    name. A path through a symbolic link becomes the link's target, if that lies in the repository.

    `FILE::REGION` is a part of a file, unless a path has that name, or IS_EXACT.
    """
    if scopes.REGION in written and not is_exact and (region := _region(place, cwd, written)):
        return region
    if not is_exact and probable_path(place, cwd, written, is_path=is_path):
        _intended_paths().refuse_ambiguous(_given(place, cwd, written)[1], PLATFORM, is_path=is_path)
    scope = _resolved(place, cwd, written, is_path)
    return scope.replace(is_file=True) if _is_file(place, cwd, written, scope, is_path) else scope


def _region(place: Place, cwd: str, written: str) -> Scope | None:
    """The scope of a region that WRITTEN names; None if it is a path. The file ends at the first `::` behind which
    there is none of that name, or at the first of all."""
    if "\0" in written or os.path.lexists(os.path.join(cwd, written)):
        return None
    parts = written.split(scopes.REGION)
    heads = [scopes.REGION.join(parts[:end]) for end in range(1, len(parts))]
    file = next((head for head in heads if head and os.path.isfile(os.path.join(cwd, head))), heads[0])
    if not file.strip():
        raise scopes.InvalidScope(f"{written[:60]!r} names no file", hint="for example src/number.py::roman")
    scope = scope_of(place, cwd, file)
    if scope.path is None or os.path.isdir(os.path.join(cwd, file)):
        raise scopes.InvalidScope(
            f"{written[:60]!r} is a part of a file, but {file[:60]!r} is not one file",
            hint="name one file before the ::; a path with :: in its name that does not exist yet is written with [:]:",
        )
    region = scopes.regions().read(written[len(file) + len(scopes.REGION) :])
    return scopes.in_region(scope, region)


def probable_path(place: Place, cwd: str, written: str, *, is_path: bool) -> str | None:
    """The path that a text probably means, if it differs from WRITTEN and no path with that exact name exists."""
    if scopes.is_plain(written):
        return None
    above, rest = _given(place, cwd, written)
    plain: str | None = _intended_paths().intended_path(rest, PLATFORM, is_path=is_path)
    exists = plain is not None and "\0" not in written and os.path.lexists(os.path.join(cwd, written))
    return None if plain is None or exists else above + plain


def _intended_paths() -> ModuleType:
    from bb.coordination.holdings import intended_paths  # noqa: PLC0415  (most texts are plain)

    return intended_paths


def _given(place: Place, cwd: str, written: str) -> tuple[str, str]:
    """Split WRITTEN into a prefix, the absolute path of CWD or of the root, and the rest. Only the rest is checked:
    the user did not choose the names of the directories above."""
    tops = () if scopes.is_plain(written) else (cwd, root_of(place))
    above = next((top + "/" for top in tops if written.startswith(top + "/")), "")
    return above, written[len(above) :]


def _is_file(place: Place, cwd: str, written: str, scope: Scope, is_path: bool) -> bool:
    if scope.path is None:
        return False
    path = os.path.join(root_of(place), scope.path)
    if not is_path:
        return os.path.isfile(path)
    if os.path.isfile(path):
        return True
    # The name on the disk may differ from the normalized name in its Unicode form.
    is_folder = written.endswith(("/", os.sep)) or os.path.isdir(path) or os.path.isdir(os.path.join(cwd, written))
    return not is_folder and scope.text != "."


def _resolved(place: Place, cwd: str, written: str, is_path: bool) -> Scope:
    root = root_of(place)
    cwd = cwd if place.work_tree else root
    is_path = is_path or (not SPECIAL.isdisjoint(written) and os.path.lexists(os.path.join(cwd, written)))
    try:
        scope = scopes.scope(written, root=root, cwd=cwd, platform=PLATFORM, is_path=is_path)
    except ScopeOutside.error:
        return _through_links(os.path.join(cwd, written), root, is_path)
    if _has_link(root, scope.text):
        return _through_links(os.path.join(root, scope.text), root, is_path)
    return scope


def exists_in_work_tree(place: Place, scope: Scope) -> bool:
    """Whether a literal scope exists in this work tree. A pattern always counts as existing: it covers future files."""
    return scope.path is None or place.work_tree is None or os.path.lexists(os.path.join(place.work_tree, scope.path))


def root_of(place: Place) -> str:
    """The folder that scopes are relative to."""
    return place.work_tree or place.common


def is_case_insensitive(place: Place) -> bool:
    """Whether the repository's configuration sets `core.ignorecase`. git sets it on case-insensitive file systems."""
    section, ignores_case = b"", os.name == "nt"
    for line in (disk.read_small(os.path.join(place.common, "config")) or b"").lower().splitlines():
        name, _, value = line.partition(b"=")
        if line.lstrip().startswith(b"["):
            section = line.strip()
        elif section == b"[core]" and name.strip() == b"ignorecase":
            ignores_case = value.split(b"#")[0].split(b";")[0].strip() in (b"true", b"yes", b"on", b"1", b"")
    return ignores_case


def _has_link(root: str, text: str) -> bool:
    path = root
    for part in _literal_parts(text):
        path = os.path.join(path, part)
        if os.path.islink(path):
            return True
    return False


def _through_links(path: str, root: str, is_path: bool) -> Scope:
    """PATH with its links resolved, up to the first wildcard. A link that leads out of the repository is kept."""
    parts = os.path.abspath(path).split(os.sep)
    literal = parts if is_path else parts[: len(list(_literal_parts("/".join(parts))))]
    real = os.path.realpath(os.sep.join(literal) or os.sep)
    followed = os.path.join(real, *parts[len(literal) :])
    try:
        return scopes.scope(followed, root=os.path.realpath(root), cwd=root, platform=PLATFORM, is_path=is_path)
    except ScopeOutside.error:
        return scopes.scope(path, root=root, cwd=root, platform=PLATFORM, is_path=is_path)


def _literal_parts(text: str) -> list[str]:
    """The components before the first one that contains a wildcard."""
    parts = text.split("/")
    return parts[: next((place for place, part in enumerate(parts) if not SPECIAL.isdisjoint(part)), len(parts))]
