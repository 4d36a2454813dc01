"""Whether a webhook comes from whom it says it does. Checked over the octets as they came, not what they parse to.

A forger learns nothing from a refusal: whatever was wrong, it is the same. Only whoever knows the secret is told that a
delivery is too old, since the age is looked at last.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from importlib import import_module

from bb.attention.surfaces.payload import header
from bb.kernel.clock import MINUTE, SECOND
from bb.kernel.errors import Forbidden, Refused, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Check = Callable[[Mapping[str, str], bytes, str, int], None]

WINDOW = 5 * MINUTE
ED25519 = "cryptography.hazmat.primitives.asymmetric.ed25519"


class BadSignature(Forbidden):
    """The signature does not prove where that comes from."""

    code = "BAD_SIGNATURE"
    hint = "check that the secret is the one the platform signs with, and that the body is stored octet for octet"


class StaleSignature(Forbidden):
    """The signature is good, but older than five minutes."""

    code = "STALE_SIGNATURE"
    hint = "check deliveries when they come; somebody may be sending an old one again"


class BadSecret(Usage):
    """That secret cannot be used to check a signature."""

    code = "BAD_SECRET"
    hint = (
        "copy it from the platform's settings as it stands there: it is not empty, and `whsec_` is followed by base64"
    )


class NoEd25519(Refused):
    """Discord's signatures cannot be checked without the package `cryptography`."""

    code = "ED25519_UNAVAILABLE"
    hint = "it comes with bb; where it is gone: pip install cryptography"


def github(headers: Mapping[str, str], body: bytes, secret: str, now: int) -> None:
    """Refuse, unless GitHub signed BODY with SECRET. It does not sign the time."""
    del now
    expected = "sha256=" + _hmac(_key(secret), body).hex()
    _must_be_same(header(headers, "X-Hub-Signature-256"), expected)


def slack(headers: Mapping[str, str], body: bytes, secret: str, now: int) -> None:
    """Refuse, unless Slack signed BODY with SECRET within the window."""
    sent = header(headers, "X-Slack-Request-Timestamp")
    expected = "v0=" + _hmac(_key(secret), b"v0:" + _octets(sent) + b":" + body).hex()
    _must_be_same(header(headers, "X-Slack-Signature"), expected)
    _must_be_recent(sent, now)


def standard(headers: Mapping[str, str], body: bytes, secret: str, now: int) -> None:
    """Refuse, unless one of the signatures of Standard Webhooks is good, within the window.

    There are several while a secret is being replaced.
    """
    name, sent = header(headers, "webhook-id"), header(headers, "webhook-timestamp")
    signed = b".".join((_octets(name), _octets(sent), body))
    expected = "v1," + b64encode(_hmac(_standard_key(secret), signed)).decode()
    given = header(headers, "webhook-signature").split(" ")
    _must(bool(name) and any(_is_same(each, expected) for each in given))
    _must_be_recent(sent, now)


def discord(headers: Mapping[str, str], body: bytes, public_key: str, now: int) -> None:
    """Refuse, unless Discord signed BODY with the key whose public half is PUBLIC_KEY, within the window."""
    sent = header(headers, "X-Signature-Timestamp")
    try:
        key = import_module(ED25519).Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        invalid = import_module("cryptography.exceptions").InvalidSignature
    except ImportError:
        raise NoEd25519 from None
    except ValueError:
        raise BadSecret from None
    try:
        key.verify(bytes.fromhex(header(headers, "X-Signature-Ed25519")), _octets(sent) + body)
    except (ValueError, invalid):
        raise BadSignature from None
    _must_be_recent(sent, now)


CHECKS: dict[str, Check] = {"github": github, "slack": slack, "discord": discord, "standard": standard}


def _key(secret: str) -> bytes:
    """A secret of no octets would let everybody sign."""
    if not secret:
        raise BadSecret
    return _octets(secret)


def _standard_key(secret: str) -> bytes:
    try:
        key = b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        raise BadSecret from None
    if not key:
        raise BadSecret
    return key


def _hmac(key: bytes, signed: bytes) -> bytes:
    return hmac.digest(key, signed, "sha256")


def _must_be_same(given: str, expected: str) -> None:
    _must(_is_same(given, expected))


def _is_same(given: str, expected: str) -> bool:
    # Texts beyond ASCII cannot be compared in constant time; octets can.
    return hmac.compare_digest(_octets(given), _octets(expected))


def _must_be_recent(sent: str, now: int) -> None:
    """SENT was signed, and so it is the platform's own word. One that is ahead of us is no better than none."""
    _must(sent.isascii() and sent.isdigit() and len(sent) <= 12)
    age = now - int(sent) * SECOND
    if age > WINDOW:
        raise StaleSignature
    _must(age >= -WINDOW)


def _must(holds: bool) -> None:
    if not holds:
        raise BadSignature


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
