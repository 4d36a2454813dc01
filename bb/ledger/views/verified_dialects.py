"""What was found out about the text of a dialect, kept by the digest of the text: whether it is sound, what it is
called and adds, which signatures fit it. A cache of this machine's, beside the index; deleting it changes nothing.

A verdict follows from the text alone, and from the rules that this version has. It is found by both, never taken from a
line of the ledger nor from another machine, and a file counts only where nobody but this user can have written it. One
that is damaged, or says what no verdict could, is none.
"""

from __future__ import annotations

import os

import bb
from bb.cbcl.judge import verification
from bb.kernel import json_text
from bb.kernel.digest import whole_digest
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER, SUFFIX = "verdicts", ".json"
MOST_KEPT, LEFT = 256, 192  # verdicts, and how many are left when there are too many
MOST = 1 << 20  # octets of one
MOST_SIGNATURES = 64  # of which it is known whether they fit a text
OTHERS_MAY_WRITE = 0o022
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
RULES = f"{bb.__version__} {verification.VERSION}"


class Judged(Record):
    """What there is to know of a definition without reading it again. SIGNATURES says of some whether they fit."""

    is_sound: bool
    hash: str = ""
    name: str = ""
    extends: str = ""
    author: str = ""
    adds: tuple[str, ...] = ()
    signatures: dict[str, bool] = {}  # noqa: RUF012  (frozen)


class Judgements:
    """The verdicts that are kept beside one ledger."""

    def __init__(self, store: str) -> None:
        self._folder = os.path.join(store, FOLDER)

    def get(self, text: bytes) -> Judged | None:
        """What is known of TEXT; None when it has to be read."""
        octets = _read_own(self._path(text))
        try:
            return None if octets is None else _judged(json_text.read(octets))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def put(self, text: bytes, judged: Judged) -> None:
        """Keep what was found out of TEXT, if that can be kept."""
        octets = json_text.dumps(judged.as_dict() | {"adds": list(judged.adds)}).encode()
        if len(octets) > MOST:
            return
        try:
            os.makedirs(self._folder, 0o700, exist_ok=True)
            disk.replace(self._path(text), octets, mode=0o600)
            self._make_room()
        except (OSError, BbError):
            return  # a full disk, a store that may only be read: then it is found out again

    def _path(self, text: bytes) -> str:
        return os.path.join(self._folder, whole_digest(f"{RULES}\n".encode() + text) + SUFFIX)

    def _make_room(self) -> None:
        """Forget the oldest where there are too many, and what a writer has left who was killed."""
        names = disk.names(self._folder)
        if len(names) <= MOST_KEPT:
            return
        paths = [os.path.join(self._folder, name) for name in names]
        for path in sorted(paths, key=_changed)[: len(paths) - LEFT]:
            disk.remove_if_there(path)


def signature_key(hashed: str, signature: str, key: bytes) -> str:
    """What it is known by whether a SIGNATURE with a KEY fits the definition that is HASHED so."""
    return whole_digest(f"{hashed} {signature} {key.hex()}".encode())


def _changed(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def _read_own(path: str) -> bytes | None:
    """What a file holds that only this user can have written; None when there is none."""
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


def _judged(found: Any) -> Judged:
    """The verdict that a JSON value is; refused when it is none."""
    texts = [found[name] for name in ("hash", "name", "extends", "author")]
    adds, signatures = found["adds"], found["signatures"]
    are_texts = all(type(each) is str for each in (*texts, *adds, *signatures))
    if not (type(found["is_sound"]) is bool and type(adds) is list and are_texts):
        raise ValueError("no verdict")
    if not all(type(each) is bool for each in signatures.values()):
        raise ValueError("no verdict")
    hashed, name, extends, author = texts
    return Judged(found["is_sound"], hashed, name, extends, author, tuple(adds), signatures)
