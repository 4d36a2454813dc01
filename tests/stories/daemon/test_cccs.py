"""CCCS v1 as a client sees it; docs/cccs.md says which clause is where. What is a rule by itself is tested with it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.stories.daemon.ipc_support import Daemon, running
from tests.support import Scratch, scratch

Event = dict[str, Any]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("cccs") / "home") as daemon:
        yield daemon


@pytest.fixture
def group(shared: Daemon) -> str:
    """A group with two actors."""
    made: str = shared.call("group_create", title="Here")["group_id"]
    for actor in ("ada", "bo"):
        shared.call("actor_add", group_id=made, actor_id=actor, runtime="custom", runner="headless")
    return made


def stream(daemon: Daemon, group: str, count: int, **how: Any) -> list[Event]:
    """The first COUNT events of a stream."""
    with daemon.connect() as client, client.makefile("rb") as file:
        args = {"group_id": group, **how}
        client.sendall(json.dumps({"v": 1, "op": "events_stream", "args": args}).encode() + b"\n")
        assert json.loads(file.readline())["ok"]
        items = (json.loads(line) for line in file)
        events = (item["event"] for item in items if item["t"] == "event")
        return list(islice(events, count))


def say(daemon: Daemon, group: str, text: str, **more: Any) -> Event:
    event: Event = daemon.call("send", group_id=group, text=text, **more)["event"]
    return event


def unread(daemon: Daemon, group: str, actor: str) -> list[str]:
    return [event["id"] for event in daemon.call("inbox_list", group_id=group, actor_id=actor)["messages"]]


# -- §3, §4: the envelope

MEMBERS = {"v", "id", "ts", "seq", "kind", "group_id", "scope_key", "by", "data"}
EVERYTHING = ["group.create", "actor.add", "chat.message", "chat.ack", "chat.read", "system.notify", "context.sync"]


def test_every_event_a_client_sees_is_a_cccs_event(shared: Daemon, group: str):
    asked = say(shared, group, "Look!", to=["ada"], priority="attention", client_id="once")
    about = {"group_id": group, "actor_id": "ada", "by": "ada"}
    shared.call("chat_ack", **about, event_id=asked["id"])
    shared.call("inbox_mark_all_read", **about)
    shared.call("system_notify", group_id=group, kind="info", title="News", target_actor_id="bo")
    shared.call("context_sync", group_id=group, ops=[{"op": "vision.update", "vision": "One ledger"}])

    events = stream(shared, group, 8, since_seq=0, kinds=EVERYTHING)

    assert {event["kind"] for event in events} == set(EVERYTHING)
    assert len({event["id"] for event in events}) == len(events)
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    for event in events:
        assert set(event) == MEMBERS
        assert (event["v"], event["group_id"]) == (1, group)
        assert event["ts"].endswith("Z")
        assert not {"_", "_q", "p", "dh", "k", "l"} & event["data"].keys(), (
            "the chain and the salt are nobody's business"
        )


def test_cccs_4_what_only_the_writer_says_is_not_the_clients_to_say(shared: Daemon, group: str):
    forged = {"id": "mine", "ts": "1999-01-01T00:00:00Z", "seq": 1, "kind": "x.mine", "scope_key": "s_mine", "v": 9}

    event = say(shared, group, "Hello", by="ada", client_ts="1999-01-01T00:00:00Z", **forged)

    assert event["by"] == "ada"
    assert event["data"]["client_ts"] == "1999-01-01T00:00:00Z"
    assert all(event[name] != value for name, value in forged.items())


def test_cccs_4_unknown_kinds_are_kept_and_passed_on(shared: Daemon, tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    made = shared.call("attach", path=str(repo.path))["group_id"]
    append_unknown(repo.store)

    (event,) = stream(shared, made, 1, since_seq=0, kinds=["vendor.acme.sparkle"])

    assert event["data"] == {"colour": "red", "deep": [{"er": None}]}
    assert say(shared, made, "All is well.")["seq"] > event["seq"]


def append_unknown(store: Path) -> None:
    """A line of a kind that this version does not know, as another one may write it."""
    from bb.kernel.event import Event as Line
    from bb.ledger.journal.journal import Journal

    (writer,) = [folder.name for folder in (store / "j").iterdir()]
    journal = Journal(str(store), writer)
    data = {"colour": "red", "deep": [{"er": None}]}

    def lines(link: Any) -> list[Line]:
        name = f"{writer}.{link.n + 1}"
        return [Line(name, link.lamport + 1, "2026-01-05T12:00:00.000Z", "vendor.acme.sparkle", "user", data)]

    with journal.lock():
        journal.append(lines, lambda: "abcdefgh")


# -- §6: messages, acknowledgements, marks


def test_cccs_6_1_a_message_sent_twice_under_one_client_id_is_one_message(shared: Daemon, group: str):
    first = say(shared, group, "Pay the bill", client_id="bill-7", to=["bo"])

    assert say(shared, group, "Pay the bill", client_id="bill-7", to=["bo"]) == first
    assert say(shared, group, "Pay the bill", client_id="bill-7", to=["bo"], by="ada")["id"] != first["id"]
    assert say(shared, group, "Pay the bill", client_id="bill-8", to=["bo"])["id"] != first["id"]
    assert unread(shared, group, "bo").count(first["id"]) == 1


def test_cccs_6_1_after_ten_minutes_a_client_id_may_stand_for_another_message(tmp_path: Path):
    with running(tmp_path / "home", BB_NOW="2026-01-05T12:00:00Z") as daemon:
        made = daemon.call("group_create")["group_id"]
        first = say(daemon, made, "one", client_id="1")
        daemon.stop()
        daemon.settings["BB_NOW"] = "2026-01-05T12:10:00Z"
        daemon.start()
        assert say(daemon, made, "two", client_id="1")["id"] == first["id"]
        daemon.stop()
        daemon.settings["BB_NOW"] = "2026-01-05T12:10:01Z"
        daemon.start()
        assert say(daemon, made, "two", client_id="1")["data"]["text"] == "two"


def test_cccs_6_2_an_acknowledgement_is_given_once(shared: Daemon, group: str):
    asked = say(shared, group, "Now!", to=["ada"], priority="attention")
    about = {"group_id": group, "actor_id": "ada", "by": "ada", "event_id": asked["id"]}

    first, second = shared.call("chat_ack", **about), shared.call("chat_ack", **about)

    assert (first["acked"], first["already"], first["event"]["kind"]) == (True, False, "chat.ack")
    assert second == {"acked": True, "already": True, "event": None}


def test_cccs_6_2_reading_acknowledges_nothing_and_acknowledging_reads_nothing(shared: Daemon, group: str):
    one, other = (say(shared, group, text, to=["ada"], priority="attention") for text in ("one", "other"))
    about = {"group_id": group, "actor_id": "ada", "by": "ada"}

    shared.call("chat_ack", **about, event_id=other["id"])
    assert unread(shared, group, "ada") == [one["id"], other["id"]]
    shared.call("inbox_mark_read", **about, event_id=one["id"])
    assert unread(shared, group, "ada") == [other["id"]]
    assert shared.call("chat_ack", **about, event_id=one["id"])["already"] is False


def test_cccs_6_3_a_mark_is_inclusive_and_only_moves_forward(shared: Daemon, group: str):
    first, second, third = (say(shared, group, text, to=["ada"])["id"] for text in "abc")
    about = {"group_id": group, "actor_id": "ada", "by": "ada"}

    marked = shared.call("inbox_mark_read", **about, event_id=second)
    assert unread(shared, group, "ada") == [third]
    again = shared.call("inbox_mark_read", **about, event_id=first)

    assert unread(shared, group, "ada") == [third]
    assert again["cursor"] == marked["cursor"]
    assert again["event"]["id"] == marked["event"]["id"], "nothing new is recorded"


def test_cccs_6_4_a_reaction_is_an_event_of_its_own(shared: Daemon, group: str):
    said = say(shared, group, "Done.", by="ada")

    event = shared.call("chat.react", group_id=group, event_id=said["id"], emoji="👍", by="bo")["event"]

    assert (event["kind"], event["by"]) == ("chat.reaction", "bo")
    assert event["data"] == {"event_id": said["id"], "actor_id": "bo", "emoji": "👍"}
    assert unread(shared, group, "ada") == [], "a reaction wakes nobody"


# -- §8: attachments


def test_cccs_8_what_was_attached_is_read_back_as_it_was(shared: Daemon, group: str):
    octets = bytes(range(256)) * 100
    given = {"name": "../a plan.bin", "data_base64": base64.b64encode(octets).decode()}
    kept = shared.call("blob.put", group_id=group, **given)

    attached = {name: kept[name] for name in ("path", "title", "bytes", "sha256")}
    event = say(shared, group, "", attachments=[attached])

    assert event["data"]["attachments"] == [attached]
    read = shared.call("blob.get", group_id=group, path=kept["path"])
    assert base64.b64decode(read["data_base64"]) == octets
    missing = dict(attached, path=attached["path"].replace(attached["sha256"][:8], "00000000"))
    assert shared.refusal("send", group_id=group, text="", attachments=[missing])["code"] == "invalid_attachments"


# -- §10: streams


def test_cccs_10_a_stream_goes_on_from_an_event_a_place_or_a_time(shared: Daemon, group: str):
    events = [say(shared, group, text) for text in "abcd"]
    rest = [event["id"] for event in events[2:]]

    for how in ({"since_event_id": events[1]["id"]}, {"since_seq": events[1]["seq"]}):
        assert [event["id"] for event in stream(shared, group, 2, **how)] == rest
    assert [event["id"] for event in stream(shared, group, 4, since_ts="2026-01-01T00:00:00Z")][-2:] == rest
    assert shared.refusal("events_stream", group_id=group, since_event_id="aaaaaaaaaaaa.1")["code"] == "event_not_found"


def test_cccs_10_a_stream_of_some_kinds_and_of_so_many_events(shared: Daemon, group: str):
    for text in "abc":
        say(shared, group, text)
        shared.call("system_notify", group_id=group, title=text)

    found = stream(shared, group, 99, since_seq=0, kinds=["system.notify"], limit=2)

    assert [event["data"]["title"] for event in found] == ["a", "b"], "and then the stream has ended"


def test_cccs_10_a_cursor_means_the_same_after_the_index_was_made_anew_and_after_a_sync(tmp_path: Path):
    one, other = scratch(tmp_path / "one"), tmp_path / "other"
    one.git("clone", "--quiet", "--bare", str(one.path), str(tmp_path / "hub.git"))
    one.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    with running(tmp_path / "home") as daemon:
        made = daemon.call("attach", path=str(one.path))["group_id"]
        daemon.call("actor_add", group_id=made, actor_id="ada", runtime="custom", runner="headless")
        first, second, third = (say(daemon, made, text, to=["ada"]) for text in ("1", "2", "3"))
        daemon.call("inbox_mark_read", group_id=made, actor_id="ada", by="ada", event_id=second["id"])
        assert one.bb("sync", "--publish").status == 0
        one.git("clone", "--quiet", str(tmp_path / "hub.git"), str(other))
        there = type(one)(other)
        assert there.bb("sync", "--pull").status == 0
        assert there.bb("chat", "send", "from the other clone", "--to", "ada").status == 0
        assert there.bb("sync", "--publish").status == 0
        assert one.bb("sync").status == 0

        messages = daemon.call("inbox_list", group_id=made, actor_id="ada")["messages"]
        assert [message["data"]["text"] for message in messages] == ["3", "from the other clone"]
        daemon.stop()
        for file in one.store.glob("index.sqlite*"):
            file.unlink()
        daemon.start()

        assert daemon.call("inbox_list", group_id=made, actor_id="ada")["messages"] == messages
        behind = stream(daemon, made, 2, since_event_id=second["id"], kinds=["chat.message"])
        assert [event["id"] for event in behind] == [message["id"] for message in messages]
        assert first["seq"] < second["seq"] < third["seq"] == messages[0]["seq"]


def test_what_another_clone_said_can_be_answered_before_any_line_here_accounts_for_it(tmp_path: Path):
    one = scratch(tmp_path / "one")
    one.git("clone", "--quiet", "--bare", str(one.path), str(tmp_path / "hub.git"))
    one.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    assert one.bb("agent", "register", "--name", "ada-l", "--role", "builder").status == 0
    assert one.bb("sync", "--publish").status == 0
    one.git("clone", "--quiet", str(tmp_path / "hub.git"), str(tmp_path / "other"))
    there = type(one)(tmp_path / "other")
    assert there.bb("sync", "--pull").status == 0
    asked = there.json("chat", "send", "Now!", "--to", "ada-l", "--priority", "attention").data["event"]
    there.json("chat", "send", "Later.", "--to", "ada-l")
    assert there.bb("sync", "--publish").status == 0
    assert one.bb("sync").status == 0
    lines = recorded(one)

    messages = one.json("chat", "inbox", "--actor-id", "ada-l").data["messages"]
    assert [message["data"]["text"] for message in messages] == ["Now!", "Later."]
    assert "seq" not in messages[0], "it has no place here yet"
    assert recorded(one) == lines, "looking records nothing"
    assert one.json("chat", "ack", asked["id"], BB_AGENT="ada-l").data["already"] is False
    assert one.json("chat", "mark-read", asked["id"], BB_AGENT="ada-l").status == 0

    (left,) = one.json("chat", "inbox", "--actor-id", "ada-l").data["messages"]
    assert (left["data"]["text"], type(left["seq"])) == ("Later.", int)


def recorded(repo: Scratch) -> int:
    """How many lines there are in all journals."""
    return sum(file.read_bytes().count(b"\n") for file in repo.store.glob("j/*/*.jsonl"))
