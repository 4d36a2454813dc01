"""A cache of verdicts on the text of dialects: whether the definition is sound, its name, the calls that it adds, and
checked signatures. It belongs to this machine and can be deleted.

A verdict depends only on the text and on the rules of this version, so both are in the key. Verdicts are never taken
from a line of the ledger or from another machine. A file counts only if no other user can have written it. A damaged or
invalid file is ignored.
"""

from __future__ import annotations

import os
from typing import Any

import bb
from bb.cbcl.judge import verification
from bb.kernel import json_text
from bb.kernel.digest import whole_digest
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk

FOLDER, SUFFIX = "verdicts", ".json"
MOST_KEPT, LEFT = 256, 192  # above 256 verdicts, the oldest are removed until 192 are left
MOST = 1 << 20  # bytes of one verdict
MOST_SIGNATURES = 64  # checked signatures in one verdict
OTHERS_MAY_WRITE = 0o022
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
RULES = f"{bb.__version__} {verification.VERSION}"


class Verdict(Record):
    """The verdict on a definition. SIGNATURES has the results of checked signatures."""

    is_sound: bool
    hash: str = ""
    name: str = ""
    extends: str = ""
    author: str = ""
    adds: tuple[str, ...] = ()
    signatures: dict[str, bool] = {}  # noqa: RUF012  (frozen)


class VerdictCache:
    """The cached verdicts beside one ledger."""

    def __init__(self, store: str) -> None:
        self._folder = os.path.join(store, FOLDER)

    def get(self, text: bytes) -> Verdict | None:
        """The cached verdict on TEXT; None if there is none."""
        octets = _read_own(self._path(text))
        try:
            return None if octets is None else _judged(json_text.read(octets))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def put(self, text: bytes, judged: Verdict) -> None:
        """Cache the verdict on TEXT, if possible."""
        octets = json_text.dumps(judged.as_dict() | {"adds": list(judged.adds)}).encode()
        if len(octets) > MOST:
            return
        try:
            os.makedirs(self._folder, 0o700, exist_ok=True)
            disk.replace(self._path(text), octets, mode=0o600)
            self._make_room()
        except (OSError, BbError):
            return  # a full disk or a read-only store: the verdict is computed again next time

    def _path(self, text: bytes) -> str:
        return os.path.join(self._folder, whole_digest(f"{RULES}\n".encode() + text) + SUFFIX)

    def _make_room(self) -> None:
        """Remove the oldest files if there are too many, temporary files of killed processes included."""
        names = disk.names(self._folder)
        if len(names) <= MOST_KEPT:
            return
        paths = [os.path.join(self._folder, name) for name in names]
        for path in sorted(paths, key=_changed)[: len(paths) - LEFT]:
            disk.remove_if_there(path)


def signature_key(hashed: str, signature: str, key: bytes) -> str:
    """The cache key for checking a SIGNATURE of the definition with the hash HASHED by a KEY."""
    return whole_digest(f"{hashed} {signature} {key.hex()}".encode())


def _changed(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def _read_own(path: str) -> bytes | None:
    """The contents of a file that only this user can have written; None if there is no such file."""
    try:
        fd, status = disk.open_to_read(path, NO_FOLLOW)
    except OSError:
        return None
    try:
        is_ours = not hasattr(os, "geteuid") or (
            status.st_uid == os.geteuid() and not status.st_mode & OTHERS_MAY_WRITE
        )
        if not (is_ours and status.st_size <= MOST):
            return None
        return os.read(fd, MOST)
    except OSError:
        return None
    finally:
        os.close(fd)


def _judged(members: Any) -> Verdict:
    """The verdict in a JSON value; ValueError if it is invalid."""
    texts = [members[name] for name in ("hash", "name", "extends", "author")]
    adds, signatures = members["adds"], members["signatures"]
    are_texts = all(type(text) is str for text in (*texts, *adds, *signatures))
    are_flags = all(type(flag) is bool for flag in (members["is_sound"], *signatures.values()))
    if not (are_texts and are_flags and type(adds) is list):
        raise ValueError("not a verdict")
    hashed, name, extends, author = texts
    return Verdict(members["is_sound"], hashed, name, extends, author, tuple(adds), signatures)
