"""Keys from end to end: a dialect is signed here, taught, and spoken there by whoever trusts its author."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cbcl.trees import dialect
from tests.near import Near
from tests.stories.cbcl.cbcl_support import AMBER, COBALT, WORK, at_noon, clone_of, hear, install, say, spoken, texts
from tests.stories.travel.travel_support import Clone, agents_at_work, hub, settle

OWN = dialect(f"(extend own (what) (tell @{COBALT} what))", name="own", author="@ada")


@pytest.fixture
def pair(tmp_path: Path) -> list[Clone]:
    """Two clones, each of a user with keys and opinions of their own."""
    return [clone_of(each, tmp_path) for each in agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)]


def keygen(clone: Clone, name: str) -> str:
    return str(clone.ask("cbcl.keygen", name=name)["public_key"])


def signed_by(clone: Clone, name: str, text: str) -> str:
    return str(clone.ask("cbcl.sign", text=text, key=name)["text"])


def hear_in(clone: Clone, agent: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = clone.ask("cbcl.hear", agent=agent)["heard"]
    return found


def rows(clone: Clone) -> dict[str, Any]:
    return {each["dialect"]: each for each in clone.ask("cbcl.dialect.list")["dialects"]}


def lesson(text: str) -> str:
    return f"(meta (teach @{COBALT} {text}))"


def teach(pair: list[Clone], text: str) -> dict[str, Any]:
    """What comes of TEXT in the second clone, sent from the first."""
    here, there = pair
    here.ask("cbcl.send", message=text, agent=AMBER)
    settle(pair)
    (found,) = hear_in(there, COBALT)
    settle(pair)
    return found


def test_a_signed_dialect_is_installed_where_its_author_is_trusted(pair: list[Clone]):
    here, there = pair
    there.ask("cbcl.trust.add", author="ada", public_key=keygen(here, "ada"))

    found = teach(pair, lesson(signed_by(here, "ada", OWN)))

    assert (found["status"], [each["effect"] for each in found["effects"]]) == ("ok", ["installed"])
    row = rows(there)["own"]
    assert (row["author"], row["signature"], row["source"]) == ("@ada", "valid", f"@{AMBER}")
    (answer,) = hear_in(here, AMBER)
    assert answer["text"].startswith(f"(ok @{AMBER} :in-reply-to ")


@pytest.mark.parametrize("verb", ["taught by command", "sent"])
def test_both_ways_to_hand_it_on_are_one(pair: list[Clone], verb: str):
    here, there = pair
    there.ask("cbcl.trust.add", author="ada", public_key=keygen(here, "ada"))
    here.ask("cbcl.dialect.install", text=signed_by(here, "ada", OWN))
    assert rows(here)["own"]["usable"]
    if verb == "sent":
        here.ask("cbcl.send", message=lesson(signed_by(here, "ada", OWN)), agent=AMBER)
    else:
        here.ask("cbcl.dialect.teach", name="own", to=COBALT, agent=AMBER)
    settle(pair)
    assert [each["status"] for each in hear_in(there, COBALT)] == ["ok"]
    assert rows(there)["own"]["signature"] == "valid"


def test_who_teaches_may_sign_with_a_key(pair: list[Clone]):
    here, there = pair
    there.ask("cbcl.trust.add", author="ada", public_key=keygen(here, "ada"))
    here.ask("cbcl.dialect.install", text=OWN)
    found = here.ask("cbcl.dialect.teach", name="own", to=COBALT, agent=AMBER, sign_with="ada")
    assert "(signed " in found["text"]
    settle(pair)
    assert [each["status"] for each in hear_in(there, COBALT)] == ["ok"]


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("untrusted", "UNTRUSTED_AUTHOR"),
        ("tampered", "INVALID_SIGNATURE"),
        ("by another", "INVALID_SIGNATURE"),
        ("unsigned", "UNSIGNED_DIALECT"),
    ],
)
def test_what_is_not_to_be_trusted_is_refused_and_answered(pair: list[Clone], what: str, code: str):
    here, there = pair
    public = keygen(here, "ada")
    keygen(here, "mallory")
    if what != "untrusted":
        there.ask("cbcl.trust.add", author="ada", public_key=public)
    text = signed_by(here, "mallory" if what == "by another" else "ada", OWN)
    text = text.replace("own (what)", "own (when)", 1).replace("what)", "when)") if what == "tampered" else text
    text = OWN if what == "unsigned" else text

    found = teach(pair, lesson(text))

    assert (found["status"], found["code"], found["effects"]) == ("error", code, [])
    assert "own" not in rows(there)
    (answer,) = hear_in(here, AMBER)
    assert (f':code "{code}"' in answer["text"], answer["replies"]) == (True, [])


def test_a_signed_message_is_taken_once_in_whatever_clone(pair: list[Clone]):
    here, there = pair
    public = keygen(here, AMBER)
    there.ask("cbcl.trust.add", author=AMBER, public_key=public)
    text = signed_by(here, AMBER, f'(ask @{COBALT} "Which?" :id q)')

    assert teach(pair, text)["status"] == "ok"
    assert teach(pair, text)["status"] == "duplicate"
    assert len(there.ask("cbcl.pending", agent=COBALT)["owes"]) == 1


def test_who_lets_in_only_what_is_signed_speaks_nothing_else_that_others_install(pair: list[Clone]):
    here, there = pair
    there.ask("cbcl.trust.add", author="ada", public_key=keygen(here, "ada"))
    there.ask("cbcl.policy", unsigned="never")
    here.ask("cbcl.dialect.install", text=WORK)
    here.ask("cbcl.dialect.install", text=signed_by(here, "ada", OWN))
    settle(pair)

    assert {name: row["usable"] for name, row in rows(here).items()} == {"own": True, "work": True}
    assert {name: row["usable"] for name, row in rows(there).items()} == {"own": True, "work": False}
    assert there.refused("cbcl.send", message='(lang work (note "x"))', agent=COBALT).code == "UNSIGNED_DIALECT"


def test_what_was_unsigned_is_spoken_once_it_comes_signed(pair: list[Clone]):
    here, there = pair
    there.ask("cbcl.trust.add", author="ada", public_key=keygen(here, "ada"))
    there.ask("cbcl.policy", unsigned="never")
    here.ask("cbcl.dialect.install", text=OWN)
    settle(pair)
    assert not rows(there)["own"]["usable"]

    assert teach(pair, lesson(signed_by(here, "ada", OWN)))["status"] == "ok"

    assert rows(there)["own"]["usable"]
    assert rows(here)["own"]["usable"]


# -- one user, in one clone


def test_keys_and_trust_are_the_users_and_not_the_ledgers(tmp_path: Path):
    repo = at_noon(tmp_path / "repo", AMBER, COBALT)
    before = repo.journal().read_bytes()
    public = repo.json("cbcl", "keygen", "lab").data["public_key"]
    repo.json("cbcl", "trust", "add", "lab", public)
    repo.json("cbcl", "policy", "--define", "anyone")
    assert repo.journal().read_bytes() == before
    assert (tmp_path / "config" / "bb").is_dir()


def test_a_signed_file_is_installed_as_signed(tmp_path: Path):
    repo = at_noon(tmp_path / "repo", AMBER)
    public = repo.json("cbcl", "keygen", "lab").data["public_key"]
    repo.json("cbcl", "trust", "add", "lab", public)
    (repo.path / "work.cbcl").write_text(WORK)
    (repo.path / "signed.cbcl").write_text(repo.bb("cbcl", "sign", "work.cbcl", "--key", "lab").out)
    (repo.path / "tampered.cbcl").write_text((repo.path / "signed.cbcl").read_text().replace("what", "when"))

    assert repo.json("cbcl", "dialect", "install", "tampered.cbcl").code == "INVALID_SIGNATURE"
    assert repo.json("cbcl", "dialect", "install", "signed.cbcl").data["signature"] == "valid"
    repo.json("cbcl", "trust", "remove", "lab")
    assert spoken(repo)["work"]["signature"] == "valid"  # by the user's own key of that name
    repo.settings["XDG_CONFIG_HOME"] = str(tmp_path / "elsewhere")
    assert spoken(repo)["work"]["signature"] == "unchecked"


def test_the_policy_decides_about_what_is_unsigned(tmp_path: Path):
    repo = at_noon(tmp_path / "repo", AMBER, COBALT)
    say(repo, AMBER, lesson(WORK))
    assert hear(repo, COBALT)[0]["code"] == "UNSIGNED_DIALECT"
    assert repo.bb("cbcl", "policy", "--unsigned", "anyone", "--define", "anyone").status == 0
    say(repo, AMBER, lesson(WORK))
    assert [each["status"] for each in hear(repo, COBALT)] == ["ok"]
    assert spoken(repo)["work"]["installed_by"] == COBALT
    assert len(texts(repo, AMBER)) == 2
    repo.json("cbcl", "dialect", "remove", "work")
    repo.json("cbcl", "policy", "--unsigned", "never")
    assert install(repo, WORK).code == "UNSIGNED_DIALECT"


def test_a_broken_trust_file_stops_talk_and_says_so(tmp_path: Path):
    repo: Near = at_noon(tmp_path / "repo", AMBER, COBALT)
    repo.json("cbcl", "policy", "--define", "anyone")
    (path,) = (tmp_path / "config" / "bb").rglob("trust.json")
    path.write_text("{")
    before = repo.journal().read_bytes()
    for verb in (["send", f"(hello @{COBALT})"], ["hear"]):
        found = repo.json("cbcl", *verb, "--agent", AMBER)
        assert (found.status, found.code) == (4, "TRUST_UNREADABLE")
    assert repo.journal().read_bytes() == before
