"""The door to the user's own configuration: the keys that this user signs with, and whom this user trusts.

Both are the user's and no repository's: a key that is committed once is everybody's for ever, and a repository that
could say whom to trust would say so about itself. A key is written once and never again. A seed appears in no message.
"""

from __future__ import annotations

import os
import sys

from bb.cbcl.judge import signatures
from bb.cbcl.judge import trust as judge_trust
from bb.cbcl.judge.trust import Trust
from bb.kernel import json_text
from bb.kernel.errors import BbError, Busy, Conflict, NotFound, Refused, Usage
from bb.kernel.show import quoted
from bb.ledger.files import disk
from bb.ledger.files.lock import LedgerBusy, Lock
from bb.ledger.git import place as places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

APP, KEYS, SUFFIX, TRUST, LOCK = "bb", "keys", ".key", "trust.json", "trust.lock"
SEED_OCTETS = 32
MOST_NAMED = 8  # keys that a hint names
MOST = 1 << 18  # octets of the trust file; reading that many keys takes a fraction of a second
OTHERS_MAY_LOOK, OTHERS_MAY_WRITE = 0o077, 0o022
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


class KeyNotFound(NotFound):
    """There is no key of that name."""

    code = "KEY_NOT_FOUND"
    hint = "look which keys there are, or make one"


class KeyExists(Conflict):
    """There is a key of that name, and no key is ever replaced."""

    code = "KEY_EXISTS"
    hint = "use it, or make one of another name"


class KeyInRepository(Refused):
    """Keys would lie in a git repository, from where they could be published."""

    code = "KEY_IN_REPOSITORY"
    hint = "set XDG_CONFIG_HOME to a directory that is in no repository"


class UnsafeKey(Refused):
    """The key's file is not only yours."""

    code = "KEY_UNSAFE"
    hint = "make a new key: others may have this one"


class KeyUnreadable(Refused):
    """The key's file holds no key."""

    code = "KEY_UNREADABLE"
    hint = "put it back from a copy, or move it away and make a new key"


class UnsafeFolder(Refused):
    """The folder is not only yours."""

    code = "FOLDER_UNSAFE"
    hint = "make it yours alone"


class FolderUnusable(Refused):
    """Nothing can be put into the folder of your configuration."""

    code = "FOLDER_UNUSABLE"
    hint = "look who owns it, and whether you may write there"


class TrustUnreadable(Refused):
    """It cannot be read whom you trust."""

    code = "TRUST_UNREADABLE"
    hint = "mend the file that is named; or move it away, and whom you trust and your policy are to be said again"


class TrustFull(Refused):
    """There is no room for more authors."""

    code = "TRUST_FULL"
    hint = "remove authors whose dialects you no longer use"


class TrustBusy(Busy):
    """Another process is changing whom you trust."""

    code = "TRUST_BUSY"
    hint = "try again"


class Keyring:
    """The keys and the trust of one user."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.folder = folder(env)
        self._keys = os.path.join(self.folder, KEYS)
        self._trust = os.path.join(self.folder, TRUST)

    def make(self, name: str, seed: bytes | None = None) -> bytes:
        """Make the key NAME, of SEED or of chance; the public half of it."""
        path = self._path(name)
        _must_be_in_no_repository(self._keys)
        seed = os.urandom(SEED_OCTETS) if seed is None else seed
        public = signatures.public_key(seed)
        _own(self.folder)
        _own(self._keys)
        _put_new(path, seed.hex().encode() + b"\n")
        return public

    def seed(self, name: str) -> bytes:
        """The secret half of the key NAME."""
        path = self._path(name)
        # Asked for by its very name, since some file systems would give `ada` to who wants `Ada`.
        octets = _read_own(path, OTHERS_MAY_LOOK, UnsafeKey) if name in self.names() else None
        if octets is None:
            known = ", ".join(self.names()[:MOST_NAMED])
            hint = f"you have {known}" if known else f"`bb cbcl keygen {name}` makes it"
            raise KeyNotFound(f"there is no key {name} in {self._keys}", hint=hint)
        try:
            return signatures.seed_of(octets.decode("ascii", "replace").strip())
        except signatures.InvalidKey:
            raise KeyUnreadable(f"{path} holds no key", path=path) from None

    def public(self, name: str) -> bytes:
        """The public half of the key NAME."""
        return signatures.public_key(self.seed(name))

    def names(self) -> list[str]:
        """The names of all keys, sorted."""
        stems = [name[: -len(SUFFIX)] for name in disk.names(self._keys) if name.endswith(SUFFIX)]
        return sorted(filter(judge_trust.is_identifier, stems))

    def trust(self) -> Trust:
        """Whom this user trusts; nobody, and by the usual policy, until somebody has been added."""
        octets = _read_own(self._trust, OTHERS_MAY_WRITE, TrustUnreadable)
        if octets is None:
            return Trust()
        try:
            return judge_trust.trust_of(json_text.read(octets))
        except json_text.NotJson as error:
            raise TrustUnreadable(f"{self._trust} is no JSON: {error}", path=self._trust) from error
        except Usage as error:
            where = error.details.get("path", "$")
            raise TrustUnreadable(f"{self._trust}, {where}: {error.message}", path=self._trust) from error

    def trust_for(self, author: str | None) -> Trust:
        """Whom this user trusts where AUTHOR's signature is judged: nobody has to trust themselves first, so a key of
        one's own that has the author's name counts besides."""
        trust = self.trust()
        return trust.with_author(author, self.public(author)) if author and author in self.names() else trust

    def trust_or_nobody(self, author: str | None) -> Trust:
        """The same, where a key of one's own that cannot be used is no reason to answer nothing: signing tells that."""
        try:
            return self.trust_for(author)
        except BbError:
            return self.trust()

    def set_signed(self, name: str, word: str | None) -> Trust:
        """Say whether NAME's messages have to be signed; by default again, without a word."""
        return self._change(lambda trust: trust.with_signed(name, word))

    def add_author(self, name: str, key: bytes) -> Trust:
        """Trust what KEY signs in NAME's name."""
        return self._change(lambda trust: trust.with_author(name, key))

    def remove_author(self, name: str, key: bytes | None = None) -> Trust:
        """Trust one KEY of NAME no longer, or none of them."""
        return self._change(lambda trust: trust.without_author(name, key))

    def set_policy(self, changes: Mapping[str, Any]) -> Trust:
        """Change some members of the policy."""
        return self._change(lambda trust: trust.with_policy(dict(changes)))

    def _path(self, name: str) -> str:
        return os.path.join(self._keys, judge_trust.identifier(name) + SUFFIX)

    def _change(self, change: Callable[[Trust], Trust]) -> Trust:
        _own(self.folder)
        try:
            with _lock(os.path.join(self.folder, LOCK)):
                changed = change(self.trust())
                self._write(changed)
        except LedgerBusy as error:
            raise TrustBusy(**error.details) from error
        return changed

    def _write(self, trust: Trust) -> None:
        octets = json_text.dumps(trust.as_plain()).encode() + b"\n"
        if len(octets) > MOST:
            raise TrustFull(path=self._trust)
        disk.replace(self._trust, octets, durable=True, mode=0o600)


def folder(env: Mapping[str, str]) -> str:
    """Where the user's configuration of bb is: under XDG_CONFIG_HOME when that is set, else where the system wants it.

    A path there that is not absolute is to be ignored (XDG Base Directory Specification).
    """
    if os.path.isabs(named := env.get("XDG_CONFIG_HOME", "").strip()):
        return os.path.join(named, APP)
    if sys.platform in ("win32", "darwin"):
        import platformdirs  # noqa: PLC0415  (it takes longer to import than Python to start)

        return platformdirs.user_config_dir(APP, appauthor=False)
    return os.path.join(env.get("HOME") or os.path.expanduser("~"), ".config", APP)


def _must_be_in_no_repository(path: str) -> None:
    """Refuse a folder in a repository, wherever the links to it come from: many keep their configuration in git."""
    real = os.path.realpath(path)
    if around := _repository_around(real):
        raise KeyInRepository(f"{real} lies in the repository {around}", path=real, repository=around)


def _repository_around(path: str) -> str | None:
    upwards = path
    while not os.path.lexists(os.path.join(upwards, ".git")):  # one that leads nowhere now may lead somewhere elsewhere
        if upwards == (upwards := os.path.dirname(upwards)):
            break
    else:
        return upwards
    try:
        return places.find(path, {}).common
    except places.NotARepository:
        return None


def _own(path: str) -> None:
    """Make a folder for this user alone; refuse one where others could put something in a file's place."""
    try:
        os.makedirs(path, 0o700, exist_ok=True)
        status = os.stat(path)
    except OSError as error:
        raise FolderUnusable(f"{path} cannot be made: {error.strerror}", path=path) from error
    if flaw := _not_ours(status, OTHERS_MAY_WRITE):
        raise UnsafeFolder(f"{path} {flaw}", hint=f"chmod 700 {quoted(path)}, as its owner", path=path)
    if not os.access(path, os.W_OK | os.X_OK):
        raise FolderUnusable(f"{path} may not be written", path=path)


def _put_new(path: str, octets: bytes) -> None:
    """Put a file at PATH in one step, where none may be."""
    where, name = os.path.split(path)
    for left in disk.leftovers(where):
        disk.remove_if_there(left)
    staged = os.path.join(where, f".{name}.{os.urandom(8).hex()}.tmp")
    disk.replace(staged, octets, durable=True, mode=0o600)
    try:
        _give_name(staged, path)
        disk.sync_folder(where)
    except FileExistsError:
        raise KeyExists(f"{path} is there already, and no key is ever replaced", path=path) from None
    except OSError as error:
        raise disk.refusal(error) from error
    finally:
        disk.remove_if_there(staged)


def _give_name(staged: str, path: str) -> None:
    """Let a file be found at PATH; FileExistsError when another one is."""
    try:
        os.link(staged, path)  # which, unlike renaming, replaces nothing
    except FileExistsError:
        raise
    except OSError:  # no hard links there: whoever makes the empty file has the name
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.replace(staged, path)


def _read_own(path: str, forbidden: int, refusal: type[BbError]) -> bytes | None:
    """What a file of this user holds, None when there is none; a REFUSAL when it is not only this user's.

    What is asked about is the open file: a name could lead somewhere else a moment later.
    """
    if os.path.islink(path):
        raise refusal(f"{path} is a link", hint="put the file itself there", path=path)
    try:
        fd, status = disk.open_to_read(path, NO_FOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refusal(f"{path} cannot be read: {error.strerror}", hint="look who owns it", path=path) from error
    try:
        if status.st_size > MOST:
            raise refusal(f"{path} is larger than {MOST} bytes", path=path)
        if flaw := _not_ours(status, forbidden):
            raise refusal(f"{path} {flaw}", hint=f"chmod 600 {quoted(path)}, as its owner", path=path)
        return os.read(fd, MOST)
    except OSError as error:
        raise disk.refusal(error) from error
    finally:
        os.close(fd)


def _not_ours(status: os.stat_result, forbidden: int) -> str | None:
    """Why a file is not only this user's. (Windows has no such modes; there, a user's profile is the user's.)"""
    if not hasattr(os, "geteuid"):
        return None
    if status.st_uid != os.geteuid():
        return "belongs to somebody else"
    if status.st_mode & forbidden:
        return "can be changed by others" if forbidden == OTHERS_MAY_WRITE else "can be read or changed by others"
    return None


def _lock(path: str) -> Lock:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError as error:
        raise disk.refusal(error) from error
    return Lock(path)
