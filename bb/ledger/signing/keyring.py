"""The user's own keys for CBCL dialects and the authors that this user trusts, in the user's configuration folder.

Neither belongs in a repository. A committed key would be public for ever, and a repository that could name trusted
authors would name its own. A key file is written once and never changed. No message shows a seed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from bb.cbcl.judge import signatures
from bb.cbcl.judge import trust as judge_trust
from bb.cbcl.judge.trust import Trust
from bb.kernel import json_text
from bb.kernel.errors import BbError, Busy, Conflict, NotFound, Refusal, Refused, Usage
from bb.kernel.escaping import quoted
from bb.ledger.files import disk
from bb.ledger.files.lock import LedgerBusy, Lock
from bb.ledger.git import place as places

APP, KEYS, SUFFIX, TRUST, LOCK = "bb", "keys", ".key", "trust.json", "trust.lock"
SEED_OCTETS = 32
MOST_NAMED = 8  # keys that a hint names
MOST = 1 << 18  # octets of the trust file; reading that many keys takes a fraction of a second
OTHERS_MAY_LOOK, OTHERS_MAY_WRITE = 0o077, 0o022
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)

KeyNotFound = NotFound.declare(
    "KEY_NOT_FOUND", "There is no key with that name", hint="run `bb cbcl keygen NAME` to make one"
)

KeyExists = Conflict.declare(
    "KEY_EXISTS",
    "A key with that name exists already; keys are never replaced",
    hint="use the existing key, or make one with another name: `bb cbcl keygen NAME`",
)

KeyInRepository = Refused.declare(
    "KEY_IN_REPOSITORY",
    "The folder for keys is in a git repository, so the keys could be published",
    hint="set XDG_CONFIG_HOME to a directory outside of any repository",
)

UnsafeKey = Refused.declare(
    "KEY_UNSAFE", "Other users can access the key's file", hint="make a new key: others may have copied this one"
)

KeyUnreadable = Refused.declare(
    "KEY_UNREADABLE",
    "The key's file does not contain a valid key",
    hint="restore the file from a backup, or move it away and make a new key",
)

UnsafeFolder = Refused.declare(
    "FOLDER_UNSAFE", "Other users can change the folder's contents", hint="run `chmod 700` on the folder, as its owner"
)

FolderUnusable = Refused.declare(
    "FOLDER_UNUSABLE",
    "The folder of your configuration cannot be written",
    hint="check the folder's owner and permissions with `ls -ld`",
)

TrustUnreadable = Refused.declare(
    "TRUST_UNREADABLE",
    "The file of trusted authors cannot be read",
    hint="correct the file; or move it away, then add the trusted authors and set your policy again",
)

TrustFull = Refused.declare(
    "TRUST_FULL", "The file of trusted authors is full", hint="remove authors whose dialects you no longer use"
)
TrustBusy = Busy.declare("TRUST_BUSY", "Another process is changing the file of trusted authors", hint="try again")


class Keyring:
    """The keys and the trusted authors of one user."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.folder = folder(env)
        self._keys = os.path.join(self.folder, KEYS)
        self._trust = os.path.join(self.folder, TRUST)

    def make(self, name: str, seed: bytes | None = None) -> bytes:
        """Make the key NAME from SEED or at random; return its public half."""
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
        # The exact name is compared, because some file systems would open `ada` for `Ada`.
        octets = _read_own(path, OTHERS_MAY_LOOK, UnsafeKey) if name in self.names() else None
        if octets is None:
            names = ", ".join(self.names()[:MOST_NAMED])
            hint = f"your keys are {names}" if names else f"run `bb cbcl keygen {name}` to make it"
            raise KeyNotFound(f"there is no key {name} in {self._keys}", hint=hint)
        try:
            return signatures.seed_of(octets.decode("ascii", "replace").strip())
        except signatures.InvalidKey.error:
            raise KeyUnreadable(f"{path} does not contain a valid key", path=path) from None

    def public(self, name: str) -> bytes:
        """The public half of the key NAME."""
        return signatures.public_key(self.seed(name))

    def names(self) -> list[str]:
        """The names of all keys, sorted."""
        stems = [name[: -len(SUFFIX)] for name in disk.names(self._keys) if name.endswith(SUFFIX)]
        return sorted(filter(judge_trust.is_identifier, stems))

    def trust(self) -> Trust:
        """The authors that this user trusts and the policy. Without a file: no authors, and the default policy."""
        octets = _read_own(self._trust, OTHERS_MAY_WRITE, TrustUnreadable)
        if octets is None:
            return Trust()
        try:
            return judge_trust.trust_of(json_text.read(octets))
        except json_text.NotJson as error:
            raise TrustUnreadable(f"{self._trust} is not valid JSON: {error}", path=self._trust) from error
        except Usage as error:
            where = error.details.get("path", "$")
            raise TrustUnreadable(f"{self._trust}, {where}: {error.message}", path=self._trust) from error

    def trust_for(self, author: str | None) -> Trust:
        """The trust for judging AUTHOR's signature. The user's own key with the author's name counts as trusted."""
        trust = self.trust()
        return trust.with_author(author, self.public(author)) if author and author in self.names() else trust

    def trust_ignoring_own_key_errors(self, author: str | None) -> Trust:
        """Like `trust_for`, but ignore an own key that cannot be used; signing with it will report the problem."""
        try:
            return self.trust_for(author)
        except BbError:
            return self.trust()

    def set_signed(self, name: str, word: str | None) -> Trust:
        """Set whether messages of NAME must be signed; None restores the default."""
        return self._change(lambda trust: trust.with_signed(name, word))

    def add_author(self, name: str, key: bytes) -> Trust:
        """Trust KEY as a key of the author NAME."""
        return self._change(lambda trust: trust.with_author(name, key))

    def remove_author(self, name: str, key: bytes | None = None) -> Trust:
        """Stop trusting one KEY of the author NAME, or all of them."""
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
        except LedgerBusy.error as error:
            raise TrustBusy(**error.details) from error
        return changed

    def _write(self, trust: Trust) -> None:
        octets = json_text.dumps(trust.as_json()).encode() + b"\n"
        if len(octets) > MOST:
            raise TrustFull(path=self._trust)
        disk.replace(self._trust, octets, durable=True, mode=0o600)


def folder(env: Mapping[str, str]) -> str:
    """The folder of the user's configuration of bb: under XDG_CONFIG_HOME if it is set, else the system's usual folder.

    The XDG Base Directory Specification requires that a relative path in XDG_CONFIG_HOME is ignored.
    """
    if os.path.isabs(named := env.get("XDG_CONFIG_HOME", "").strip()):
        return os.path.join(named, APP)
    if sys.platform in ("win32", "darwin"):
        import platformdirs  # noqa: PLC0415  (importing it takes longer than starting Python)

        return platformdirs.user_config_dir(APP, appauthor=False)
    return os.path.join(env.get("HOME") or os.path.expanduser("~"), ".config", APP)


def _must_be_in_no_repository(path: str) -> None:
    """Refuse a folder in a repository, after resolving links: many users keep their configuration in git."""
    real = os.path.realpath(path)
    if repository := _repository_around(real):
        raise KeyInRepository(f"{real} is in the repository {repository}", path=real, repository=repository)


def _repository_around(path: str) -> str | None:
    upwards = path
    while not os.path.lexists(os.path.join(upwards, ".git")):  # a broken link counts: on another system it may work
        if upwards == (upwards := os.path.dirname(upwards)):
            break
    else:
        return upwards
    try:
        return places.find(path, {}).common
    except places.NotARepository.error:
        return None


def _own(path: str) -> None:
    """Make a folder for this user alone. Refuse one in which other users could replace files."""
    try:
        os.makedirs(path, 0o700, exist_ok=True)
        status = os.stat(path)
    except OSError as error:
        raise FolderUnusable(f"{path} cannot be made: {error.strerror}", path=path) from error
    if flaw := _not_ours(status, OTHERS_MAY_WRITE):
        raise UnsafeFolder(f"{path} {flaw}", hint=f"run `chmod 700 {quoted(path)}`, as its owner", path=path)
    if not os.access(path, os.W_OK | os.X_OK):
        raise FolderUnusable(f"{path} is not writable", path=path)


def _put_new(path: str, octets: bytes) -> None:
    """Create the file PATH atomically; KeyExists if it exists."""
    where, name = os.path.split(path)
    for left in disk.abandoned_temporary_files(where):
        disk.remove_if_there(left)
    staged = os.path.join(where, f".{name}.{os.urandom(8).hex()}.tmp")
    disk.replace(staged, octets, durable=True, mode=0o600)
    try:
        _give_name(staged, path)
        disk.sync_folder(where)
    except FileExistsError:
        raise KeyExists(f"{path} exists already, and keys are never replaced", path=path) from None
    except OSError as error:
        raise disk.refusal(error) from error
    finally:
        disk.remove_if_there(staged)


def _give_name(staged: str, path: str) -> None:
    """Give the file STAGED the name PATH; FileExistsError if that name is taken."""
    try:
        os.link(staged, path)  # unlike a rename, this never replaces a file
    except FileExistsError:
        raise
    except OSError:  # no hard links on this file system: creating an empty file reserves the name
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.replace(staged, path)


def _read_own(path: str, forbidden: int, refusal: Refusal) -> bytes | None:
    """The contents of a file of this user; None if it does not exist. REFUSAL if other users can access it.

    The open file is checked, because its name could lead to another file a moment later.
    """
    if os.path.islink(path):
        raise refusal(f"{path} is a link", hint="replace the link by the file itself", path=path)
    try:
        fd, status = disk.open_to_read(path, NO_FOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        hint = f"check the file's owner and permissions: `ls -l {quoted(path)}`"
        raise refusal(f"{path} cannot be read: {error.strerror}", hint=hint, path=path) from error
    try:
        if status.st_size > MOST:
            raise refusal(f"{path} is larger than {MOST} bytes", path=path)
        if flaw := _not_ours(status, forbidden):
            raise refusal(f"{path} {flaw}", hint=f"run `chmod 600 {quoted(path)}`, as its owner", path=path)
        return os.read(fd, MOST)
    except OSError as error:
        raise disk.refusal(error) from error
    finally:
        os.close(fd)


def _not_ours(status: os.stat_result, forbidden: int) -> str | None:
    """Why a file is not private to this user. (Not checked on Windows, where the user's profile is private.)"""
    if not hasattr(os, "geteuid"):
        return None
    if status.st_uid != os.geteuid():
        return "belongs to another user"
    if status.st_mode & forbidden:
        verb = "changed" if forbidden == OTHERS_MAY_WRITE else "read or changed"
        return f"can be {verb} by other users"
    return None


def _lock(path: str) -> Lock:
    disk.make_empty(path, 0o600)
    return Lock(path)
