"""What was published counts: against a store that wrote other lines under the same id, and against one that has lost
or spoilt its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bb.kernel import json_text
from bb.kernel.errors import Conflict
from bb.kernel.event import PUT_ASIDE
from bb.ledger.journal import writers
from bb.ledger.journal.journal import Journal
from bb.ledger.published.layout import BRANCH
from bb.ledger.travel import background
from tests.stories.travel.branch_support import Branch
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, clone, every_file, hub, settle


@pytest.fixture
def pair(origin: Path) -> list[Clone]:
    """Two clones in which both know everything, and have published more than once."""
    return agents_at_work(origin, AMBER, COBALT, after=publish_more)


def publish_more(made: list[Clone]) -> None:
    for each, agent, scope in ((made[0], AMBER, "src"), (made[1], COBALT, "docs")):
        each.ask("agent.reserve", agent=agent, scope=[scope], bead="bb-1")
        settle(made)


def own_writer(one: Clone) -> str:
    """The writer that a clone writes under."""
    journals = str(one.store / "j")
    found = writers.own_writer(journals)
    assert found is not None
    return found


def foreign_writer(one: Clone) -> str:
    (found,) = (each.name for each in (one.store / "received").iterdir() if each.name != "log")
    return found


def journal(one: Clone, writer: str) -> Path:
    found, *_ = [*one.store.glob(f"j/{writer}/*.jsonl"), *one.store.glob(f"received/{writer}/*.jsonl")]
    return found


def twin(one: Clone) -> Clone:
    """A copy that believes to be the original: a restored machine, say, whose disk has the same numbers."""
    made = Clone(one.path.with_name("twin"))
    writer = own_writer(one)
    shutil.copytree(one.path, made.path, symlinks=True)
    writers.mint(str(made.store / "j"), writer)
    assert own_writer(made) == writer
    return made


def recorded_again(one: Clone) -> list[str]:
    """What was put aside and recorded again: the scope, the subject or the text of each event."""
    events = [event["data"] for event in one.ask("ledger.log") if PUT_ASIDE in event["data"]]
    return [str(data.get("scope") or data.get("text") or data.get("mail", {}).get("subject")) for data in events]


class Killed(BaseException):
    """Nothing of ours survives a kill, so nothing of ours may catch it."""


def killed(*_: object, **__: object) -> None:
    raise Killed


# -- two stores under one id


def test_of_two_stores_under_one_id_the_one_published_first_counts_and_the_other_goes_on(pair: list[Clone]):
    here, there = pair
    again, writer = twin(here), own_writer(here)
    here.ask("agent.reserve", agent=AMBER, scope=["first"], bead="bb-1")
    for scope in ("second", "third"):
        again.ask("agent.reserve", agent=AMBER, scope=[scope], bead="bb-1")
    ours = journal(again, writer).read_bytes().splitlines(keepends=True)
    here.sync()

    (fork,) = again.sync()["forks"]

    aside = Path(fork["path"]).read_bytes().splitlines(keepends=True)
    assert (fork["writer"], fork["lines"]) == (writer, len(aside))
    assert aside[:-1] == ours[fork["n"] - 1 :]
    assert b'"kind":"x.bb.signed"' in aside[-1], "it had signed them"
    assert Path(fork["path"]).parent == again.store / "forked"
    assert journal(again, writer).read_bytes() == journal(here, writer).read_bytes()
    again.ask("agent.reserve", agent=AMBER, scope=["third"], bead="bb-1")
    assert own_writer(again) == fork["under"] != writer
    assert (fork["kinds"], fork["kept"]) == ({"x.bb.reserved": 2}, 0)
    settle([again, here, there])
    assert here.digest == there.digest == again.digest
    assert {scope for _, scope, _ in there.holds()} == {"src", "docs", "first", "second", "third"}


def test_a_store_that_only_looks_finds_the_fork_too(pair: list[Clone]):
    here, there = pair
    again = twin(here)
    here.ask("agent.reserve", agent=AMBER, scope=["first"], bead="bb-1")
    again.ask("agent.reserve", agent=AMBER, scope=["second"], bead="bb-1")
    here.sync()

    assert len(again.sync(pull=True)["forks"]) == 1
    assert again.sync(pull=True)["forks"] == [], "it is told once"
    assert (AMBER, "second", "active") in again.holds()
    settle([again, here, there])
    assert here.digest == there.digest == again.digest


def forked(pair: list[Clone]) -> Clone:
    """A store that will find a fork when it syncs."""
    here, _ = pair
    again = twin(here)
    here.ask("agent.reserve", agent=AMBER, scope=["first"], bead="bb-1")
    again.ask("agent.reserve", agent=AMBER, scope=["second"], bead="bb-1")
    here.sync()
    return again


def test_a_fork_that_was_put_aside_by_a_sync_that_was_killed_is_told_by_the_next(pair: list[Clone]):
    again = forked(pair)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Journal, "extend", killed)
        with pytest.raises(Killed):
            again.sync(pull=True)

    (fork,) = again.sync(pull=True)["forks"]

    assert b"second" in Path(fork["path"]).read_bytes()
    assert fork["lines"] == Path(fork["path"]).read_bytes().count(b"\n")
    assert again.sync(pull=True)["forks"] == [], "it is told once"
    assert recorded_again(again) == ["second"]


def test_a_fork_that_was_found_where_nobody_listens_is_told_by_the_next_sync(pair: list[Clone]):
    again = forked(pair)
    again.settings[background.MARK] = "1"
    assert again.sync(pull=True)["forks"] == []
    del again.settings[background.MARK]

    assert len(again.sync(pull=True)["forks"]) == 1


def test_a_fork_of_as_many_octets_is_one(pair: list[Clone]):
    """Nothing but what it says tells it from the published one: not its length, nor how many lines there are."""
    here, _ = pair
    again = twin(here)
    here.ask("agent.reserve", agent=AMBER, scope=["first"], bead="bb-1")
    again.ask("agent.reserve", agent=AMBER, scope=["other"], bead="bb-1")
    here.sync()

    assert len(again.sync(pull=True)["forks"]) == 1
    assert {(AMBER, "first", "active"), (AMBER, "other", "active")} <= again.holds()


def test_every_clone_learns_of_what_was_recorded_again(pair: list[Clone]):
    here, there = pair
    again = twin(here)
    here.ask("agent.reserve", agent=AMBER, scope=["first"], bead="bb-1")
    again.ask("agent.reserve", agent=AMBER, scope=["second"], bead="bb-1")
    settle([here, there])
    settle([again, here, there])

    for each in (here, there, again):
        assert (AMBER, "second", "active") in each.holds()
        each.ask("ledger.verify")
    assert here.digest == there.digest == again.digest


def test_a_foreign_journal_that_differs_from_the_published_one_makes_way(pair: list[Clone]):
    """A store that shares the directory has gone on under an id that somebody else publishes too."""
    here, there = pair
    again = twin(there)
    writer = own_writer(there)
    there.ask("agent.reserve", agent=COBALT, scope=["first"], bead="bb-1")
    again.ask("agent.reserve", agent=COBALT, scope=["second"], bead="bb-1")
    shutil.copy(journal(again, writer), journal(here, writer))
    there.sync()

    refusal = here.refused("sync")

    assert refusal.code == "LEDGER_FORKED"
    assert isinstance(refusal, Conflict), "exit status 7"
    assert refusal.details["forks"][0]["kept"] == refusal.details["forks"][0]["lines"]
    assert recorded_again(here) == []
    assert journal(here, writer).read_bytes() == journal(there, writer).read_bytes()
    settle(pair)
    assert here.digest == there.digest


def test_what_is_published_in_two_forms_on_two_remotes_is_refused_and_nothing_changes(
    tmp_path: Path, pair: list[Clone]
):
    here, _ = pair
    again = twin(here)
    hub(tmp_path / "other.git")
    for each in (here, again):
        each.git("remote", "add", "other", str(tmp_path / "other.git"))
    here.ask("agent.reserve", agent=AMBER, scope=["first"], bead="bb-1")
    again.ask("agent.reserve", agent=AMBER, scope=["second"], bead="bb-1")
    here.sync()
    again.sync(publish=True, remote="other")
    before = kept(here)

    for ways in ({"pull": True}, {"publish": True}):
        assert here.refused("sync", remote="other", **ways).code == "LEDGER_FORKED"
    assert again.refused("sync").code == "LEDGER_FORKED"
    after = kept(here)
    assert {name: octets for name, octets in after.items() if name != "pins.json"} == {
        name: octets for name, octets in before.items() if name != "pins.json"
    }
    here.sync()
    other = Branch(tmp_path / "other.git")
    other.git("update-ref", "-d", BRANCH)
    for each in (again, here):
        ledger = each.ask("ledger.status")["repo"]
        each.ask("ledger.restore", remote="origin", adopt=ledger, agent="user")
        each.sync(remote="other", publish=True)
    settle([again, here])
    assert here.digest == again.digest
    assert {"first", "second"} <= {scope for _, scope, _ in here.holds()}


def kept(one: Clone) -> dict[str, bytes]:
    """What the store knows, but for how the last sync went."""
    passing = ("sync", "index.", "lock")
    return {name: octets for name, octets in every_file(one.store).items() if not name.startswith(passing)}


# -- what was lost, or spoilt, here


def _cut(writer_of: Callable[[Clone], str], size: float) -> Callable[[Clone], None]:
    """Only the first lines are left, or only some bytes."""

    def spoil(one: Clone) -> None:
        path = journal(one, writer_of(one))
        octets = path.read_bytes()
        whole = octets.splitlines(keepends=True)
        path.write_bytes(b"".join(whole[: int(size)]) + whole[int(size)][: int(len(whole[int(size)]) * (size % 1))])

    return spoil


def _without(writer_of: Callable[[Clone], str], name: str) -> Callable[[Clone], None]:
    def spoil(one: Clone) -> None:
        folder = Path(writers.folder_of(str(one.store / "j"), writer_of(one)))
        shutil.rmtree(folder) if not name else [path.unlink() for path in folder.glob(name)]

    return spoil


def _file(name: str, octets: bytes | None) -> Callable[[Clone], None]:
    def spoil(one: Clone) -> None:
        for path in one.store.glob(name):
            path.unlink() if octets is None else path.write_bytes(octets)

    return spoil


def _no_index(spoil: Callable[[Clone], None]) -> Callable[[Clone], None]:
    def both(one: Clone) -> None:
        spoil(one)
        _file("index.sqlite*", None)(one)

    return both


def _flipped(writer_of: Callable[[Clone], str], line: int, mark: bytes) -> Callable[[Clone], None]:
    """One letter of a line is another one."""

    def spoil(one: Clone) -> None:
        path = journal(one, writer_of(one))
        whole = path.read_bytes().splitlines(keepends=True)
        place = whole[line].index(mark) + len(mark)
        whole[line] = whole[line][:place] + bytes([whole[line][place] ^ 1]) + whole[line][place + 1 :]
        path.write_bytes(b"".join(whole))

    return spoil


def _swapped_pins(one: Clone) -> None:
    """Every text a number, every number a text."""
    found = json_text.loads((one.store / "pins.json").read_text())
    found["remotes"] = {name: {"tip": [1], "publishes": "yes"} for name in found["remotes"]}
    (one.store / "pins.json").write_text(json_text.dumps(found))


def _everything(one: Clone) -> None:
    shutil.rmtree(one.store)


LOSSES: dict[str, Callable[[Clone], None]] = {
    "pins": _file("pins.json", None),
    "pins, emptied": _file("pins.json", b""),
    "pins, garbage": _file("pins.json", b"\xff\0[[["),
    "pins, another shape": _file("pins.json", b'{"remotes":[],"arbiter":7,"local":[],"admitted":null}'),
    "pins, other types": _swapped_pins,
    "index": _file("index.sqlite*", None),
    "index, garbage": _file("index.sqlite", b"nonsense" * 1000),
    "presence": _without(lambda _: "../presence", ""),
    "foreign journal": _without(foreign_writer, "*.jsonl"),
    "foreign folder": _without(foreign_writer, ""),
    "foreign tail": _cut(foreign_writer, 1),
    "foreign tail, torn": _cut(foreign_writer, 1.5),
    "foreign journal, emptied": _cut(foreign_writer, 0),
    "foreign journal, torn at once": _cut(foreign_writer, 0.5),
    "own tail": _cut(own_writer, 1),
    "own tail, torn": _cut(own_writer, 1.5),
    "own journal": _without(own_writer, "*.jsonl"),
    "own folder": _without(own_writer, ""),
    "all journals": _without(lambda _: "../j", ""),
    "everything": _everything,
    "foreign payload": _no_index(_flipped(foreign_writer, 0, b'"data":{"_":"')),
    "foreign head": _no_index(_flipped(foreign_writer, 1, b'"by":"')),
    "foreign last line": _no_index(_flipped(foreign_writer, -1, b'"data":{"_":"')),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_lost_here_comes_back_from_the_remote(pair: list[Clone], loss: str):
    here, there = pair
    expected, holds = there.digest, there.holds()
    LOSSES[loss](here)

    told = here.refused_or("sync", pull=True)

    assert told == ("LEDGER_FORKED" if loss == "foreign head" else ""), "another line, or a spoilt one: a person looks"
    assert here.digest == expected
    assert here.holds() == holds
    here.ask("ledger.verify")
    if here.refused_or("sync") == "NOT_PUBLISHED":  # whom we publish to is lost with the pins
        here.sync(publish=True)
    here.ask("agent.reserve", agent=AMBER, scope=["after"], bead="bb-1")
    settle(pair)
    assert here.digest == there.digest
    assert (AMBER, "after", "active") in there.holds()


@pytest.mark.parametrize("loss", ["foreign tail", "foreign journal", "foreign folder", "own tail", "own journal"])
def test_a_plain_sync_brings_it_back_too_and_publishes_what_is_new(pair: list[Clone], loss: str):
    here, there = pair
    LOSSES[loss](here)
    there.ask("agent.reserve", agent=COBALT, scope=["meanwhile"], bead="bb-1")
    there.sync()

    here.sync()
    settle(pair)

    assert here.digest == there.digest
    assert {scope for _, scope, _ in here.holds()} == {"src", "docs", "meanwhile"}


def test_lines_recorded_after_a_loss_are_not_lost_with_it(pair: list[Clone]):
    """The tail is gone, and before anybody noticed, work went on under the same numbers."""
    here, there = pair
    LOSSES["own tail"](here)
    LOSSES["index"](here)
    here.ask("agent.register", name="late-heron", role="builder")

    (fork,) = here.sync()["forks"]

    assert b"late-heron" in Path(fork["path"]).read_bytes()
    settle(pair)
    assert here.digest == there.digest
    assert "late-heron" in {each["agent_id"] for each in there.ask("agent.list")}


@pytest.mark.parametrize("writer_of", [own_writer, foreign_writer])
@pytest.mark.parametrize("mark", [b'"data":{"_":"', b'"by":"'], ids=["payload", "head"])
def test_what_was_spoilt_here_is_never_published_over_what_is_right(
    pair: list[Clone], writer_of: Callable[[Clone], str], mark: bytes
):
    """The index has read it while it was right, so nobody has noticed yet."""
    here, there = pair
    here.ask("agent.reserve", agent=AMBER, scope=["lib"], bead="bb-1")  # for which it has been read
    _flipped(writer_of, 0, mark)(here)
    here.ask("agent.register", name="late-heron", role="builder")

    here.refused_or("sync")

    there.sync()
    fresh = clone(here.path.parent / "hub.git", "fresh")
    fresh.sync(pull=True)
    assert fresh.digest == there.digest
