"""Waiting: first come, first served, woken when the way is free, and never for ever."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from bb.ledger.local import queue
from tests.grids import repeats
from tests.stories.races.races_support import (
    Answer,
    Crew,
    Worker,
    ago,
    crew,
    in_order,
    meetings,
    of_kind,
    standing,
    waiters,
)
from tests.support import Scratch, environment
from tests.waiting import until

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
    assert reserve(hired[0], "src").code is None
    return hired


def reserve(one: Worker, *scopes: str, **given: object) -> Answer:
    return one.do("agent.reserve", scope=list(scopes), bead="bb-1", **given)


def release(one: Worker) -> Answer:
    answer = one.do("agent.release", all_=True)
    assert answer.code is None
    return answer


def stand_in_line(repo: Scratch, one: Worker, *scopes: str, wait: int = LONG, **given: object) -> None:
    """Let it wait, and go on when it has its place in the line."""
    one.start("agent.reserve", scope=list(scopes), bead="bb-1", wait=wait, **given)
    until(lambda: one.agent in waiters(repo.path) or one.has_answered)


def holders(repo: Scratch) -> list[str]:
    """Who got a reservation, in the order of the ledger."""
    return [line["by"] for line in of_kind(in_order(repo.path), "x.bb.reserved")]


# -- in line for a reservation


def test_first_come_first_served(repo: Scratch, everybody: Crew):
    holder, *line = everybody.registered(OTTER, *[f"waiter-{number}" for number in range(6)])
    reserve(holder, "src/parser")
    wanted = ["src", "src/parser", "src/**/*.py", "src/parser/lexer.py", "src/parser", "src"]
    for one, scope in zip(line, wanted, strict=True):
        stand_in_line(repo, one, scope)

    release(holder)
    for one in line:
        assert one.answer().code is None
        release(one)

    assert holders(repo) == [OTTER, *(one.agent for one in line)]
    assert meetings(in_order(repo.path)) == []
    assert standing(repo.path) == 0


def test_those_who_do_not_meet_do_not_wait_for_each_other(repo: Scratch, four: list[Worker]):
    otter, harbor, wren, _ = four
    reserve(otter, "docs")
    stand_in_line(repo, harbor, "src/parser")
    stand_in_line(repo, wren, "docs")

    assert otter.do("agent.release", scope=["docs"]).code is None

    assert wren.answer().data["scope"] == "docs"
    assert standing(repo.path) == 1


def test_a_release_wakes_who_waits_in_much_less_than_a_second(repo: Scratch, four: list[Worker]):
    """The quickest of some: how busy the machine is says nothing about bb. Without a look at the ledger it takes up
    to a second."""
    otter, harbor, *_ = four
    took = []
    for _ in repeats(3, 6):
        stand_in_line(repo, harbor, "src")
        time.sleep(0.3)  # long enough for the looks to have grown apart
        released = release(otter)
        got = harbor.answer()
        assert got.code is None
        took.append(got.at - released.at)
        release(harbor)
        reserve(otter, "src")

    assert min(took) < 0.5, took


def test_the_answer_tells_how_long_it_waited(repo: Scratch, four: list[Worker]):
    otter, harbor, *_ = four
    stand_in_line(repo, harbor, "src")
    time.sleep(0.2)
    release(otter)

    assert 0 < harbor.answer().data["waited_seconds"] < LONG


def test_who_is_stopped_keeps_nobody_out_once_its_time_is_up(repo: Scratch, four: list[Worker]):
    otter, harbor, wren, _ = four
    stand_in_line(repo, harbor, "src", wait=1)
    harbor.pause()
    release(otter)
    assert reserve(wren, "src").code == "RESERVATION_AWAITED"

    time.sleep(1 + queue.GRACE)

    assert reserve(wren, "src").code is None
    harbor.go_on()
    assert harbor.answer().code in ("RESERVATION_CONFLICT", "RESERVATION_AWAITED")


def test_who_cannot_take_over_does_not_keep_out_who_can(repo: Scratch, everybody: Crew):
    plain, bold = everybody.registered(HARBOR, WREN)
    (holder,) = everybody.hire(OTTER)
    before = ago(40)
    assert holder.do("agent.register", now=before, name=OTTER, role="builder").code is None
    assert reserve(holder, "src", now=before).code is None
    stand_in_line(repo, plain, "src/parser")

    assert reserve(bold, "src", takeover_stale=True).code is None


def test_who_wants_a_file_does_not_keep_out_who_wants_what_lies_beneath_it(repo: Scratch, four: list[Worker]):
    """A place in line remembers, as a reservation does, that what is waited for is a file."""
    otter, harbor, wren, _ = four
    (repo.path / "docs").mkdir()
    (repo.path / "docs" / "a.md").write_text("a")
    assert reserve(otter, "docs/a.md").code is None
    stand_in_line(repo, harbor, "docs/a.md")

    assert reserve(wren, "docs/**/*.py").code is None


def test_however_much_one_waits_for_it_is_all_remembered(repo: Scratch, four: list[Worker]):
    """What is remembered is larger than a buffer."""
    otter, harbor, wren, _ = four
    long = [f"packages/number-{n:05}/{'x' * 200}" for n in repeats(600, 3000)]
    stand_in_line(repo, harbor, "src", *long)
    harbor.pause()
    release(otter)

    assert reserve(wren, long[-1]).code == "RESERVATION_AWAITED"
    harbor.go_on()
    assert harbor.answer().code is None


def test_a_newcomer_does_not_overtake(repo: Scratch, four: list[Worker]):
    otter, harbor, wren, heron = four
    stand_in_line(repo, harbor, "src/parser")
    harbor.pause()
    release(otter)

    for scope in ("src", "src/parser", "src/parser/*.py"):
        refused = reserve(wren, scope)
        assert (refused.code, refused.details["awaited_by"]) == ("RESERVATION_AWAITED", [HARBOR])
    assert reserve(heron, "src/lexer").code is None  # nobody waits for that
    harbor.go_on()

    assert harbor.answer().code is None
    assert holders(repo) == [OTTER, HERON, HARBOR]


def test_who_stands_behind_does_not_overtake(repo: Scratch, four: list[Worker]):
    otter, harbor, wren, heron = four
    for one in (harbor, wren, heron):
        stand_in_line(repo, one, "src")
    harbor.pause()
    release(otter)
    time.sleep(1.5)  # the others look again, and again find somebody ahead of them
    assert holders(repo) == [OTTER]

    harbor.go_on()
    for one in (harbor, wren, heron):
        assert one.answer().code is None
        release(one)
    assert holders(repo) == [OTTER, HARBOR, WREN, HERON]


def test_who_is_killed_in_line_blocks_nobody(repo: Scratch, four: list[Worker]):
    otter, harbor, wren, heron = four
    stand_in_line(repo, harbor, "src")
    stand_in_line(repo, wren, "src")
    harbor.pause()  # the line has a place that nobody will take
    harbor.kill()
    release(otter)

    assert wren.answer().code is None
    release(wren)
    assert reserve(heron, "src").code is None


def test_when_all_in_line_are_killed_a_newcomer_is_free_to_go(repo: Scratch, four: list[Worker]):
    otter, harbor, wren, heron = four
    stand_in_line(repo, harbor, "src")
    stand_in_line(repo, wren, "src")
    for one in (harbor, wren):
        one.kill()
    release(otter)

    assert reserve(heron, "src").code is None


def test_the_places_of_the_dead_are_cleared_away(repo: Scratch, four: list[Worker]):
    _, harbor, wren, heron = four
    stand_in_line(repo, harbor, "src")
    stand_in_line(repo, wren, "src")
    for one in (harbor, wren):
        one.kill()
    assert standing(repo.path) == 2

    assert reserve(heron, "src", wait=1).code == "RESERVATION_CONFLICT"

    assert standing(repo.path) == 0


def test_the_holders_end_frees_nothing_but_its_release_does(repo: Scratch, four: list[Worker]):
    """A reservation is an agent's, not a process's."""
    otter, harbor, *_ = four
    otter.kill()

    assert reserve(harbor, "src", wait=1).code == "RESERVATION_CONFLICT"


def test_when_the_time_is_up_the_last_refusal_is_the_answer(repo: Scratch, four: list[Worker]):
    _, harbor, *_ = four

    refused = reserve(harbor, "src", wait=1)

    assert refused.code == "RESERVATION_CONFLICT"
    assert refused.details["waited_seconds"] >= 1
    assert [met["agent_id"] for met in refused.details["conflicts"]] == [OTTER]
    assert standing(repo.path) == 0


def test_the_last_refusal_tells_of_who_is_in_the_way_by_then(repo: Scratch, four: list[Worker]):
    """First somebody holds it, at last somebody else waits for it."""
    otter, harbor, wren, _ = four
    stand_in_line(repo, harbor, "src")
    harbor.pause()
    stand_in_line(repo, wren, "src", wait=2)
    release(otter)

    refused = wren.answer()

    assert refused.code == "RESERVATION_AWAITED"
    assert refused.details["awaited_by"] == [HARBOR]
    harbor.go_on()
    assert harbor.answer().code is None


def test_a_wait_that_is_given_up_gives_up_its_place(repo: Scratch, four: list[Worker]):
    otter, harbor, wren, _ = four
    stand_in_line(repo, harbor, "src", wait=2)
    stand_in_line(repo, wren, "src")
    assert harbor.answer().code == "RESERVATION_CONFLICT"
    release(otter)

    assert wren.answer().code is None


def test_its_holder_may_reserve_again_what_others_wait_for(repo: Scratch, four: list[Worker]):
    otter, harbor, *_ = four
    stand_in_line(repo, harbor, "src")

    assert reserve(otter, "src", ttl=240).data["ttl_minutes"] == 240
    assert otter.do("agent.renew", scope=["src"]).code is None
    assert standing(repo.path) == 1

    release(otter)
    assert harbor.answer().code is None
    assert holders(repo) == [OTTER, OTTER, HARBOR]


def test_who_shared_it_waits_until_the_last_has_given_it_back(repo: Scratch, four: list[Worker]):
    otter, harbor, wren, heron = four
    release(otter)
    for one in (otter, harbor):
        assert reserve(one, "src", shared=True).code is None
    stand_in_line(repo, wren, "src")
    assert reserve(heron, "src", shared=True).code == "RESERVATION_AWAITED"

    release(otter)
    time.sleep(1.2)
    assert standing(repo.path) == 1
    release(harbor)

    assert wren.answer().code is None


def test_who_retires_lets_those_go_on_who_wait(repo: Scratch, four: list[Worker]):
    otter, harbor, *_ = four
    stand_in_line(repo, harbor, "src")

    assert otter.do("agent.retire").code is None

    assert harbor.answer().code is None


# -- nobody waits in a circle


def test_two_who_would_wait_for_each_other_are_told(repo: Scratch, four: list[Worker]):
    otter, harbor, *_ = four
    reserve(harbor, "docs")
    stand_in_line(repo, otter, "docs")

    refused = reserve(harbor, "src", wait=LONG)

    assert refused.code == "WAIT_DEADLOCK"
    assert refused.details["cycle"] == [HARBOR, OTTER, HARBOR]
    assert standing(repo.path) == 1
    release(harbor)
    assert otter.answer().data["scope"] == "docs"


def test_three_who_would_wait_for_each_other_are_told(repo: Scratch, four: list[Worker]):
    otter, harbor, wren, _ = four
    reserve(harbor, "docs")
    reserve(wren, "web")
    stand_in_line(repo, otter, "docs/guide.md")
    stand_in_line(repo, harbor, "web/*.css")

    refused = reserve(wren, "src/parser", wait=LONG)

    assert refused.code == "WAIT_DEADLOCK"
    assert refused.details["cycle"] == [WREN, OTTER, HARBOR, WREN]
    release(wren)
    assert harbor.answer().code is None
    release(harbor)
    assert otter.answer().code is None


def test_a_circle_by_way_of_the_line_is_a_circle_too(repo: Scratch, four: list[Worker]):
    """Wren stands behind harbor, who waits for what wren holds."""
    otter, harbor, wren, _ = four
    reserve(wren, "web")
    stand_in_line(repo, harbor, "src", "web")

    refused = reserve(wren, "src/parser", wait=LONG)

    assert refused.code == "WAIT_DEADLOCK"
    assert refused.details["cycle"] == [WREN, HARBOR, WREN]
    release(wren)
    release(otter)
    assert harbor.answer().code is None


def test_of_those_who_close_a_circle_at_the_same_moment_one_is_refused(everybody: Crew, four: list[Worker]):
    pair = four[:2]
    for _ in repeats(4, 8):
        for one, scope in zip(pair, ("src", "docs"), strict=True):
            assert reserve(one, scope).code is None
        for one, scope in zip(pair, ("docs", "src"), strict=True):
            one.start("agent.reserve", scope=[scope], bead="bb-1", wait=LONG)
        until(lambda: any(one.has_answered for one in pair))
        refused, other = sorted(pair, key=lambda one: not one.has_answered)

        answer = refused.answer()

        assert answer.code == "WAIT_DEADLOCK"
        assert answer.details["cycle"] == [refused.agent, other.agent, refused.agent]
        release(refused)
        assert other.answer().code is None
        release(other)


def test_those_who_share_with_each_other_are_in_no_circle(repo: Scratch, four: list[Worker]):
    """Harbor waits for otter alone: wren shares what harbor wants to share. So wren may wait for harbor."""
    otter, harbor, wren, _ = four
    reserve(wren, "docs", shared=True)
    reserve(harbor, "web")
    stand_in_line(repo, harbor, "docs", "src", shared=True)

    wren.start("agent.reserve", scope=["web"], bead="bb-1", wait=1)

    assert wren.answer().code == "RESERVATION_CONFLICT"
    release(otter)
    assert harbor.answer().code is None


def test_who_is_silent_and_waits_is_part_of_the_circle(repo: Scratch, everybody: Crew, four: list[Worker]):
    """Harbor waits for what the silent one gives back; if that one comes to wait for harbor, nobody ever goes on."""
    _, harbor, *_ = four
    (silent,) = everybody.hire("foggy-finch")
    before = ago(20)
    assert silent.do("agent.register", now=before, name=silent.agent, role="builder").code is None
    assert silent.do("agent.reserve", now=before, scope=["web"], bead="bb-1").code is None
    reserve(harbor, "docs")
    stand_in_line(repo, harbor, "web")

    refused = reserve(silent, "docs", wait=1)

    assert refused.code == "WAIT_DEADLOCK"
    assert refused.details["cycle"] == [silent.agent, HARBOR, silent.agent]


def test_an_overlap_one_allows_is_in_no_circle(repo: Scratch, four: list[Worker]):
    """Harbor goes along with wren's part of docs, so it waits for otter alone."""
    otter, harbor, wren, _ = four
    reserve(wren, "docs/guide.md")
    reserve(harbor, "web")
    stand_in_line(repo, harbor, "docs", "src", allow_overlap=True)

    wren.start("agent.reserve", scope=["web"], bead="bb-1", wait=1)

    assert wren.answer().code == "RESERVATION_CONFLICT"
    release(otter)
    assert harbor.answer().code is None


# -- waiting for mail


def send(one: Worker, to: str, subject: str = "News") -> Answer:
    answer = one.do("agent.send", to=to, bead="bb-1", category="INFO", subject=subject, body="Parser is done.")
    assert answer.code is None
    return answer


def subjects(answer: Answer) -> list[str]:
    return [message["subject"] for message in answer.data["messages"]]


def test_a_message_from_another_process_wakes_who_waits(four: list[Worker]):
    otter, harbor, *_ = four
    took = []
    for turn in repeats(3, 6):
        harbor.start("agent.wait", timeout=LONG, new=True)
        time.sleep(0.3)
        sent = send(otter, HARBOR, f"News {turn}")
        got = harbor.answer()
        assert subjects(got) == [f"News {turn}"]
        took.append(got.at - sent.at)
    assert min(took) < 0.5, took


def test_a_message_to_others_wakes_nobody(four: list[Worker]):
    otter, harbor, *_ = four
    harbor.start("agent.wait", timeout=1)
    time.sleep(0.3)
    send(otter, WREN)

    assert harbor.answer().code == "NOTHING_CAME"


def test_unread_mail_answers_at_once(four: list[Worker]):
    otter, harbor, *_ = four
    send(otter, HARBOR)

    got = harbor.do("agent.wait", timeout=LONG)

    assert subjects(got) == ["News"]
    assert got.data["waited_seconds"] < LONG / 10


def test_new_passes_over_what_is_unread_already(four: list[Worker]):
    otter, harbor, *_ = four
    send(otter, HARBOR, "Old")
    assert harbor.do("agent.wait", timeout=1, new=True).code == "NOTHING_CAME"

    harbor.start("agent.wait", timeout=LONG, new=True)
    time.sleep(0.5)
    send(otter, HARBOR, "Fresh")

    assert subjects(harbor.answer()) == ["Fresh"]


def test_every_one_who_waits_is_woken(everybody: Crew):
    sender, *line = everybody.registered(OTTER, *[f"waiter-{number}" for number in range(6)])
    for one in line:
        one.start("agent.wait", timeout=LONG)
    time.sleep(0.5)
    send(sender, "broadcast")

    assert [subjects(one.answer()) for one in line] == [["News"]] * 6


def test_when_nothing_comes_the_exit_status_is_6(repo: Scratch, four: list[Worker]):
    ran = repo.json("agent", "wait", "--agent", HARBOR, "--timeout", "1")

    assert (ran.status, ran.code) == (6, "NOTHING_CAME")


def test_the_command_wakes_and_shows_the_message(repo: Scratch, four: list[Worker]):
    child = subprocess.Popen(
        [sys.executable, "-m", "bb", "agent", "wait", "--agent", HARBOR, "--timeout", str(LONG), "--json"],
        cwd=repo.path,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        time.sleep(0.5)
        send(four[0], HARBOR)
        said, _ = child.communicate(timeout=LONG)
    finally:
        child.kill()
        child.wait()

    assert child.returncode == 0
    assert '"subject":"News"' in said


# -- waiting costs next to nothing


def test_waiting_for_mail_uses_next_to_no_processor_time(four: list[Worker]):
    _, harbor, *_ = four

    assert harbor.do("agent.wait", timeout=3).busy < 0.3


def test_standing_in_line_uses_next_to_no_processor_time(four: list[Worker]):
    _, harbor, *_ = four

    assert reserve(harbor, "src", wait=3).busy < 0.3
