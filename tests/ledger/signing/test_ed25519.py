"""Both ways to check a signature say the same."""

from __future__ import annotations

import shutil
import sys

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bb.ledger.signing import ed25519, ssh_signatures
from bb.ledger.signing.ssh_signatures import LEDGER, Signature

NEEDS_SSH = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen")
KEY, OTHER = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2))
TEXT = b"bb ledger v1\n"


def signed(text: bytes = TEXT, how: bytes = b"sha512") -> Signature:
    octets = KEY.sign(ssh_signatures.to_sign(LEDGER, text, how))
    return Signature(KEY.public_key().public_bytes_raw(), LEDGER, how, octets)


def with_order_added(signature: Signature) -> Signature:
    """The same signature in the second form, which OpenSSH accepts and OpenSSL does not."""
    second = int.from_bytes(signature.octets[32:], "little") + ed25519.ORDER
    return signature.replace(octets=signature.octets[:32] + second.to_bytes(32, "little"))


CASES = [
    (signed(), True),
    (signed(how=b"sha256"), True),
    (signed(b"other text"), False),
    (signed().replace(key=OTHER.public_key().public_bytes_raw()), False),
    (signed().replace(octets=bytes(64)), False),
    (signed().replace(key=b"\xff" * 32), False),
    (signed().replace(hash=b"sha256"), False),
    (with_order_added(signed()), False),
]


@NEEDS_SSH
@pytest.mark.parametrize(("signature", "is_valid"), CASES)
def test_ssh_keygen_says_what_cryptography_says(monkeypatch: pytest.MonkeyPatch, signature: Signature, is_valid: bool):
    assert ed25519.is_valid(signature, TEXT) is is_valid
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    assert ed25519.is_valid(signature, TEXT) is is_valid


def test_without_either_it_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(ed25519.CannotVerify.error):
        ed25519.is_valid(signed(), TEXT)
