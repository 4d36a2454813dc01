"""`bb cbcl keygen`, `sign`, `check-signature`, `trust` and `policy`: whose word counts, and that no secret is told."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from tests.near import Near, near

WORK = """(define work :author @ada :resources (:max-depth 8 :max-expansion-size 200 :max-verify-time 100)
  (extend assign (who what) (ask who what)))"""


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    made = near(tmp_path / "repo", XDG_CONFIG_HOME=str(tmp_path / "config"))
    (made.path / "work.cbcl").write_text(WORK)
    return made


@pytest.fixture
def public(repo: Near) -> str:
    """The public half of the key that ada signs with."""
    return str(repo.json("cbcl", "keygen", "ada").data["public_key"])


def seed(repo: Near, name: str = "ada") -> str:
    return (Path(repo.settings["XDG_CONFIG_HOME"]) / "bb" / "keys" / f"{name}.key").read_text().strip()


def test_a_key_is_made_once_and_its_secret_half_is_not_told(repo: Near):
    made = repo.json("cbcl", "keygen", "ada")
    again = repo.json("cbcl", "keygen", "ada")
    told = repo.bb("cbcl", "keygen", "bo")

    assert (made.status, again.status, again.code) == (0, 7, "KEY_EXISTS")
    assert made.data["path"].endswith("ada.key")
    assert made.data["fingerprint"] in repo.json("cbcl", "trust", "add", "ada", made.data["public_key"]).out
    assert "bb cbcl trust add bo " in told.out
    for secret, said in ((seed(repo), made.out + again.out + again.err), (seed(repo, "bo"), told.out)):
        assert secret not in said
    if sys.platform != "win32":
        assert stat.S_IMODE(Path(made.data["path"]).stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a b", "@ada", "x" * 65, "\x1b[2J", "ä"])
def test_what_no_key_may_be_called_is_refused(repo: Near, name: str):
    for words in (["keygen", name], ["sign", "work.cbcl", "--key", name], ["trust", "add", f"@{name}", "x"]):
        if words[0] == "trust" and name == "@ada":
            continue
        refused = repo.json("cbcl", *words)
        assert (refused.status, refused.code) == (2, "INVALID_IDENTIFIER")
        assert repo.bb("cbcl", *words).err.replace("\n", "").isprintable()


def test_a_signed_dialect_is_good_until_it_is_changed(repo: Near, public: str):
    signed = repo.bb("cbcl", "sign", "work.cbcl", "--key", "ada").out
    assert signed.startswith('(signed "')
    (repo.path / "signed.cbcl").write_text(signed)
    (repo.path / "changed.cbcl").write_text(signed.replace("who what)))", "what who)))"))

    good = repo.json("cbcl", "check-signature", "signed.cbcl", "--public-key", public).data
    bad = repo.json("cbcl", "check-signature", "changed.cbcl", "--public-key", public)

    assert (good["valid"], good["public_key"]) == (True, public)
    assert good["hash"] == repo.json("cbcl", "hash", "work.cbcl").data["hash"]
    assert (bad.status, bad.code) == (4, "INVALID_SIGNATURE")


def test_verification_looks_at_the_signature_of_authors_one_trusts(repo: Near, public: str):
    repo.bb("cbcl", "keygen", "eve")
    for key in ("ada", "eve"):
        (repo.path / f"{key}.cbcl").write_text(repo.bb("cbcl", "sign", "work.cbcl", "--key", key).out)
    assert repo.json("cbcl", "verify", "ada.cbcl").data["signature"] == "valid"  # by one's own key of that name
    repo.settings["XDG_CONFIG_HOME"] = str(repo.path.parent / "elsewhere")
    assert repo.json("cbcl", "verify", "eve.cbcl").data["signature"] == "unchecked"

    repo.bb("cbcl", "trust", "add", "@ada", public)

    assert repo.json("cbcl", "verify", "ada.cbcl").data["signature"] == "valid"
    assert repo.bb("cbcl", "verify", "ada.cbcl").out.startswith("work is valid, and signed by its author")
    assert repo.json("cbcl", "verify", "eve.cbcl").code == "INVALID_SIGNATURE"
    assert repo.json("cbcl", "check-signature", "ada.cbcl", "--author", "ada").data["author"] == "ada"
    assert repo.json("cbcl", "check-signature", "eve.cbcl", "--author", "@ada").code == "INVALID_SIGNATURE"


def test_a_lesson_holds_the_signed_definition(repo: Near, public: str):
    lesson = repo.bb("cbcl", "sign", "work.cbcl", "--key", "ada", "--teach", "@bob").out
    assert lesson.startswith('(meta (teach @bob (signed "')
    assert repo.json("cbcl", "parse", "-", stdin=lesson).data["ast"]["recipient"] == "@bob"
    assert repo.json("cbcl", "check-signature", "-", "--public-key", public, stdin=lesson).data["valid"]
    assert repo.json("cbcl", "verify", "-", stdin=lesson).data["sound"]
    again = repo.bb("cbcl", "sign", "-", "--key", "ada", "--teach", "bob", stdin=lesson).out
    assert again == lesson


def test_of_a_message_the_message_is_signed(repo: Near, public: str):
    signed = repo.bb("cbcl", "sign", "--text", "(tell @bob (x))", "--key", "ada").out
    assert signed.endswith('" (tell @bob (x)))\n')
    twice = repo.bb("cbcl", "sign", "-", "--key", "ada", stdin=signed).out
    for text in (signed, twice):
        assert repo.json("cbcl", "check-signature", "-", "--public-key", public, stdin=text).data["valid"]
    refused = repo.json("cbcl", "sign", "--text", "(tell @bob (x))", "--key", "ada", "--teach", "bob")
    assert (refused.status, refused.code) == (2, "USAGE")


def test_what_nobody_could_read_any_more_is_not_signed(repo: Near, public: str):
    deep = f"(tell @bob {'(' * 63}{')' * 63})"
    assert repo.bb("cbcl", "parse", "--text", deep, "--max-depth", "64").status == 0
    refused = repo.json("cbcl", "sign", "--text", deep, "--key", "ada", "--max-depth", "64")
    assert refused.envelope["error"]["details"]["reason"] == "depth"
    assert public


SIGNED = '(signed "zz" (ok @bob))'


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (["sign", "work.cbcl", "--key", "nobody"], 3, "KEY_NOT_FOUND"),
        (["sign", "work.cbcl"], 2, "MISSING_OPTION"),
        (["sign", "--key", "ada"], 2, "FILE_OR_TEXT"),
        (["sign", "--text", "(nope)", "--key", "ada"], 2, "SYNTAX_ERROR"),
        (["check-signature", "--text", SIGNED], 2, "KEY_OR_AUTHOR"),
        (["check-signature", "--text", SIGNED, "--author", "a", "--public-key", "b"], 2, "INVALID_KEY"),
        (["check-signature", "--text", SIGNED, "--author", "a", "--ledger", "no/id"], 2, "INVALID_LEDGER"),
        (["trust", "signed", "ada", "perhaps"], 2, "INVALID_VALUE"),
        (["trust", "signed", "a b", "off"], 2, "INVALID_IDENTIFIER"),
        (["check-signature", "--text", SIGNED, "--author", "stranger"], 4, "UNTRUSTED_AUTHOR"),
        (["check-signature", "--text", SIGNED, "--public-key", "x"], 2, "INVALID_KEY"),
        (["check-signature", "work.cbcl", "--author", "stranger"], 2, "NOT_SIGNED"),
        (["trust", "add", "ada", "x"], 2, "INVALID_KEY"),
        (["trust", "add", "ada", "0" * 64], 2, "INVALID_KEY"),
        (["trust", "add", "ada"], 2, "MISSING_OPTION"),
        (["trust", "remove", "ada"], 3, "AUTHOR_NOT_FOUND"),
        (["policy", "--unsigned", "sometimes"], 2, "INVALID_VALUE"),
        (["policy", "--relay", "true"], 2, "INVALID_VALUE"),
        (["policy", "--max-depth", "65"], 2, "INVALID_VALUE"),
        (["policy", "--max-expansion-size", "65537"], 2, "INVALID_VALUE"),
    ],
)
def test_what_cannot_be_is_refused(repo: Near, public: str, words: list[str], status: int, code: str):
    refused = repo.json("cbcl", *words)
    assert (refused.status, refused.code) == (status, code)
    assert seed(repo) not in refused.out
    assert public


def test_a_text_without_a_signature_is_no_good_one(repo: Near, public: str):
    assert repo.json("cbcl", "check-signature", "work.cbcl", "--public-key", public).code == "NOT_SIGNED"


def test_authors_come_and_go(repo: Near, public: str):
    other = repo.json("cbcl", "keygen", "ada-2").data["public_key"]
    assert repo.json("cbcl", "trust", "list").data == {"authors": []}
    assert repo.bb("cbcl", "trust", "list").out.startswith("No authors are trusted.")

    repo.bb("cbcl", "trust", "add", "ada", public)
    added = repo.json("cbcl", "trust", "add", "@ada", other).data

    assert added["author"] == "@ada"
    assert [each["public_key"] for each in added["keys"]] == [public, other]
    assert repo.json("cbcl", "trust", "list").data["authors"] == [added]
    assert repo.bb("cbcl", "trust", "list").out.startswith("@ada\n  ")
    left = repo.json("cbcl", "trust", "remove", "ada", "--public-key", public).data
    assert [each["public_key"] for each in left["keys"]] == [other]
    assert repo.bb("cbcl", "trust", "remove", "ada").out == "@ada  is no longer trusted\n"
    assert repo.json("cbcl", "trust", "list").data == {"authors": []}


def test_the_policy_is_shown_and_changed_and_holds(repo: Near):
    assert repo.json("cbcl", "policy").data == {
        "policy": {
            "unsigned": "local",
            "define": "trusted",
            "relay": False,
            "max_depth": 32,
            "max_size": 1 << 20,
            "max_expansion_size": 8192,
            "max_verify_time": 5000,
        },
        "changed": [],
    }
    words = ["--unsigned", "never", "--define", "anyone", "--relay", "on", "--max-expansion-size", "17"]
    changed = repo.json("cbcl", "policy", *words).data
    assert changed["changed"] == ["define", "max_expansion_size", "relay", "unsigned"]
    assert repo.json("cbcl", "policy").data["policy"] == changed["policy"]
    call = ["expand", "--text", '(lang work (assign @bob "tests"))', "--dialect", "work.cbcl"]
    assert repo.json("cbcl", *call).code == "RESOURCE_LIMIT"
    assert repo.json("cbcl", *call, "--max-expansion-size", "18").status == 0
    assert "relay               off" in repo.bb("cbcl", "policy", "--relay", "off").out


def test_keys_lie_in_no_repository(repo: Near):
    refused = repo.json("cbcl", "keygen", "ada", XDG_CONFIG_HOME=str(repo.path / "config"))
    assert (refused.status, refused.code) == (4, "KEY_IN_REPOSITORY")


def test_names_are_completed(repo: Near, public: str):
    repo.bb("cbcl", "trust", "add", "lovelace", public)

    def offered(line: str) -> list[str]:
        count = len(line.split(" ")) - 1
        ran = repo.bb(_BB_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(count))
        return ran.out.split()

    assert offered("bb cbcl sign work.cbcl --key a") == ["ada"]
    assert offered("bb cbcl trust remove love") == ["lovelace"]
    assert "trust" in offered("bb cbcl tr")
    assert set(offered("bb cbcl trust ")) == {"add", "list", "remove", "signed"}
    assert offered("bb cbcl policy --unsigned n") == ["never"]
