"""Of several remotes, one is the arbiter: the one that the charter of every published branch names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bb.kernel.errors import Busy
from bb.ledger.git.place import find
from bb.ledger.published import pins, tip
from bb.ledger.travel import remote, remote_reader
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, clone, hub

EVERYWHERE = {"global": True}


@pytest.fixture
def two(tmp_path: Path) -> tuple[Clone, Clone]:
    """The audit's case. One clone has published to its fork and then upstream; the other knows upstream only."""
    fork, upstream = hub(tmp_path / "fork.git"), hub(tmp_path / "upstream.git")
    here, there = clone(fork, "here"), clone(upstream, "there")
    here.git("remote", "add", "upstream", str(upstream))
    here.ask("agent.register", name=AMBER, role="builder")
    here.sync(publish=True)
    here.sync(publish=True, remote="upstream")
    there.sync(pull=True)
    there.ask("agent.register", name=COBALT, role="builder")
    there.sync(publish=True)
    return here, there


def reserve(at: Clone, agent: str, scope: str = "src") -> str:
    """The code of the refusal of a global reservation, or its state."""
    refused = at.refused_or("agent.reserve", agent=agent, scope=[scope], bead="bb-1", **EVERYWHERE)
    return refused or at.states_of(agent)[scope]


def meet(here: Clone, there: Clone) -> None:
    """Both know all lines, and the order of upstream."""
    for _ in range(2):
        here.sync()
        here.sync(remote="upstream")
        there.sync()


def move(at: Clone, to: str, **given: object) -> dict[str, object]:
    moved: dict[str, object] = at.ask("ledger.arbiter", remote=to, reason="the project is there", agent="user", **given)
    return moved


def test_the_same_path_is_granted_by_the_arbiter_only(two: tuple[Clone, Clone]):
    here, there = two

    assert reserve(here, AMBER) == "active"
    refusal = there.refused("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1", **EVERYWHERE)

    assert refusal.code == "NOT_THE_ARBITER"
    assert "fork.git" in refusal.message
    assert "git remote add" in str(refusal.hint)
    meet(here, there)
    assert (AMBER, "src", "active") in here.holds()
    assert (AMBER, "src", "pending") in there.holds(), "it cannot tell"
    assert here.lines == there.lines
    assert here.digest != there.digest, "equal digests mean equal verdicts"


def test_what_may_have_been_granted_keeps_others_out_and_excuses_nothing(two: tuple[Clone, Clone]):
    here, there = two
    reserve(here, AMBER)
    meet(here, there)

    there.ask("agent.register", name="dusky-falcon", role="builder")
    assert there.refused_or("agent.reserve", agent="dusky-falcon", scope=["src"], bead="b") == "RESERVATION_CONFLICT"
    assert there.refused_or("check", path=["src/a"], agent=COBALT) == "PATH_HELD"
    assert there.ask("check", path=["src/a"], agent=AMBER)["paths"][0]["verdict"] != "yours"


def test_whoever_adds_the_arbiter_as_a_remote_reads_its_order_and_may_ask_it(two: tuple[Clone, Clone], tmp_path: Path):
    here, there = two
    reserve(here, AMBER)
    meet(here, there)
    there.git("remote", "add", "arbiter", str(tmp_path / "fork.git"))

    assert reserve(there, COBALT, "docs") == "NOT_PUBLISHED"
    there.sync(publish=True, remote="arbiter")

    assert reserve(there, COBALT, "src") == "RESERVATION_CONFLICT"
    assert reserve(there, COBALT, "docs") == "active"
    meet(here, there)
    there.sync(remote="arbiter")
    assert here.digest == there.digest
    assert here.holds() == there.holds()


def test_the_person_moves_the_arbiter_and_no_result_is_lost(two: tuple[Clone, Clone]):
    here, there = two
    reserve(here, AMBER)
    token = here.ask("agent.status")["reservations"][0]["token"]

    moved = move(here, "upstream")

    assert (moved["told"], moved["remote"]) == ("origin", "upstream")
    told = there.sync()
    assert told["arbiter_moved"]["by"] == "user"
    assert reserve(there, COBALT) == "RESERVATION_CONFLICT"
    assert reserve(there, COBALT, "docs") == "active"
    meet(here, there)
    assert here.holds() == there.holds() == {(AMBER, "src", "active"), (COBALT, "docs", "active")}
    assert here.digest == there.digest
    tokens = {each["scope"]: each["token"] for each in there.ask("agent.status")["reservations"]}
    assert tokens["src"] == token < tokens["docs"], "tokens only rise"
    late = clone(Path(here.git("remote", "get-url", "upstream").strip()), "late")
    late.sync(pull=True)
    assert late.digest == here.digest


def test_after_a_move_the_former_arbiter_grants_nothing(two: tuple[Clone, Clone], tmp_path: Path):
    here, _ = two
    other = clone(tmp_path / "fork.git", "other")
    other.sync(pull=True)
    other.ask("agent.register", name="dusky-falcon", role="builder")
    other.sync(publish=True)
    move(here, "upstream")

    assert reserve(other, "dusky-falcon") == "NOT_THE_ARBITER", "to ask is to look"


def test_only_the_person_moves_it_with_a_reason_and_to_a_remote_that_is_published_to(
    two: tuple[Clone, Clone], tmp_path: Path
):
    here, there = two
    here.settings["BB_AGENT"] = AMBER
    assert here.refused_or("ledger.arbiter", remote="upstream", reason="mine") == "PERSON_ONLY"
    del here.settings["BB_AGENT"]
    assert here.refused_or("ledger.arbiter", remote="upstream") == "INVALID_ARGS"
    assert here.refused_or("ledger.arbiter", reason="no remote is named") == "INVALID_ARGS"
    assert here.refused_or("ledger.arbiter", lost=True) == "INVALID_ARGS"
    assert here.refused_or("ledger.arbiter", remote="origin", reason="again") == "IS_THE_ARBITER"
    assert here.refused_or("ledger.arbiter", remote="nowhere", reason="there") == "REMOTE_NOT_FOUND"
    here.git("remote", "add", "third", str(hub(tmp_path / "third.git")))
    assert here.refused_or("ledger.arbiter", remote="third", reason="there") == "NOT_PUBLISHED"
    assert there.refused_or("ledger.arbiter", remote="origin", reason="here") == "NOT_THE_ARBITER"


def test_an_arbiter_whose_host_has_no_address_any_more_is_replaced_too(two: tuple[Clone, Clone], tmp_path: Path):
    here, _ = two
    here.git("config", "remote.origin.bbUrl", str(tmp_path / "fork.git"))
    here.git("remote", "set-url", "origin", "https://ledger.invalid/fork.git")

    refusal = here.refused("ledger.arbiter", remote="upstream", reason="gone", agent="user")
    assert refusal.code in ("HOST_UNKNOWN", "OFFLINE")
    assert "--lost" in str(refusal.hint)
    assert move(here, "upstream", lost=True)["moved"]


def test_an_arbiter_that_does_not_let_itself_be_told_is_replaced_too(two: tuple[Clone, Clone], tmp_path: Path):
    here, _ = two
    hook = tmp_path / "fork.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)

    refusal = here.refused("ledger.arbiter", remote="upstream", reason="closed", agent="user")
    assert refusal.code == "HOOK_DECLINED"
    assert "--lost" in str(refusal.hint)
    assert move(here, "upstream", lost=True)["moved"]


def test_an_arbiter_that_is_gone_is_replaced_by_the_persons_word(two: tuple[Clone, Clone], tmp_path: Path):
    here, there = two
    reserve(here, AMBER)
    shutil.rmtree(tmp_path / "fork.git")

    assert here.refused_or("ledger.arbiter", remote="upstream", reason="gone") in ("REMOTE_NOT_FOUND", "OFFLINE")
    assert (AMBER, "src", "active") in here.holds()
    moved = move(here, "upstream", lost=True)

    assert moved["told"] is None
    there.sync()
    assert reserve(there, COBALT) == "RESERVATION_CONFLICT"
    assert reserve(there, COBALT, "docs") == "active"


def test_a_move_to_a_remote_without_a_branch_takes_everything_along(two: tuple[Clone, Clone], tmp_path: Path):
    here, _ = two
    reserve(here, AMBER)
    here.git("remote", "add", "new", str(hub(tmp_path / "new.git")))
    here.sync(publish=True, remote="new")
    Clone(tmp_path / "new.git").git("update-ref", "-d", "refs/heads/bb-ledger")

    here.refused_or("ledger.arbiter", remote="new", reason="x", agent="user")
    here.sync(publish=True, remote="new")
    move(here, "new")

    late = clone(tmp_path / "new.git", "late")
    late.sync(pull=True)
    assert (AMBER, "src", "active") in late.holds()


@pytest.mark.parametrize("step", ["told", "took over"])
def test_a_move_that_is_interrupted_grants_nothing_twice_and_is_finished_by_repeating_it(
    two: tuple[Clone, Clone], step: str
):
    here, there = two
    reserve(here, AMBER)
    meet(here, there)
    whole, pushes = remote.push, 0

    def push(*given: object) -> None:
        nonlocal pushes
        pushes += 1
        if step == "took over":
            if pushes == 2:
                raise Busy("the machine went down")
            whole(*given)  # type: ignore[arg-type]
        else:
            whole(*given)  # type: ignore[arg-type]
            raise Busy("the machine went down")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote, "push", push)
        with pytest.raises(Busy):
            move(here, "upstream")

    assert reserve(here, AMBER, "docs") == "NOT_THE_ARBITER"
    assert reserve(there, COBALT) == "NOT_THE_ARBITER"
    move(here, "upstream")
    assert reserve(here, AMBER, "docs") == "active"
    there.sync()
    assert reserve(there, COBALT) == "RESERVATION_CONFLICT"
    meet(here, there)
    assert here.digest == there.digest


def test_a_copy_of_the_hub_is_not_the_arbiter(two: tuple[Clone, Clone], tmp_path: Path):
    here, _ = two
    shutil.copytree(tmp_path / "fork.git", tmp_path / "mirror.git")
    other = clone(tmp_path / "mirror.git", "other")
    other.sync(pull=True)
    other.ask("agent.register", name="dusky-falcon", role="builder")
    other.sync(publish=True)

    assert reserve(other, "dusky-falcon") == "NOT_THE_ARBITER"
    assert reserve(here, AMBER) == "active"


def test_another_way_to_write_the_address_and_an_alias_lead_to_the_arbiter(two: tuple[Clone, Clone], tmp_path: Path):
    here, _ = two
    fork = tmp_path / "fork.git"
    for url in (f"file://{fork}", f"{fork}/", f"{tmp_path}/./fork.git"):
        here.git("remote", "set-url", "origin", url)
        assert here.ask("ledger.arbiter")["remote"] == "origin"
    here.git("config", f"url.{tmp_path}/.insteadOf", "short:")
    here.git("remote", "set-url", "origin", "short:fork.git")
    assert here.ask("ledger.arbiter")["remote"] == "origin"
    (tmp_path / "alias").symlink_to(fork)
    here.git("remote", "set-url", "origin", str(tmp_path / "alias"))
    assert reserve(here, AMBER) == "active"


def test_a_remote_that_is_pushed_elsewhere_is_not_the_arbiter_unless_it_is_said_so(
    two: tuple[Clone, Clone], tmp_path: Path
):
    here, _ = two
    here.git("remote", "set-url", "--push", "origin", str(tmp_path / "upstream.git"))
    assert reserve(here, AMBER) == "NOT_THE_ARBITER"
    here.git("remote", "set-url", "--push", "origin", str(tmp_path / "fork.git") + "/")
    assert reserve(here, AMBER) == "active"
    here.git("config", "remote.origin.bbUrl", "git@host:elsewhere.git")
    assert reserve(here, AMBER, "docs") == "NOT_THE_ARBITER"


def test_two_ledgers_of_an_earlier_version_that_name_two_arbiters_agree_when_they_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from bb.ledger.travel import arbitration

    fork, upstream = hub(tmp_path / "fork.git"), hub(tmp_path / "upstream.git")
    here, there = clone(fork, "here"), clone(upstream, "there")
    here.git("remote", "add", "upstream", str(upstream))
    there.git("remote", "add", "fork", str(fork))
    with monkeypatch.context() as patch:
        patch.setattr(arbitration, "first", lambda *_: None)
        here.ask("agent.register", name=AMBER, role="builder")
        here.sync(publish=True)
        here.sync(publish=True, remote="upstream")
        there.sync(pull=True)
        there.ask("agent.register", name=COBALT, role="builder")
        there.sync(publish=True)
    assert reserve(here, AMBER) == reserve(there, COBALT) == "active", "neither can know"

    for _ in range(2):
        here.sync()
        here.sync(publish=True, remote="upstream")
        there.sync()
        there.sync(publish=True, remote="fork")

    assert pins.read(str(here.store)).named == pins.read(str(there.store)).named
    assert here.digest == there.digest
    assert here.holds() == there.holds()
    assert sum(state == "active" for _, _, state in here.holds()) == 1


def test_a_re_created_hub_with_another_order_gives_another_digest(two: tuple[Clone, Clone], tmp_path: Path):
    here, there = two
    reserve(here, AMBER)
    meet(here, there)
    before, lines = here.digest, here.lines
    Clone(tmp_path / "fork.git").git("update-ref", "-d", "refs/heads/bb-ledger")
    fresh = clone(tmp_path / "fork.git", "fresh")
    shutil.copytree(there.store, fresh.store, dirs_exist_ok=True)
    (fresh.store / pins.NAME).unlink()
    fresh.sync(publish=True)

    assert fresh.lines == lines
    assert (AMBER, "src", "void") in fresh.holds()
    assert fresh.digest != before
    assert here.refused_or("sync") == "LEDGER_REWRITTEN"


def test_whoever_looks_knows_with_a_snapshot_what_every_commit_says(
    two: tuple[Clone, Clone], monkeypatch: pytest.MonkeyPatch
):
    """On the arbiter and on another remote, before the arbiter moves and after."""
    monkeypatch.setattr(tip, "AT_LEAST", 20)
    here, there = two

    def archived() -> None:
        for n in range(30):
            here.ask("agent.send", **{"from": AMBER}, to="user", category="INFO", bead="b", subject="s", body=f"{n}")
        assert here.sync(remote="origin")["archived"] is not None
        assert here.sync(remote="upstream")["archived"] is not None

    def seen(name: str) -> None:
        known = [results(here, name, in_order=in_order) for in_order in (False, True)]
        assert known[0] == known[1], name

    reserve(here, AMBER)
    archived()
    for name in ("origin", "upstream"):
        seen(name)
    move(here, "upstream")
    for name in ("origin", "upstream"):
        seen(name)
    here.sync()
    there.sync()
    reserve(there, COBALT, "docs")
    for name in ("origin", "upstream"):
        seen(name)
    archived()
    assert set(results(here, "upstream", in_order=False)[0]) == {"src", "docs"}
    for name in ("origin", "upstream"):
        seen(name)
        here.sync(remote=name)
    for one in here.ask("ledger.verify", published=True)["published"]:
        assert one["is_snapshot_right"], one["remote"]


def results(at: Clone, name: str, *, in_order: bool) -> tuple[dict[str, int], object, str | None]:
    """What whoever only looks at a remote knows: the scopes that were granted, the registrations, and the arbiter if it
    is another remote."""
    with remote_reader.published_ledger(find(str(at.path), {}), name, in_order=in_order) as found:
        known = pins.read(found.store)
        granted = {grant.scope: grant.token for grant in known.admitted.grants.values()}
        return granted, known.admitted.names, found.elsewhere and found.elsewhere.address


def test_a_remote_that_is_the_arbiter_again_has_the_results_of_the_time_between(
    pair: list[Clone], origin: Path, tmp_path: Path
):
    """Its address was another one for a while, as of a mirror."""
    here, there = pair
    there.ask("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1", **{"global": True})
    here.sync()
    there.ask("agent.release", agent=COBALT, all=True)
    there.sync()
    shutil.copytree(origin, tmp_path / "mirror.git")
    here.git("remote", "set-url", "origin", str(tmp_path / "mirror.git"))
    here.sync(pull=True)

    here.git("remote", "set-url", "origin", str(origin))
    here.sync(pull=True)

    answer = here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1", **{"global": True})
    assert answer["global"] is True
    assert (AMBER, "src", "active") in here.holds()
