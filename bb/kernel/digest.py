"""SHA-256 cut to 128 bits, in hex: what links one ledger line to the next.

128 bits keep a line short and leave a forger 2^128 tries for a second text with a given hash. The interpreter's
built-in SHA-256 is used because `hashlib` costs a third of a `python -c pass` to import; bulk readers pass in
hashlib's, which is faster once it is there.
"""

from __future__ import annotations

try:
    from _sha2 import sha256  # Python 3.12 and later
except ImportError:
    try:
        from _sha256 import sha256
    except ImportError:
        from hashlib import sha256

HEX_LENGTH = 32
NOTHING = "0" * HEX_LENGTH  # what the first line of a chain links to


def digest(octets: bytes) -> str:
    """The first 128 bits of SHA-256 over OCTETS."""
    return whole_digest(octets)[:HEX_LENGTH]


def whole_digest(octets: bytes) -> str:
    """SHA-256 over OCTETS, as other programs compute it."""
    whole: str = sha256(octets).hexdigest()
    return whole
