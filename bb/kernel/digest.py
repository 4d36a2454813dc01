"""SHA-256 truncated to 128 bits, in hex: the link from one ledger line to the next.

With 128 bits, lines are short, and finding a second text with a given hash takes 2^128 attempts. The interpreter's
built-in SHA-256 is used, because importing `hashlib` takes a third of the time of `python -c pass`. Bulk readers pass
hashlib's, which is faster once imported.
"""

from __future__ import annotations

import sys

try:
    if sys.version_info >= (3, 12):  # a failing import would search every folder
        from _sha2 import sha256
    else:
        from _sha256 import sha256
except ImportError:
    from hashlib import sha256

HEX_LENGTH = 32


def use_openssl() -> None:
    """Use hashlib's SHA-256 from now on, in a process that stays: it is four times as fast, but slow to import."""
    global sha256  # noqa: PLW0603  (one implementation for the whole process)
    from hashlib import sha256  # noqa: PLC0415


NOTHING = "0" * HEX_LENGTH  # the link in the first line of a chain


def digest(octets: bytes) -> str:
    """The first 128 bits of SHA-256 over OCTETS."""
    return whole_digest(octets)[:HEX_LENGTH]


def whole_digest(octets: bytes) -> str:
    """The full SHA-256 over OCTETS."""
    whole: str = sha256(octets).hexdigest()
    return whole
