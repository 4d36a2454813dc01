"""Ed25519 signatures (the pure variant of RFC 8032), and keys as text.

Every signature and every key has exactly one valid spelling. Otherwise a copy could differ from the signed text and
still be valid, and comparing two keys or signatures by their text would be unsafe.

`cryptography` is imported inside the functions that sign or check. Importing it takes as long as starting Python, and
most commands do not need it.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64

from bb.kernel.digest import digest
from bb.kernel.errors import Refused, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_OCTETS, SIGNATURE_OCTETS = 32, 64
HEX_DIGITS = "0123456789abcdef"
BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
FINGERPRINT = range(0, 20, 4)  # five groups of four digits

# Edwards25519 (RFC 8032 §5.1): the field, the order of the base point, and the curve -x² + y² = 1 + dx²y².
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
# The eight points whose order divides 8 share five values of y. With such a key, one signature matches nearly any
# text, and can be made without a seed.
EIGHTH = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
SMALL_ORDER = frozenset([0, 1, P - 1, EIGHTH, P - EIGHTH])

InvalidSignature = Refused.declare(
    "INVALID_SIGNATURE",
    "The signature is not valid",
    hint="the text was changed after signing, or another key signed it: ask the author for the signed text again",
)

InvalidKey = Usage.declare(
    "INVALID_KEY",
    "The key is not valid",
    hint="write the key as 44 characters of base64 or as 64 lower-case hexadecimal digits",
)


def public_key(seed: bytes) -> bytes:
    """The public key that belongs to SEED."""
    return _private_key(seed).public_key().public_bytes_raw()


def sign(seed: bytes, octets: bytes) -> str:
    """The signature of OCTETS, in base64."""
    return _base64(_private_key(seed).sign(octets))


def check(signature: str, octets: bytes, key: bytes) -> None:
    """Refuse, unless SIGNATURE was made from OCTETS with the seed of KEY."""
    from cryptography.exceptions import InvalidSignature as Mismatch  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    raw = _signature(signature)
    try:
        Ed25519PublicKey.from_public_bytes(checked_key(key)).verify(raw, octets)
    except Mismatch:
        raise InvalidSignature("the signature does not match this text and this key") from None


def key_of(text: str) -> bytes:
    """The public key in TEXT."""
    return checked_key(_read(text, "public key"))


def seed_of(text: str) -> bytes:
    """The seed in TEXT. A refusal never repeats the text: it may be a secret with a typing error."""
    return _read(text, "seed")


def key_text(key: bytes) -> str:
    """A public key in base64."""
    return _base64(key)


def fingerprint(key: bytes) -> str:
    """A short digest of a key, for people to compare. It never replaces the key."""
    digits = digest(key)
    return "-".join(digits[start : start + 4] for start in FINGERPRINT)


def checked_key(key: bytes) -> bytes:
    """KEY, if it is a valid public key."""
    if len(key) != KEY_OCTETS:
        raise InvalidKey(f"a public key has {KEY_OCTETS} octets, not {len(key)}")
    y = int.from_bytes(key, "little") % 2**255  # the last bit is the sign of x
    if y % P in SMALL_ORDER:
        raise InvalidKey("the public key is a point of small order: anyone could sign for it")
    if y >= P:
        raise InvalidKey("the public key is not in canonical form: its y is not below the field prime")
    if not _is_on_curve(y):
        raise InvalidKey("the public key is not a point of the curve")
    return key


def _private_key(seed: bytes) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    if len(seed) != KEY_OCTETS:
        raise InvalidKey(f"a seed has {KEY_OCTETS} octets, not {len(seed)}")
    return Ed25519PrivateKey.from_private_bytes(seed)


def _signature(text: str) -> bytes:
    """The octets of a signature. S must be below L: a lax verifier would also accept S + L."""
    if flaw := _flaw(text, SIGNATURE_OCTETS):
        raise InvalidSignature(f"the signature {flaw}")
    raw = a2b_base64(text)
    if int.from_bytes(raw[KEY_OCTETS:], "little") >= L:
        raise InvalidSignature("the signature is not in canonical form: its S is not below the order of the curve")
    return raw


def _read(text: str, what: str) -> bytes:
    if len(text) == 2 * KEY_OCTETS:
        if text.strip(HEX_DIGITS):
            raise InvalidKey(f"the {what} has 64 characters, but not all are lower-case hexadecimal digits")
        return bytes.fromhex(text)
    if flaw := _flaw(text, KEY_OCTETS):
        raise InvalidKey(f"the {what} {flaw}")
    return a2b_base64(text)


def _flaw(text: str, octets: int) -> str | None:
    """Why TEXT is not the canonical base64 of this number of OCTETS; None if it is."""
    characters, padding = -(-octets // 3) * 4, "=" * (-octets % 3)
    if any(map(str.isspace, text)):
        return "contains whitespace"
    if len(text) != characters:
        return f"has {len(text)} characters instead of {characters}"
    if text.strip(BASE64 + "="):
        return "has a character outside the standard base64 alphabet"
    if text.find("=") != characters - len(padding) or not text.endswith(padding):
        return f"must end in `{padding}` and have no `=` before that"
    if _base64(a2b_base64(text)) != text:
        return "is not canonical base64: unused bits of its last character are set"
    return None


def _base64(octets: bytes) -> str:
    return b2a_base64(octets, newline=False).decode("ascii")


def _is_on_curve(y: int) -> bool:
    """Whether x² = (y² - 1) / (dy² + 1) has a solution. A quotient is a square exactly if the product is one."""
    return pow((y * y - 1) * (D * y * y + 1), (P - 1) // 2, P) == 1
