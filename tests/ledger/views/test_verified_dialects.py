"""Verdicts on dialects are kept by the digest of the text, count only where this user has written them, and may go."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bb.cbcl.facts import Installed
from bb.cbcl.judge import verification
from bb.cbcl.read import canonical, fuel, grammar
from bb.ledger.views import verified_dialects
from bb.ledger.views.verified_dialects import Verdict, VerdictCache
from tests import everything
from tests.cbcl.trees import dialect
from tests.near import Near
from tests.stories.cbcl.cbcl_support import AMBER, COBALT, WORK, at_noon, forge, hear, install, say, spoken
from tests.support import NOON

TEXT = b"(define d)"
FOUND = Verdict(is_sound=True, hash="0f", name="d", extends="", author="a", adds=("p", "q"), signatures={"x": True})
LARGE = dialect(*(f"(extend p{n} (a &key b) (tell @{COBALT} (x a :b (or b 1))))" for n in range(2000)), name="large")


@pytest.fixture
def kept(tmp_path: Path) -> VerdictCache:
    return VerdictCache(str(tmp_path))


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    return at_noon(tmp_path / "repo", AMBER, COBALT)


def only(folder: Path) -> Path:
    (found,) = (folder / "verdicts").iterdir()
    return found


def test_what_was_found_out_is_found_again(kept: VerdictCache):
    assert kept.get(TEXT) is None
    kept.put(TEXT, FOUND)

    assert kept.get(TEXT) == FOUND
    assert kept.get(TEXT + b" ") is None


def test_another_version_of_the_rules_finds_out_for_itself(kept: VerdictCache, monkeypatch: pytest.MonkeyPatch):
    kept.put(TEXT, FOUND)
    monkeypatch.setattr(verified_dialects, "RULES", f"{verified_dialects.RULES} and one more")
    assert kept.get(TEXT) is None


@pytest.mark.parametrize(
    "written",
    [
        *("", "{", "null", "[]", "{}", '{"is_sound": true}', "\x00", "[" * 100_000),
        *(json.dumps(FOUND.as_dict() | {"adds": ["p"], name: 3}) for name in Verdict.__match_args__),
        json.dumps(FOUND.as_dict() | {"adds": ["p"], "signatures": {"x": "yes"}}),
    ],
)
def test_a_damaged_verdict_is_none_and_is_written_anew(kept: VerdictCache, tmp_path: Path, written: str):
    kept.put(TEXT, FOUND)
    only(tmp_path).write_text(written)

    assert kept.get(TEXT) is None
    kept.put(TEXT, FOUND)
    assert kept.get(TEXT) == FOUND


def test_a_verdict_that_others_can_have_written_counts_for_nothing(kept: VerdictCache, tmp_path: Path):
    before = os.umask(0)
    try:
        kept.put(TEXT, FOUND)
    finally:
        os.umask(before)
    file = only(tmp_path)
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    file.chmod(0o620)
    assert kept.get(TEXT) is None
    file.chmod(0o600)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert kept.get(TEXT) is None


def test_there_are_never_many(kept: VerdictCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(verified_dialects, "MOST_KEPT", 8)
    monkeypatch.setattr(verified_dialects, "LEFT", 4)
    for number in range(50):
        kept.put(b"%d" % number, FOUND)
        assert len(list((tmp_path / "verdicts").iterdir())) <= 8
    kept.put(b"too long", FOUND.replace(adds=("x" * verified_dialects.MOST,)))
    assert kept.get(b"too long") is None


def test_where_nothing_can_be_kept_it_is_found_out_again(tmp_path: Path):
    (tmp_path / "verdicts").write_text("no folder")
    found = VerdictCache(str(tmp_path))
    found.put(TEXT, FOUND)
    assert found.get(TEXT) is None


# -- in a repository


class Judging:
    """How often a definition is read, and judged."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read = self.judged = 0
        for module, name in ((grammar, "definition_in"), (verification, "verify")):
            monkeypatch.setattr(module, name, self._counted(getattr(module, name), name))

    def _counted(self, function: Any, name: str) -> Any:
        def counted(*given: Any, **more: Any) -> Any:
            self.read += name == "definition_in"
            self.judged += name == "verify"
            return function(*given, **more)

        return counted


@pytest.fixture
def judging(monkeypatch: pytest.MonkeyPatch) -> Judging:
    return Judging(monkeypatch)


def test_a_large_dialect_is_neither_read_nor_judged_again_by_who_does_not_speak_it(repo: Near, judging: Judging):
    assert install(repo, LARGE).status == 0
    spoken(repo)
    judging.read = judging.judged = 0

    assert spoken(repo)["large"]["usable"]
    say(repo, AMBER, f'(tell @{COBALT} "x")')
    say(repo, AMBER, "(meta (query (speak? large)))", "--to", COBALT)
    assert [each["status"] for each in hear(repo, COBALT)] == ["ok", "ok"]

    assert (judging.read, judging.judged) == (0, 0)
    say(repo, AMBER, "(lang large (p7 1))")
    assert (judging.read > 0, judging.judged) == (True, 0)


def test_removing_what_is_kept_changes_nothing(repo: Near):
    install(repo, WORK)
    before = repo.json("cbcl", "dialect", "list").data
    for file in (repo.store / "verdicts").iterdir():
        file.unlink()
    assert repo.json("cbcl", "dialect", "list").data == before
    only(repo.store).write_bytes(os.urandom(99))
    assert repo.json("cbcl", "dialect", "list").data == before


def test_a_verdict_is_of_the_text_and_not_of_what_the_line_says_it_is(repo: Near):
    install(repo, WORK)
    repo.json("cbcl", "dialect", "list")
    file = only(repo.store)
    file.write_text(json.dumps(json.loads(file.read_text()) | {"hash": "0" * 64}))
    assert not spoken(repo)["work"]["usable"]


def test_a_key_that_comes_or_goes_is_minded_although_the_signature_was_checked_before(repo: Near):
    public = repo.json("cbcl", "keygen", "lab").data["public_key"]
    signed = repo.json("cbcl", "sign", "--text", WORK, "--key", "lab").data["text"]
    assert install(repo, signed).status == 0
    assert [spoken(repo)["work"]["signature"] for _ in "12"] == ["valid", "valid"]
    config = str(repo.path.parent / "elsewhere")
    listed = ("cbcl", "dialect", "list")

    def signature() -> str:
        return str(repo.json(*listed, XDG_CONFIG_HOME=config, BB_NOW=NOON).data["dialects"][0]["signature"])

    assert signature() == "unchecked"
    repo.bb("cbcl", "trust", "add", "lab", public, XDG_CONFIG_HOME=config)
    assert [signature(), signature()] == ["valid", "valid"]
    repo.bb("cbcl", "trust", "remove", "lab", XDG_CONFIG_HOME=config)
    assert signature() == "unchecked"


# -- the same every time


@pytest.mark.parametrize("time", [1, 2])
def test_what_a_definition_may_cost_is_counted_in_steps_and_so_is_the_same_every_time(repo: Near, time: int):
    limits = f":max-depth 16 :max-expansion-size 9000 :max-verify-time {time}"
    text = dialect(f"(extend p (a) (tell a ({'x ' * 340})))", name="edge", limits=limits)
    statuses = set()
    for _ in range(5):
        statuses.add(install(repo, text).status)
        repo.bb("cbcl", "dialect", "remove", "edge")
    assert statuses == ({4} if time == 1 else {0})


def test_a_dialect_that_takes_more_steps_than_it_declares_is_spoken_in_no_clone(repo: Near):
    limits = ":max-depth 16 :max-expansion-size 9000 :max-verify-time 1"
    text = dialect(f"(extend p (a) (tell a ({'x ' * 340})))", name="edge", limits=limits)
    hashed = canonical.digest(grammar.definition_in(text.encode())[1].node)
    forge(repo, Installed("user", "edge", text, hashed, "a", "unsigned", "text"))

    for policy in ("1", "60000"):  # what this user grants when installing is not asked
        repo.bb("cbcl", "policy", "--max-verify-time", policy)
        row = spoken(repo)["edge"]
        assert (row["usable"], row["why_not"]) == (False, "the definition installed as edge is not sound")


def test_of_many_violations_the_first_are_listed_and_the_others_counted(repo: Near):
    text = f"(define d (extend p ({'a ' * 400}) (ok @b)))"
    refused = repo.json("cbcl", "verify", "--text", text)
    found = refused.envelope["error"]["details"]

    assert (len(found["violations"]), found["count"], found["rules"]) == (50, 403, ["R2", "R4", "structure"])
    assert "and 402 more" in refused.envelope["error"]["message"]
    assert "and 353 violations more, not shown" in repo.bb("cbcl", "verify", "--text", text).out
    many = repo.bb("cbcl", "verify", "--text", text.replace("a " * 400, "a " * 4000)).out
    assert "and at least 950 violations more" in many
    assert len(many) < 20_000


def test_what_takes_too_many_steps_is_refused_by_each_command(repo: Near, tmp_path: Path):
    file = tmp_path / "d.cbcl"
    file.write_text(f"(define d (extend p (a) (tell @b ({'(x) ' * 200}))))")
    size = str(file.stat().st_size)
    granted, fuel.STEPS_AN_OCTET = fuel.STEPS_AN_OCTET, 1
    try:
        for words in (("format", str(file)), ("diff", str(file), str(file))):
            refused = repo.json("cbcl", *words, "--max-size", size)
            assert (refused.status, refused.code) == (4, "RESOURCE_LIMIT"), words
            assert "--max-size" in refused.envelope["error"]["hint"]
    finally:
        fuel.STEPS_AN_OCTET = granted
    for words in (("format", str(file)), ("diff", str(file), str(file)), ("hash", str(file))):
        assert repo.json("cbcl", *words, "--max-size", size).status == 0


def test_undoing_a_ledger_takes_its_verdicts_along(tmp_path: Path):
    made = everything.make(tmp_path / "repo").repo
    assert made.json("cbcl", "dialect", "list").status == 0
    assert list((made.store / "verdicts").iterdir())

    assert made.bb("init", "--undo", "--delete-history").status == 0

    assert not made.store.exists()
