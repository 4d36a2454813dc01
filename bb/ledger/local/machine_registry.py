"""The groups that are registered on this machine. `group.json` of each group holds data that must not be in a ledger:
the absolute path of its ledger, those of its directories, and the environment variables of its actors.

A group is a ledger. A group that is attached to a repository uses that repository's ledger. Any other group has its own
bare repository in the daemon's home directory.
"""

from __future__ import annotations

import os

from bb.kernel import json_text
from bb.kernel.digest import digest
from bb.kernel.errors import NotFound, Refused
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.files.lock import Lock
from bb.ledger.git.place import STORE, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

GROUPS, FILE, LEDGER, LOCK = "groups", "group.json", "ledger.git", "groups.lock"
IN_GROUP_ID = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
MOST = 1 << 20  # bytes of one group's file

GroupNotFound = NotFound.declare(
    "GROUP_NOT_FOUND",
    "There is no such group on this machine",
    hint="`bb group list` shows all groups; `bb group attach .` adds the repository you are in",
)

GroupUnreadable = Refused.declare(
    "GROUP_UNREADABLE",
    "This machine's file about the group cannot be read",
    hint="correct or remove that file, then attach the group's directory again",
)


class RegisteredGroup(Record):
    """A group that is registered on this machine."""

    group_id: str
    common: str  # the git directory that has the group's ledger
    scopes: dict[str, str] = {}  # noqa: RUF012  (frozen; path of each directory, by key)
    env: dict[str, dict[str, str]] = {}  # noqa: RUF012  (by actor)

    @property
    def place(self) -> Place:
        """The repository that has the ledger. Its work tree is the directory that contains the git directory."""
        inside = [path for path in self.scopes.values() if self.common.startswith(os.path.join(path, ""))]
        return Place(self.common, inside[0] if inside else None)

    @property
    def store(self) -> str:
        return os.path.join(self.common, STORE)

    def without_scope(self, key: str) -> RegisteredGroup:
        return self.replace(scopes={name: path for name, path in self.scopes.items() if name != key})

    def with_env(self, actor: str, env: Mapping[str, str] | None) -> RegisteredGroup:
        """Replace the environment variables of ACTOR; None removes them."""
        others = {name: variables for name, variables in self.env.items() if name != actor}
        return self.replace(env={**others, actor: dict(env)} if env else others)


def home(env: Mapping[str, str]) -> str:
    """The home directory of the daemon: CCCC_HOME, else BB_HOME, else the default of CCCC's clients."""
    named = env.get("CCCC_HOME", "").strip() or env.get("BB_HOME", "").strip()
    return os.path.abspath(os.path.expanduser(named or os.path.join("~", ".cccc")))


def folder(home: str, group_id: str) -> str:
    """The folder of a group on this machine."""
    return os.path.join(home, GROUPS, group_id)


def own_ledger(home: str, group_id: str) -> str:
    """The bare repository of a group that is not attached to a repository."""
    return os.path.join(folder(home, group_id), LEDGER)


def is_group_id(text: object) -> bool:
    """Whether TEXT is a valid id of a group. The id is also the name of a folder."""
    return isinstance(text, str) and 0 < len(text) <= 64 and not text.strip(IN_GROUP_ID) and text[0] not in "-_"


def all_groups(home: str) -> list[RegisteredGroup]:
    """Every group whose file can be read."""
    groups = []
    for name in disk.names(os.path.join(home, GROUPS)):
        try:
            group = read(home, name) if is_group_id(name) else None
        except GroupUnreadable.error:
            continue
        groups += [group] if group else []
    return groups


def read(home: str, group_id: str) -> RegisteredGroup | None:
    """A registered group; None if there is none with that id."""
    if not is_group_id(group_id):
        return None
    path = group_file(home, group_id)
    octets = disk.read_small(path, MOST)
    if octets is None:
        return None
    try:
        members: Any = json_text.read(octets)
        group = RegisteredGroup(group_id, members["common"], members["scopes"], members["env"])
        is_right = type(group.common) is str and os.path.isabs(group.common) and _are_texts(group.scopes)
        is_right = is_right and type(group.env) is dict and all(map(_are_texts, group.env.values()))
    except (ValueError, TypeError, KeyError) as error:
        raise GroupUnreadable(f"{path} cannot be read", path=path) from error
    if not is_right:
        raise GroupUnreadable(f"{path} cannot be read", path=path)
    return group


def group_file(home: str, group_id: str) -> str:
    """The path of a group's file."""
    return os.path.join(folder(home, group_id), FILE)


def stamp(path: str) -> tuple[int, int] | None:
    """A value that changes whenever the file at PATH is replaced; None if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def write(home: str, known: RegisteredGroup) -> None:
    """Save KNOWN. Only this user may read the file, because environment variables of actors are often secret."""
    path = folder(home, known.group_id)
    disk.make_private_folder(path)
    written = {"common": known.common, "scopes": known.scopes, "env": known.env}
    disk.replace(group_file(home, known.group_id), json_text.dumps(written).encode() + b"\n", durable=True, mode=0o600)
    _lead_to_blobs(path, known)


def _lead_to_blobs(path: str, known: RegisteredGroup) -> None:
    """Link the group's `state/blobs` to the ledger's attachments, because CCCC's clients write into `state/blobs`."""
    link, folder = os.path.join(path, "state", "blobs"), os.path.join(known.store, "blobs")
    disk.make_private_folder(os.path.dirname(link))
    disk.make_folder(folder)
    try:
        if os.path.islink(link):
            os.unlink(link)
        os.symlink(folder, link)
    except OSError:
        return  # a system without links, or a folder of another program: `blob.put` works without the link


def remove(home: str, group_id: str) -> None:
    """Remove a group from this machine, with its own bare repository. The ledger of a repository stays."""
    disk.remove_if_there(group_file(home, group_id))
    disk.remove_if_there(os.path.join(folder(home, group_id), "state", "blobs"))  # the link, not its target
    disk.remove_folder(folder(home, group_id))


def size(known: RegisteredGroup) -> int:
    """The size of the journals of a group's ledger, in bytes."""
    total = 0
    for journals in ("j", "received"):
        for folder, _, files in os.walk(os.path.join(known.store, journals)):
            for name in files:
                try:
                    total += os.stat(os.path.join(folder, name)).st_size
                except OSError:
                    continue
    return total


def group_of_ledger(home: str, common: str) -> RegisteredGroup | None:
    """The group whose ledger is in a git directory."""
    return next((group for group in all_groups(home) if group.common == common), None)


def group_of_directory(home: str, path: str) -> RegisteredGroup | None:
    """The group without a repository that has a directory containing PATH. The innermost directory counts."""
    groups = [
        (len(root), group)
        for group in all_groups(home)
        if group.common == own_ledger(home, group.group_id)
        for root in group.scopes.values()
        if os.path.join(path, "").startswith(os.path.join(root, ""))
    ]
    return max(groups, key=lambda entry: entry[0])[1] if groups else None


def lock(home: str) -> Lock:
    """The lock that is held while a directory is assigned to a group."""
    disk.make_private_folder(os.path.join(home, GROUPS))
    path = os.path.join(home, LOCK)
    disk.make_empty(path, 0o600)
    return Lock(path)


def scope_key(repo: str | None, path: str) -> str:
    """The key of a directory. It is the same in every clone of a repository."""
    return f"s_{repo or digest(os.fsencode(path))[:12]}"


def fresh_id(octets: bytes) -> str:
    """The part of a new group's id that makes it unique."""
    return octets.hex()[:12]


def _are_texts(value: object) -> bool:
    return isinstance(value, dict) and all(type(key) is type(text) is str for key, text in value.items())
