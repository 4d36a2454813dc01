"""Signatures by Ed25519, the pure variant of RFC 8032, and keys as people write them.

Whatever is read here has one spelling. If a signature or a key could be written in two ways, a copy could differ from
what was signed and still be good, and what is compared by its text would not be compared at all.

`cryptography` is imported by what signs or checks, not with this module: it takes as long as starting Python, and
whoever only reads keys, or meets nothing signed, has no use for it.
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
# The eight points whose order divides 8 have five values of y between them. With such a key one signature fits nearly
# any text, and nobody needs a seed to make it.
EIGHTH = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
SMALL_ORDER = frozenset([0, 1, P - 1, EIGHTH, P - EIGHTH])


class InvalidSignature(Refused):
    """The signature is not good."""

    code = "INVALID_SIGNATURE"
    hint = "the text has changed since it was signed, or another key signed it: ask its author for both again"


class InvalidKey(Usage):
    """That is no key."""

    code = "INVALID_KEY"
    hint = "a key is 44 characters of base64, or 64 hexadecimal digits in lower case"


def public_key(seed: bytes) -> bytes:
    """The public key that belongs to SEED."""
    return _private_key(seed).public_key().public_bytes_raw()


def sign(seed: bytes, octets: bytes) -> str:
    """The signature of OCTETS, in base64."""
    return _base64(_private_key(seed).sign(octets))


def check(signature: str, octets: bytes, key: bytes) -> None:
    """Refuse, unless SIGNATURE was made of OCTETS with the seed that KEY belongs to."""
    from cryptography.exceptions import InvalidSignature as Mismatch  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    raw = _signature(signature)
    try:
        Ed25519PublicKey.from_public_bytes(sound(key)).verify(raw, octets)
    except Mismatch:
        raise InvalidSignature("the signature does not fit this text and this key") from None


def key_of(text: str) -> bytes:
    """The public key that TEXT spells."""
    return sound(_read(text, "public key"))


def seed_of(text: str) -> bytes:
    """The seed that TEXT spells. Nothing that is refused here is repeated: it may be a secret with a slip in it."""
    return _read(text, "seed")


def key_text(key: bytes) -> str:
    """A public key as it is written down and handed on."""
    return _base64(key)


def fingerprint(key: bytes) -> str:
    """What people compare when they talk about a key. It stands for the key nowhere else."""
    digits = digest(key)
    return "-".join(digits[start : start + 4] for start in FINGERPRINT)


def sound(key: bytes) -> bytes:
    """KEY, when it is a point that a seed could have led to."""
    if len(key) != KEY_OCTETS:
        raise InvalidKey(f"a public key has {KEY_OCTETS} octets, not {len(key)}")
    y = int.from_bytes(key, "little") % 2**255  # the last bit is the sign of x
    if y % P in SMALL_ORDER:
        raise InvalidKey("the public key is a point of small order: anybody could sign for it")
    if y >= P:
        raise InvalidKey("the public key is not in its one form: its y is beyond the field")
    if not _is_on_curve(y):
        raise InvalidKey("the public key is no point of the curve")
    return key


def _private_key(seed: bytes) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    if len(seed) != KEY_OCTETS:
        raise InvalidKey(f"a seed has {KEY_OCTETS} octets, not {len(seed)}")
    return Ed25519PrivateKey.from_private_bytes(seed)


def _signature(text: str) -> bytes:
    """The octets of a signature. Adding L to S gives a second one that a careless reader would take for good."""
    if flaw := _flaw(text, SIGNATURE_OCTETS):
        raise InvalidSignature(f"the signature {flaw}")
    raw = a2b_base64(text)
    if int.from_bytes(raw[KEY_OCTETS:], "little") >= L:
        raise InvalidSignature("the signature is not in its one form: its S is not below the order of the curve")
    return raw


def _read(text: str, what: str) -> bytes:
    if len(text) == 2 * KEY_OCTETS:
        if text.strip(HEX_DIGITS):
            raise InvalidKey(f"the {what} has 64 characters that are not all hexadecimal digits in lower case")
        return bytes.fromhex(text)
    if flaw := _flaw(text, KEY_OCTETS):
        raise InvalidKey(f"the {what} {flaw}")
    return a2b_base64(text)


def _flaw(text: str, octets: int) -> str | None:
    """What keeps TEXT from being the one way to write so many OCTETS in base64."""
    characters, padding = -(-octets // 3) * 4, "=" * (-octets % 3)
    if any(map(str.isspace, text)):
        return "has whitespace in it"
    if len(text) != characters:
        return f"has {len(text)} characters in place of {characters}"
    if text.strip(BASE64 + "="):
        return "has a character that is not in base64's standard alphabet"
    if text.find("=") != characters - len(padding) or not text.endswith(padding):
        return f"must end in `{padding}`, and have no `=` before that"
    if _base64(a2b_base64(text)) != text:
        return "has bits set in its last character that say nothing"
    return None


def _base64(octets: bytes) -> str:
    return b2a_base64(octets, newline=False).decode("ascii")


def _is_on_curve(y: int) -> bool:
    """Whether there is an x for Y: x² = (y² - 1) / (dy² + 1), and a quotient is a square where the product is one."""
    return pow((y * y - 1) * (D * y * y + 1), (P - 1) // 2, P) == 1
