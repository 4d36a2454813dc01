"""Verifies the signature of a webhook, over the bytes as they were received, not over the parsed payload.

All invalid signatures get the same refusal, so a forger learns nothing from it. The age is checked last, so only a
sender who knows the secret learns that a delivery is too old.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from importlib import import_module

from bb.attention.surfaces.payload import header
from bb.kernel.clock import MINUTE, SECOND
from bb.kernel.errors import Forbidden, Refused, Usage

Check = Callable[[Mapping[str, str], bytes, str, int], None]

WINDOW = 5 * MINUTE
ED25519 = "cryptography.hazmat.primitives.asymmetric.ed25519"

BadSignature = Forbidden.declare(
    "BAD_SIGNATURE",
    "The signature of the webhook is not valid",
    hint="check that the secret is the one the platform signs with, and that the body was stored byte for byte",
)

StaleSignature = Forbidden.declare(
    "STALE_SIGNATURE",
    "The signature is valid, but older than five minutes",
    hint="check deliveries when they arrive; an old delivery may have been sent again by an attacker",
)

BadSecret = Usage.declare(
    "BAD_SECRET",
    "The secret cannot be used to check a signature",
    hint="copy it exactly from the platform's settings: it must not be empty, and `whsec_` must be followed by base64",
)

NoEd25519 = Refused.declare(
    "ED25519_UNAVAILABLE",
    "Discord's signatures cannot be checked, because the package `cryptography` is missing",
    hint="install it: pip install cryptography",
)


def github(headers: Mapping[str, str], body: bytes, secret: str, now: int) -> None:
    """Refuse unless GitHub signed BODY with SECRET. GitHub does not sign the time."""
    del now
    expected = "sha256=" + _hmac(_key(secret), body).hex()
    _must_be_same(header(headers, "X-Hub-Signature-256"), expected)


def slack(headers: Mapping[str, str], body: bytes, secret: str, now: int) -> None:
    """Refuse unless Slack signed BODY with SECRET within the window."""
    sent = header(headers, "X-Slack-Request-Timestamp")
    expected = "v0=" + _hmac(_key(secret), b"v0:" + _octets(sent) + b":" + body).hex()
    _must_be_same(header(headers, "X-Slack-Signature"), expected)
    _must_be_recent(sent, now)


def standard(headers: Mapping[str, str], body: bytes, secret: str, now: int) -> None:
    """Refuse unless one of the signatures of Standard Webhooks is valid and within the window.

    There are several while a secret is being replaced.
    """
    name, sent = header(headers, "webhook-id"), header(headers, "webhook-timestamp")
    signed = b".".join((_octets(name), _octets(sent), body))
    expected = "v1," + b64encode(_hmac(_standard_key(secret), signed)).decode()
    candidates = header(headers, "webhook-signature").split(" ")
    _must(bool(name) and any(_is_same(candidate, expected) for candidate in candidates))
    _must_be_recent(sent, now)


def discord(headers: Mapping[str, str], body: bytes, public_key: str, now: int) -> None:
    """Refuse unless Discord signed BODY, with the key that belongs to PUBLIC_KEY, within the window."""
    sent = header(headers, "X-Signature-Timestamp")
    try:
        key = import_module(ED25519).Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        invalid = import_module("cryptography.exceptions").InvalidSignature
    except ImportError:
        raise NoEd25519() from None
    except ValueError:
        raise BadSecret() from None
    try:
        key.verify(bytes.fromhex(header(headers, "X-Signature-Ed25519")), _octets(sent) + body)
    except (ValueError, invalid):
        raise BadSignature() from None
    _must_be_recent(sent, now)


CHECKS: dict[str, Check] = {"github": github, "slack": slack, "discord": discord, "standard": standard}


def _key(secret: str) -> bytes:
    """The secret as bytes. With an empty secret anyone could sign, so it is refused."""
    if not secret:
        raise BadSecret()
    return _octets(secret)


def _standard_key(secret: str) -> bytes:
    try:
        key = b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        raise BadSecret() from None
    if not key:
        raise BadSecret()
    return key


def _hmac(key: bytes, signed: bytes) -> bytes:
    return hmac.digest(key, signed, "sha256")


def _must_be_same(given: str, expected: str) -> None:
    _must(_is_same(given, expected))


def _is_same(given: str, expected: str) -> bool:
    # compare_digest takes only ASCII strings, but any bytes.
    return hmac.compare_digest(_octets(given), _octets(expected))


def _must_be_recent(sent: str, now: int) -> None:
    """Refuse if SENT, the signed time, is too old. A time too far in the future makes the signature invalid."""
    _must(sent.isascii() and sent.isdigit() and len(sent) <= 12)
    age = now - int(sent) * SECOND
    if age > WINDOW:
        raise StaleSignature()
    _must(age >= -WINDOW)


def _must(holds: bool) -> None:
    if not holds:
        raise BadSignature()


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
