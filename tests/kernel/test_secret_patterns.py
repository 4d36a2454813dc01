"""Secrets are found before they enter the ledger, and masked in what people paste elsewhere.

Every example is put together from pieces, so that this file holds no secret that a scanner would know.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bb.kernel.secret_patterns import (
    BESIDE,
    MARKS,
    TO_VALUE,
    TOKENS,
    SecretFound,
    found,
    found_in,
    masked,
    refuse_secrets,
)
from tests.grids import grid
from tests.support import ROOT

DATA = Path(__file__).parent.parent / "data" / "secrets"
SPLIT = "·"  # what keeps the scanners of code hosts from taking the examples for secrets


def corpus(name: str) -> list[str]:
    lines = (DATA / name).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("# ")]


TRUE = [tuple(line.replace(SPLIT, "").split(" | ", 1)) for line in corpus("true.txt")]
FALSE = corpus("false.txt")

# (kind, the mark and what it needs to follow, the secret part itself); each is as short as its kind may be
EXAMPLES = [
    ("private key", "-----" + "BEGIN ", "PRIVATE" + " KEY-----\nMIIEowIBAAKCAQEA"),
    ("private key", "-----" + "BEGIN ", "EC " + "PRIVATE" + " KEY-----\nMIIEowIBAAKCAQEA"),
    ("private key", "-----" + "BEGIN ", "OPENSSH " + "PRIVATE" + " KEY-----\nMIIEowIBAAKCAQEA"),
    ("AWS access key", "AK" + "IA", "Q0W1E2R3T4Y5U6I7"),
    ("AWS temporary key", "AS" + "IA", "Q0W1E2R3T4Y5U6I7"),
    *(("GitHub token", "gh" + letter + "_", "aZ09" * 9) for letter in "posur"),
    ("GitHub token", "github" + "_pat_", "aZ0_9" * 10),
    ("GitLab token", "gl" + "pat-", "aZ_09-bY1x" * 2),
    *(("Slack token", "xo" + "x" + letter + "-", "12345-abcd") for letter in "abcdeoprs"),
    ("Slack webhook", "hooks.slack" + ".com/services/", "T0Z/B9A/x"),
    ("Anthropic key", "sk" + "-ant-", "aZ_09-bY1x" * 2),
    ("OpenAI key", "sk" + "-proj-", "aZ_09-bY1x" * 2),
    ("OpenAI key", "sk" + "-", "aZ09" * 10),
    *(("Stripe key", letter + "k_li" + "ve_", "aZ09x" * 4) for letter in "sr"),
    ("Google key", "AI" + "za", "aZ-0_" * 7),
    ("npm token", "np" + "m_", "aZ09" * 9),
    ("PyPI token", "pypi" + "-AgEI", "aZ_09-bY1x" * 2),
    ("JSON web token", "ey" + "J", "hbGciOiJ_-" + ".ey" + "J" + "zdWIiOiI_-" + "." + "c2lnbmF0_-"),
    ("password in a URL", "https:" + "//", "u:abc" + "@"),
    ("password in a URL", "postgres:" + "//", "amber:hunter2!" + "@"),
]
EACH = pytest.mark.parametrize(("kind", "mark", "rest"), EXAMPLES)


def test_every_row_of_the_table_has_an_example():
    for kind, mark in [
        *((kind, mark) for kind, mark, _ in TOKENS),
        *((kind, marks) for kind, marks, _ in BESIDE),
    ]:
        marks = [mark] if isinstance(mark, str) else mark
        assert [1 for of, text in TRUE if of == kind and any(each in text for each in marks)], (kind, mark)


def test_there_are_more_than_forty_families_and_every_example_is_of_one():
    families = {kind for kind, *_ in (*TOKENS, *BESIDE)}
    assert len(families) >= 40
    assert {kind for kind, _ in TRUE} == families


def test_no_example_stands_in_the_file_as_it_is():
    for line in corpus("true.txt"):
        assert found(line.split(" | ", 1)[1]) == [], line[:40]


@pytest.mark.parametrize(("kind", "text"), TRUE, ids=[f"{kind} {place}" for place, (kind, _) in enumerate(TRUE)])
def test_every_example_of_the_corpus_is_found_wherever_it_stands_and_masked(kind: str, text: str):
    for around in ("{}", "see {} ok", "one\n{}\nthree", "key={}", '"{}"', "(`{}`)"):
        assert kind in found(around.format(text)), around
        shown = masked(around.format(text))
        assert f"[{kind}]" in shown
        assert found(shown) == []
    written = json.dumps({"body": f"see {text} ok"})
    assert kind in found(written)
    assert found(masked(written)) == []
    for octets in (
        text.encode(),
        b"\x89PNG\r\n" + text.encode() + b"\0\xff",
        *map(text.encode, ("utf-16", "utf-32-be")),
    ):
        assert kind in found_in(octets)


@pytest.mark.parametrize(("kind", "text"), TRUE, ids=[f"{kind} {place}" for place, (kind, _) in enumerate(TRUE)])
def test_every_example_is_found_and_masked_in_json_that_stands_in_json(kind: str, text: str):
    """As a program writes what another one answered: a quotation mark has 1, 3, 7 backslashes by then."""
    for _ in range(3):
        text = json.dumps({"body": text})
        assert kind in found(text)
        assert found(masked(text)) == []


def test_the_password_of_a_docker_config_is_found_however_deep_it_is_nested():
    text = json.dumps({"auths": {"registry.example": {"au" + "th": "bXlib3Q6czNjcjN0" + "UGFzc3cwcmRYOQ=="}}})
    for _ in range(5):
        assert found(text) == ["registry password"]
        assert "bXlib3Q6" not in masked(text)
        text = json.dumps({"body": text})


@pytest.mark.parametrize("text", FALSE)
def test_nothing_of_the_other_corpus_is_taken_for_a_secret(text: str):
    assert found(text) == []
    assert masked(text) == text
    assert found_in(text.encode("utf-16")) == []


def test_a_large_file_of_bytes_at_random_holds_no_secret():
    assert found_in(random.Random(7).randbytes(2 << 20)) == []


def test_an_aws_secret_beside_its_id_is_masked_and_the_words_between_stay():
    name, secret = "AK" + "IA" + "Q0W1E2R3T4Y5U6I7", "aZ09/bY1x+" * 4
    assert masked(f"id {name} with {secret} ok") == "id [AWS access key] with [AWS secret key] ok"
    assert found(f"{secret}") == []  # by itself nothing tells it from a hash


def test_a_header_keeps_its_name_and_loses_its_value():
    assert masked("Authorization: Bearer " + "aZ09-" * 8 + "\nAccept: */*") == (
        "Authorization: Bearer [authorization header]\nAccept: */*"
    )


@pytest.mark.parametrize("text", ["task-12", "TASK-12 in src/parser", "pattern-matching", "see https://example.org/a"])
def test_a_word_that_only_begins_like_a_secret_does_not_cost_the_import_of_re(text: str):
    code = (
        "import sys; sys.modules.pop('re', None); from bb.kernel.secret_patterns import found;"
        f"assert found({text!r}) == []; assert 're' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@EACH
@pytest.mark.parametrize("around", ["{}", "the key is {} ok", '"{}"', "one\n{}\nthree", "\\u00e9{}", "={}"])
def test_a_secret_is_found_and_named_for_its_kind(kind: str, mark: str, rest: str, around: str):
    assert found(around.format(mark + rest)) == [kind]


@EACH
def test_a_secret_is_masked_and_the_words_around_it_stay(kind: str, mark: str, rest: str):
    shown = masked(f"before {mark}{rest} between {mark}{rest} after")

    assert rest not in shown
    assert shown.count(f"[{kind}]") == 2
    assert shown.startswith("before ")
    assert " between " in shown
    assert shown.endswith(" after")
    assert found(shown) == []


@EACH
def test_what_follows_a_secret_without_a_break_is_masked_with_it(kind: str, mark: str, rest: str):
    tail = "_/+=-" if kind.startswith("AWS") else "Zz9_/+=-"
    assert tail not in masked(f"{mark}{rest}{tail} after")


@EACH
def test_what_is_too_short_to_be_a_secret_is_none(kind: str, mark: str, rest: str):
    shorter = mark + (rest.replace("abc", "ab").replace("hunter2!", "h") if kind == "password in a URL" else rest[:-1])
    assert found(shorter) == []
    assert masked(shorter) == shorter


def test_a_private_key_is_masked_with_all_of_its_lines():
    name = "RSA " + "PRIVATE" + " KEY"
    body = "\n".join(["MIIEowIBAAKCAQEA" * 4] * 3)
    pem = f"-----BEGIN {name}-----\n{body}\n-----END {name}-----"

    shown = masked(f"before\n{pem}\nafter")

    assert "MIIE" not in shown
    assert shown.startswith("before\n[private key]")
    assert shown.endswith("\nafter")


@pytest.mark.parametrize("end", ["", "\n-----END ", "\n-----END PRIVATE" + " KEY----"])
def test_a_private_key_that_was_cut_off_is_masked_as_far_as_it_goes(end: str):
    begin = "-----" + "BEGIN PRIVATE" + " KEY-----"
    shown = masked(f"{begin}\n" + "MIIEowIBAAKCAQEA\n" * 3 + "MIIEowIBAAKCAQEA" + end)
    assert "MIIE" not in shown
    assert shown.startswith("[private key]")


def test_a_private_key_inside_json_is_masked_with_all_of_its_lines():
    name = "PRIVATE" + " KEY"
    pem = f"-----BEGIN {name}-----\nMIIEowIBAAKCAQEA\nMIIEowIB\n-----END {name}-----"
    assert masked(json.dumps({"body": pem, "by": "ada"})) == '{"body": "[private key]", "by": "ada"}'


@pytest.mark.parametrize("escape", ["\\n", "\\t", "\\r", "\\u000b"])
def test_a_secret_behind_an_escape_of_json_is_found(escape: str):
    assert found('{"body":"one' + escape + "np" + "m_" + "aZ09" * 9 + '"}') == ["npm token"]


def test_several_kinds_are_all_found_each_once_and_in_order():
    npm, google = "np" + "m_" + "aZ09" * 9, "AI" + "za" + "aZ-0_" * 7
    assert found(f"{npm} {google} {npm}") == ["Google key", "npm token"]
    assert masked(f"{npm} {google}") == "[npm token] [Google key]"


ORDINARY = [
    "",
    "Fix the parser; see docs/decisions/0002-records.md",
    "3f786850e387550fdab836ed7e6dc881de23001b",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "git@github.com:beadboard/bb.git",
    "ssh://git@example.org:22/srv/repo.git",
    "https://example.org:8443/a@b?c=d",
    "https://example.org/path:with@signs",
    "https://user@example.org/",
    "mail ada@example.org: done",
    "the mask-image and disk-usage of sk-learn, risk-free",
    "AKIAs and ASIA are not keys: ASIA-PACIFIC",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "ghp_short and npm_config_registry, github_pat_",
    "eyJust a word. eyJ.eyJ.eyJ",
    "xoxo-hugs, xoxo",
    "k_live_show",
    "pypi-AgEI",
    "sk-ant-hill",
    "\x00\ud800",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_holds_no_secret(text: str):
    assert found(text) == []
    assert masked(text) == text
    refuse_secrets(text)


@pytest.mark.parametrize("word", ["task-", "disk-", "feature/risk-"])
def test_a_word_that_ends_like_a_mark_and_a_commit_are_no_key(word: str):
    assert found(f"branch {word}3f786850e387550fdab836ed7e6dc881de23001b") == []


def test_a_password_without_a_user_is_found_too():
    assert found("redis:" + "//" + ":hunter2hunter2" + "@cache.example:6379/0") == ["password in a URL"]


@EACH
def test_a_text_with_a_secret_is_refused_without_repeating_it(kind: str, mark: str, rest: str):
    with pytest.raises(SecretFound.error) as refusal:
        refuse_secrets(f"see {mark}{rest}")

    error = refusal.value
    assert (error.code, error.exit_status) == ("SECRET_FOUND", 4)
    assert error.details == {"kinds": [kind]}
    assert kind in error.message
    assert rest not in error.message + (error.hint or "")


def test_whoever_vouches_for_a_text_may_record_it_and_no_reason_is_none():
    kind, mark, rest = EXAMPLES[0]
    refuse_secrets(mark + rest, "an example from the manual")
    for no_reason in (None, ""):
        with pytest.raises(SecretFound.error, match=kind):
            refuse_secrets(mark + rest, no_reason)


SHORT_OF = ["", "a", "a:"]  # what a mark is followed by, over and over
BESIDE_MARKS = sorted({mark for _, marks, _ in BESIDE for mark in marks})


@pytest.mark.parametrize(
    ("mark", "more"),
    [
        *grid(sorted({mark for _, mark, _ in TOKENS}), SHORT_OF, 1),
        *grid(BESIDE_MARKS, [" 0123456789ABCDEF ", "=0a1B", "0123456789ABCDEF aZ/+ "], 1),
    ],
)
def test_a_large_text_made_to_be_hard_to_search_is_searched_soon(mark: str, more: str):
    hostile = ((mark + more) * 100_000)[:100_000]
    began = time.process_time()
    found(hostile)
    masked(hostile)
    assert time.process_time() - began < 1  # milliseconds, unless the time grows with the square of the length


def test_a_megabyte_of_every_mark_there_is_is_searched_in_the_time_of_ten_pieces_of_a_tenth():
    piece = " ".join(MARKS) + " "
    small = (piece * 100)[:100_000]
    began = time.process_time()
    for _ in range(10):
        found(small)
    tenths = time.process_time() - began
    began = time.process_time()
    found(small * 10)
    assert time.process_time() - began < 3 * tenths + 0.5


# What a mark may be followed by now, as far as it may: quotation marks and backslashes, as in JSON within JSON.
NESTED = {
    "registry password": '"auth\\',
    "Google service account": "private_key_id",
    "AWS secret key": "secret_access_key",
    "authorization header": "Authorization",
    "API key header": "X-API-Key",
    "Heroku key": "HEROKU_API_KEY",
    "Cloudflare token": "CF_API_TOKEN",
    "Twilio auth token": "TWILIO_AUTH_TOKEN",
}


def test_every_family_whose_value_may_be_nested_is_made_hard_to_search():
    nested = {kind for kind, _, pattern in BESIDE if TO_VALUE in pattern} | {"Google service account"}
    assert set(NESTED) == nested
    assert set(NESTED.values()) <= set(MARKS)


@pytest.mark.parametrize(("kind", "between"), grid([*NESTED], ["{q}", "{q}    :    {q}Basic aZ09", ""], 1))
def test_twice_as_much_of_nested_json_takes_twice_as_long(kind: str, between: str):
    for quotation in ("\\" * 15 + '"', "\\" * 100_000):
        piece = NESTED[kind] + between.replace("{q}", quotation)
        whole = (piece * (1 + (1 << 19) // len(piece)))[: 1 << 19]
        half = seconds_for(whole[: 1 << 18])
        assert seconds_for(whole) < 3 * half + 0.02, "four times, where the time grows with the square of the length"


def seconds_for(text: str) -> float:
    """The least of two measurements: whatever else runs can only add to one."""
    times = []
    for _ in range(2):
        began = time.process_time()
        found(text)
        times.append(time.process_time() - began)
    return min(times)


# Files of ours that hold what has the form of a secret, and why that is right.
REVIEWED = {
    "tests/ledger/fleet/test_engine_addresses.py": "planted: an engine's address with a password in it is refused",
    "tests/stories/cbcl/test_dialects.py": "planted: a dialect with a token in it is refused",
    "tests/stories/ci/test_what_the_checkout_lacks.py": "planted: the same, where the code comes from",
    "tests/stories/ci/test_which_ledger.py": "planted: a remote's address with a password in it is not repeated",
}


def test_nothing_that_we_publish_has_the_form_of_a_secret():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("these files are in no repository")
    files = [name for name in listed.stdout.split("\0") if (ROOT / name).is_file()]
    assert len(files) > 500
    assert {name for name in files if found_in((ROOT / name).read_bytes())} == set(REVIEWED)
