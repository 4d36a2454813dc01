"""What links one line to the next."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.digest import HEX_LENGTH, NOTHING, digest


@pytest.mark.parametrize(
    ("octets", "hexes"),
    [
        (b"", "e3b0c44298fc1c149afbf4c8996fb924"),
        (b"abc", "ba7816bf8f01cfea414140de5dae2223"),
        (b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "248d6a61d20638b8e5c026930c3e6039"),
    ],
)
def test_it_is_the_first_half_of_sha_256(octets: bytes, hexes: str):
    assert digest(octets) == hexes


@given(st.binary())
def test_whichever_implementation_computes_it_the_digest_is_the_same(octets: bytes):
    assert digest(octets) == hashlib.sha256(octets).hexdigest()[:HEX_LENGTH]


def test_a_chain_begins_with_128_bits_of_nothing():
    assert NOTHING == "00000000000000000000000000000000"
    assert len(digest(b"")) == len(NOTHING) == HEX_LENGTH == 32
