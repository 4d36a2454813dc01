"""Dialects in one repository: they come, are spoken, replaced and removed; and what somebody forged is not spoken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bb.cbcl.facts import Installed, Removed
from tests.cbcl.speakers import LAB, hashed, signed
from tests.cbcl.trees import dialect
from tests.near import Near
from tests.stories.cbcl.cbcl_support import (
    AMBER,
    COBALT,
    OTHER,
    WORK,
    at_noon,
    forge,
    hear,
    install,
    log,
    refused,
    say,
    spoken,
)

CHILD = dialect(f"(extend shout (what) (tell @{COBALT} what))", name="child", author="@lab", more=":extends work")


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    return at_noon(tmp_path / "repo", AMBER, COBALT)


def line(text: str = WORK, **changes: Any) -> Installed:
    """What the line says that brought a dialect."""
    return Installed("user", "work", text, hashed(WORK), "lab", "unsigned", "file work.cbcl").replace(**changes)


def can_say(repo: Near, text: str = '(lang work (note "x"))') -> bool:
    return repo.bb("cbcl", "send", text, "--agent", AMBER).status == 0


# -- coming and going


def test_a_dialect_is_installed_with_who_and_where_from(repo: Near):
    (repo.path / "work.cbcl").write_text(f"; who does what\n{WORK}")
    made = repo.json("cbcl", "dialect", "install", "work.cbcl").data

    assert made["changed"]
    row = spoken(repo)["work"]
    assert (row["author"], row["signature"], row["source"]) == ("@lab", "unsigned", "file work.cbcl")
    assert (row["installed_by"], row["usable"], row["conflicts"]) == ("user", True, [])
    assert row["hash"] == hashed(WORK)
    assert [each["id"] for each in log(repo, "x.bb.cbcl.dialect")] == [row["event_id"]]
    assert can_say(repo)


def test_installing_what_is_installed_changes_nothing(repo: Near):
    install(repo, WORK)
    before = repo.journal().read_bytes()
    assert not install(repo, WORK.replace(" ", "  ")).data["changed"]
    assert repo.journal().read_bytes() == before


def test_another_of_the_name_is_a_conflict_until_somebody_says_that_it_replaces_the_first(repo: Near):
    install(repo, WORK)
    assert refused(repo, "cbcl", "dialect", "install", "--text", OTHER) == (7, "DIALECT_CONFLICT")
    assert spoken(repo)["work"]["hash"] == hashed(WORK)

    assert install(repo, OTHER, "--replace").data["changed"]
    assert spoken(repo)["work"]["hash"] == hashed(OTHER)
    history = repo.json("cbcl", "dialect", "show", "work").data["history"]
    assert [(each["action"], each["hash"]) for each in history] == [
        ("installed", hashed(WORK)),
        ("installed", hashed(OTHER)),
    ]
    say(repo, AMBER, "(lang work (note (x)))")
    assert hear(repo, COBALT)[0]["effects"][0]["effect"] == "obliged"


def test_what_is_removed_is_spoken_no_more_and_may_come_again(repo: Near):
    install(repo, WORK)
    assert repo.json("cbcl", "dialect", "remove", "work", "--agent", AMBER).data["removed"]
    assert spoken(repo) == {}
    assert not can_say(repo)
    for verb in ("remove", "show"):
        assert refused(repo, "cbcl", "dialect", verb, "work") == (3, "UNKNOWN_DIALECT")
    assert install(repo, OTHER).data["changed"]


def test_an_installation_that_is_asked_for_again_by_its_key_is_answered_though_it_was_removed_since(repo: Near):
    first = install(repo, WORK, "--key", "once").data
    repo.json("cbcl", "dialect", "remove", "work")
    before = repo.journal().read_bytes()

    again = install(repo, WORK, "--key", "once")

    assert again.status == 0
    assert {name: again.data[name] for name in ("event_id", "hash", "changed", "definition")} == {
        name: first[name] for name in ("event_id", "hash", "changed", "definition")
    }
    assert (again.data["usable"], spoken(repo)) == (False, {})
    assert repo.journal().read_bytes() == before


def test_a_key_is_for_what_is_in_the_file_and_not_for_its_name(repo: Near):
    path = repo.path / "work.cbcl"
    path.write_text(WORK)
    assert repo.json("cbcl", "dialect", "install", "work.cbcl", "--key", "once").data["changed"]
    path.write_text(OTHER)
    assert refused(repo, "cbcl", "dialect", "install", "work.cbcl", "--key", "once") == (7, "KEY_REUSED")


def test_what_is_installed_may_get_its_signature_afterwards(repo: Near):
    repo.bb("cbcl", "keygen", "lab")
    (repo.path / "work.cbcl").write_text(WORK)
    (repo.path / "signed.cbcl").write_text(repo.bb("cbcl", "sign", "work.cbcl", "--key", "lab").out)
    assert repo.json("cbcl", "dialect", "install", "work.cbcl").data["signature"] == "unsigned"
    assert not repo.json("cbcl", "dialect", "install", "signed.cbcl").data["changed"]

    made = repo.json("cbcl", "dialect", "install", "signed.cbcl", "--replace").data

    assert (made["changed"], made["signature"]) == (True, "valid")
    assert (spoken(repo)["work"]["signature"], spoken(repo)["work"]["conflicts"]) == ("valid", [])
    assert not repo.json("cbcl", "dialect", "install", "work.cbcl", "--replace").data["changed"]


def test_a_secret_in_a_dialect_may_be_allowed(repo: Near):
    text = dialect('(extend p () (tell @b "ghp_aZ09aZ09aZ09aZ09aZ09aZ09aZ09aZ09aZ09"))', name="work")
    assert install(repo, text).code == "SECRET_FOUND"
    assert install(repo, text, "--allow-secret", "an example").data["changed"]


def test_what_others_build_on_stays(repo: Near):
    install(repo, WORK)
    install(repo, CHILD)
    assert refused(repo, "cbcl", "dialect", "remove", "work") == (4, "DIALECT_IN_USE")
    assert can_say(repo, '(lang child (note "x"))')
    for name in ("child", "work"):
        assert repo.bb("cbcl", "dialect", "remove", name).status == 0
    assert spoken(repo) == {}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (dialect("(extend note () (note))", name="work"), "DIALECT_REJECTED"),
        (dialect("(extend tell () (tell @bob))", name="work"), "DIALECT_REJECTED"),
        (CHILD, "DIALECT_REJECTED"),
        ("(define", "SYNTAX_ERROR"),
        ("(tell @bob)", "SYNTAX_ERROR"),
        (signed(WORK, LAB), "UNTRUSTED_AUTHOR"),
    ],
)
def test_what_may_not_be_installed_is_refused_and_recorded_nowhere(repo: Near, text: str, code: str):
    before = repo.journal().read_bytes()
    found = install(repo, text)
    if code == "UNTRUSTED_AUTHOR" and found.status == 0:
        assert found.data["signature"] != "valid"
        return
    assert found.code == code
    assert repo.journal().read_bytes() == before


# -- lines that somebody has forged

SAYS = "not usable here"
UNSOUND = dialect("(extend note () (note))", name="work", author="@lab")
OTHER_NAME = WORK.replace("define work", "define play")
FORGED = {
    "another text than the hash says": line(OTHER),
    "a hash of nothing": line(hash="0" * 64),
    "a recursive definition": line(UNSOUND, hash=hashed(UNSOUND)),
    "another name in the text": line(OTHER_NAME, hash=hashed(OTHER_NAME)),
    "no definition": line("(tell @bob)"),
    "no text": line("\x1b[2J"),
    "a million parentheses": line("(" * 500_000),
}


@pytest.mark.parametrize("fact", FORGED.values(), ids=FORGED.keys())
def test_a_forged_dialect_is_not_spoken_and_that_is_told(repo: Near, fact: Installed):
    forge(repo, fact)

    assert not spoken(repo)["work"]["usable"]
    told = repo.bb("cbcl", "dialect", "list")
    assert (told.status, SAYS in told.out) == (0, True)
    assert not can_say(repo)
    assert refused(repo, "cbcl", "dialect", "show", "work")[0] == 3
    say(repo, AMBER, '(lang work (note "x"))', "--to", COBALT)
    assert hear(repo, COBALT)[0]["code"] == "UNKNOWN_DIALECT"


@pytest.mark.parametrize("fact", FORGED.values(), ids=FORGED.keys())
def test_a_forged_line_can_be_put_right(repo: Near, fact: Installed):
    forge(repo, fact)
    assert install(repo, WORK, "--replace").status == 0
    assert spoken(repo)["work"]["usable"]
    assert can_say(repo)
    assert repo.bb("cbcl", "dialect", "remove", "work").status == 0


def test_what_a_forged_line_claims_to_be_may_take_its_place(repo: Near):
    """It is no conflict: they have one hash."""
    forge(repo, line(OTHER))
    assert install(repo, WORK).data["usable"]
    assert not install(repo, WORK).data["changed"]


def test_a_forged_line_takes_no_name_from_what_is_spoken(repo: Near):
    install(repo, WORK)
    for fact in FORGED.values():
        forge(repo, fact.replace(hash="1" * 64))
        assert can_say(repo), fact


def test_what_the_line_says_of_the_signature_is_not_what_is_told(repo: Near):
    forge(repo, line(signature="valid", signed=signed(OTHER, LAB).split('"')[1]))
    assert spoken(repo)["work"]["signature"] != "valid"


def test_removing_by_a_forged_line_what_is_not_there_changes_nothing(repo: Near):
    install(repo, WORK)
    forge(repo, Removed("user", "work", "0" * 64), Removed("user", "play", "0" * 64))
    assert can_say(repo)


def test_dialects_that_build_on_each_other_are_not_gone_round_in_for_ever(repo: Near):
    pair = [
        dialect("(extend note (x) (tell @bob x))", name=name, more=f":extends {other}") for name, other in ("ab", "ba")
    ]
    forge(repo, *(line(text, dialect=name, hash=hashed(text)) for name, text in zip("ab", pair, strict=True)))
    assert repo.json("cbcl", "send", "(lang a (shout 1))", "--to", COBALT, "--agent", AMBER).code in (
        "UNKNOWN_PERFORMATIVE",
        "UNKNOWN_DIALECT",
    )
    assert len(spoken(repo)) == 2


def test_what_a_dialect_is_named_is_shown_harmlessly(repo: Near):
    forge(repo, line(dialect="\x1b[2J\u202e", source="\x1b]0;x\x07", author="\x9b2J"))
    told = repo.bb("cbcl", "dialect", "list")
    assert told.status == 0
    assert told.out.replace("\n", "").isprintable()


def test_a_redacted_dialect_is_spoken_no_more(repo: Near):
    event = install(repo, WORK).data["event_id"]
    assert repo.bb("ledger", "redact", event, "--reason", "a slip", "--agent", "user").status == 0
    assert not can_say(repo)
    assert repo.bb("cbcl", "dialect", "list").status == 0
    assert install(repo, WORK, "--replace").status == 0
    assert can_say(repo)
