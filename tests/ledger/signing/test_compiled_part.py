"""The compiled part of the signature library signs as the library does."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bb.ledger.signing import keys

SEED, MESSAGE = bytes(range(32)), b"a line"


def test_the_compiled_part_signs_as_the_library_does():
    from_seed = keys.ed25519()

    assert from_seed(SEED).sign(MESSAGE) == Ed25519PrivateKey.from_private_bytes(SEED).sign(MESSAGE)
