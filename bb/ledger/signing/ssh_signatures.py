"""OpenSSH's formats for signatures (SSHSIG) and keys, for Ed25519 only. Pure functions over bytes.

A signature covers a namespace and a digest of the message, so a signature of a commit is not valid for a ledger.
`ssh-keygen -Y verify` accepts the signatures made here, and this module reads those of `ssh-keygen -Y sign`. OpenSSH's
PROTOCOL.sshsig and PROTOCOL.key describe the formats.
"""

from __future__ import annotations

import sys
from binascii import a2b_base64, b2a_base64

from bb.kernel.record import Record

try:  # hashlib takes longer to import than the rest of this file, and a failing import searches every folder
    if sys.version_info >= (3, 12):
        from _sha2 import sha256, sha512
    else:
        from _sha256 import sha256
        from _sha512 import sha512
except ImportError:
    from hashlib import sha256, sha512

KIND = b"ssh-ed25519"
MAGIC, VERSION, HASH = b"SSHSIG", 1, b"sha512"
HASHES = {b"sha512": sha512, b"sha256": sha256}
LEDGER, GIT = "bb-ledger", "git"  # namespaces
BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
KEY_BEGIN, KEY_END = "-----BEGIN OPENSSH PRIVATE KEY-----", "-----END OPENSSH PRIVATE KEY-----"
KEY_MAGIC = b"openssh-key-v1\0"
WIDTH, KEY_WIDTH, BLOCK = 76, 70, 8
KEY_OCTETS, SIGNATURE_OCTETS = 32, 64
LARGEST = 4096  # octets of a signature; an Ed25519 signature has 179


class Malformed(Exception):
    """The input is not an Ed25519 signature or key in OpenSSH's format; the message says why."""


class Signature(Record):
    """The parts of a signature."""

    key: bytes  # the public key, 32 octets
    namespace: str
    hash: bytes
    octets: bytes


# -- public keys


def public_line(key: bytes, comment: str = "") -> str:
    """A public key in the format of `authorized_keys`."""
    return f"{KIND.decode()} {base64(_public(key))}{f' {comment}' if comment else ''}"


def public_key(kind: str, text: str) -> bytes:
    """The 32 octets of a public key in the format of `authorized_keys`."""
    if kind.encode("utf-8", "replace") != KIND:
        raise Malformed(f"the key's type is {kind[:40]}, and only {KIND.decode()} is supported")
    return _key_in(_decoded(text))


def fingerprint(key: bytes) -> str:
    """The fingerprint of a key, as `ssh-keygen -l` prints it."""
    return "SHA256:" + base64(sha256(_public(key)).digest()).rstrip("=")


def _public(key: bytes) -> bytes:
    return _string(KIND) + _string(key)


def _key_in(blob: bytes) -> bytes:
    kind, rest = _take(blob)
    key, rest = _take(rest)
    if kind != KIND or len(key) != KEY_OCTETS or rest:
        raise Malformed(f"it is not an {KIND.decode()} key")
    return key


# -- signatures


def to_sign(namespace: str, message: bytes, how: bytes = HASH) -> bytes:
    """The octets that the Ed25519 signature of MESSAGE covers."""
    hashed = HASHES[how](message).digest()
    return MAGIC + _string(namespace.encode()) + _string(b"") + _string(how) + _string(hashed)


def blob(key: bytes, namespace: str, octets: bytes, how: bytes = HASH) -> bytes:
    """A signature blob: the signature's OCTETS with the key and the namespace that a reader needs to check them."""
    about = _string(_public(key)) + _string(namespace.encode()) + _string(b"") + _string(how)
    return MAGIC + VERSION.to_bytes(4, "big") + about + _string(_string(KIND) + _string(octets))


def read(octets: bytes) -> Signature:
    """Parse a signature blob."""
    if not octets.startswith(MAGIC + VERSION.to_bytes(4, "big")) or len(octets) > LARGEST:
        raise Malformed("it is not an SSH signature")
    public, rest = _take(octets[len(MAGIC) + 4 :])
    namespace, rest = _take(rest)
    _, rest = _take(rest)
    how, rest = _take(rest)
    signature_part, rest = _take(rest)
    kind, signature_part = _take(signature_part)
    signature, left = _take(signature_part)
    if kind != KIND or how not in HASHES or len(signature) != SIGNATURE_OCTETS or rest or left:
        raise Malformed("it is not an Ed25519 signature")
    return Signature(_key_in(public), namespace.decode("utf-8", "replace"), how, signature)


def armored(octets: bytes) -> str:
    """A signature blob as the text that `ssh-keygen -Y verify` reads."""
    return _in_rows(BEGIN, octets, END)


def unarmored(text: str) -> bytes:
    """The signature blob in the output of `ssh-keygen -Y sign`."""
    _, begin, rest = text.partition(BEGIN)
    body, end, _ = rest.partition(END)
    if not (begin and end):
        raise Malformed("it is not an armored SSH signature")
    return _decoded("".join(body.split()))


# -- private keys, never with a passphrase


def private_text(seed: bytes, key: bytes, comment: str, check: bytes) -> str:
    """A key file in the format of `ssh-keygen`. CHECK is four random octets."""
    secret = check + check + _public(key) + _string(seed + key) + _string(comment.encode())
    secret += bytes(range(1, (-len(secret)) % BLOCK + 1))
    none = _string(b"none")
    octets = KEY_MAGIC + none + none + _string(b"") + (1).to_bytes(4, "big") + _string(_public(key)) + _string(secret)
    return _in_rows(KEY_BEGIN, octets, KEY_END)


def private_key(text: str) -> tuple[bytes, bytes]:
    """The seed and the public key in a key file that has no passphrase."""
    _, begin, rest = text.partition(KEY_BEGIN)
    body, end, _ = rest.partition(KEY_END)
    octets = _decoded("".join(body.split())) if begin and end else b""
    if not octets.startswith(KEY_MAGIC):
        raise Malformed("it is not a private key in OpenSSH's format")
    cipher, rest_of = _take(octets[len(KEY_MAGIC) :])
    if cipher != b"none":
        raise Malformed("it has a passphrase")
    _, rest_of = _take(rest_of)
    _, rest_of = _take(rest_of)
    public, rest_of = _take(rest_of[4:])
    secret, _ = _take(rest_of)
    kind, rest_of = _take(secret[8:])
    key, rest_of = _take(rest_of)
    both, _ = _take(rest_of)
    if kind != KIND or key != _key_in(public) or both[KEY_OCTETS:] != key or len(both) != 2 * KEY_OCTETS:
        raise Malformed(f"it is not an {KIND.decode()} key")
    return both[:KEY_OCTETS], key


# -- encodings


def _in_rows(begin: str, octets: bytes, end: str) -> str:
    """OCTETS in base64, in rows between the lines BEGIN and END."""
    text = base64(octets)
    rows = [text[start : start + KEY_WIDTH] for start in range(0, len(text), KEY_WIDTH)]
    return "\n".join([begin, *rows, end]) + "\n"


def base64(octets: bytes) -> str:
    return b2a_base64(octets, newline=False).decode()


def _decoded(text: str) -> bytes:
    try:
        octets = a2b_base64(text.encode("ascii"), strict_mode=True)
    except (ValueError, UnicodeEncodeError) as error:
        raise Malformed("it is not valid base64") from error
    if base64(octets) != text:
        raise Malformed("its base64 is not canonical")
    return octets


decoded = _decoded


def _string(octets: bytes) -> bytes:
    return len(octets).to_bytes(4, "big") + octets


def _take(octets: bytes) -> tuple[bytes, bytes]:
    """The first string in OCTETS, and the octets after it."""
    length = int.from_bytes(octets[:4], "big")
    if len(octets) < 4 or len(octets) - 4 < length:
        raise Malformed("it ends too early")
    return octets[4 : 4 + length], octets[4 + length :]
