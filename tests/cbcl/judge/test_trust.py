"""Whom one lets define dialects: the judgement on a definition, and what a policy and a trust store may say."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from bb.cbcl.judge import signatures
from bb.cbcl.judge import trust as judge_trust
from bb.cbcl.judge.signatures import InvalidKey, InvalidSignature
from bb.cbcl.judge.trust import (
    UNSIGNED,
    VALID,
    AuthorNotFound,
    InvalidIdentifier,
    InvalidPolicy,
    InvalidTrust,
    Policy,
    TooManyKeys,
    Trust,
    UnsignedDialect,
    UntrustedAuthor,
)
from bb.kernel.errors import BbError

DEFINITION = b"(6:define8:planning)"
SEEDS = [bytes([n]) * 32 for n in range(20)]
KEYS = [signatures.public_key(seed) for seed in SEEDS]
ADA_SEED, EVE_SEED = SEEDS[:2]
ADA, EVE = KEYS[:2]
BY_ADA, BY_EVE = signatures.sign(ADA_SEED, DEFINITION), signatures.sign(EVE_SEED, DEFINITION)
HERE = Trust({"ada": (ADA,)})


def judged(trust: Trust = HERE, **given: Any) -> str:
    """What is said of a definition; by default of one that @ada signed and somebody sent."""
    arguments = {"author": "ada", "signature": BY_ADA, "octets": DEFINITION, "is_local": False} | given
    return judge_trust.judge(trust=trust, check=signatures.check, **arguments)


def with_policy(**members: Any) -> Trust:
    return HERE.replace(policy=Policy(**members))


# -- signed


def test_a_trusted_author_s_definition_may_be_installed():
    assert judged() == VALID


@pytest.mark.parametrize("members", [{}, {"define": "anyone", "unsigned": "anyone"}])
@pytest.mark.parametrize("is_local", [True, False])
def test_a_signature_in_a_trusted_name_that_somebody_else_made_is_refused_however_lax_the_policy(
    members: dict[str, str], is_local: bool
):
    with pytest.raises(InvalidSignature.error):
        judged(with_policy(**members), signature=BY_EVE, is_local=is_local)
    with pytest.raises(InvalidSignature.error):
        judged(with_policy(**members), octets=DEFINITION + b"x", is_local=is_local)
    with pytest.raises(InvalidSignature.error, match="characters instead of 88"):
        judged(with_policy(**members), signature="sig-placeholder", is_local=is_local)


@pytest.mark.parametrize("is_local", [True, False])
def test_nobody_here_can_check_what_an_unknown_author_signed(is_local: bool):
    with pytest.raises(UntrustedAuthor.error) as refusal:
        judged(author="eve", signature=BY_EVE, is_local=is_local)

    assert refusal.value.code == "UNTRUSTED_AUTHOR"
    assert refusal.value.details == {"author": "eve"}


def test_a_key_counts_for_its_author_only():
    with pytest.raises(InvalidSignature.error):
        judged(Trust({"ada": (ADA,), "eve": (EVE,)}), author="eve", signature=BY_ADA)


def test_a_signed_definition_that_names_no_author_has_nobody_s_key():
    with pytest.raises(UntrustedAuthor.error, match="an unnamed author"):
        judged(author=None)


@pytest.mark.parametrize("keys", [(ADA, EVE), (EVE, ADA), (*KEYS[2:9], ADA)])
def test_any_key_of_an_author_will_do(keys: tuple[bytes, ...]):
    assert judged(Trust({"ada": keys})) == VALID


def test_every_key_is_tried_once_and_no_more():
    tried = []

    def check(signature: str, octets: bytes, key: bytes) -> None:
        tried.append(key)
        raise InvalidSignature()

    with pytest.raises(InvalidSignature.error):
        judge_trust.judge(
            author="ada",
            signature=BY_ADA,
            octets=DEFINITION,
            trust=Trust({"ada": (ADA, EVE)}),
            is_local=False,
            check=check,
        )
    assert tried == [ADA, EVE]


def test_names_are_told_apart_by_case():
    with pytest.raises(UntrustedAuthor.error):
        judged(author="Ada")


# -- not signed


def outcome(trust: Trust, **given: Any) -> str:
    try:
        return judged(trust, **given)
    except BbError as refusal:
        return refusal.code


NO_SIGNATURE, NO_TRUST = "UNSIGNED_DIALECT", "UNTRUSTED_AUTHOR"


@pytest.mark.parametrize(
    ("unsigned", "define", "mine", "of_ada", "of_eve"),
    [
        ("local", "trusted", UNSIGNED, NO_SIGNATURE, NO_SIGNATURE),
        ("local", "anyone", UNSIGNED, NO_SIGNATURE, NO_SIGNATURE),
        ("never", "trusted", NO_SIGNATURE, NO_SIGNATURE, NO_SIGNATURE),
        ("never", "anyone", NO_SIGNATURE, NO_SIGNATURE, NO_SIGNATURE),
        ("anyone", "trusted", UNSIGNED, NO_SIGNATURE, NO_TRUST),
        ("anyone", "anyone", UNSIGNED, NO_SIGNATURE, UNSIGNED),
    ],
)
def test_what_is_not_signed_passes_where_the_policy_says_so(
    unsigned: str, define: str, mine: str, of_ada: str, of_eve: str
):
    """MINE is what this user defines by command; the others are received, @ada having a key here and @eve none."""
    trust = with_policy(unsigned=unsigned, define=define)

    assert [outcome(trust, signature=None, is_local=True, author=author) for author in ("ada", "eve", None)] == [
        mine
    ] * 3
    assert outcome(trust, signature=None, author="ada") == of_ada
    assert outcome(trust, signature=None, author="eve") == of_eve


@pytest.mark.parametrize(("unsigned", "define"), list(product(["local", "never", "anyone"], ["trusted", "anyone"])))
@pytest.mark.parametrize("is_local", [True, False])
def test_a_signature_that_nobody_can_check_opens_no_door_that_none_at_all_would_not(
    unsigned: str, define: str, is_local: bool
):
    trust = with_policy(unsigned=unsigned, define=define)
    with_it = outcome(trust, author="eve", signature=BY_EVE, is_local=is_local)
    without = outcome(trust, author="eve", signature=None, is_local=is_local)

    assert with_it in (UNSIGNED, NO_TRUST)
    assert without == UNSIGNED or with_it == NO_TRUST


def test_leaving_the_signature_out_is_no_way_to_speak_for_who_has_a_key():
    with pytest.raises(UnsignedDialect.error, match="although @ada has a key here"):
        judged(with_policy(unsigned="anyone", define="anyone"), signature=None)


def test_nothing_is_checked_where_there_is_nothing_to_check():
    def check(*_: object) -> None:
        raise AssertionError

    def ask(author: str, signature: str | None) -> str:
        return judge_trust.judge(
            author=author,
            signature=signature,
            octets=DEFINITION,
            trust=with_policy(unsigned="anyone", define="anyone"),
            is_local=False,
            check=check,
        )

    assert ask("eve", None) == UNSIGNED
    assert ask("eve", BY_EVE) == UNSIGNED


# -- the policy


def test_by_default_others_sign_and_are_trusted_by_name():
    policy = judge_trust.policy_of({})

    assert policy == Policy()
    assert policy.as_dict() == {
        "unsigned": "local",
        "define": "trusted",
        "relay": False,
        "max_depth": 32,
        "max_size": 1 << 20,
        "max_expansion_size": 8192,
        "max_verify_time": 5000,
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("unsigned", "never"),
        ("define", "anyone"),
        ("relay", True),
        ("max_depth", 1),
        ("max_depth", 64),
        ("max_size", 1 << 24),
        ("max_expansion_size", 65_536),
        ("max_verify_time", 60_000),
    ],
)
def test_a_policy_says_what_it_was_told(name: str, value: object):
    assert judge_trust.policy_of({name: value}) == Policy(**{name: value})
    assert judge_trust.policy_of(Policy(**{name: value}).as_dict()) == Policy(**{name: value})


@pytest.mark.parametrize(
    ("value", "path", "said"),
    [
        (None, "$", "object"),
        ([], "$", "object"),
        ("never", "$", "object"),
        ({"unsinged": "never"}, "$.'unsinged'", "has no setting 'unsinged'"),
        ({"\x1b[2J": 1}, "$.'\\x1b[2J'", "has no"),
        ({"unsigned": "trusted"}, "$.unsigned", '"local" or "never" or "anyone"'),
        ({"unsigned": True}, "$.unsigned", "unsigned must be"),
        ({"unsigned": ["local"]}, "$.unsigned", "unsigned must be"),
        ({"define": "local"}, "$.define", '"trusted" or "anyone"'),
        ({"relay": 1}, "$.relay", "true or false"),
        ({"relay": "false"}, "$.relay", "true or false"),
        ({"max_depth": 0}, "$.max_depth", "from 1 to 64"),
        ({"max_depth": 65}, "$.max_depth", "from 1 to 64"),
        ({"max_depth": True}, "$.max_depth", "from 1 to 64"),
        ({"max_depth": 32.0}, "$.max_depth", "from 1 to 64"),
        ({"max_depth": "32"}, "$.max_depth", "from 1 to 64"),
        ({"max_depth": 2**32 + 16}, "$.max_depth", "from 1 to 64"),
        ({"max_size": (1 << 24) + 1}, "$.max_size", "from 1 to"),
        ({"max_expansion_size": 65_537}, "$.max_expansion_size", "from 1 to 65536"),
        ({"max_verify_time": 60_001}, "$.max_verify_time", "from 1 to 60000"),
        ({"max_verify_time": None}, "$.max_verify_time", "from 1 to 60000"),
    ],
)
def test_a_policy_that_says_something_else_is_refused_with_the_place(value: object, path: str, said: str):
    with pytest.raises(InvalidPolicy.error) as refusal:
        judge_trust.policy_of(value)

    assert refusal.value.details == {"path": path}
    assert said in refusal.value.message


# -- the authors


def test_authors_come_and_go_and_the_trust_that_was_stays_as_it_was():
    both = HERE.with_author("eve", EVE).with_author("ada", EVE)

    assert both.authors == {"ada": (ADA, EVE), "eve": (EVE,)}
    assert both.without_author("ada", ADA).authors == {"ada": (EVE,), "eve": (EVE,)}
    assert both.without_author("ada").authors == {"eve": (EVE,)}
    assert both.without_author("eve", EVE).authors == {"ada": (ADA, EVE)}
    assert HERE.authors == {"ada": (ADA,)}


def test_a_key_that_is_there_already_is_not_there_twice():
    assert HERE.with_author("ada", ADA) == HERE


def test_who_is_not_trusted_cannot_be_removed():
    with pytest.raises(AuthorNotFound.error, match="@eve is not trusted here"):
        HERE.without_author("eve")
    with pytest.raises(AuthorNotFound.error, match="@ada has no such key here"):
        HERE.without_author("ada", EVE)


@pytest.mark.parametrize("name", ["", "@ada", "a.b", "a b", "ada\n", "../ada", "é", "a" * 65, "٣"])
def test_an_author_has_an_agent_s_name(name: str):
    with pytest.raises(InvalidIdentifier.error):
        HERE.with_author(name, ADA)


@pytest.mark.parametrize("name", ["a", "-", "_", "7", "Amber-Otter_2", "a" * 64])
def test_any_identifier_of_cbcl_is_an_agent_s_name(name: str):
    assert HERE.with_author(name, EVE).keys_of(name) == (EVE,)


def test_what_is_no_key_is_not_added():
    with pytest.raises(InvalidKey.error, match="small order"):
        HERE.with_author("eve", bytes(32))
    with pytest.raises(InvalidKey.error, match="32 octets"):
        HERE.with_author("eve", EVE[:-1])


def test_nobody_has_so_many_keys_that_trying_them_takes_long():
    full = Trust({"ada": tuple(KEYS[:16])})

    assert full.with_author("ada", KEYS[3]) == full
    with pytest.raises(TooManyKeys.error):
        full.with_author("ada", KEYS[16])


# -- as JSON


def test_trust_is_read_as_it_was_written():
    trust = HERE.with_author("eve", EVE).with_author("ada", EVE).with_policy({"define": "anyone"})

    assert judge_trust.trust_of(trust.as_json()) == trust
    assert trust.as_json()["authors"]["eve"] == [signatures.key_text(EVE)]


def test_a_key_may_be_written_in_hexadecimal_and_twice():
    written = HERE.as_json() | {"authors": {"ada": [ADA.hex(), signatures.key_text(ADA)]}}

    assert judge_trust.trust_of(written) == HERE


WHOLE = HERE.as_json()


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (None, "$"),
        ([WHOLE], "$"),
        ({}, "$.v"),
        (WHOLE | {"v": 2}, "$.v"),
        (WHOLE | {"v": True}, "$.v"),
        (WHOLE | {"v": "1"}, "$.v"),
        (WHOLE | {"more": 1}, "$"),
        ({"v": 1}, "$"),
        ({"v": 1, "authors": {}}, "$"),
        (WHOLE | {"authors": []}, "$.authors"),
        (WHOLE | {"authors": {"@ada": [ADA.hex()]}}, "$.authors.'@ada'"),
        (WHOLE | {"authors": {"": [ADA.hex()]}}, "$.authors.''"),
        (WHOLE | {"authors": {"ada": ADA.hex()}}, "$.authors.ada"),
        (WHOLE | {"authors": {"ada": []}}, "$.authors.ada"),
        (WHOLE | {"authors": {"ada": [ADA.hex()] * 17}}, "$.authors.ada"),
        (WHOLE | {"authors": {"ada": [ADA.hex(), 7]}}, "$.authors.ada[1]"),
        (WHOLE | {"authors": {"ada": [ADA.hex().upper()]}}, "$.authors.ada[0]"),
        (WHOLE | {"authors": {"ada": ["00" * 32]}}, "$.authors.ada[0]"),
    ],
)
def test_what_says_nothing_sensible_about_trust_is_refused_with_the_place(value: object, path: str):
    with pytest.raises(InvalidTrust.error) as refusal:
        judge_trust.trust_of(value)

    assert refusal.value.details == {"path": path}


def test_a_policy_within_is_refused_with_its_place_in_the_whole():
    with pytest.raises(InvalidPolicy.error) as refusal:
        judge_trust.trust_of(WHOLE | {"policy": {"max_depth": 65}})

    assert refusal.value.details == {"path": "$.policy.max_depth"}
