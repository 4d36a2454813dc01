"""Reading `.bb/allowed_signers`, and how far signatures reach."""

from __future__ import annotations

import pytest

from bb.coordination.records import signed_lines, signers
from bb.coordination.records.signed_lines import Reach, Signed

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAINjLnE+YLMKHIrTbKdd1OOup1LIxW4qw+DcaJg2/jqms"
OTHER = "AAAAC3NzaC1lZDI1NTE5AAAAIMVQ7inKbpxDbKRdfY0mdywiJ1CgzeQBX80NxIe8s1SX"
WRITER = "k7q2mzp4x3ab"
NOON = "2026-01-05T12:00:00.000Z"


@pytest.mark.parametrize(
    ("principals", "is_persons"),
    [
        ("laptop", False),
        ("user", True),
        ("ada,user", True),
        ("*", True),
        ("*,!user", False),
        ("us?r", True),
        ("u*", True),
    ],
)
def test_a_key_is_the_persons_where_its_patterns_mean_user(principals: str, is_persons: bool):
    (found,) = signers.read(f"{principals} ssh-ed25519 {KEY} a comment").signers

    assert found.is_persons is is_persons


@pytest.mark.parametrize(
    "line",
    [
        "laptop",
        "laptop ssh-ed25519",
        "laptop ssh-ed25519 AAAA",
        f"laptop ssh-ed25519 {KEY}=",
        "laptop ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ",
        f"*@example.org cert-authority ssh-ed25519 {KEY}",
        f'laptop valid-before="tomorrow" ssh-ed25519 {KEY}',
        f"laptop namespaces=bb-ledger ssh-ed25519 {KEY}",
        f'laptop namespaces="bb-ledger ssh-ed25519 {KEY}',
        f"laptop touch-required ssh-ed25519 {KEY}",
        "#bb mode sometimes",
        "#bb moed require",
        "#bb revoked all",
        "#bb",
    ],
)
def test_a_line_that_cannot_be_used_lets_nobody_in_and_is_named(line: str):
    found = signers.read(f"{line}\nlaptop ssh-ed25519 {OTHER}\n")

    assert [each.key for each in found.signers] == [OTHER]
    assert len(found.problems) == 1
    assert found.problems[0].startswith("line 1 of .bb/allowed_signers")


@pytest.mark.parametrize(
    "line",
    [
        "#bb revoked {}=",
        "#BB revoked {}",
        "# bb Revoked {}",
        "#bb: revoked {} # stolen",
        "#bb revoke {}",
        "#bb has been stolen: {}",
        "#bb revoked {}x",
        "#bb revoked {:.20}",
    ],
)
def test_a_key_is_revoked_however_the_line_is_written(line: str):
    name = signers.fingerprint(KEY)
    found = signers.read(f"laptop ssh-ed25519 {KEY}\ndesk ssh-ed25519 {OTHER}\n{line.format(name)}")

    assert dict(found.revoked) == {name: {}}


@pytest.mark.parametrize("line", ["#bb revoked", "#bb revoked that key", "#bb revoke SHA256:"])
def test_a_revocation_that_names_no_key_is_known_to_be_one(line: str):
    assert signers.read(line).is_unread


@pytest.mark.parametrize(
    ("line", "mode"),
    [
        ("# bb mode require", "require"),
        ("#BB MODE Require", "require"),
        ("#bb mode require # from May on", "require"),
        ("#bb mode off", "off"),
        ("#bb mode of", "require"),
        ("#bb mode", "require"),
        ("#bb mode warn off", "require"),
        ("# bbq mode require", None),
        ("# bb-ledger mode require", None),
        ("# about bb mode require", None),
    ],
)
def test_a_mode_that_cannot_be_read_is_require(line: str, mode: str | None):
    assert signers.read(line).mode == mode


def test_a_line_names_the_ledger_and_one_that_cannot_be_read_names_none():
    assert signers.read("#bb repo 0a3250eccf47").repo == "0a3250eccf47"
    assert signers.read("#bb repo").repo == signers.NO_LEDGER
    assert signers.read("#bb repo one\n#bb repo two").repo == signers.NO_LEDGER
    assert signers.read("#bb mode warn").repo is None


def test_comments_and_empty_lines_say_nothing():
    assert signers.read("# a comment\n\n   \n#bbq mode require\n") == signers.Policy()


def test_options_limit_what_a_key_is_for_and_when():
    text = f'"a b",c namespaces="git,bb-*",valid-after="20260105Z",valid-before="202601061200" ssh-ed25519 {KEY}'
    (found,) = signers.read(text).signers

    assert found.principals == '"a b",c'
    assert found.may_sign(found.after or 0)
    assert not found.may_sign((found.after or 0) - 1)
    assert not found.may_sign(found.before or 0)
    assert not signers.read(f'c namespaces="git" ssh-ed25519 {KEY}').signers[0].may_sign(0)


def test_the_mode_is_put_in_the_place_of_the_one_before():
    text = signers.with_mode("#bb mode warn\nlaptop ssh-ed25519 X\n\n", "require")

    assert text == "laptop ssh-ed25519 X\n#bb mode require\n"
    assert signers.with_mode("# BB Mode of\n", "off", "abc") == "#bb repo abc\n#bb mode off\n"
    assert signers.with_mode("#bb repo xyz\n", "off", "abc") == "#bb repo xyz\n#bb mode off\n"


def test_a_signature_reaches_as_far_as_its_key_may():
    name = signers.fingerprint(KEY)
    listed = f"laptop ssh-ed25519 {KEY}\nuser ssh-ed25519 {OTHER}\n"
    newest_first = [Signed(30, NOON, KEY), Signed(20, NOON, OTHER), Signed(10, NOON, KEY)]

    def reach(text: str) -> Reach:
        return signed_lines.reach(signers.read(text), WRITER, newest_first, lambda _: None)

    assert reach(listed) == Reach(30, 20)
    assert reach(listed + f"#bb revoked {name} {WRITER}:25") == Reach(25, 20)
    assert reach(listed + f"#bb revoked {name} abcdefghijkl:25") == Reach(20, 20)
    assert reach(listed + f"#bb revoked {name} nonsense") == Reach(20, 20)
    assert reach(f"laptop ssh-ed25519 {KEY}") == Reach(30, 0)
    assert reach("") == Reach(0, 0)


@pytest.mark.parametrize(
    ("kind", "by", "is_order"),
    [
        ("x.bb.reserved", "user", True),
        ("x.bb.paused", "user", True),
        ("x.bb.redacted", "user", True),
        ("group.settings_update", "user", True),
        ("x.bb.c2a.settings", "user", True),
        ("x.bb.of_a_later_version", "user", True),
        ("chat.message", "user", False),
        ("group.create", "user", False),
        ("x.bb.reserved", "amber-otter", False),
    ],
)
def test_what_changes_how_things_stand_in_the_persons_name_is_an_order(kind: str, by: str, is_order: bool):
    assert signed_lines.is_order(kind, by) is is_order
