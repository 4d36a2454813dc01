"""Signatures and keys: those of RFC 8032 come out as it prints them, and each has one spelling."""

from __future__ import annotations

import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import NamedTuple

import pytest

from bb.cbcl.judge import signatures
from bb.cbcl.judge.signatures import InvalidKey, InvalidSignature
from tests.support import ROOT

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P

Point = tuple[int, int]


class Vector(NamedTuple):
    """One of the examples of RFC 8032 §7.1."""

    seed: str
    key: str
    text: str
    signature: str


VECTORS = {
    "TEST 1": Vector(
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    "TEST 2": Vector(
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    "TEST 3": Vector(
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    "TEST SHA(abc)": Vector(
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"
        "09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ),
}
SEED = bytes.fromhex(VECTORS["TEST 2"].seed)
KEY = bytes.fromhex(VECTORS["TEST 2"].key)
TEXT = b"(6:define8:planning)"
SIGNATURE = signatures.sign(SEED, TEXT)


def refusal_of(signature: str, octets: bytes = TEXT, key: bytes = KEY) -> str:
    with pytest.raises(InvalidSignature.error) as refusal:
        signatures.check(signature, octets, key)
    assert refusal.value.code == "INVALID_SIGNATURE"
    return refusal.value.message


def refusal_of_key(text: str) -> str:
    with pytest.raises(InvalidKey.error) as refusal:
        signatures.key_of(text)
    assert refusal.value.code == "INVALID_KEY"
    return refusal.value.message


def base64(octets: bytes) -> str:
    return b64encode(octets).decode()


# -- signing and checking


@pytest.mark.parametrize("vector", VECTORS.values(), ids=VECTORS)
def test_rfc_8032_examples_are_signed_and_checked_as_they_are_printed(vector: Vector):
    seed, key, text, signature = map(bytes.fromhex, vector)

    assert signatures.public_key(seed) == key
    assert signatures.sign(seed, text) == base64(signature)
    signatures.check(base64(signature), text, key)


def test_a_signature_is_88_characters_of_base64():
    assert len(SIGNATURE) == 88
    assert len(b64decode(SIGNATURE, validate=True)) == 64


@pytest.mark.parametrize("place", [0, 31, 32, 62])
def test_a_signature_with_one_bit_changed_is_not_good(place: int):
    octets = bytearray(b64decode(SIGNATURE))
    octets[place] ^= 1

    assert refusal_of(base64(bytes(octets))) == "the signature does not match this text and this key"


def test_another_text_or_another_key_is_not_what_was_signed():
    assert "does not match" in refusal_of(SIGNATURE, TEXT + b" ")
    assert "does not match" in refusal_of(SIGNATURE, b"")
    assert "does not match" in refusal_of(SIGNATURE, key=signatures.public_key(b"\1" * 32))


@pytest.mark.parametrize("times", [1, 2, 14])
def test_adding_the_order_to_s_makes_no_second_signature(times: int):
    """RFC 8032 §5.1.7. S is not negated by that: (R, -S) is no signature of anything."""
    octets = b64decode(SIGNATURE)
    s = int.from_bytes(octets[32:], "little") + times * L

    assert "S is not below the order" in refusal_of(base64(octets[:32] + s.to_bytes(32, "little")))


@pytest.mark.parametrize("s", [L, L + 1, 2**256 - 1])
def test_s_is_below_the_order(s: int):
    assert "S is not below the order" in refusal_of(base64(bytes(32) + s.to_bytes(32, "little")))


@pytest.mark.parametrize("s", [0, 1, L - 1])
def test_an_s_below_the_order_is_left_to_the_curve(s: int):
    assert "does not match" in refusal_of(base64(bytes(32) + s.to_bytes(32, "little")))


# -- one spelling


SLIPS: dict[str, tuple[Callable[[str], str], str]] = {
    "nothing": (lambda text: "", "characters instead of"),
    "one character less": (lambda text: text[1:], "characters instead of"),
    "one character more": (lambda text: "A" + text, "characters instead of"),
    "no padding": (lambda text: text.rstrip("="), "characters instead of"),
    "a line break at its end": (lambda text: text + "\n", "whitespace"),
    "a space before it": (lambda text: " " + text, "whitespace"),
    "a space in place of a character": (lambda text: text[:9] + " " + text[10:], "whitespace"),
    "a line break within": (lambda text: text[:20] + "\n" + text[21:], "whitespace"),
    "a no-break space": (lambda text: text[:9] + "\xa0" + text[10:], "whitespace"),
    "the alphabet for addresses": (lambda text: "-_" + text[2:], "alphabet"),
    "a NUL": (lambda text: text[:9] + "\0" + text[10:], "alphabet"),
    "a letter that looks like another": (lambda text: text[:9] + "\u0410" + text[10:], "alphabet"),
    "half a surrogate pair": (lambda text: text[:9] + "\ud800" + text[10:], "alphabet"),
    "a comma at its end": (lambda text: text[:-1] + ",", "alphabet"),
    "padding within": (lambda text: text[:9] + "=" + text[10:], "must end in"),
    "too much padding": (lambda text: text[: text.index("=") - 1] + "=" + text[text.index("=") :], "must end in"),
    "a letter in place of padding": (lambda text: text[:-1] + "A", "must end in"),
}
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


@pytest.mark.parametrize(("slip", "said"), SLIPS.values(), ids=SLIPS)
def test_a_signature_has_one_spelling(slip: Callable[[str], str], said: str):
    assert said in refusal_of(slip(SIGNATURE))


@pytest.mark.parametrize(("slip", "said"), SLIPS.values(), ids=SLIPS)
def test_a_key_has_one_spelling_in_base64(slip: Callable[[str], str], said: str):
    assert said in refusal_of_key(slip(signatures.key_text(KEY)))


def test_bits_that_say_nothing_are_zero():
    """Of the sixteen ways to write the last octet of a signature fifteen are refused; of a key's four, three."""
    last = SIGNATURE[85]
    others = [SIGNATURE[:85] + letter + "==" for letter in ALPHABET if letter != last]
    same = [text for text in others if b64decode(text) == b64decode(SIGNATURE)]
    key = signatures.key_text(KEY)
    same_key = [key[:42] + letter + "=" for letter in ALPHABET if b64decode(key[:42] + letter + "=") == KEY]

    assert len(same) == 15
    assert all("unused bits" in refusal_of(text) for text in same)
    assert len(same_key) == 4
    assert all("unused bits" in refusal_of_key(text) for text in same_key if text != key)


def test_a_signature_as_long_as_a_message_may_be_is_refused_as_shortly_as_any():
    assert len(refusal_of("A" * (1 << 20))) < 100


# -- keys


def test_a_key_is_read_as_it_is_written():
    text = signatures.key_text(KEY)

    assert len(text) == 44
    assert signatures.key_of(text) == KEY
    assert signatures.key_of(KEY.hex()) == KEY


@pytest.mark.parametrize(
    "text",
    [KEY.hex().upper(), KEY.hex()[:-1] + "g", KEY.hex()[:-1] + "\n", "0x" + KEY.hex()[2:], "٣" * 64],
    ids=["capitals", "another letter", "a line break", "a prefix", "other digits"],
)
def test_a_key_in_hexadecimal_has_one_spelling_too(text: str):
    assert "lower-case hexadecimal digits" in refusal_of_key(text)


@pytest.mark.parametrize("octets", [0, 1, 31, 33, 64])
def test_a_key_has_32_octets(octets: int):
    refusal_of_key(base64(bytes(octets)))
    with pytest.raises(InvalidKey.error, match="32 octets"):
        signatures.checked_key(bytes(octets))
    with pytest.raises(InvalidKey.error, match="32 octets"):
        signatures.sign(bytes(octets), TEXT)


def test_a_key_is_a_point_of_the_curve():
    """Half of all numbers are the y of a point; those that are not are told by looking for an x."""
    for y in range(2, 60):
        octets = y.to_bytes(32, "little")
        if points(y):
            assert signatures.key_of(octets.hex()) == octets
        else:
            assert "not a point of the curve" in refusal_of_key(octets.hex())


@pytest.mark.parametrize("sign", [0, 1], ids=["x even", "x odd"])
@pytest.mark.parametrize("beyond", range(19))
def test_a_y_beyond_the_field_is_not_written_so(beyond: int, sign: int):
    """Nineteen numbers below 2^255 are not below 2^255 - 19; the first two stand for points of small order."""
    octets = (P + beyond | sign << 255).to_bytes(32, "little")

    assert ("small order" if beyond < 2 else "not in canonical form") in refusal_of_key(octets.hex())


# As published lists give them: eight points, four of which can be written in more than one way.
SMALL_ORDER = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
]


@pytest.mark.parametrize("octets", SMALL_ORDER)
def test_a_point_of_small_order_is_no_key(octets: str):
    assert "small order" in refusal_of_key(octets)
    assert "small order" in refusal_of_key(base64(bytes.fromhex(octets)))


@pytest.mark.parametrize("octets", SMALL_ORDER)
def test_the_list_of_small_points_is_right(octets: str):
    """Eight times such a point is the neutral element, by the addition that RFC 8032 §5.1.4 defines."""
    y = int.from_bytes(bytes.fromhex(octets), "little") % 2**255 % P

    assert points(y)
    assert all(eight_times(point) == (0, 1) for point in points(y))


def test_no_other_points_have_a_small_order():
    """Points that are added to points of small order give one again: there are eight, and the list has them all."""
    small = {point for octets in SMALL_ORDER for point in points(int.from_bytes(bytes.fromhex(octets), "little") % P)}
    canonical = {point for point in small if eight_times(point) == (0, 1)}

    assert len(canonical) == 8
    assert {added(one, other) for one in canonical for other in canonical} == canonical


def test_with_a_small_point_for_a_key_anybody_could_sign_so_it_checks_nothing():
    """R the neutral element and S = 0 fit every text under that key; what is broken is the key, not the signature."""
    neutral = bytes.fromhex(SMALL_ORDER[0])
    forged = base64(neutral + bytes(32))

    with pytest.raises(InvalidKey.error, match="small order"):
        signatures.check(forged, TEXT, neutral)


def test_people_compare_a_short_form():
    other = signatures.public_key(b"\1" * 32)

    assert len(signatures.fingerprint(KEY)) == 24
    assert [len(group) for group in signatures.fingerprint(KEY).split("-")] == [4] * 5
    assert signatures.fingerprint(KEY) == signatures.fingerprint(KEY)
    assert signatures.fingerprint(KEY) != signatures.fingerprint(other)


# -- seeds


def test_a_seed_is_read_in_both_spellings():
    assert signatures.seed_of(SEED.hex()) == SEED
    assert signatures.seed_of(base64(SEED)) == SEED
    assert signatures.seed_of("00" * 32) == bytes(32)  # any 32 octets are a seed; not all are a key


@pytest.mark.parametrize(
    "text",
    [SEED.hex().upper(), SEED.hex()[:-1], base64(SEED) + "\n", base64(SEED).rstrip("="), SEED.hex()[:-1] + "é", ""],
)
def test_a_seed_with_a_slip_in_it_is_not_repeated(text: str):
    with pytest.raises(InvalidKey.error) as refusal:
        signatures.seed_of(text)

    said = f"{refusal.value} {refusal.value.hint} {refusal.value.details}"
    assert not any(text[start : start + 8] in said for start in range(len(text) - 8))


# -- what it costs


def test_who_only_reads_keys_does_not_wait_for_cryptography():
    program = (
        "import sys; from bb.cbcl.judge import signatures, trust\n"
        f"signatures.key_of({KEY.hex()!r})\n"
        "sys.exit(any(name.split('.')[0] == 'cryptography' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0


# -- a second opinion: the curve by its definition


def points(y: int) -> list[Point]:
    """The points of the curve that have this y."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    return sorted({(x, y), (-x % P, y)}) if x * x % P == square else []


def added(one: Point, other: Point) -> Point:
    (x1, y1), (x2, y2) = one, other
    product = D * x1 * x2 * y1 * y2
    x = (x1 * y2 + x2 * y1) * pow(1 + product, -1, P) % P
    return x, (y1 * y2 + x1 * x2) * pow(1 - product, -1, P) % P


def eight_times(point: Point) -> Point:
    for _ in range(3):
        point = added(point, point)
    return point
