"""A group in which actors run is looked after: what is due is recorded when it is due, and once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bb.daemon.automation import recent as recents
from bb.daemon.automation.automation import Watch
from bb.daemon.automation.recent import Recent
from bb.daemon.clients import streams
from bb.kernel import clock
from bb.kernel.errors import BbError
from bb.kernel.event import Event
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.local import prompts
from bb.ops.desk import directories
from bb.ops.desk.group_desk import GroupDesk
from bb.ops.groups import context
from tests.daemon.automation_support import NEVER, World
from tests.support import NOON

Make = Callable[..., World]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A group where only those notices come for which a test sets a time. Hours pass, and no other process writes: so
    a look for its lines every second is enough."""
    monkeypatch.setattr(streams, "LONGEST_GLANCE", 1.0)
    made: list[World] = []

    def world(**settings: Any) -> World:
        made.append(World(tmp_path, **NEVER | settings))
        return made[-1]

    yield world
    for each in made:
        each.desk.close()


# -- mail that waits


def test_who_lets_mail_wait_is_reminded_of_it_when_it_is_time(make: Make):
    world = make(nudge_after_seconds=60)
    world.run("lead")
    world.wait(10)
    mail = world.send("Ready?")
    world.wait(59.9)
    assert world.told() == []
    world.wait(1)

    (nudge,) = world.notices()
    assert (nudge["kind"], nudge["target_actor_id"], nudge["at"]) == ("nudge", "lead", 70)
    assert nudge["context"] == {
        "actor_id": "lead",
        "unread_count": 1,
        "oldest_unread": mail,
        "to_acknowledge": [],
        "to_acknowledge_count": 0,
    }
    assert "1 unread" in nudge["message"]


def test_who_has_read_it_is_not_reminded(make: Make):
    world = make(nudge_after_seconds=60)
    world.run("lead")
    world.read("lead", world.send())
    world.wait(600)

    assert world.told() == []


def test_a_reminder_comes_again_after_as_long_and_is_no_mail_itself(make: Make):
    world = make(nudge_after_seconds=60)
    world.run("lead")
    world.send()
    world.wait(185)
    assert world.told() == [("nudge", "lead", 60), ("nudge", "lead", 120), ("nudge", "lead", 180)]
    assert [each["context"]["unread_count"] for each in world.notices()] == [1, 1, 1]

    world.read("lead", world.send())
    world.wait(600)
    assert len(world.told()) == 3, "the reminders have not been read, and nobody is reminded of that"


def test_a_reminder_that_waits_to_be_typed_is_withdrawn_when_its_mail_has_been_read(make: Make):
    world = make(nudge_after_seconds=60)
    player = world.run("lead")
    mail = world.send()
    world.wait(61)
    (nudge,) = world.notices()
    assert player.withdrawn == []

    world.read("lead", mail)
    world.wait(0.1)
    assert player.withdrawn == [nudge["id"]]


def test_of_two_reminders_that_wait_to_be_typed_the_second_says_it_all(make: Make):
    world = make(nudge_after_seconds=60)
    player = world.run("lead")
    world.send()
    world.wait(125)

    first, second = world.notices()
    assert player.withdrawn == [first["id"]]
    world.wait(60)
    assert player.withdrawn == [first["id"], second["id"]]


def test_only_who_is_meant_is_reminded(make: Make):
    world = make(nudge_after_seconds=60)
    for name in ("lead", "Peer_1", "peer-2"):
        world.run(name)
    world.send(to="Peer_1")
    world.send(to="@foreman")
    world.send(by="peer-2", to="@peers")
    world.wait(61)

    assert world.told() == [("nudge", "Peer_1", 60), ("nudge", "lead", 60)]


def test_cccs_6_2_what_is_owed_is_asked_for_until_it_is_acknowledged(make: Make):
    world = make(nudge_after_seconds=60)
    player = world.run("lead")
    mail = world.send("Stop!", priority="attention")
    world.read("lead", mail)
    world.wait(61)
    (nudge,) = world.notices()
    assert nudge["priority"] == "high"
    assert (nudge["context"]["to_acknowledge"], nudge["context"]["unread_count"]) == ([mail], 0)

    world.ack("lead", mail)
    world.wait(600)
    assert player.withdrawn == [nudge["id"]]
    assert len(world.notices()) == 1


def test_nobody_owes_what_was_said_before_they_came(make: Make):
    world = make(nudge_after_seconds=60)
    world.run("lead")
    mail = world.send("Stop!", priority="attention")
    world.ack("lead", mail)
    world.read("lead", mail)
    world.run("late")
    world.read("late", mail)
    world.wait(600)

    assert world.told() == []


def test_mail_that_waited_before_an_actor_was_started_counts_from_its_start(make: Make):
    world = make(nudge_after_seconds=60)
    world.run("lead")
    world.end("lead")
    world.send()
    world.wait(1000)
    assert world.told() == []

    world.run("lead")
    world.wait(59)
    assert world.told() == []
    world.wait(2)
    assert world.told() == [("nudge", "lead", 1060)]


# -- silence


def test_the_foreman_is_told_of_who_fell_silent_once_and_shown_the_end_of_the_terminal(make: Make):
    world = make(actor_idle_timeout_seconds=60)
    world.run("lead")
    peer = world.run("peer")
    peer.last_output_at = world.time.ms + 30_000
    world.wait(60.5)
    assert world.told("actor_idle") == [("actor_idle", "user", 60)], "of the foreman the person is told"
    world.wait(600)

    about = [each for each in world.notices() if each["context"]["actor_id"] == "peer"]
    assert [(each["target_actor_id"], each["at"]) for each in about] == [("lead", 90)]
    assert about[0]["context"] == {"actor_id": "peer", "terminal_tail": "$ make\nok"}
    assert world.troupe.glimpses == [("lead", "user"), ("peer", "lead")]


def test_who_acted_again_and_fell_silent_again_is_told_of_again(make: Make):
    world = make(actor_idle_timeout_seconds=60)
    world.run("lead")
    world.wait(100)
    world.send("I am here", by="lead", to="user")
    world.wait(100)

    assert world.told() == [("actor_idle", "user", 60), ("actor_idle", "user", 160)]


def test_who_stopped_short_of_its_work_is_asked_to_go_on_but_not_for_ever(make: Make):
    world = make(keepalive_delay_seconds=60, keepalive_max_per_actor=2)
    lead = world.run("lead")
    lead.is_at_work = True
    world.wait(1000)
    assert world.told() == [("keepalive", "lead", 60), ("keepalive", "lead", 120)]

    world.send("on it", by="lead", to="user")
    world.wait(1000)
    assert [at for _, _, at in world.told()] == [60, 120, 1060, 1120]


def test_a_task_that_the_group_shares_is_work_too(make: Make):
    world = make(keepalive_delay_seconds=60, keepalive_max_per_actor=1)
    world.run("lead")
    ops = [
        {"op": "task.create", "title": "Parser", "assignee": "lead"},
        {"op": "task.move", "task_id": "T001", "status": "active"},
    ]
    context.context_sync(world.desk, group_id=world.id, ops=ops, by="user")
    world.pump()
    world.wait(100)

    assert [who for _, who, _ in world.told()] == ["lead"]


def test_when_everybody_is_silent_the_foreman_is_asked_about_it(make: Make):
    world = make(silence_timeout_seconds=60)
    world.run("lead")
    world.run("peer")
    world.wait(30)
    world.send("hello", by="peer")
    world.wait(200)

    assert world.told() == [("silence_check", "lead", 90)]


def test_stock_is_taken_while_there_is_something_to_take_stock_of(make: Make):
    world = make(standup_interval_seconds=60)
    lead = world.run("lead")
    world.wait(100)
    assert world.told() == []
    lead.last_output_at = world.time.ms
    world.send("news")
    world.wait(2)

    assert world.told() == [("standup", "lead", 101)]


def test_who_was_told_much_is_told_how_to_get_help(make: Make):
    world = make(help_nudge_interval_seconds=60, help_nudge_min_messages=3)
    world.run("lead")
    world.run("peer")
    for _ in range(2):
        world.send(to="lead")
    world.wait(200)
    assert world.told() == []
    world.send(to="lead")
    world.wait(1.5)
    assert world.told() == [("help_nudge", "lead", 201)]
    for _ in range(3):
        world.send(to="lead")
    world.wait(55)
    assert len(world.told()) == 1
    world.wait(10)
    assert len(world.told()) == 2


@pytest.mark.parametrize(("name", "kind"), [("help", "help_nudge"), ("standup", "standup")])
def test_a_group_has_words_of_its_own_where_it_wants(make: Make, tmp_path: Path, name: str, kind: str):
    world = make(help_nudge_interval_seconds=5, help_nudge_min_messages=1, standup_interval_seconds=5)
    file = Path(prompts.path_of(str(tmp_path / "home"), world.id, name))
    file.parent.mkdir(parents=True)
    file.write_text("As we do it here.\n")
    world.run("lead").is_at_work = True
    world.wait(1)
    world.send()
    world.wait(10)

    assert [each["message"] for each in world.notices(kind)][:1] == ["As we do it here.\n"]


# -- when nothing is automatic


@pytest.mark.parametrize("state", ["idle", "paused"])
def test_a_group_that_rests_gets_nothing_and_counts_from_when_it_is_active_again(make: Make, state: str):
    world = make(nudge_after_seconds=60, actor_idle_timeout_seconds=60)
    world.run("lead")
    world.send()
    world.wait(30)
    world.become(state)
    world.wait(1000)
    assert world.told() == []

    world.become("active")
    world.wait(59)
    assert world.told() == []
    world.wait(2)
    assert sorted(world.told()) == [("actor_idle", "user", 1090), ("nudge", "lead", 1090)]


def test_a_group_that_a_command_put_to_rest_rests_at_once(make: Make):
    world = make(nudge_after_seconds=60)
    world.run("lead")
    world.send()
    world.wait(59.5)
    world.become("paused")
    world.wait(600)

    assert world.told() == []


def test_other_settings_hold_at_once(make: Make):
    world = make(nudge_after_seconds=600)
    world.run("lead")
    world.send()
    world.wait(100)
    world.set(nudge_after_seconds=60)
    world.wait(0.1)
    assert world.told() == [("nudge", "lead", 100)]

    world.set(nudge_after_seconds=0)
    world.wait(3_000)
    assert len(world.told()) == 1


def test_where_nobody_runs_nothing_is_looked_at(make: Make):
    world = make(nudge_after_seconds=60, silence_timeout_seconds=60)
    world.run("lead")
    world.end("lead")
    world.send()
    world.wait(1000)
    assert world.told() == []
    assert not world.streams.channel(world.group).is_needed

    world.run("lead")
    assert world.streams.channel(world.group).is_needed


# -- how often is looked


def test_much_that_happens_at_once_is_looked_at_once(make: Make, monkeypatch: pytest.MonkeyPatch):
    world = make(nudge_after_seconds=60)
    world.run("lead")
    world.wait(1)
    looks = []
    plain = Watch._see_to
    monkeypatch.setattr(Watch, "_see_to", lambda self, *given: looks.append(world.time.now()) or plain(self, *given))
    for _ in range(50):
        world.send()
    world.wait(10)
    assert len(looks) == 1

    world.wait(1000)
    assert len(looks) < 40, "once for every reminder, and once behind it"


def test_nothing_is_looked_at_while_nothing_can_be_due(make: Make, monkeypatch: pytest.MonkeyPatch):
    world = make(nudge_after_seconds=60)
    world.run("lead")
    world.wait(5)
    looks = []
    plain = Watch._see_to
    monkeypatch.setattr(Watch, "_see_to", lambda self, *given: looks.append(1) or plain(self, *given))
    world.wait(3_000)

    assert looks == []


# -- a daemon that comes back


def test_a_daemon_that_comes_back_knows_who_was_told_what(make: Make):
    world = make(keepalive_delay_seconds=60, keepalive_max_per_actor=3, nudge_after_seconds=0)
    world.run("lead").is_at_work = True
    world.wait(130)
    assert len(world.told()) == 2

    world.come_back()
    world.troupe.players["lead"].is_at_work = True
    world.wait(1000)
    assert [at for _, _, at in world.told()] == [60, 120, 190], "the third and last, counted from its new start"


def test_a_daemon_that_comes_back_does_not_remind_anybody_sooner(make: Make):
    world = make(nudge_after_seconds=60)
    world.run("lead")
    world.send()
    world.wait(70)
    world.come_back()
    world.wait(59)
    assert world.told() == [("nudge", "lead", 60)]
    world.wait(2)
    assert world.told() == [("nudge", "lead", 60), ("nudge", "lead", 130)]


def test_what_is_owed_is_known_again_however_long_ago_it_was_asked_for(make: Make, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recents, "PAST", 5)
    world = make(nudge_after_seconds=60)
    world.run("lead")
    owed, acked = (world.send(text, priority="attention") for text in ("owed", "acked"))
    world.ack("lead", acked)
    for _ in range(20):
        world.send(to="user")
    world.read("lead", world.send())
    world.come_back()
    world.wait(61)

    (nudge,) = world.notices()
    assert nudge["context"]["to_acknowledge"] == [owed]


def test_only_the_last_lines_are_read_again(make: Make, monkeypatch: pytest.MonkeyPatch):
    world = make(nudge_after_seconds=60)
    world.run("lead")
    for _ in range(40):
        world.send()
    heard = []
    plain = Recent.add_event
    monkeypatch.setattr(
        Recent, "add_event", lambda self, told, *more: heard.append(told.seq) or plain(self, told, *more)
    )
    monkeypatch.setattr(recents, "PAST", 7)
    world.come_back()

    assert len(heard) == 7


# -- other clones


@pytest.mark.parametrize("hours", [-1000, 1000])
def test_what_the_clock_of_another_clone_says_delays_and_hastens_nothing(make: Make, hours: int):
    world = make(nudge_after_seconds=60)
    world.run("lead")
    world.wait(10)
    store = world.group.store
    lamport = store.caught_up().lamport() + 1
    there = Journal(store.path, "ddddeeeeffff")
    with there.lock_to_change():
        Path(there.folder).mkdir()
        there.extend(_sealed(lamport, clock.text(clock.parse(NOON) + hours * clock.HOUR)) + b"\n")
    world.wait(1)
    assert world.told() == []
    world.wait(58)
    assert world.told() == []
    world.wait(5)

    ((kind, who, at),) = world.told()
    assert (kind, who) == ("nudge", "lead")
    assert 70 <= at <= 73


def _sealed(lamport: int, ts: str) -> bytes:
    """A line of another writer that says when it was recorded by its own clock."""
    event = Event(
        "ddddeeeeffff.1", lamport, ts, "chat.message", "amber-otter", {"text": "from afar", "to": ["lead"]}, "g_test"
    )
    return lines.write(event, lines.START, "saltsalt")[0]


# -- what goes wrong


def test_what_cannot_be_recorded_is_tried_again_later_and_said_in_the_log(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    world = make(nudge_after_seconds=60)
    world.run("lead")
    world.send()
    world.wait(1)

    def full(*_: Any, **__: Any) -> Any:
        raise BbError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(GroupDesk, "record", full)
        world.wait(65)
        assert world.told() == []
    world.wait(10)

    assert [who for _, who, _ in world.told()] == ["lead"]
    assert "the disk is full" in (tmp_path / "log").read_text()


def test_a_bug_in_looking_after_a_group_stops_nobody_else(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    world = make(nudge_after_seconds=60)
    world.run("lead")
    world.send()
    with monkeypatch.context() as patched:
        patched.setattr(Watch, "_views", lambda *_: 1 / 0)
        world.wait(65)
    world.wait(10)

    assert len(world.told()) == 1
    assert "ZeroDivisionError" in (tmp_path / "log").read_text()


def test_a_group_that_is_gone_is_let_go(make: Make):
    world = make(nudge_after_seconds=60)
    world.run("lead")
    world.send()
    directories.forget(world.desk, world.group)
    world.troupe.players.clear()
    world.wait(1000)

    assert [timer for *_, timer in world.time._timers if timer.do] == [], "nothing is waited for any more"
