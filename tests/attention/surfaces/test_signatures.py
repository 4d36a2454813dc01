"""Signatures: good ones pass, and no other is told apart from another."""

from __future__ import annotations

import hashlib
import hmac
import sys
from base64 import b64encode
from typing import Any

import pytest

from bb.attention.surfaces import signatures
from bb.attention.surfaces.signatures import BadSecret, BadSignature, NoEd25519, StaleSignature

SENT = 1_795_168_800
NOW = SENT * 1000
MINUTE = 60_000
BODY = b'{"type": "event_callback", "text": "caf\xc3\xa9 \xff"}'  # octets, whether or not they are text
SECRET = "it whistles"
STANDARD_SECRET = "whsec_" + b64encode(b"it whistles, and nobody hears it").decode()


def github(body: bytes = BODY, secret: str = SECRET) -> dict[str, str]:
    return {"X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


def slack(body: bytes = BODY, secret: str = SECRET, sent: str = str(SENT)) -> dict[str, str]:
    signed = hmac.new(secret.encode(), f"v0:{sent}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": sent, "X-Slack-Signature": "v0=" + signed}


def standard(
    body: bytes = BODY, secret: bytes = b"it whistles, and nobody hears it", sent: str = str(SENT)
) -> dict[str, str]:
    signed = hmac.new(secret, f"msg_1.{sent}.".encode() + body, hashlib.sha256).digest()
    return {"webhook-id": "msg_1", "webhook-timestamp": sent, "webhook-signature": "v1," + b64encode(signed).decode()}


SIGNED = {"github": (github, SECRET), "slack": (slack, SECRET), "standard": (standard, STANDARD_SECRET)}
DATED = {name: SIGNED[name] for name in ("slack", "standard")}


@pytest.mark.parametrize("name", SIGNED)
def test_a_good_signature_passes_whatever_the_case_of_the_headers(name: str):
    sign, secret = SIGNED[name]

    signatures.CHECKS[name](sign(), BODY, secret, NOW)
    signatures.CHECKS[name]({key.upper(): value for key, value in sign().items()}, BODY, secret, NOW)


def test_the_published_examples_pass():
    signatures.github(
        {"X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
        b"Hello, World!",
        "It's a Secret to Everybody",
        NOW,
    )
    signatures.standard(
        {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        },
        b'{"test": 2432232314}',
        "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        1_614_265_330_000,
    )


@pytest.mark.parametrize("name", SIGNED)
def test_every_bad_signature_is_refused_in_the_same_words(name: str):
    sign, secret = SIGNED[name]
    good = sign()
    (header,) = [key for key in good if key.lower().endswith(("signature", "signature-256"))]
    attempts: list[tuple[dict[str, str], bytes]] = [
        ({}, BODY),
        (good, BODY + b" "),
        (good, b""),
        (sign(body=b"another"), BODY),
        *[({**good, header: value}, BODY) for value in ("", "v1,", "sha256=", "v0=", "é", "\udcff", good[header][:-1])],
        *[({key: value for key, value in good.items() if key != left_out}, BODY) for left_out in good],
    ]
    refusals = set()
    for headers, body in attempts:
        with pytest.raises(BadSignature.error) as refusal:
            signatures.CHECKS[name](headers, body, secret, NOW)
        refusals.add((refusal.value.code, str(refusal.value), refusal.value.hint, str(refusal.value.details)))

    assert len(refusals) == 1
    assert refusals.pop()[0] == "BAD_SIGNATURE"


@pytest.mark.parametrize("name", DATED)
@pytest.mark.parametrize("late", [0, 5 * MINUTE, -5 * MINUTE])
def test_within_five_minutes_a_signature_is_good(name: str, late: int):
    sign, secret = DATED[name]

    signatures.CHECKS[name](sign(), BODY, secret, NOW + late)


@pytest.mark.parametrize("name", DATED)
def test_an_older_one_is_stale(name: str):
    sign, secret = DATED[name]

    with pytest.raises(StaleSignature.error) as refusal:
        signatures.CHECKS[name](sign(), BODY, secret, NOW + 5 * MINUTE + 1)

    assert refusal.value.code == "STALE_SIGNATURE"


@pytest.mark.parametrize("name", DATED)
def test_an_older_one_that_is_not_good_is_bad_and_not_stale(name: str):
    sign, secret = DATED[name]

    with pytest.raises(BadSignature.error):
        signatures.CHECKS[name](sign(body=b"another"), BODY, secret, NOW + 6 * MINUTE)


@pytest.mark.parametrize("name", DATED)
def test_one_that_is_ahead_of_us_is_bad(name: str):
    sign, secret = DATED[name]

    with pytest.raises(BadSignature.error):
        signatures.CHECKS[name](sign(), BODY, secret, NOW - 5 * MINUTE - 1)


@pytest.mark.parametrize("name", DATED)
@pytest.mark.parametrize("sent", ["", "soon", "-1", "1e9", "１795168800", "9" * 5000])
def test_a_time_that_is_none_is_bad_even_when_it_was_signed(name: str, sent: str):
    sign, secret = DATED[name]

    with pytest.raises(BadSignature.error):
        signatures.CHECKS[name](sign(sent=sent), BODY, secret, NOW)


def test_one_good_signature_of_several_is_enough():
    good = standard()
    old = standard(secret=b"what it was before")["webhook-signature"]

    several = {**good, "webhook-signature": f"v1a,abc {old} {good['webhook-signature']}"}

    signatures.standard(several, BODY, STANDARD_SECRET, NOW)


def test_a_signature_of_another_version_is_none():
    good = standard()

    with pytest.raises(BadSignature.error):
        signatures.standard(
            {**good, "webhook-signature": good["webhook-signature"].replace("v1,", "v2,")}, BODY, STANDARD_SECRET, NOW
        )


@pytest.mark.parametrize(
    ("name", "secret"), [("github", ""), ("slack", ""), ("standard", ""), ("standard", "whsec_"), ("standard", "é!")]
)
def test_a_secret_that_cannot_be_one_is_no_secret(name: str, secret: str):
    with pytest.raises(BadSecret.error):
        signatures.CHECKS[name](SIGNED[name][0](), BODY, secret, NOW)


# -- Discord


def test_without_the_package_discords_signature_is_not_checked_and_it_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    monkeypatch.setitem(sys.modules, signatures.ED25519, None)

    with pytest.raises(NoEd25519.error) as refusal:
        signatures.discord({}, BODY, "00" * 32, NOW)

    assert "pip install cryptography" in str(refusal.value.hint)


@pytest.fixture
def key() -> Any:
    ed25519 = pytest.importorskip(signatures.ED25519)
    return ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def discord(key: Any, body: bytes = BODY, sent: str = str(SENT)) -> dict[str, str]:
    return {"X-Signature-Ed25519": key.sign(sent.encode() + body).hex(), "X-Signature-Timestamp": sent}


def test_discords_signature_is_checked_with_its_public_key(key: Any):
    public = key.public_key().public_bytes_raw().hex()

    signatures.discord(discord(key), BODY, public, NOW)
    with pytest.raises(StaleSignature.error):
        signatures.discord(discord(key), BODY, public, NOW + 6 * MINUTE)
    for headers in ({}, discord(key, b"another"), {**discord(key), "X-Signature-Ed25519": "zz"}):
        with pytest.raises(BadSignature.error):
            signatures.discord(headers, BODY, public, NOW)


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("public", ["", "00", "not hex"])
def test_a_public_key_that_is_none_is_refused(public: str):
    with pytest.raises(BadSecret.error):
        signatures.discord({}, BODY, public, NOW)
