"""What is redacted is hidden everywhere, while every chain still holds."""

from __future__ import annotations

import shutil
from pathlib import Path

from bb.ledger.journal import line as lines
from tests.stories.travel.branch_support import Branch, File
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, clone, settle

SECRET = "the word is xyzzy"
LETTER = {"bead": "bb-1", "category": "INFO", "subject": "Look", "body": SECRET}


def say(at: Clone) -> str:
    return str(at.ask("agent.send", **{"from": AMBER}, to=COBALT, **LETTER)["message_id"])


def knows(at: Clone) -> bool:
    """Whether the secret is anywhere in a clone's store or in what its commands say."""
    stored = any(SECRET.encode() in path.read_bytes() for path in at.store.rglob("*.jsonl"))
    said = SECRET in str([at.ask("ledger.log"), at.ask("agent.inbox", agent=COBALT), at.ask("timeline")])
    return stored or said


def published(at: Clone) -> bool:
    """Whether the secret is in the files that are published now."""
    tip = at.tip
    at.git("fetch", "--quiet", "origin", "refs/heads/bb-ledger")
    names = at.git("ls-tree", "-r", "--name-only", tip).split()
    return any(SECRET in at.git("show", f"{tip}:{name}") for name in names)


def test_before_it_is_published_it_never_leaves(pair: list[Clone]):
    here, there = pair
    event = say(here)

    here.ask("ledger.redact", event=event, reason="a password", agent=AMBER)
    settle(pair)

    assert not knows(here)
    assert not knows(there)
    assert not published(here)
    assert SECRET not in here.git("log", "-p", "refs/bb/ledger")
    assert here.digest == there.digest


def test_after_it_was_published_it_is_blanked_in_every_copy(origin: Path, pair: list[Clone]):
    here, there = pair
    event = say(here)
    settle(pair)
    assert knows(there)
    assert published(here)

    here.ask("ledger.redact", event=event, reason="a password", agent=AMBER)
    assert not knows(here)
    settle(pair)
    fresh = clone(origin, "fresh")
    fresh.sync(pull=True)

    for each in (here, there, fresh):
        assert not knows(each)
        assert each.ask("ledger.verify")["is_index_right"]
    assert not published(here)
    assert here.digest == there.digest == fresh.digest


def test_the_person_may_redact_anything_and_from_any_clone(pair: list[Clone]):
    here, there = pair
    event = say(here)
    settle(pair)

    there.ask("ledger.redact", event=event, reason="a password", agent="user")
    settle(pair)

    assert not knows(here)
    assert here.digest == there.digest


def test_others_may_not_and_nothing_that_says_how_things_stand_can_be(pair: list[Clone]):
    here, there = pair
    event = say(here)
    settle(pair)
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    here.ask("agent.release", agent=AMBER, all=True)
    released = here.ask("ledger.log", kind=["x.bb.released"])[-1]["id"]

    assert there.refused("ledger.redact", event=event, reason="no", agent=COBALT).code == "REDACT_FORBIDDEN"
    assert here.refused("ledger.redact", event=released, reason="no", agent="user").code == "NOT_REDACTABLE"
    assert knows(there)


def test_a_redaction_that_arrives_before_what_it_is_about_hides_it_all_the_same(origin: Path, pair: list[Clone]):
    """A branch brings along the lines of whoever redacted, while the hub still has the message as it was."""
    here, there = pair
    event = say(here)
    settle(pair)
    there.ask("ledger.redact", event=event, reason="a password", agent="user")
    there.ask("ledger.mirror")
    fresh = clone(origin, "fresh")
    fresh.ask("agent.register", name="coral-heron", role="builder")
    shutil.copytree(there.path / ".bb", fresh.path / ".bb")

    fresh.ask("ledger.mirror")
    fresh.sync(pull=True)

    assert published(there), "nobody has blanked it there yet"
    assert not knows(fresh)
    fresh.sync(publish=True)
    settle([there, here, fresh])
    assert here.digest == there.digest == fresh.digest


def test_whoever_reads_the_ledger_anew_does_not_see_it_either(pair: list[Clone]):
    here, there = pair
    event = say(here)
    settle(pair)
    here.ask("ledger.redact", event=event, reason="a password", agent=AMBER)
    settle(pair)

    (there.store / "index.sqlite").unlink()

    assert not knows(there)
    assert there.digest == here.digest


def test_a_blanking_that_was_cut_short_is_done_again(pair: list[Clone]):
    here, _ = pair
    event = say(here)
    here.ask("ledger.redact", event=event, reason="a password", agent=AMBER)
    (journal,) = here.store.glob(f"j/{event.partition('.')[0]}/*.jsonl")
    octets = journal.read_bytes()
    start = octets.index(b'"data":null', octets.index(f'"{event}"'.encode())) + len(b'"data":null')
    journal.write_bytes(octets[: start + 20] + SECRET.encode() + octets[start + 20 + len(SECRET) :])
    assert here.refused("ledger.verify").code == "LEDGER_DAMAGED"

    here.ask("ledger.redact", event=event, reason="a password", agent=AMBER)

    assert journal.read_bytes() == octets
    assert here.ask("ledger.verify")["is_index_right"]


def test_a_payload_that_is_gone_without_a_redaction_is_a_rewriting(origin: Path, pair: list[Clone]):
    here, there = pair
    event = say(here)
    settle(pair)
    before, branch = there.digest, Branch(origin)
    files = branch.files()
    path, file = next((path, file) for path, file in files.items() if SECRET.encode() in file.octets)
    raws = [lines.blanked(raw) if event.encode() in raw[:60] else raw for raw in file.octets.split(b"\n")]
    branch.put(files | {path: File(b"\n".join(raw or b"" for raw in raws))})

    (skipped,) = there.sync()["quarantined"]
    assert "without a permitted redaction" in skipped["why"]
    assert there.digest == before
    assert knows(there)
