"""Who has said a message: proved by a signature that names its ledger, demanded of whoever has a key, shown
everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bb.cbcl.facts import Heard
from bb.ledger.git import place
from bb.ledger.journal import kinds
from bb.ledger.records import creation
from bb.ledger.records.store import Store
from bb.messaging.facts import Sent
from bb.ops.desk.desk import Desk
from bb.web import pages, rendering
from tests.faces.faces_support import Forger
from tests.near import Near
from tests.stories.cbcl.cbcl_support import AMBER, COBALT, WREN, at_noon, clone_of
from tests.stories.travel.travel_support import Clone, agents_at_work, hub, settle
from tests.support import environment

TELL = f'(tell @{COBALT} "Done." :thread work)'


class Two:
    """One repository, and two users in it: one has amber-otter's key, the other trusts it."""

    def __init__(self, folder: Path) -> None:
        self.repo = at_noon(folder / "repo", AMBER, COBALT, WREN)
        self.amber, self.cobalt, self.nobody = (str(folder / name) for name in ("amber", "cobalt", "nobody"))
        made = self.as_amber("cbcl", "keygen", AMBER)
        self.key, self.fingerprint = made["public_key"], made["fingerprint"]
        self.as_cobalt("cbcl", "trust", "add", AMBER, self.key)

    def as_amber(self, *words: str) -> Any:
        return self.repo.json(*words, XDG_CONFIG_HOME=self.amber).data

    def as_cobalt(self, *words: str) -> Any:
        return self.repo.json(*words, XDG_CONFIG_HOME=self.cobalt).data

    def unsigned(self, text: str = TELL, sender: str = AMBER) -> str:
        """TEXT from SENDER, of a user who has no key: anybody who can write to the repository."""
        sent = self.repo.json("cbcl", "send", text, "--agent", sender, XDG_CONFIG_HOME=self.nobody).data
        return str(sent["event_id"])

    def hear(self) -> dict[str, Any]:
        (found,) = self.as_cobalt("cbcl", "hear", "--agent", COBALT)["heard"]
        return dict(found)

    def beliefs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.as_cobalt("cbcl", "beliefs", "--agent", COBALT)["beliefs"]
        return found

    def inbox(self) -> dict[str, Any]:
        """What is proved of the newest message in the inbox."""
        found: dict[str, Any] = self.as_cobalt("agent", "inbox", "--agent", COBALT)[0]["verified"]
        return found

    def shown(self, *words: str) -> str:
        return self.repo.bb(*words, XDG_CONFIG_HOME=self.cobalt).out


@pytest.fixture
def two(tmp_path: Path) -> Two:
    return Two(tmp_path)


# -- what is demanded


def test_an_unsigned_tell_in_the_name_of_an_author_with_a_key_is_not_believed(two: Two):
    two.unsigned()
    assert two.inbox() == {"state": "unsigned", "key": None, "demanded": "required"}

    found = two.hear()

    assert (found["status"], found["code"]) == ("error", "UNSIGNED_MESSAGE")
    assert found["verified"]["state"] == "unsigned"
    assert found["message"] == f"messages of @{AMBER} must be signed, and this one is not"
    assert (two.beliefs(), found["effects"]) == ([], [])
    (entry,) = two.as_cobalt("cbcl", "conversations", "work", "--agent", COBALT)["messages"]
    assert (entry["from"], entry["performative"], entry["verified"]["state"]) == (COBALT, "error", "own")
    assert "unsigned" in two.shown("agent", "inbox", "--agent", COBALT)


def test_who_has_a_key_signs_by_itself_and_is_believed_and_shown_as_verified(two: Two):
    sent = two.as_amber("cbcl", "send", TELL, "--agent", AMBER)
    assert sent["text"].startswith('(signed "')
    verified = {"state": "verified", "key": two.fingerprint, "demanded": "required"}
    assert two.inbox() == verified

    found = two.hear()

    assert (found["status"], found["says"], found["verified"]) == ("ok", TELL, verified)
    assert [(each["text"], each["verified"]) for each in two.beliefs()] == [('"Done."', verified)]
    assert two.inbox() == verified
    (entry,) = two.as_cobalt("cbcl", "conversations", "work", "--agent", COBALT)["messages"]
    assert (entry["text"], entry["verified"]) == (TELL, verified)
    for words in (("cbcl", "beliefs"), ("agent", "inbox"), ("cbcl", "conversations", "work")):
        assert f"verified {two.fingerprint}" in two.shown(*words, "--agent", COBALT)


def test_answers_that_hear_sends_are_signed_as_well(two: Two):
    two.as_amber("cbcl", "trust", "add", COBALT, two.as_cobalt("cbcl", "keygen", COBALT)["public_key"])
    two.as_amber("cbcl", "send", f"(hello @{COBALT})", "--agent", AMBER)
    two.hear()

    (answer,) = two.as_amber("cbcl", "hear", "--agent", AMBER)["heard"]

    assert (answer["says"], answer["status"], answer["verified"]["state"]) == (f"(hello @{AMBER})", "ok", "verified")


@pytest.mark.parametrize(("word", "is_marked"), [("preferred", True), ("off", False)])
def test_an_author_of_whom_no_signature_is_demanded_is_heard_and_marked_where_one_is_preferred(
    two: Two, word: str, is_marked: bool
):
    assert two.as_cobalt("cbcl", "trust", "signed", AMBER, word)["signed"] == word
    two.unsigned()

    found = two.hear()

    assert (found["status"], found["verified"]["state"]) == ("ok", "unsigned")
    assert ("unsigned" in two.shown("cbcl", "beliefs", "--agent", COBALT)) is is_marked
    two.as_cobalt("cbcl", "trust", "signed", AMBER, "default")
    two.unsigned(TELL.replace("Done", "Again"))
    assert two.hear()["code"] == "UNSIGNED_MESSAGE"


def test_an_unsigned_reply_settles_nothing(two: Two):
    two.as_cobalt("cbcl", "send", f'(ask @{AMBER} "Which?" :thread q)', "--agent", COBALT)
    two.unsigned(f'(reply @{COBALT} "This." :thread q)')

    two.hear()

    assert len(two.as_cobalt("cbcl", "pending", "--agent", COBALT)["expects"]) == 1


def test_of_an_author_without_a_key_nothing_is_demanded_unless_that_is_said(two: Two):
    two.unsigned(sender=WREN)
    assert two.hear()["status"] == "ok"
    two.as_cobalt("cbcl", "trust", "signed", WREN, "required")
    two.unsigned(TELL.replace("Done", "Again"), WREN)
    assert two.hear()["code"] == "UNSIGNED_MESSAGE"


# -- what is signed


def copied(two: Two, text: str, ledger: str | None) -> None:
    """A line from amber-otter that says TEXT, as any program may write it, with the LEDGER it names."""
    about: dict[str, Any] = {"id": "m-1", "performative": "tell", "effects": []}
    fact = Sent(AMBER, (COBALT,), "INFO", "x", text, "", "t", requires_ack=False, cbcl=about)
    kind, data = kinds.kind_and_data(fact.replace(cbcl=about | ({"ledger": ledger} if ledger else {})))
    Forger(two.repo).add(kind, AMBER, data)


@pytest.mark.parametrize("word", ["required", "off"])
def test_a_signed_message_of_another_ledger_is_no_more_than_unsigned(two: Two, tmp_path: Path, word: str):
    other = at_noon(tmp_path / "other" / "repo", AMBER, COBALT)
    known = other.store / "clone.json"
    known.write_text(json.dumps(json.loads(known.read_text()) | {"repo": "0" * 12}))  # of another history
    sent = other.json("cbcl", "send", TELL, "--agent", AMBER, XDG_CONFIG_HOME=two.amber).data
    (line,) = [each for each in other.json("ledger", "log").data if each["id"] == sent["event_id"]]
    elsewhere = line["data"]["cbcl"]["ledger"]
    two.as_cobalt("cbcl", "trust", "signed", AMBER, word)

    copied(two, sent["text"], elsewhere)
    found = two.hear()

    assert found["verified"]["state"] == "other-ledger"
    assert found["verified"]["why"].startswith(f"it was signed for the ledger {elsewhere}, but this ledger is ")
    assert found["status"] == ("error" if word == "required" else "ok")
    assert len(two.beliefs()) == (word == "off")
    copied(two, sent["text"], None)  # a copy that does not say where it is from
    assert two.hear()["code"] == "INVALID_SIGNATURE"


def test_a_signature_of_the_message_alone_names_no_ledger_and_is_no_more_than_unsigned(two: Two):
    signed = two.as_amber("cbcl", "sign", "--text", TELL, "--key", AMBER, "--unbound")
    assert (signed["ledger"], signed["author"]) == (None, None)
    two.unsigned(signed["text"])

    found = two.hear()

    assert (found["code"], found["verified"]["state"]) == ("UNSIGNED_MESSAGE", "other-ledger")
    assert found["message"].endswith("it was signed outside of any ledger")


def test_a_key_of_two_authors_proves_only_who_has_said_it(two: Two):
    two.as_cobalt("cbcl", "trust", "add", WREN, two.key)
    signed = two.as_amber("cbcl", "sign", "--text", TELL, "--key", AMBER)["text"]

    two.unsigned(signed, WREN)
    assert two.hear()["code"] == "INVALID_SIGNATURE"
    two.unsigned(signed)
    assert two.hear()["verified"]["state"] == "verified"


def test_a_signed_message_is_taken_once_and_only_by_whom_it_names(two: Two):
    signed = two.as_amber("cbcl", "sign", "--text", TELL, "--key", AMBER)["text"]
    two.unsigned(signed)
    assert two.hear()["status"] == "ok"
    two.unsigned(f"(envelope :from @{AMBER} {signed})")
    assert two.hear()["status"] == "duplicate"

    two.as_cobalt("cbcl", "trust", "signed", WREN, "off")
    copied(two, signed.replace("work", "elsewhere"), None)  # another thread is another text
    assert two.hear()["code"] == "INVALID_SIGNATURE"


def test_an_envelope_that_names_another_is_refused_however_well_it_is_signed(two: Two):
    inner = f"(envelope :from @{WREN} {TELL})"
    signed = two.as_amber("cbcl", "sign", "--text", inner, "--key", AMBER, "--from", AMBER)["text"]
    copied(two, signed, None)
    assert two.hear()["code"] == "SENDER_MISMATCH"


def test_what_was_verified_with_a_key_that_is_taken_back_is_shown_as_that(two: Two):
    two.as_amber("cbcl", "send", TELL, "--agent", AMBER)
    two.hear()
    two.as_cobalt("cbcl", "trust", "remove", AMBER)

    (belief,) = two.beliefs()

    assert (belief["verified"]["state"], belief["verified"]["key"]) == ("revoked", two.fingerprint)
    assert ", but you no longer trust that key" in two.shown("cbcl", "beliefs", "--agent", COBALT)


# -- which ledger it is


def test_what_was_signed_before_a_clone_joined_a_published_ledger_still_holds_in_it(two: Two):
    two.as_amber("cbcl", "send", TELL, "--agent", AMBER)
    known = two.repo.store / "clone.json"
    found = json.loads(known.read_text())
    joined = found | {"repo": "f" * 12, "former": [found["repo"]]}
    known.write_text(json.dumps(joined) + "\n")

    assert two.hear()["verified"]["state"] == "verified"


def test_two_clones_of_one_history_that_meet_later_believe_what_each_has_signed(tmp_path: Path):
    here, there = (clone_of(each, tmp_path) for each in agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT))
    made = here.ask("cbcl.keygen", name=AMBER)
    there.ask("cbcl.trust.add", author=AMBER, public_key=made["public_key"])
    settle([here, there])
    here.ask("cbcl.send", message=TELL, agent=AMBER)
    here.sync()
    here.ask("ledger.rotate", reason="a new epoch", agent="user")
    settle([here, there])

    (found,) = there.ask("cbcl.hear", agent=COBALT)["heard"]

    assert found["verified"]["state"] == "verified"


def test_joining_a_ledger_of_another_id_remembers_the_one_before(two: Two):
    clone = Clone(two.repo.path, two.repo.settings)
    with_store = Near(clone.path, clone.settings)
    before = json.loads((with_store.store / "clone.json").read_text())["repo"]
    store = Store(place.find(str(clone.path), {}))
    creation.join(store, "e" * 12)
    creation.join(store, "d" * 12)
    store.close()

    found = json.loads((with_store.store / "clone.json").read_text())
    assert (found["repo"], found["former"]) == ("d" * 12, [before, "e" * 12])
    assert with_store.bb("status").status == 0


# -- what a signature covers


def test_check_signature_says_what_of_the_text_is_covered(two: Two):
    signed = two.as_amber("cbcl", "sign", "--text", TELL, "--key", AMBER)["text"]
    wrapped = f"(envelope :to @{WREN} (with-limits :timeout 9 {signed}))"
    here = json.loads((two.repo.store / "clone.json").read_text())["repo"]

    found = two.as_cobalt("cbcl", "check-signature", "--text", wrapped, "--author", AMBER)

    covers = found["covers"]
    assert (covers["what"], covers["text"], covers["author"], covers["ledger"]) == ("message", TELL, AMBER, here)
    assert covers["outside"] == [f"(envelope :to @{WREN} …)", "(with-limits :timeout 9 …)"]
    said = two.shown("cbcl", "check-signature", "--text", wrapped, "--author", AMBER)
    assert f"sent by @{AMBER} in the ledger {here}" in " ".join(said.split())
    assert f"not covered  (envelope :to @{WREN} …)" in said
    by_key = two.as_cobalt("cbcl", "check-signature", "--text", wrapped, "--public-key", two.key)
    assert by_key["covers"] == covers


def test_check_signature_says_that_a_message_alone_names_no_ledger_and_a_lesson_only_its_definition(two: Two):
    alone = two.as_amber("cbcl", "sign", "--text", TELL, "--key", AMBER, "--unbound")["text"]
    said = two.shown("cbcl", "check-signature", "--text", alone, "--author", AMBER)
    assert "agents treat it as unsigned, because it names no ledger" in " ".join(said.split())

    text = f"(define d :author @{AMBER})"
    taught = two.as_amber("cbcl", "sign", "--text", text, "--key", AMBER, "--teach", COBALT)["text"]
    covers = two.as_cobalt("cbcl", "check-signature", "--text", taught)["covers"]
    assert (covers["what"], covers["text"], covers["ledger"]) == ("definition", text, None)
    assert covers["outside"] == [f"(meta (teach @{COBALT} …))"]


# -- the same on the other faces


def test_a_script_and_a_program_sign_in_a_ledger_too(two: Two):
    seed = "4c" * 32
    asked = {"do": "sign", "text": TELL, "seed": seed, "author": AMBER, "ledger": "abc"}
    signed = json.loads(two.repo.bb("cbcl", "batch", stdin=json.dumps(asked) + "\n").out)["data"]
    check = {"do": "check", "text": signed["text"], "public_key": signed["public_key"], "author": AMBER}
    answers = {}
    for ledger in ("abc", "abd"):
        ran = two.repo.bb("cbcl", "batch", stdin=json.dumps(check | {"ledger": ledger}) + "\n")
        answers[ledger] = json.loads(ran.out)
    assert answers["abc"]["data"]["covers"]["ledger"] == "abc"
    assert answers["abd"]["error"]["code"] == "INVALID_SIGNATURE"

    for ledger, state in (("abc", "verified"), ("abd", "forged")):
        script = {
            "agents": [COBALT],
            "trust": {AMBER: signed["public_key"]},
            "ledger": ledger,
            "steps": [{"agent": COBALT, "received": signed["text"], "from": AMBER}],
        }
        (step,) = two.repo.json("cbcl", "replay", "--script", json.dumps(script)).data["steps"]
        assert step["verified"]["state"] == state


def test_the_page_shows_what_is_proved(two: Two):
    two.as_amber("cbcl", "send", TELL, "--agent", AMBER)
    two.hear()
    desk = Desk(str(two.repo.path), environment(**two.repo.settings | {"XDG_CONFIG_HOME": two.cobalt}))
    try:
        shown = rendering.page("cbcl", pages.page(desk, "cbcl", {"agent": COBALT, "thread": "work"}))
    finally:
        desk.close()
    assert f"verified {two.fingerprint}" in shown


def test_a_line_that_claims_that_something_was_verified_verifies_nothing(two: Two):
    unsigned = two.unsigned()
    sent = two.as_amber("cbcl", "send", TELL.replace("Done", "Signed"), "--agent", AMBER)["event_id"]
    proved = {"state": "verified", "key": two.fingerprint}
    forger = Forger(two.repo)
    for event, text in ((unsigned, ""), (sent, '"Never said."')):
        about = {"id": "m-1", "verified": proved, "effects": [["believed", AMBER, text]]}
        kind, data = kinds.kind_and_data(Heard(COBALT, event, "ok", about))
        forger.add(kind, COBALT, data)

    assert {each["text"]: each["verified"]["state"] for each in two.beliefs()} == {
        '"Done."': "unsigned",
        '"Never said."': "unsigned",
    }
