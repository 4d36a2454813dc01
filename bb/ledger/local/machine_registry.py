"""The groups that this machine knows: for each, where its ledger is, where its directories are, and what must not be in
any ledger: absolute paths, and the environment that actors are given.

A group is a ledger. One that is attached to a repository uses the repository's; one that is not has a bare repository
of its own in the home directory of the daemon, where a `group.json` for each group stands.
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


class GroupNotFound(NotFound):
    """There is no such group."""

    code = "GROUP_NOT_FOUND"
    hint = "`bb group list` shows those there are; `bb group attach .` adds the repository you are in"


class GroupUnreadable(Refused):
    """What is known of that group cannot be read."""

    code = "GROUP_UNREADABLE"
    hint = "mend or remove the file that is named, then attach the group's directory again"


class Known(Record):
    """What this machine knows of a group."""

    group_id: str
    common: str  # the git directory whose ledger is the group's
    scopes: dict[str, str] = {}  # noqa: RUF012  (frozen; by key, where the directory is)
    env: dict[str, dict[str, str]] = {}  # noqa: RUF012  (by actor)

    @property
    def place(self) -> Place:
        """The repository that keeps the ledger; its work tree is that of the scope which lies in it."""
        inside = [path for path in self.scopes.values() if self.common.startswith(os.path.join(path, ""))]
        return Place(self.common, inside[0] if inside else None)

    @property
    def store(self) -> str:
        return os.path.join(self.common, STORE)

    def without_scope(self, key: str) -> Known:
        return self.but(scopes={name: path for name, path in self.scopes.items() if name != key})

    def with_env(self, actor: str, env: Mapping[str, str] | None) -> Known:
        """With what ACTOR is given in its environment; nothing any more, when that is None."""
        others = {name: given for name, given in self.env.items() if name != actor}
        return self.but(env={**others, actor: dict(env)} if env else others)


def home(env: Mapping[str, str]) -> str:
    """The home directory of the daemon: CCCC_HOME, else BB_HOME, else where CCCC's clients look."""
    named = env.get("CCCC_HOME", "").strip() or env.get("BB_HOME", "").strip()
    return os.path.abspath(os.path.expanduser(named or os.path.join("~", ".cccc")))


def folder(home: str, group_id: str) -> str:
    """What belongs to one group here."""
    return os.path.join(home, GROUPS, group_id)


def own_ledger(home: str, group_id: str) -> str:
    """The bare repository of a group that has no other."""
    return os.path.join(folder(home, group_id), LEDGER)


def is_group_id(text: object) -> bool:
    """Whether TEXT may name a group, and so a folder."""
    return isinstance(text, str) and 0 < len(text) <= 64 and not text.strip(IN_GROUP_ID) and text[0] not in "-_"


def everything(home: str) -> list[Known]:
    """Every group that can be read."""
    found = []
    for name in disk.names(os.path.join(home, GROUPS)):
        try:
            known = read(home, name) if is_group_id(name) else None
        except GroupUnreadable:
            continue
        found += [known] if known else []
    return found


def read(home: str, group_id: str) -> Known | None:
    """What is known of a group; None when it is unknown."""
    if not is_group_id(group_id):
        return None
    path = file(home, group_id)
    written = disk.read_small(path, MOST)
    if written is None:
        return None
    try:
        found: Any = json_text.read(written)
        known = Known(group_id, found["common"], found["scopes"], found["env"])
        is_right = type(known.common) is str and os.path.isabs(known.common) and _are_texts(known.scopes)
        is_right = is_right and type(known.env) is dict and all(map(_are_texts, known.env.values()))
    except (ValueError, TypeError, KeyError) as error:
        raise GroupUnreadable(path=path) from error
    if not is_right:
        raise GroupUnreadable(path=path)
    return known


def file(home: str, group_id: str) -> str:
    """Where it stands what is known of a group."""
    return os.path.join(folder(home, group_id), FILE)


def stamp(path: str) -> tuple[int, int] | None:
    """What is another once the FILE of a group says something else; None when there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def write(home: str, known: Known) -> None:
    """Remember KNOWN. Nobody else may read it: what actors are given in their environment is often secret."""
    path = folder(home, known.group_id)
    disk.make_private_folder(path)
    written = {"common": known.common, "scopes": known.scopes, "env": known.env}
    disk.replace(file(home, known.group_id), json_text.dumps(written).encode() + b"\n", durable=True, mode=0o600)
    _lead_to_blobs(path, known)


def _lead_to_blobs(path: str, known: Known) -> None:
    """Clients of CCCC put attachments into the group's `state/blobs` by themselves; they lie beside the ledger."""
    link, folder = os.path.join(path, "state", "blobs"), os.path.join(known.store, "blobs")
    disk.make_private_folder(os.path.dirname(link))
    disk.make_folder(folder)
    try:
        if os.path.islink(link):
            os.unlink(link)
        os.symlink(folder, link)
    except OSError:
        return  # a system without links, or a folder of somebody else's: `blob.put` works all the same


def forget(home: str, group_id: str) -> None:
    """Know nothing of a group any more; its own ledger goes too, a repository's stays."""
    disk.remove_if_there(file(home, group_id))
    disk.remove_if_there(os.path.join(folder(home, group_id), "state", "blobs"))  # where it leads to stays
    disk.remove_folder(folder(home, group_id))


def size(known: Known) -> int:
    """How many bytes the journals of a group's ledger have."""
    journals = os.path.join(known.store, "j")
    total = 0
    for folder, _, files in os.walk(journals):
        for name in files:
            try:
                total += os.stat(os.path.join(folder, name)).st_size
            except OSError:
                continue
    return total


def of_ledger(home: str, common: str) -> Known | None:
    """The group that uses the ledger in a git directory."""
    return next((known for known in everything(home) if known.common == common), None)


def of_directory(home: str, path: str) -> Known | None:
    """The group without a repository that has the directory which PATH lies in."""
    found = [
        (len(root), known)
        for known in everything(home)
        if known.common == own_ledger(home, known.group_id)
        for root in known.scopes.values()
        if os.path.join(path, "").startswith(os.path.join(root, ""))
    ]
    return max(found, key=lambda each: each[0])[1] if found else None


def lock(home: str) -> Lock:
    """Held while it is decided which group a directory belongs to."""
    disk.make_private_folder(os.path.join(home, GROUPS))
    path = os.path.join(home, LOCK)
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError as error:
        raise disk.refusal(error) from error
    return Lock(path)


def scope_key(repo: str | None, path: str) -> str:
    """The key of a directory: the same in every clone of a repository."""
    return f"s_{repo or digest(os.fsencode(path))[:12]}"


def fresh_id(octets: bytes) -> str:
    """The part of a new group's id that makes it unique."""
    return octets.hex()[:12]


def _are_texts(value: object) -> bool:
    return isinstance(value, dict) and all(type(key) is type(text) is str for key, text in value.items())
