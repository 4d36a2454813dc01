"""What a person does over agents: freeze paths, pause an agent, pass a reservation on; and who may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bb.coordination.facts import Paused, Reserved
from bb.kernel import clock
from bb.ledger.git import place
from bb.ledger.records.store import Store
from bb.ops import catalogue
from bb.ops.desk.desk import Desk, NoAgent
from tests.near import Near, near
from tests.stories.agents.agents_support import (
    ESCAPES,
    HARBOR,
    OTTER,
    WREN,
    inbox,
    is_harmless,
    log,
    moment,
    nothing_written,
    reserve,
    send,
)
from tests.support import NOON, Ran, environment

WHY = "the release is being cut"


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    """At noon: two agents, of whom amber-otter holds src."""
    made = near(tmp_path / "repo", BB_NOW=NOON)
    for agent in (OTTER, HARBOR):
        assert made.json("agent", "register", "--name", agent, "--role", "builder").status == 0
    assert reserve(made, OTTER, "src").status == 0
    return made


def at(repo: Near, minutes: float) -> Near:
    repo.settings = repo.settings | {"BB_NOW": moment(minutes)}
    return repo


def freeze(repo: Near, *words: str, **settings: str) -> Ran:
    return repo.json("freeze", *words, "--why", WHY, **settings)


def check(repo: Near, path: str, agent: str) -> Ran:
    return repo.json("check", path, "--agent", agent)


# -- freezing


def test_a_freeze_binds_the_holder_and_everybody_else_and_gives_way_again(repo: Near):
    assert freeze(repo, "src/core").data["told"] == [OTTER]
    for agent in (OTTER, HARBOR):
        refused = check(repo, "src/core/a.py", agent)
        assert (refused.status, refused.code) == (7, "PATH_HELD")
        assert WHY in refused.envelope["error"]["message"]
    assert check(repo, "src/lib/a.py", OTTER).data["paths"][0]["verdict"] == "yours"

    assert repo.json("thaw", "src/core").data["told"] == [OTTER]
    assert check(repo, "src/core/a.py", OTTER).data["paths"][0]["verdict"] == "yours"


def test_a_directory_in_which_something_is_frozen_may_not_be_touched_as_a_whole(repo: Near):
    freeze(repo, "src/core")
    assert check(repo, "src", OTTER).code == "PATH_HELD"


def test_a_person_is_told_and_not_stopped(repo: Near):
    freeze(repo, "src/core")
    (found,) = repo.json("check", "src/core/a.py").data["paths"]
    assert (found["verdict"], found["held_by"][0]["frozen"], found["held_by"][0]["why"]) == ("held", True, WHY)


@pytest.mark.parametrize("more", [(), ("--takeover-stale",), ("--allow-overlap",), ("--shared",), ("--wait", "0")])
@pytest.mark.parametrize("minutes", [0, 20, 60, 3000])
def test_nothing_frozen_is_reserved_however_long_ago_and_with_whatever_option(
    repo: Near, more: tuple[str, ...], minutes: int
):
    freeze(repo, "docs")
    at(repo, minutes).json("agent", "heartbeat", "--agent", HARBOR)

    refused = reserve(repo, HARBOR, "docs/a.md", *more)

    assert (refused.status, refused.code) == (7, "RESERVATION_CONFLICT")
    assert refused.envelope["error"]["message"].startswith(f'user has frozen docs: "{WHY}"')


def test_a_freeze_for_a_while_ends_by_itself_and_needs_no_take_over(repo: Near):
    assert freeze(repo, "docs", "--minutes", "30").data["expires_at"] == moment(30)
    assert reserve(at(repo, 29), HARBOR, "docs").status == 7
    assert [each["scope"] for each in repo.json("status").data["reservations"]] == ["src", "docs"]

    repo.json("agent", "heartbeat", "--agent", HARBOR)
    assert check(at(repo, 30), "docs", HARBOR).data["paths"][0]["verdict"] == "free"
    assert [each["scope"] for each in repo.json("status").data["reservations"]] == ["src"]
    assert reserve(repo, HARBOR, "docs").status == 0


def test_a_freeze_without_an_end_has_none_wherever_it_is_shown(repo: Near):
    freeze(repo, "docs")
    at(repo, 100_000)
    shown = [
        each
        for answer in (repo.json("status").data, repo.json("agent", "status", "--agent", "user").data)
        for each in answer["reservations"]
        if each["scope"] == "docs"
    ]
    assert len(shown) == 2
    for each in shown:
        assert (each["expires_at"], each["ttl_minutes"], each["state"]) == (None, None, "active")
        assert (each["frozen"], each["why"], each["agent_id"]) == (True, WHY, "user")
    assert shown[0]["seconds_left"] is None
    assert f'docs                           frozen by user: "{WHY}"' in repo.bb("status").out


def test_a_freeze_is_no_problem_of_anybodys_and_no_session(repo: Near):
    freeze(repo, "docs")
    at(repo, 10)
    assert repo.bb("problems").status == 0
    assert [task["id"] for group in repo.json("sessions", "list").data["feed"] for task in group["tasks"]] == ["bb-1"]


def test_freezing_the_same_again_tells_nobody_twice(repo: Near):
    freeze(repo, "src/core")
    with nothing_written(repo):
        assert freeze(repo, "src/core").data["told"] == []


def test_releasing_in_the_persons_name_leaves_the_freeze_and_thawing_the_reservation(repo: Near):
    freeze(repo, "src")
    assert repo.json("agent", "release", "--agent", "user", "--scope", "src").data["agent_id"] == OTTER
    assert check(repo, "src", OTTER).code == "PATH_HELD"
    assert reserve(repo, OTTER, "src").code == "RESERVATION_CONFLICT"
    assert repo.json("thaw", "--all").data["scope"] == "src"
    assert reserve(repo, OTTER, "src").status == 0
    freeze(repo, "src")
    repo.json("thaw", "src")
    assert [each["agent_id"] for each in repo.json("agent", "status").data["reservations"]] == [OTTER]


def test_giving_back_everything_in_the_persons_name_lifts_nothing(repo: Near):
    freeze(repo, "docs")
    with nothing_written(repo):
        for verb in ("release", "renew"):
            assert repo.json("agent", verb, "--all", "--agent", "user").data["reservations"] == []


def test_the_whole_repository_can_be_frozen(repo: Near):
    freeze(repo, ".")
    assert check(repo, "anything/at/all", HARBOR).code == "PATH_HELD"


# -- pausing

REFUSED = [
    ("agent", "reserve", "--scope", "docs", "--bead", "bb-2"),
    ("agent", "renew", "--all"),
    ("check", "src/a.py"),
    ("check", "--staged"),
    ("check", "--staged", "--override", "I must"),
]
ALLOWED = [
    ("agent", "heartbeat"),
    ("agent", "inbox"),
    ("agent", "status"),
    ("agent", "transfer", "--scope", "src", "--to", HARBOR),
    ("agent", "release", "--all"),
    ("resume",),
]


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_a_paused_agent_changes_nothing_and_is_told_why(repo: Near, words: tuple[str, ...]):
    repo.json("agent", "pause", OTTER, "--why", WHY)
    refused = repo.json(*words, "--agent", OTTER)
    assert (refused.status, refused.code) == (4, "AGENT_PAUSED")
    assert refused.envelope["error"]["message"] == f'user paused you at {NOON}: "{WHY}"'
    assert "AGENT_PAUSED" not in repo.json(*words, "--agent", HARBOR).out

    repo.json("agent", "unpause", OTTER)
    assert "AGENT_PAUSED" not in repo.json(*words, "--agent", OTTER).out


@pytest.mark.parametrize("words", ALLOWED, ids=" ".join)
def test_a_paused_agent_goes_on_reading_and_handing_over(repo: Near, words: tuple[str, ...]):
    repo.json("agent", "pause", OTTER)
    assert repo.json(*words, "--agent", OTTER).status == 0


def test_a_paused_agent_sends_accepts_and_hands_over(repo: Near):
    handed = ("--bead", "bb-1", "--subject", "Parser", "--summary", "All.", "--next-action", "Dates.")
    event = repo.json("protocol", "handoff", "--from", HARBOR, "--to", OTTER, *handed).data["id"]
    repo.json("agent", "pause", OTTER)
    assert send(repo, OTTER, HARBOR).status == 0
    assert repo.json("protocol", "handoff", "--from", OTTER, "--to", HARBOR, *handed).status == 0
    assert repo.json("agent", "ack", "--agent", OTTER, "--message", event).data["state"] == "acked"


def test_the_pause_is_said_by_mail_by_the_heartbeat_and_wherever_agents_are_shown(repo: Near):
    repo.json("agent", "pause", OTTER, "--why", WHY)
    wanted = {"by": "user", "since": NOON, "why": WHY, "everybody": False}

    (told,) = inbox(repo, OTTER)
    assert told["subject"] == f"user has paused you: {WHY}"
    for words in (("heartbeat",), ("show",)):
        assert repo.json("agent", *words, "--agent", OTTER).data["paused"] == wanted
    assert repo.json("resume", "--agent", OTTER).data["paused"] == wanted
    for answer in (repo.json("agent", "list").data, repo.json("status").data["agents"]):
        assert {each["agent_id"]: each.get("paused") for each in answer} == {OTTER: wanted, HARBOR: None}
    for words in (
        ["status"],
        ["agent", "list"],
        ["resume", "--agent", OTTER],
        ["agent", "heartbeat", "--agent", OTTER],
    ):
        assert WHY in repo.bb(*words).out
    assert repo.json("timeline", "--limit", "2").data[0]["text"] == f"paused {OTTER}: {WHY}"

    repo.json("agent", "unpause", OTTER)
    assert "paused" not in repo.json("agent", "heartbeat", "--agent", OTTER).data
    assert "paused" not in repo.json("resume", "--agent", OTTER).data


def test_a_heartbeat_says_so_after_a_long_silence_and_after_its_presence_was_lost(repo: Near):
    repo.json("agent", "pause", OTTER)
    assert "paused" in at(repo, 200).json("agent", "heartbeat", "--agent", OTTER).data
    for file in (repo.store / "presence").glob("*.json"):
        file.unlink()
    assert "paused" in repo.json("agent", "heartbeat", "--agent", OTTER).data


def test_everybody_is_paused_even_who_comes_later_and_one_may_be_let_go_on(repo: Near):
    answer = repo.json("agent", "pause", "--all", "--why", WHY).data
    assert (answer["everybody"], sorted(answer["told"])) == (True, [OTTER, HARBOR])
    assert repo.json("agent", "register", "--name", WREN, "--role", "tester").data["paused"]["everybody"] is True
    assert reserve(repo, WREN, "docs").code == "AGENT_PAUSED"
    assert repo.json("status").data["paused"]["why"] == WHY

    repo.json("agent", "unpause", OTTER)
    assert check(repo, "src", OTTER).status == 0
    assert check(repo, "docs", HARBOR).code == "AGENT_PAUSED"

    assert sorted(repo.json("agent", "unpause", "--all").data["told"]) == [HARBOR, WREN]
    assert check(repo, "docs", HARBOR).status == 0
    assert repo.json("status").data["paused"] is None


def test_the_person_goes_on_while_everybody_is_paused(repo: Near):
    repo.json("agent", "pause", "--all")
    assert repo.json("check", "src/a.py").status == 0
    assert repo.json("agent", "renew", "--agent", "user", "--scope", "src").status == 0


def test_pausing_again_for_the_same_reason_and_letting_go_on_who_works_say_nothing(repo: Near):
    repo.json("agent", "pause", OTTER, "--why", WHY)
    with nothing_written(repo):
        assert repo.json("agent", "pause", OTTER, "--why", WHY).data["told"] == []
        assert repo.json("agent", "unpause", HARBOR).data["told"] == []
    assert repo.json("agent", "pause", OTTER, "--why", "another").data["told"] == [OTTER]


def test_a_paused_agent_is_given_nothing(repo: Near):
    repo.json("agent", "pause", HARBOR)
    refused = repo.json("agent", "transfer", "--agent", OTTER, "--scope", "src", "--to", HARBOR)
    assert refused.code == "AGENT_PAUSED"
    assert f"user paused {HARBOR} at " in refused.envelope["error"]["message"]


# -- passing on


@pytest.mark.parametrize("who", [OTTER, "user"])
def test_what_is_passed_on_is_held_on_as_it_was(repo: Near, who: str):
    reserve(repo, OTTER, "docs", "--ttl", "60")
    at(repo, 10)

    given = repo.json(
        "agent", "transfer", "--agent", who, "--scope", "docs", "--to", HARBOR, "--why", "my day ends"
    ).data

    assert (given["agent_id"], given["scope"], given["bead_id"], given["ttl_minutes"]) == (HARBOR, "docs", "bb-1", 60)
    assert given["transferred_from"] == [OTTER]
    assert check(repo, "docs", HARBOR).data["paths"][0]["verdict"] == "yours"
    assert check(repo, "docs", OTTER).code == "PATH_HELD"
    assert repo.json("agent", "release", "--agent", OTTER, "--scope", "docs").code == "RELEASE_FORBIDDEN"
    for agent in {OTTER, HARBOR} - {who}:
        assert inbox(repo, agent)[0]["subject"] == f"{who} has transferred docs to {HARBOR}: my day ends"
    lines = [each for each in log(repo, "--limit", "10") if each["kind"] == "x.bb.transferred"]
    assert [(each["by"], each["data"]["holder"]) for each in lines] == [(who, HARBOR)]


def test_of_a_bead_it_is_told_who_held_what_and_how_it_changed_hands(repo: Near):
    at(repo, 5).json("agent", "transfer", "--agent", "user", "--scope", "src", "--to", HARBOR)
    at(repo, 9).json("agent", "release", "--agent", HARBOR, "--scope", "src")

    rows = repo.json("sessions", "show", "bb-1").data["conversation"]

    assert [(each["from"], each["subject"]) for each in rows if each["type"] == "activity"] == [
        (OTTER, "reserved src"),
        ("user", f"transferred src to {HARBOR}"),
        (HARBOR, "released src"),
    ]
    assert len({each["id"] for each in rows}) == len(rows)


def test_nobody_passes_on_what_another_holds_nor_to_somebody_unknown(repo: Near):
    with nothing_written(repo):
        for words, code in (
            (("--agent", HARBOR, "--to", HARBOR), "TRANSFER_FORBIDDEN"),
            (("--agent", OTTER, "--to", "nobody-here"), "AGENT_NOT_FOUND"),
            (("--agent", OTTER, "--to", "user"), "AGENT_NOT_FOUND"),
        ):
            assert repo.json("agent", "transfer", "--scope", "src", *words).code == code


def test_of_several_scopes_all_are_passed_on_or_none(repo: Near):
    reserve(repo, OTTER, "docs")
    words = ("agent", "transfer", "--agent", OTTER, "--scope", "src", "--to", HARBOR, "--scope")
    with nothing_written(repo):
        assert repo.json(*words, "web").code == "RESERVATION_NOT_FOUND"
    assert [each["scope"] for each in repo.json(*words, "docs").data["reservations"]] == ["src", "docs"]


def test_a_retry_under_a_key_passes_on_once(repo: Near):
    words = ("agent", "transfer", "--agent", OTTER, "--scope", "src", "--to", HARBOR, "--key", "k")
    first = repo.json(*words).data
    with nothing_written(repo):
        assert repo.json(*words).data["reservation_id"] == first["reservation_id"]


def test_what_was_passed_on_is_no_evidence_for_adopting_its_former_holder(repo: Near):
    repo.json("agent", "transfer", "--agent", OTTER, "--scope", "src", "--to", HARBOR)
    (repo.path / "src").mkdir()
    (repo.path / "src" / "a.py").write_text("x\n")
    at(repo, 100)
    assert repo.json("init", "--non-interactive", "--adopt", OTTER).code == "ADOPTION_REJECTED"


# -- who may


def written_by_another_bb(repo: Near, *facts: Any) -> None:
    """The FACTS in the ledger, as another program has written them in the person's name."""
    store = Store(place.find(str(repo.path), {}))
    store.record(lambda _: facts, by="user", now=clock.parse(NOON))
    store.close()


ORDERS = [
    ("freeze", "docs"),
    ("thaw", "--all"),
    ("agent", "pause", HARBOR),
    ("agent", "pause", "--all"),
    ("agent", "unpause", OTTER),
    ("agent", "unpause", "--all"),
]


@pytest.mark.parametrize("words", ORDERS, ids=" ".join)
def test_an_agents_shell_gives_no_orders(repo: Near, words: tuple[str, ...]):
    with nothing_written(repo):
        for how in ({"BB_AGENT": OTTER}, {"BB_AGENT": "not an id"}):
            refused = repo.json(*words, **how)
            assert (refused.status, refused.code) == (5, "PERSON_ONLY")
        assert repo.json(*words, "--agent", OTTER).code == "PERSON_ONLY"
        assert "--agent" not in repo.bb(*words, BB_AGENT=OTTER).err
    assert repo.json(*words, "--agent", "user", BB_AGENT=OTTER).status == 0
    assert repo.json(*words, BB_AGENT="user").status == 0


@pytest.mark.parametrize("words", [("freeze", {"scope": ["docs"]}), ("agent.pause", {"all": True})])
def test_who_asks_a_daemon_has_to_say_to_be_the_person(repo: Near, words: tuple[str, dict[str, Any]]):
    name, given = words
    op = catalogue.find(name)
    desk = Desk(str(repo.path), environment(**repo.settings), is_served=True)
    with pytest.raises(NoAgent.error):
        op.run(desk, catalogue.bind(op, given, is_typed=True))
    op.run(desk, catalogue.bind(op, given | {"agent": "user"}, is_typed=True))
    desk.close()


def test_what_is_done_in_the_persons_name_is_recorded_as_the_persons(repo: Near):
    freeze(repo, "docs")
    repo.json("agent", "pause", OTTER)
    assert {each["by"] for each in log(repo, "--limit", "3")} == {"user"}


def test_no_reason_reaches_a_terminal_raw(repo: Near):
    with nothing_written(repo):
        for words in (["freeze", "docs"], ["agent", "pause", OTTER]):
            assert repo.json(*words, "--why", ESCAPES).code == "INVALID_VALUE"
    written_by_another_bb(repo, Reserved("user", "docs", "freeze", 60, why=ESCAPES), Paused("user", OTTER, ESCAPES))
    for words in (
        ["status"],
        ["agent", "status"],
        ["agent", "list"],
        ["timeline"],
        ["check", "docs"],
        ["check", "docs", "--agent", HARBOR],
        ["check", "docs", "--agent", OTTER],
        ["agent", "heartbeat", "--agent", OTTER],
        ["resume", "--agent", OTTER],
    ):
        ran = repo.bb(*words)
        assert is_harmless(ran.out + ran.err), words


def test_a_secret_in_a_reason_is_refused(repo: Near):
    secret = "ghp_" + "a1B2" * 9
    with nothing_written(repo):
        for words in (("freeze", "docs"), ("agent", "pause", OTTER)):
            assert repo.json(*words, "--why", secret).code == "SECRET_FOUND"


def test_the_record_of_a_pause_cannot_be_redacted_or_whoever_can_push_could_end_it_so(repo: Near):
    repo.json("agent", "pause", OTTER, "--why", "a look at it")
    event = next(each["id"] for each in log(repo, "--limit", "5") if each["kind"] == "x.bb.paused")
    for who in (OTTER, "user"):
        refused = repo.json("ledger", "redact", event, "--reason", "slip", "--agent", who)
        assert refused.code == "NOT_REDACTABLE"
        assert "bb agent unpause" in refused.envelope["error"]["hint"]
        assert "--why" in refused.envelope["error"]["hint"]
    assert check(repo, "src", OTTER).code == "AGENT_PAUSED"


def test_a_secret_in_an_orders_reason_is_gone_from_all_but_the_order_when_the_hint_is_followed(repo: Near):
    """The reason cannot be taken back alone: an order without it could not be told from a forged one."""
    slip = "hunter2-slipped-in"
    repo.json("freeze", "src", "--why", slip)
    repo.json("agent", "pause", OTTER, "--why", slip)
    orders = [each for each in log(repo, "--limit", "50") if each["data"].get("why") == slip]
    assert [each["kind"] for each in orders] == ["x.bb.reserved", "x.bb.paused"]

    for order in orders:
        refused = repo.json("ledger", "redact", order["id"], "--reason", "a slip", "--agent", "user")
        assert refused.code == "NOT_REDACTABLE"
        for said in ("change the secret", "another --why", "redact the messages", "docs/sync.md"):
            assert said in refused.envelope["error"]["hint"]
    repo.json("freeze", "src", "--why", WHY)
    repo.json("agent", "pause", OTTER, "--why", WHY)
    for message in log(repo, "--limit", "50", "--kind", "chat.message"):
        if slip in str(message["data"]):
            words = ["--reason", "a slip", "--agent", "user"]
            assert repo.json("ledger", "redact", message["id"], *words).status == 0

    assert [each["id"] for each in log(repo, "--limit", "50") if slip in str(each)] == [each["id"] for each in orders]
    for words in (["status"], ["check", "src"], ["resume", "--agent", OTTER], ["agent", "inbox", "--agent", OTTER]):
        assert slip not in repo.bb(*words).out, words
    assert check(repo, "src", HARBOR).code == "PATH_HELD"
    assert check(repo, "docs", OTTER).code == "AGENT_PAUSED"
