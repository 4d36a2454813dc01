"""Installing a dialect: first who signed it, then whether it is sound, then whether its name is free."""

from __future__ import annotations

import pytest

from bb.cbcl.facts import Installed
from bb.cbcl.judge import signatures
from bb.cbcl.judge.installation import DialectConflict, DialectRejected, Rules, install, require_sound
from bb.cbcl.judge.trust import InvalidSignature, UnsignedDialect, UntrustedAuthor
from bb.cbcl.read import canonical
from bb.kernel.errors import Refusal
from tests.cbcl.speakers import LAB, LOOSE, MALLORY, OTHER, WORK, hashed, rules
from tests.cbcl.trees import definition, dialect

UNSOUND = dialect("(extend note () (note))", name="work", author="@lab")


def signature(text: str, seed: bytes = LAB) -> str:
    return signatures.sign(seed, canonical.octets(definition(text).node))


def installing(
    text: str,
    *known: str,
    given: Rules | None = None,
    by: str | None = None,
    is_local: bool = False,
    replaces: bool = False,
) -> list[Installed]:
    """What installing TEXT comes to, where these dialects are KNOWN and it is signed BY a signature."""
    there = {each.name: each for each in map(definition, known)}
    how = {"by": "bob", "source": "@alice", "is_local": is_local, "replaces": replaces}
    return install(definition(text), by, there, given or rules(), **how)


def test_what_is_installed_says_whose_it_is_and_where_it_came_from():
    (fact,) = installing(WORK, given=rules({"lab": LAB}), by=signature(WORK))
    assert fact == Installed(
        "bob", "work", fact.text, hashed(WORK), "lab", "valid", "@alice", signature(WORK), replaces=""
    )
    assert hashed(fact.text) == fact.hash


def test_the_same_dialect_again_is_nothing_new_however_it_is_laid_out():
    assert installing(WORK.replace(" ", "\n ; why\n"), WORK, is_local=True) == []
    assert installing(WORK, WORK, is_local=True, replaces=True) == []


def test_another_dialect_of_the_name_is_a_conflict_unless_it_replaces_it():
    with pytest.raises(DialectConflict.error):
        installing(OTHER, WORK, is_local=True)
    (fact,) = installing(OTHER, WORK, is_local=True, replaces=True)
    assert (fact.replaces, fact.hash) == (hashed(WORK), hashed(OTHER))


def test_nothing_is_replaced_where_nothing_was():
    assert installing(WORK, is_local=True, replaces=True)[0].replaces == ""


@pytest.mark.parametrize(
    ("text", "by", "refusal"),
    [
        (UNSOUND, None, UnsignedDialect),
        (UNSOUND, signature(UNSOUND, MALLORY), InvalidSignature),
        (UNSOUND, signature(UNSOUND), DialectRejected),
        (OTHER, signature(OTHER), DialectConflict),
        (UNSOUND.replace("@lab", "@carol"), signature(UNSOUND), UntrustedAuthor),
    ],
)
def test_the_signature_first_then_the_rules_then_the_name(text: str, by: str | None, refusal: Refusal):
    with pytest.raises(refusal.error):
        installing(text, WORK, given=rules({"lab": LAB}), by=by)


def test_what_the_user_installs_by_command_needs_no_signature_and_what_comes_from_others_does():
    assert installing(WORK, is_local=True)[0].signature == "unsigned"
    for policy, is_local in (({"unsigned": "never"}, True), ({}, False), ({"unsigned": "anyone"}, False)):
        with pytest.raises((UnsignedDialect.error, UntrustedAuthor.error)):
            installing(WORK, given=rules(**policy), is_local=is_local)
    assert installing(WORK, given=rules(**LOOSE))[0].signature == "unsigned"


@pytest.mark.parametrize(
    ("steps", "declared", "allowed", "is_sound"),
    [(2970, 3, 5000, True), (3050, 3, 5000, False), (2970, 9, 3, True), (3050, 9, 3, False)],
)
def test_verifying_may_take_as_many_steps_as_both_allow(steps: int, declared: int, allowed: int, is_sound: bool):
    judged = rules(max_verify_time=allowed)
    limits = f":max-depth 16 :max-expansion-size 16384 :max-verify-time {declared}"
    text = dialect(f"(extend note () (tell @bob ({'a ' * (steps // 3)})))", limits=limits)
    if is_sound:
        require_sound(definition(text), {}, judged)
    else:
        with pytest.raises(DialectRejected.error) as refusal:
            require_sound(definition(text), {}, judged)
        assert refusal.value.details["rules"] == ["R2"]


def test_a_refusal_tells_every_rule_that_is_broken_with_its_place():
    text = dialect("(extend note () (note))", "(extend Ask () (tell @bob))", author="")
    with pytest.raises(DialectRejected.error) as refusal:
        installing(text, is_local=True)
    details = refusal.value.details
    assert details["rules"] == ["R1", "R3", "R4"]
    assert {each["performative"] for each in details["violations"]} == {"note", "Ask", None}
    assert "more" in refusal.value.message


def test_a_dialect_builds_on_what_is_installed():
    child = dialect("(extend shout (what) (tell @bob what))", name="child", more=":extends work")
    assert installing(child, WORK, is_local=True)
    with pytest.raises(DialectRejected.error):
        installing(child, is_local=True)
