"""The ids that git gives to objects: a hash of the object with its header."""

from __future__ import annotations

SHA1_LENGTH, SHA256_LENGTH = 40, 64  # hex digits
MUCH = 1 << 19  # bytes
HEX = frozenset("0123456789abcdef")


def object_id(whole: bytes, length: int) -> str:
    """The id of an object, WHOLE with its header, in a repository with ids of LENGTH hex digits."""
    if len(whole) > MUCH:
        return _by_openssl(whole, length)
    if length == SHA1_LENGTH:
        from _sha1 import sha1  # noqa: PLC0415  (importing `hashlib` takes a third of the time of a bare start)

        return str(sha1(whole).hexdigest())
    from bb.kernel.digest import whole_digest  # noqa: PLC0415  (few repositories use SHA-256)

    return whole_digest(whole)


def _by_openssl(whole: bytes, length: int) -> str:
    """The same by OpenSSL, which is several times as fast once it is loaded."""
    import hashlib  # noqa: PLC0415  (loading it takes as long as hashing MUCH by the interpreter's own functions)

    return hashlib.new("sha1" if length == SHA1_LENGTH else "sha256", whole, usedforsecurity=False).hexdigest()


def is_object_id(found: object) -> bool:
    """Whether FOUND is the id of an object, in hex."""
    return isinstance(found, str) and len(found) in (SHA1_LENGTH, SHA256_LENGTH) and HEX.issuperset(found)
