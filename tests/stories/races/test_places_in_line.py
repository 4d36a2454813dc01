"""Places in line: no living process is needed, nobody is granted anything twice, and nobody is lost."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests import preloaded
from tests.stories.races.doers import stand_and_leave
from tests.stories.races.races_support import (
    Answer,
    Crew,
    Worker,
    ago,
    crew,
    ends_of,
    in_order,
    meetings,
    of_kind,
    run,
    waiters,
)
from tests.support import Scratch
from tests.waiting import PATIENCE, until

OTTER, HARBOR, WREN, HERON = "amber-otter", "cobalt-harbor", "dusty-wren", "elder-heron"
LONG = 100  # seconds; nobody here waits that long


@pytest.fixture
def everybody(repo: Scratch) -> Iterator[Crew]:
    with crew(repo.path) as found:
        yield found


@pytest.fixture
def four(everybody: Crew) -> list[Worker]:
    """Four agents, the first of which holds `src`."""
    hired = everybody.registered(OTTER, HARBOR, WREN, HERON)
    assert hired[0].do("agent.reserve", scope=["src"]).code is None
    return hired


def queue(one: Worker, *scopes: str, **given: Any) -> Answer:
    answer = one.do("agent.reserve", scope=list(scopes), queue=True, **given)
    assert answer.code is None, answer
    return answer


def place(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = answer.data["queued"]
    assert answer.data["state"] == "queued"
    assert answer.data["reservations"] == []
    return found


def release(one: Worker, *scopes: str) -> Answer:
    answer = one.do("agent.release", **({"scope": list(scopes)} if scopes else {"all_": True}))
    assert answer.code is None, answer
    return answer


def holds(one: Worker) -> list[str]:
    found = one.do("agent.status", agent=one.agent).data["reservations"]
    return sorted(each["scope"] for each in found)


def mail(one: Worker) -> list[str]:
    return [message["subject"] for message in one.do("agent.inbox", agent=one.agent).data]


# -- one after another


def test_the_release_grants_the_place_in_the_same_record_and_tells_the_waiter_once(repo: Scratch, four: list[Worker]):
    otter, harbor, *_ = four
    row = place(queue(harbor, "src/parser", "docs"))
    assert (row["position"], row["holders"]) == (1, [OTTER])
    assert [(each["scope"], each["state"]) for each in row["wanted"]] == [("src/parser", "held"), ("docs", "free")]
    harbor.kill()
    everybody_else_does_nothing = of_kind(in_order(repo.path), "x.bb.reserved")
    assert len(everybody_else_does_nothing) == 1

    release(otter)

    *_, released, one, other, left, letter = in_order(repo.path)
    kinds = ["x.bb.released", "x.bb.reserved", "x.bb.reserved", "x.bb.left_line", "chat.message"]
    assert [line["kind"] for line in (released, one, other, left, letter)] == kinds
    assert {line["by"] for line in (one, other, left)} == {HARBOR}
    assert (left["data"]["place_id"], left["data"]["how"]) == (row["place_id"], "granted")
    assert letter["data"]["to"] == [HARBOR]


def test_the_same_request_keeps_the_place_and_another_deadline_keeps_its_position(four: list[Worker]):
    _, harbor, wren, _ = four
    first = place(queue(harbor, "src", "docs"))
    queue(wren, "src")

    assert place(queue(harbor, "docs", "src"))["place_id"] == first["place_id"]
    longer = place(queue(harbor, "src", "docs", deadline=600))

    assert longer["deadline"] > first["deadline"]
    assert longer["position"] == 1
    assert place(queue(wren, "src"))["position"] == 2


def test_who_asks_later_without_queueing_does_not_go_first(four: list[Worker]):
    otter, harbor, wren, _ = four
    queue(harbor, "src/a", "docs")

    refused = wren.do("agent.reserve", scope=["docs"])

    assert (refused.code, refused.details["awaited_by"]) == ("RESERVATION_AWAITED", [HARBOR])
    assert place(queue(wren, "docs"))["wanted"][0] | {"holders": []} == {
        "scope": "docs",
        "state": "awaited",
        "holders": [],
        "awaited_by": [HARBOR],
    }
    release(otter)
    assert (holds(harbor), holds(wren)) == (["docs", "src/a"], [])


def test_processes_and_places_stand_in_one_line(repo: Scratch, four: list[Worker]):
    otter, harbor, wren, heron = four
    queue(harbor, "src")
    wren.start("agent.reserve", scope=["src"], wait=LONG)
    until(lambda: waiters(repo.path) == [WREN])
    assert place(queue(heron, "src/a"))["position"] == 3

    release(otter)
    assert holds(harbor) == ["src"]
    assert not wren.has_answered
    release(harbor)
    assert wren.answer().code is None
    assert holds(heron) == []
    release(wren)
    assert holds(heron) == ["src/a"]


def test_the_place_of_a_killed_process_that_waited_before_is_passed(repo: Scratch, four: list[Worker]):
    otter, harbor, wren, _ = four
    harbor.start("agent.reserve", scope=["src"], wait=LONG)
    until(lambda: waiters(repo.path) == [HARBOR])
    queue(wren, "src")
    harbor.kill()

    release(otter)

    assert holds(wren) == ["src"]


def test_wait_in_a_place_is_answered_at_the_grant_and_keeps_the_place_when_the_time_is_up(four: list[Worker]):
    otter, harbor, wren, _ = four
    kept = queue(wren, "src/a", wait=1)
    assert place(kept)["position"] == 1
    assert kept.data["waited_seconds"] >= 1
    harbor.start("agent.reserve", scope=["src/b"], queue=True, wait=LONG)
    until(lambda: len(otter.do("status").data["waiting"]) == 2)

    release(otter)

    got = harbor.answer()
    assert [each["scope"] for each in got.data["reservations"]] == ["src/b"]
    assert holds(wren) == ["src/a"]


def test_a_wait_without_a_place_says_that_the_place_is_given_up(repo: Scratch, four: list[Worker]):
    ran = repo.bb("agent", "reserve", "--agent", HARBOR, "--scope", "src/x", "--wait", "1")

    assert ran.status == 7
    assert "the place in line is given up" in ran.err
    assert "`bb reserve src/x --queue`" in ran.err


@pytest.mark.parametrize("scopes", [["docs"], ["src/a", "docs"], []], ids=["one of them", "both", "--all"])
def test_releasing_what_one_waits_for_leaves_the_line(four: list[Worker], scopes: list[str]):
    otter, harbor, *_ = four
    queue(harbor, "src/a", "docs")

    assert release(harbor, *scopes).data["left_line"] == ["src/a", "docs"]

    release(otter)
    assert holds(harbor) == []
    assert mail(harbor) == []


def test_what_one_holds_is_released_before_the_line_is_left(four: list[Worker]):
    _, harbor, wren, _ = four
    assert harbor.do("agent.reserve", scope=["docs"], shared=True).code is None
    assert wren.do("agent.reserve", scope=["docs"], shared=True).code is None
    queue(harbor, "docs")

    assert "left_line" not in release(harbor, "docs").data
    release(wren)
    assert holds(harbor) == ["docs"]


def test_holders_read_who_waits_for_them_in_each_answer(four: list[Worker]):
    otter, harbor, *_ = four
    assert "waiting_for_you" not in otter.do("agent.reserve", scope=["docs"]).data
    queue(harbor, "src/a")

    for answer in (
        otter.do("agent.renew", all_=True),
        otter.do("agent.reserve", scope=["web"]),
        otter.do("agent.release", scope=["web"]),
    ):
        (row,) = answer.data["waiting_for_you"]
        assert (row["agent_id"], row["held"], row["how"]) == (HARBOR, ["src"], "queue")
    assert "waiting_for_you" not in release(otter).data


# -- every way in which a scope becomes free


@pytest.mark.parametrize("way", ["retire", "the person", "transfer", "take over", "thaw", "expiry"])
def test_whatever_frees_the_way_grants_the_place(repo: Scratch, everybody: Crew, way: str):
    harbor, wren = everybody.registered(HARBOR, WREN)
    (otter,) = everybody.hire(OTTER)
    since = ago(20) if way in ("take over", "expiry") else None
    assert otter.do("agent.register", now=since, name=OTTER, role="builder").code is None
    ttl = 15 if way == "expiry" else 120
    assert otter.do("agent.reserve", now=since, scope=["src"], ttl=ttl).code is None
    if way == "thaw":
        release(otter)
        assert repo.json("freeze", "src").status == 0
    if way == "expiry":
        assert [each["scope"] for each in queue(harbor, "src/a").data["reservations"]] == ["src/a"]
        return
    if way == "transfer":
        queue(harbor, "src")
    else:
        place(queue(harbor, "src/a", deadline=60))

    assert {
        "retire": lambda: otter.do("agent.retire"),
        "the person": lambda: otter.do("agent.release", agent="user", scope=["src"]),
        "transfer": lambda: otter.do("agent.transfer", scope=["src"], to=HARBOR),
        "take over": lambda: wren.do("agent.reserve", scope=["src/b"], takeover_stale=True),
        "thaw": lambda: otter.do("thaw", agent="user", scope=["src"]),
    }[way]().code is None

    assert holds(harbor) == (["src"] if way == "transfer" else ["src/a"])
    assert list(ends_of(in_order(repo.path)).values()) == [["granted"]]
    assert meetings_but_transfers(in_order(repo.path), way) == []


def meetings_but_transfers(lines: list[dict[str, Any]], way: str) -> list[str]:
    return [] if way == "transfer" else meetings(lines)


def test_time_alone_frees_the_way_for_the_next_act_of_anybody(everybody: Crew):
    harbor, wren = everybody.registered(HARBOR, WREN)
    (otter,) = everybody.hire(OTTER)
    assert otter.do("agent.register", now=ago(20), name=OTTER, role="builder").code is None
    assert otter.do("agent.reserve", now=ago(14), scope=["src"], ttl=30).code is None
    place(queue(harbor, "src/a"))

    later = ago(-17)
    assert harbor.do("agent.heartbeat", now=later).code is None
    assert wren.do("agent.reserve", now=later, scope=["docs"]).code is None

    assert holds(harbor) == ["src/a"]
    assert mail(harbor) == ["You hold src/a now: your turn in line has come"]


# -- places that are skipped or end


def test_a_place_ends_at_its_deadline_and_the_agent_is_told(repo: Scratch, four: list[Worker]):
    otter, harbor, wren, _ = four
    queue(harbor, "src", deadline=1)
    queue(wren, "src")
    for one in (otter, harbor, wren):
        assert one.do("agent.heartbeat", now=ago(-2)).code is None

    assert otter.do("agent.release", now=ago(-2), scope=["src"]).code is None

    assert (holds(harbor), holds(wren)) == ([], ["src"])
    assert list(ends_of(in_order(repo.path)).values()) == [["time_over"], ["granted"]]
    (told,) = mail(harbor)
    assert told.startswith("Your place in line for src is over")


def test_who_retires_leaves_the_line(repo: Scratch, four: list[Worker]):
    otter, harbor, wren, _ = four
    queue(harbor, "src")
    queue(wren, "src")
    assert harbor.do("agent.retire").code is None

    release(otter)

    assert holds(wren) == ["src"]
    assert list(ends_of(in_order(repo.path)).values()) == [["retired"], ["granted"]]


def test_who_is_paused_is_skipped_and_keeps_its_place(repo: Scratch, four: list[Worker]):
    otter, harbor, wren, _ = four
    queue(harbor, "src")
    queue(wren, "src")
    assert repo.json("agent", "pause", HARBOR).status == 0
    (row, _) = otter.do("status").data["waiting"]
    assert (row["agent_id"], row["skipped"]) == (HARBOR, "paused")

    release(otter)
    assert (holds(harbor), holds(wren)) == ([], ["src"])
    assert repo.json("agent", "unpause", HARBOR).status == 0
    release(wren)

    assert holds(harbor) == ["src"]


def test_who_is_silent_is_skipped_until_it_is_back(repo: Scratch, four: list[Worker]):
    otter, harbor, wren, _ = four
    queue(harbor, "src")
    queue(wren, "src/a")
    later = ago(-20)
    for one in (otter, wren):
        assert one.do("agent.heartbeat", now=later).code is None

    assert otter.do("agent.release", now=later, scope=["src"]).code is None
    assert [each["agent_id"] for each in wren.do("agent.status", now=later).data["reservations"]] == [WREN]
    assert wren.do("agent.release", now=later, all_=True).code is None
    assert wren.do("agent.status", now=later).data["reservations"] == []
    assert harbor.do("agent.heartbeat", now=later).code is None

    assert [each["agent_id"] for each in wren.do("agent.status", now=later).data["reservations"]] == [HARBOR]


def test_places_that_would_wait_for_each_other_are_refused(four: list[Worker]):
    otter, harbor, *_ = four
    assert harbor.do("agent.reserve", scope=["docs"]).code is None
    queue(harbor, "src/a")

    refused = otter.do("agent.reserve", scope=["docs/x.md"], queue=True)

    assert (refused.code, refused.details["cycle"]) == ("WAIT_DEADLOCK", [OTTER, HARBOR, OTTER])


def test_a_key_makes_one_place(repo: Scratch, four: list[Worker]):
    _, harbor, *_ = four
    first = place(queue(harbor, "src", key="k"))
    assert place(queue(harbor, "src", key="k"))["place_id"] == first["place_id"]
    assert len(ends_of(in_order(repo.path))) == 1


def test_the_key_of_a_release_is_not_the_key_of_what_it_grants(four: list[Worker]):
    otter, harbor, *_ = four
    queue(harbor, "src")
    assert otter.do("agent.release", all_=True, key="turn-1").code is None
    assert holds(harbor) == ["src"]

    assert harbor.do("agent.release", all_=True, key="turn-1").code is None

    assert holds(harbor) == []


def test_a_path_that_looks_like_a_secret_keeps_nobody_from_releasing(four: list[Worker]):
    otter, harbor, wren, _ = four
    token = "ghp_" + "aZ09" * 9
    place(queue(harbor, f"src/{token}", allow_secret="a test file"))
    place(queue(wren, "src"))

    release(otter)
    assert (holds(otter), holds(harbor)) == ([], [])
    assert otter.do("agent.reserve", scope=["docs"]).code is None

    assert holds(wren) == ["src"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--deadline", "5"], "--queue"),
        (["--queue", "--deadline", "0"], "deadline"),
        (["--queue", "--deadline", "1441"], "1,440"),
        (["--queue", "--deadline", "soon"], "deadline"),
        (["--queue", "--global"], "--queue"),
    ],
)
def test_bad_options_are_refused_and_record_nothing(repo: Scratch, four: list[Worker], options: list[str], named: str):
    before = len(in_order(repo.path))

    ran = repo.bb("agent", "reserve", "--agent", HARBOR, "--scope", "src/q", *options)

    assert ran.status == 2
    assert named in ran.err
    assert len(in_order(repo.path)) == before


# -- many at once


def test_all_who_queue_at_once_are_served_once_each_in_the_order_of_their_places(repo: Scratch, everybody: Crew):
    holder, *line = everybody.registered(OTTER, *[f"waiter-{number}" for number in range(7)])
    assert holder.do("agent.reserve", scope=["src/parser"]).code is None
    wanted = ["src", "src/parser", "src/**/*.py", "src/parser/lexer.py", "src/parser", "src", "src/*/lexer.py"]
    answers = everybody.race(
        "agent.reserve",
        [(one, {"scope": [scope], "queue": True}) for one, scope in zip(line, wanted, strict=True)],
    )
    numbers = sorted(place(answer)["position"] for answer in answers)
    assert numbers == list(range(1, 8))

    turn: Worker | None = holder
    while turn:
        release(turn)
        turn = next((one for one in line if holds(one)), None)

    lines = in_order(repo.path)
    assert [line["by"] for line in of_kind(lines, "x.bb.reserved")][1:] == [
        line["by"] for line in of_kind(lines, "x.bb.queued")
    ]
    assert [line["data"]["number"] for line in of_kind(lines, "x.bb.queued")] == numbers
    assert set(map(tuple, ends_of(lines).values())) == {("granted",)}
    assert meetings(lines) == []


def test_releases_and_requests_at_the_same_moment_lose_nobody(repo: Scratch, everybody: Crew):
    workers = everybody.registered(*[f"runner-{number}" for number in range(6)])
    for turn in range(8):
        holder = workers[turn % 6]
        assert holder.do("agent.reserve", scope=["src"]).code is None
        runners: list[tuple[Worker, str, dict[str, Any]]] = [(holder, "agent.release", {"all_": True})]
        runners += [(one, "agent.reserve", {"scope": ["src/a"], "queue": True}) for one in workers if one is not holder]
        assert {answer.code for answer in everybody.race_of(runners)} == {None}
        served = []
        while owner := next((one for one in workers if holds(one)), None):
            served.append(owner.agent)
            release(owner)
        assert sorted(served) == sorted(one.agent for one in workers if one is not holder)
    assert meetings(in_order(repo.path)) == []


@pytest.mark.parametrize(
    ("processes", "seconds"), [(5, 2.0), pytest.param(16, 120.0, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_processes_killed_at_any_moment_are_granted_nothing_twice_and_nobody_is_lost(
    repo: Scratch, processes: int, seconds: float
):
    chance = random.Random(processes)
    names = [f"runner-{number}" for number in range(processes)]
    with crew(repo.path) as everybody:
        everybody.registered(*names)

    said, kills = b"", 0
    children = {name: run(stand_and_leave, repo.path, name, name) for name in names}
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end or not was_granted(repo):  # on a busy machine little happens
            assert time.monotonic() < end + PATIENCE, "nobody was granted anything"
            time.sleep(chance.random() * 0.12)  # a forked process is at work at once
            name = chance.choice(names)
            said += killed(children[name])
            kills += 1
            children[name] = run(stand_and_leave, repo.path, name, f"{name} {kills}")
    finally:
        for child in children.values():
            said += killed(child)

    lines = in_order(repo.path)
    assert meetings(lines) == []
    ends = ends_of(lines)
    assert {place for word in said.decode().split() if "." in (place := word) and "agent" not in word} <= ends.keys()
    assert [how for how in ends.values() if len(how) > 1] == []
    assert any(how == ["granted"] for how in ends.values())
    assert_everybody_left_is_served(repo, names, [name for name, how in ends.items() if not how])


def was_granted(repo: Scratch) -> bool:
    """Whether a place in line has ended as it should. The last line may be half written."""
    return any(b'"how":"granted"' in file.read_bytes() for file in repo.store.glob("j/*/*.jsonl"))


def killed(child: preloaded.Process) -> bytes:
    """What a child said until it was killed, but for a line it was saying."""
    child.kill()
    said = child.communicate()[0]
    return said[: said.rfind("\n") + 1].encode()


def assert_everybody_left_is_served(repo: Scratch, names: list[str], live: list[str]) -> None:
    """Whoever holds something releases it, again and again: in the end every place was granted, each once."""
    for _ in range(10 * len(names)):
        held = {each["agent_id"] for each in repo.json("agent", "status").data["reservations"]}
        if not held:
            break
        for agent in held:
            for each in repo.json("agent", "status", "--agent", agent).data["reservations"]:
                ran = repo.json("agent", "release", "--agent", agent, "--scope", each["scope"])
                assert ran.status == 0, ran
    lines = in_order(repo.path)
    ends = ends_of(lines)
    assert {tuple(ends[name]) for name in live} <= {("granted",)}
    assert meetings(lines) == []
    assert repo.json("ledger", "verify").data["is_index_right"] is True
