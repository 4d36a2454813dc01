"""A ledger that is begun anew: its earlier commits go, and no line and nothing that was settled goes with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bb.kernel import json_text
from bb.ledger.journal import line as lines
from bb.ledger.published import layout, pins
from bb.ledger.travel import compacting, new_epoch, remote
from tests.stories.travel.branch_support import Branch, Chain, File, Name
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, clone, settle

SECRET = "the word is xyzzy"
LETTER = {"from": AMBER, "to": COBALT, "bead": "bb-1", "category": "INFO", "subject": "Look"}
EVERYWHERE = {"global": True}
Files = dict[Name, File]


def say(at: Clone, body: str) -> str:
    return str(at.ask("agent.send", **LETTER, body=body)["message_id"])


def rotate(at: Clone, **given: Any) -> dict[str, Any]:
    found: dict[str, Any] = at.ask("ledger.rotate", reason="a password", agent="user", **given)
    return found


def in_history(origin: Path, text: str) -> bool:
    """Whether anything on any branch of the hub ever said TEXT."""
    return text.encode() in Branch(origin).git("log", "--all", "-p")


def token(at: Clone, scope: str) -> int:
    (found,) = [each for each in at.ask("agent.status")["reservations"] if each["scope"] == scope]
    return int(found["token"])


def test_what_was_redacted_is_gone_from_the_history_and_nothing_else_is(origin: Path, pair: list[Clone]):
    here, there = pair
    event = say(here, SECRET)
    say(here, "nothing much")
    settle(pair)
    here.ask("ledger.redact", event=event, reason="a password", agent=AMBER)
    settle(pair)
    before = here.ask("ledger.digest")
    assert in_history(origin, SECRET)

    answer = rotate(here)
    there.sync(pull=True)
    fresh = clone(origin, "fresh")
    fresh.sync(pull=True)

    assert not in_history(origin, SECRET)
    assert (answer["epoch"], answer["redacted"], answer["events"]) == (2, 1, before["events"])
    assert here.ask("ledger.digest") == there.ask("ledger.digest") == fresh.ask("ledger.digest") == before
    for each in (here, there, fresh):
        assert each.ask("ledger.verify", published=True)["published"][0]["epoch"] == 2


def test_everybody_goes_on_as_before(origin: Path, pair: list[Clone]):
    here, there = pair
    rotate(here)
    said = there.sync()
    say(here, "one more")
    there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-1")
    settle(pair)
    fresh = clone(origin, "fresh")
    fresh.sync(pull=True)

    told = said["begun_anew"]
    assert (told["epoch"], told["by"], told["reason"]) == (2, "user", "a password")
    assert here.sync()["begun_anew"] is None
    assert here.digest == there.digest == fresh.digest


def test_whoever_was_behind_or_had_more_to_say_follows_too(origin: Path, pair: list[Clone]):
    here, there = pair
    say(here, "the other clone has not seen this when the epoch ends")
    there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-1")
    rotate(here)
    rotate(here)

    there.sync()
    settle(pair)

    assert here.digest == there.digest
    assert here.ask("ledger.verify", published=True)["published"][0]["epoch"] == 3


def test_what_was_settled_stays_settled(origin: Path):
    here, there, third = clones = agents_at_work(origin, AMBER, COBALT, "coral-heron")
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1", **EVERYWHERE)
    there.ask("agent.reserve", agent=COBALT, scope=["lib"], bead="bb-1", **EVERYWHERE)
    settle(clones)
    there.ask("agent.release", agent=COBALT, all=True)
    settle(clones)
    before = here.holds(), token(here, "src")

    rotate(there)
    settle(clones)
    fresh = clone(origin, "fresh")
    fresh.sync(pull=True)

    for each in (*clones, fresh):
        assert (each.holds(), token(each, "src")) == before
    refusal = third.refused("agent.reserve", agent="coral-heron", scope=["src/a"], bead="bb-1", **EVERYWHERE)
    assert refusal.code == "RESERVATION_CONFLICT"
    third.ask("agent.reserve", agent="coral-heron", scope=["lib"], bead="bb-1", **EVERYWHERE)
    assert token(third, "lib") > before[1], "tokens go on rising"


def test_of_two_local_reservations_the_one_that_was_published_first_still_stands(origin: Path, pair: list[Clone]):
    here, there = pair
    there.ask("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1")
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    here.sync()
    rotate(here)

    lost = there.sync()["contested"]

    assert [(each["agent_id"], each["stands"]) for each in lost] == [(COBALT, AMBER)]
    settle(pair)
    assert here.holds() == there.holds()


def test_a_clone_with_two_remotes_keeps_to_the_epoch_of_each(origin: Path, pair: list[Clone], tmp_path: Path):
    here, there = pair
    other = Branch(tmp_path / "other.git")
    here.git("init", "--quiet", "--bare", str(other.hub))
    here.git("remote", "add", "other", str(other.hub))
    here.sync(remote="other", publish=True)

    rotate(here)
    say(here, "for both")
    here.sync()
    here.sync(remote="other")
    there.sync()

    assert pins.read(str(here.store)).remote("other").tip.charter.epoch == 1  # type: ignore[union-attr]
    assert here.digest == there.digest


def test_nothing_is_begun_anew_before_it_is_asked_for(origin: Path, pair: list[Clone]):
    here, _ = pair
    before = Branch(origin).tip

    shown = rotate(here, dry_run=True)

    assert (shown["epoch"], shown["tip"]) == (2, None)
    assert Branch(origin).tip == before
    fresh = clone(origin, "fresh")
    fresh.sync(pull=True)
    assert fresh.refused("ledger.rotate", reason="why not", agent="user").code == "NOT_PUBLISHED"


def test_a_remote_that_keeps_what_it_has_says_so(origin: Path, pair: list[Clone]):
    here, there = pair
    Branch(origin).git("config", "receive.denyNonFastForwards", "true")

    refusal = here.refused("ledger.rotate", reason="a password", agent="user")

    assert refusal.code == "PUSH_DENIED"
    assert "replaced" in str(refusal.hint)
    say(here, "and goes on")
    settle(pair)
    assert here.digest == there.digest


def test_whoever_publishes_meanwhile_is_not_overrun(origin: Path, pair: list[Clone], monkeypatch: pytest.MonkeyPatch):
    here, there = pair
    begin = compacting.commit

    def late(*given: Any, **named: Any) -> Any:
        monkeypatch.undo()
        there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-1")
        there.sync()
        return begin(*given, **named)

    monkeypatch.setattr(compacting, "commit", late)
    assert rotate(here)["epoch"] == 2

    settle(pair)
    assert here.digest == there.digest
    assert (COBALT, "docs", "active") in here.holds()


class Killed(Exception):
    """What stands for a SIGKILL."""


def test_the_push_of_a_killed_rotation_may_arrive_during_the_next_one(
    pair: list[Clone], monkeypatch: pytest.MonkeyPatch
):
    here, there = pair
    settle(pair)
    push, begin = remote.push, new_epoch.rotate
    pushed: list[Any] = []

    def killed(*given: Any) -> None:
        pushed.append(given)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(remote, "push", killed)
        with pytest.raises(Killed):
            rotate(here)

    def after_its_arrival(*given: Any) -> int:
        push(*pushed[0])
        return begin(*given)

    with monkeypatch.context() as patch:
        patch.setattr(new_epoch, "rotate", after_its_arrival)
        answer = rotate(here)

    assert answer["epoch"] == 2
    assert answer["commits"] > 0
    there.sync()
    assert here.digest == there.digest
    assert there.ask("ledger.verify", published=True)["published"][0]["epoch"] == 2


def test_what_is_pushed_meanwhile_and_does_not_count_is_skipped(
    origin: Path, pair: list[Clone], monkeypatch: pytest.MonkeyPatch
):
    here, there = pair
    begin, branch = compacting.commit, Branch(origin)

    def late(*given: Any, **named: Any) -> Any:
        monkeypatch.undo()
        branch.put(branch.files() | {"NOTES.md": File(b"hello\n")})
        return begin(*given, **named)

    monkeypatch.setattr(compacting, "commit", late)
    assert rotate(here)["epoch"] == 2

    settle(pair)
    assert here.digest == there.digest
    assert "NOTES.md" not in branch.files()


def test_of_two_rotations_at_once_one_counts(origin: Path, pair: list[Clone], monkeypatch: pytest.MonkeyPatch):
    here, there = pair
    begin = compacting.commit

    def late(*given: Any, **named: Any) -> Any:
        monkeypatch.undo()
        assert rotate(there)["epoch"] == 2
        return begin(*given, **named)

    monkeypatch.setattr(compacting, "commit", late)
    refusal = here.refused("ledger.rotate", reason="a password", agent="user")

    assert (refusal.code, "epoch 2" in refusal.message) == ("CONTENDED", True)
    settle(pair)
    assert here.digest == there.digest


def test_whoever_is_slower_every_time_is_told(origin: Path, pair: list[Clone], monkeypatch: pytest.MonkeyPatch):
    here, there = pair
    begin = compacting.commit

    def late(*given: Any, **named: Any) -> Any:
        there.ask("agent.send", **LETTER | {"from": COBALT, "to": AMBER}, body="once more")
        with monkeypatch.context() as patch:
            patch.setattr(compacting, "commit", begin)
            there.sync()
        return begin(*given, **named)

    monkeypatch.setattr(compacting, "commit", late)
    assert here.refused("ledger.rotate", reason="a password", agent="user").code == "CONTENDED"
    monkeypatch.undo()

    settle(pair)
    assert here.digest == there.digest
    assert here.ask("ledger.verify", published=True)["published"][0]["epoch"] == 1


def test_an_answer_that_was_lost_is_found_out_by_the_next_sync(
    origin: Path, pair: list[Clone], monkeypatch: pytest.MonkeyPatch
):
    here, there = pair
    push = remote.push

    def deaf(*given: Any) -> None:
        push(*given)
        raise remote.Offline("the line is dead")

    monkeypatch.setattr(remote, "push", deaf)
    assert here.refused("ledger.rotate", reason="a password", agent="user").code == "OFFLINE"
    monkeypatch.undo()

    assert here.sync()["begun_anew"]["epoch"] == 2
    settle(pair)
    assert here.digest == there.digest


def test_what_others_would_refuse_is_not_published(origin: Path, pair: list[Clone]):
    here, there = pair
    event = say(here, "nothing much")
    settle(pair)
    (journal,) = here.store.glob(f"j/{event.partition('.')[0]}/*.jsonl")
    rows = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join((lines.blanked(row) or row) if event.encode() in row[:60] else row for row in rows))
    before = Branch(origin).tip

    assert here.refused("ledger.rotate", reason="a password", agent="user").code == "LEDGER_REWRITTEN"
    assert Branch(origin).tip == before
    assert there.sync()["begun_anew"] is None


def test_what_is_damaged_here_is_not_published_anew(origin: Path, pair: list[Clone]):
    here, _ = pair
    event = say(here, "nothing much")
    settle(pair)
    (journal,) = here.store.glob(f"j/{event.partition('.')[0]}/*.jsonl")
    journal.write_bytes(journal.read_bytes().replace(b"nothing much", b"nothing less"))
    before = Branch(origin).tip

    assert here.refused("ledger.rotate", reason="a password", agent="user").code == "LEDGER_DAMAGED"
    assert Branch(origin).tip == before


def test_no_commit_of_the_epoch_before_is_held_on_to(origin: Path, pair: list[Clone]):
    here, there = pair
    event = say(here, SECRET)
    settle(pair)
    here.ask("ledger.redact", event=event, reason="a password", agent=AMBER)
    settle(pair)
    rotate(here)
    settle(pair)

    for each in (here, there):
        assert SECRET not in each.git("log", "--all", "-p"), each


def test_what_was_reserved_and_redacted_is_in_no_list_of_what_was_settled(origin: Path, pair: list[Clone]):
    here, there = pair
    found = here.ask("agent.reserve", agent=AMBER, scope=["src/xyzzy"], bead="bb-1", **EVERYWHERE)
    event = found["reservations"][0]["reservation_id"]
    here.ask("agent.release", agent=AMBER, all=True)
    here.ask("ledger.redact", event=event, reason="a word", agent=AMBER)
    settle(pair)

    rotate(here)
    settle(pair)

    assert not in_history(origin, "xyzzy")
    assert here.digest == there.digest


def test_who_came_in_whose_way_is_told_by_a_rotation_too(origin: Path, pair: list[Clone]):
    here, there = pair
    there.ask("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1")
    there.sync()
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")

    rotate(here)

    notices = [each for each in here.ask("ledger.log", kind=["system.notify"]) if "contested" in str(each["data"])]
    assert len(notices) == 1


def test_a_reason_is_no_place_for_a_secret(pair: list[Clone]):
    token = "ghp_" + "a1B2" * 9
    assert pair[0].refused("ledger.rotate", reason=f"{token} got out", agent="user").code == "SECRET_FOUND"


def test_a_dry_run_counts_the_commits_of_this_epoch(pair: list[Clone]):
    here, _ = pair
    rotate(here)
    say(here, "one more")
    here.sync()

    shown = rotate(here, dry_run=True)

    assert shown["commits"] == rotate(here)["commits"] == 3


# -- what may not pass for a new epoch


def anew(origin: Path, here: Clone) -> tuple[Branch, Files]:
    """What the first commit of a new epoch holds, and the branch as it was before that."""
    branch, before = Branch(origin), Branch(origin).tip
    rotate(here)
    files = branch.files(branch.parents()[0])
    branch.point_at(before)
    return branch, files


def line_file(files: Files, writer: str) -> str:
    (path,) = [str(path) for path in files if writer in str(path)]
    return path


def charter(files: Files, **changes: Any) -> Files:
    found = json_text.read(files["bb.json"].octets)
    previous = found["previous"] | {name: value for name, value in changes.items() if name in found["previous"]}
    found |= {name: value for name, value in changes.items() if name in found} | {"previous": previous}
    return files | {"bb.json": File(json_text.dumps(found).encode() + b"\n")}


def without_a_line(files: Files, writer: str) -> Files:
    path = line_file(files, writer)
    rows = files[path].octets.splitlines(keepends=True)
    return files | {path: File(b"".join(rows[:-1]))}


def without_a_writer(files: Files, writer: str) -> Files:
    return {path: file for path, file in files.items() if path != line_file(files, writer)}


def with_a_payload_taken_out(files: Files, writer: str) -> Files:
    path = line_file(files, writer)
    rows = files[path].octets.split(b"\n")[:-1]
    return files | {path: File(b"".join((lines.blanked(row) or row) + b"\n" for row in rows))}


def of_another_ledger(files: Files, _: str) -> Files:
    return charter(files, repo="ffffffffffff")


def with_fewer_generations(files: Files, _: str) -> Files:
    return charter(files, generation=1)


def with_nonsense_for_what_was_settled(files: Files, _: str) -> Files:
    return files | {"settled.json": File(b"[]\n")}


def with_nothing_settled(files: Files, _: str) -> Files:
    return files | {"settled.json": File(b'{"generations":{},"grants":{}}\n')}


def with_another_token(files: Files, _: str) -> Files:
    found = json_text.read(files["settled.json"].octets)
    for grant in found["grants"].values():
        grant[4] += 1
    return files | {"settled.json": File(json_text.dumps(found).encode() + b"\n")}


def _with_settled(files: Files, grants: Any = None, generations: Any = None) -> Files:
    found = json_text.read(files["settled.json"].octets)
    found = {"grants": found["grants"] | (grants or {}), "generations": found["generations"] | (generations or {})}
    return files | {"settled.json": File(json_text.dumps(found).encode() + b"\n")}


def with_a_grant_of_nothing(files: Files, writer: str) -> Files:
    return _with_settled(files, grants={f"{writer}.999": ["ghost-agent", "**", False, False, 1, None]})


def with_a_grant_that_was_none(files: Files, writer: str) -> Files:
    return _with_settled(files, grants={f"{writer}.1": ["ghost-agent", "**", False, False, 1, None]})


def with_a_token_that_is_no_number(files: Files, _: str) -> Files:
    name, grant = next(iter(json_text.read(files["settled.json"].octets)["grants"].items()))
    return _with_settled(files, grants={name: [*grant[:4], "7", None]})


def with_a_token_of_the_future(files: Files, _: str) -> Files:
    name, grant = next(iter(json_text.read(files["settled.json"].octets)["grants"].items()))
    return _with_settled(files, grants={name: [*grant[:4], 1_000_000, None]})


def with_an_order_for_what_is_to_come(files: Files, writer: str) -> Files:
    return _with_settled(files, generations={f"{writer}.999": 1})


def with_an_epoch_that_nobody_can_follow(files: Files, _: str) -> Files:
    return charter(files, epoch=(1 << 48) - 1)


def with_a_release_taken_back_by_nobody(files: Files, writer: str) -> Files:
    """Blanked, and redacted by an agent that did not record it: so it is told that way to whoever comes fresh."""
    path = line_file(files, writer)
    chain = Chain(writer, tuple(files[path].octets.split(b"\n")[:-1]))
    n, raw = next((n, raw) for n, raw in enumerate(chain.raws, 1) if b'"kind":"x.bb.released"' in raw)
    data = json_text.dumps({"_": "aaaaaaaa", "event_id": f"{writer}.{n}", "reason": "no"}).encode()
    raws = [*chain.raws[: n - 1], lines.blanked(raw) or raw, *chain.raws[n:]]
    raws.append(chain.forged(data=data, kind="x.bb.redacted", by="ghost-agent"))
    return files | {path: File(b"".join(row + b"\n" for row in raws))}


def with_an_older_epoch(files: Files, _: str) -> Files:
    return charter(files, epoch=1)


FORGED = [
    without_a_line,
    without_a_writer,
    with_a_payload_taken_out,
    of_another_ledger,
    with_fewer_generations,
    with_nonsense_for_what_was_settled,
    with_nothing_settled,
    with_another_token,
    with_an_older_epoch,
    with_a_grant_of_nothing,
    with_a_grant_that_was_none,
    with_a_token_that_is_no_number,
    with_a_token_of_the_future,
    with_an_order_for_what_is_to_come,
    with_an_epoch_that_nobody_can_follow,
    with_a_release_taken_back_by_nobody,
]


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__)
def test_an_epoch_that_lacks_or_changes_anything_is_refused(origin: Path, pair: list[Clone], forge: Any):
    here, there = pair
    here.ask("agent.reserve", agent=AMBER, scope=["lib"], bead="bb-1")
    here.ask("agent.release", agent=AMBER, scope=["lib"])
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1", **EVERYWHERE)
    say(here, "nothing much")
    settle(pair)
    branch, files = anew(origin, here)
    before = there.digest
    writer = next(path.name for path in here.store.glob("j/*") if (path / "lock").exists())
    branch.point_at(branch.commit(forge(files, writer), []))

    assert there.refused_or("sync", pull=True) in ("LEDGER_REWRITTEN", "LEDGER_FORKED", "NOT_A_LEDGER")
    assert there.digest == before
    assert there.holds() == {(AMBER, "src", "active")}


def test_the_epoch_as_it_was_made_is_not_refused(origin: Path, pair: list[Clone]):
    """What the forgeries above start from."""
    here, there = pair
    branch, files = anew(origin, here)
    branch.point_at(branch.commit(files, []))

    assert there.sync(pull=True)["begun_anew"]["epoch"] == 2


def test_the_epoch_before_does_not_come_back(origin: Path, pair: list[Clone]):
    here, there = pair
    before = Branch(origin).tip
    rotate(here)
    there.sync(pull=True)
    Branch(origin).point_at(before)

    assert there.refused("sync").code == "LEDGER_REWRITTEN"


def test_files_are_archived_in_the_new_epoch_too(origin: Path, pair: list[Clone], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(layout, "MOST_LINES", 8)
    here, there = pair
    for _ in range(20):
        say(here, "nothing much")
    rotate(here)
    for _ in range(10):
        say(here, "and more")
    settle(pair)
    fresh = clone(origin, "fresh")
    fresh.sync(pull=True)

    assert here.digest == there.digest == fresh.digest
    assert here.ask("ledger.verify", published=True)["published"][0]["archived"] > 24
