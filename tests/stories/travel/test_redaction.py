"""What is redacted is hidden everywhere, while every chain still holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.travel.travel_support import Clone, agents_at_work, clone, hub, settle

AMBER, COBALT = "amber-otter", "cobalt-harbor"
SECRET = "the word is xyzzy"
LETTER = {"bead": "bb-1", "category": "INFO", "subject": "Look", "body": SECRET}


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    return hub(tmp_path / "hub.git")


@pytest.fixture
def pair(origin: Path) -> list[Clone]:
    return agents_at_work(origin, AMBER, COBALT)


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
    here, there = pair
    event = say(here)
    settle(pair)
    before = (there.path / ".git" / "bb" / "index.sqlite").exists()
    here.ask("ledger.redact", event=event, reason="a password", agent=AMBER)
    settle(pair)
    (there.path / ".git" / "bb" / "index.sqlite").unlink()

    assert before
    assert not knows(there)
    assert there.ask("ledger.digest") == here.ask("ledger.digest")


def test_a_payload_that_is_gone_without_a_redaction_is_a_rewriting(origin: Path, pair: list[Clone]):
    from bb.ledger import line as lines

    here, there = pair
    event = say(here)
    settle(pair)
    before = there.digest
    name = next(
        path
        for path in here.git("ls-tree", "-r", "--name-only", here.tip).split()
        if SECRET in here.git("show", f"{here.tip}:{path}")
    )
    octets = here.git("show", f"{here.tip}:{name}").encode()
    raws = [lines.blanked(raw) if event.encode() in raw[:60] else raw for raw in octets.split(b"\n")]
    forged = here.path.parent / "forged"
    forged.write_bytes(b"\n".join(raw or b"" for raw in raws))
    blob = here.git("hash-object", "-w", str(forged)).strip()
    here.git("read-tree", "--index-output=../index-of-the-forger", here.tip)
    made = Clone(here.path, {})
    import subprocess

    from tests.support import environment

    env = environment(GIT_INDEX_FILE=str(here.path.parent / "index-of-the-forger"))
    run = ["git", "-c", "user.name=F", "-c", "user.email=f@example.invalid"]
    subprocess.run([*run, "update-index", "--cacheinfo", f"100644,{blob},{name}"], cwd=made.path, env=env, check=True)
    tree = subprocess.run([*run, "write-tree"], cwd=made.path, env=env, check=True, capture_output=True).stdout.decode()
    commit = here.git("commit-tree", "-p", here.tip, "-m", "forged", tree.strip()).strip()
    here.git("push", "--quiet", "origin", f"{commit}:refs/heads/bb-ledger")

    assert there.refused("sync").code == "LEDGER_REWRITTEN"
    assert there.digest == before
    assert knows(there)
