"""What agents live through: Operative Protocol v1, §3.3 and §4, by the commands they type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.near import Near, near
from tests.support import NOON, Scratch

AT = "2026-01-05T12:{:02}:00.000Z".format


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """A repository at noon."""
    made = near(tmp_path / "repo")
    made.settings["BB_NOW"] = NOON
    return made


def register(repo: Scratch, name: str = "amber-otter", *more: str, **settings: str):
    return repo.json("agent", "register", "--name", name, "--role", "builder", *more, **settings)


def at(repo: Scratch, moment: str) -> Scratch:
    return Near(repo.path, repo.settings | {"BB_NOW": moment})


def liveness(repo: Scratch, agent: str = "amber-otter", **settings: str) -> str:
    return repo.json("agent", "show", "--agent", agent, **settings).data["liveness"]


def kinds(repo: Scratch) -> list[str]:
    return [event["kind"] for event in repo.json("ledger", "log").data]


def test_3_3_a_session_starts_under_a_name_nobody_has(repo: Scratch):
    assert register(repo).data == {
        "agent_id": "amber-otter",
        "display_name": "amber-otter",
        "role": "builder",
        "status": "idle",
        "created_at": NOON,
        "last_seen_at": NOON,
        "version": 1,
        "liveness": "active",
    }
    refused = register(repo)
    assert (refused.code, refused.status) == ("DUPLICATE_AGENT_ID", 7)
    assert kinds(repo) == ["group.create", "actor.add"]


def test_the_first_thing_wrong_is_named_id_then_role_then_duplicate(repo: Scratch):
    register(repo)

    def code(name: str, role: str) -> str:
        return repo.json("agent", "register", "--name", name, "--role", role).code

    assert code("Not An Id", " ") == "INVALID_AGENT_ID"
    assert code("amber-otter", " ") == "INVALID_ROLE"
    assert code("amber-otter", "builder") == "DUPLICATE_AGENT_ID"


def test_an_identity_is_changed_by_force_and_keeps_what_was_not_mentioned(repo: Scratch):
    register(repo, "amber-otter", "--display", "Amber")

    changed = (
        at(repo, AT(5)).json("agent", "register", "--name", "amber-otter", "--role", "tester", "--force-update").data
    )

    assert (changed["role"], changed["display_name"], changed["created_at"]) == ("tester", "Amber", NOON)
    assert (changed["last_seen_at"], changed["version"]) == (AT(5), 2)


def test_a_registration_repeated_under_its_key_answers_as_the_first_time(repo: Scratch):
    first = register(repo, "amber-otter", "--key", "session-1").data

    assert register(repo, "amber-otter", "--key", "session-1").data == first
    assert kinds(repo) == ["group.create", "actor.add"]


def test_4_2_a_heartbeat_updates_last_seen_in_utc_and_may_be_repeated(repo: Scratch):
    register(repo)
    ledger = repo.journal().read_bytes()

    beats = [at(repo, AT(minute)).json("agent", "heartbeat", "--agent", "amber-otter").data for minute in (3, 3, 4)]

    assert [beat["last_seen_at"] for beat in beats] == [AT(3), AT(3), AT(4)]
    assert [beat["version"] for beat in beats] == [2, 3, 4]
    assert repo.journal().read_bytes() == ledger, "a heartbeat is no ledger line"


def test_4_2_the_answer_of_a_heartbeat_is_the_envelope(repo: Scratch):
    register(repo)

    answer = repo.json("agent", "heartbeat", "--agent", "amber-otter").envelope

    assert (answer["ok"], answer["command"], answer["error"]) == (True, "agent heartbeat", None)
    assert answer["data"] == repo.json("agent", "show", "--agent", "amber-otter").data


def test_the_caller_is_bb_agent_where_no_agent_is_named(repo: Scratch):
    register(repo)

    assert repo.json("agent", "heartbeat", BB_AGENT="amber-otter").data["agent_id"] == "amber-otter"
    assert repo.json("agent", "heartbeat").code == "NO_AGENT"
    assert repo.json("agent", "heartbeat", BB_AGENT="../x").code == "INVALID_AGENT_ID"


def test_an_agent_that_never_registered_has_no_heartbeat(repo: Scratch):
    assert repo.json("agent", "heartbeat", "--agent", "amber-otter").code == "AGENT_NOT_FOUND"
    assert not repo.store.exists()


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (AT(14).replace("00.000", "59.999"), "active"),
        (AT(15), "stale"),
        (AT(29).replace("00.000", "59.999"), "stale"),
        (AT(30), "evicted"),
        ("2027-01-01T00:00:00Z", "evicted"),
        ("2020-01-01T00:00:00Z", "active"),  # a clock behind that of the heartbeat
    ],
)
def test_4_3_liveness_by_silence(repo: Scratch, moment: str, expected: str):
    register(repo)

    assert liveness(at(repo, moment)) == expected


def test_4_1_the_threshold_is_a_setting_and_eviction_is_at_twice_that(repo: Scratch):
    register(repo)
    forty = {"BB_AGENT_STALE_MINUTES": "40"}

    assert liveness(at(repo, AT(39)), **forty) == "active"
    assert liveness(at(repo, AT(40)), **forty) == "stale"
    assert liveness(at(repo, "2026-01-05T13:20:00Z"), **forty) == "evicted"


@pytest.mark.parametrize(("minute", "after"), [(15, "stale"), (30, "evicted")])
def test_who_comes_back_from_silence_is_news_once(repo: Scratch, minute: int, after: str):
    register(repo)

    for _ in range(2):
        beat = at(repo, AT(minute)).json("agent", "heartbeat", "--agent", "amber-otter").data

    assert (beat["liveness"], beat["last_seen_at"]) == ("active", AT(minute))
    (news,) = [event for event in repo.json("ledger", "log").data if event["kind"] == "x.bb.seen"]
    assert (news["by"], news["data"]) == ("amber-otter", {"actor_id": "amber-otter", "after": after})


def test_who_is_asked_about_is_not_refreshed_by_the_question(repo: Scratch):
    register(repo)
    register(repo, "cobalt-harbor")
    later = at(repo, AT(20))

    for words in (["show", "--agent", "amber-otter"], ["list"]):
        later.json("agent", *words, BB_AGENT="cobalt-harbor")
        later.json("agent", *words, BB_AGENT="amber-otter")

    assert [agent["liveness"] for agent in later.json("agent", "list").data] == ["stale", "stale"]


def test_all_worktrees_and_branches_see_the_same_agents(repo: Scratch, tmp_path: Path):
    repo.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "tree"))
    (tmp_path / "tree" / "deep").mkdir()
    tree = Near(tmp_path / "tree" / "deep", repo.settings)
    register(repo)
    register(tree, "cobalt-harbor")

    seen = [[agent["agent_id"] for agent in place.json("agent", "list").data] for place in (repo, tree)]

    assert seen == [["amber-otter", "cobalt-harbor"]] * 2
    assert repo.git("status", "--porcelain") == tree.git("status", "--porcelain") == ""


def test_a_list_is_by_id_and_can_be_narrowed(repo: Scratch):
    for name, role in (("dusty-wren", "tester"), ("amber-otter", "builder"), ("cobalt-harbor", "builder")):
        repo.json("agent", "register", "--name", name, "--role", role)
    later = at(repo, AT(20))
    later.json("agent", "heartbeat", "--agent", "dusty-wren")

    def listed(*words: str) -> list[str]:
        return [agent["agent_id"] for agent in later.json("agent", "list", *words).data]

    assert listed() == ["amber-otter", "cobalt-harbor", "dusty-wren"]
    assert listed("--role", "builder") == ["amber-otter", "cobalt-harbor"]
    assert listed("--liveness", "active") == ["dusty-wren"]
    assert listed("--role", "builder", "--liveness", "active") == []
    assert listed("--status", "idle") == listed()


def test_a_retired_identity_leaves_the_list_and_its_name_is_not_free(repo: Scratch):
    """Retiring is recorded as `actor.remove`; a line from another clone says it here."""
    from bb.kernel.event import Event
    from bb.ledger.journal import line as lines
    from bb.ledger.journal.journal import Journal

    register(repo)
    (folder,) = (repo.store / "j").iterdir()
    link = Journal(str(repo.store), folder.name).tail()
    event = Event(
        f"{folder.name}.3", link.lamport + 1, NOON, "actor.remove", "user", {"actor_id": "amber-otter"}, "g_x"
    )
    with repo.journal().open("ab") as file:
        file.write(lines.write(event, link, "saltsalt")[0])
    (repo.store / "presence" / "amber-otter.json").unlink()

    assert repo.json("agent", "list").data == []
    assert repo.json("agent", "show", "--agent", "amber-otter").data["status"] == "retired"
    assert repo.json("agent", "heartbeat", "--agent", "amber-otter").code == "AGENT_RETIRED"
    assert register(repo).code == "DUPLICATE_AGENT_ID"
    assert register(repo, "amber-otter", "--force-update").code == "AGENT_RETIRED"


# -- init


def everything_in(path: Path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*")}


def test_init_is_made_once_and_taken_away_without_a_trace(repo: Scratch):
    before = everything_in(repo.path)

    assert repo.json("init", "--dry-run").data["would_create"] is True
    assert everything_in(repo.path) == before
    assert repo.json("init").data["created"] is True
    made = everything_in(repo.path)
    assert repo.json("init").data["created"] is False
    assert repo.json("init", "--dry-run").data["would_create"] is False
    assert everything_in(repo.path) == made
    assert repo.git("status", "--porcelain", "--ignored") == ""
    repo.git("fsck", "--strict")
    assert repo.json("init", "--undo", "--dry-run").data["would_remove"] > 0
    assert everything_in(repo.path) == made
    assert repo.json("init", "--undo").data["left"] == []
    assert everything_in(repo.path) == before


def test_undo_leaves_what_is_not_its_own_and_says_so(repo: Scratch):
    repo.json("init")
    (repo.store / "j" / "notes.txt").write_text("mine")
    (repo.store / "mine").mkdir()
    (repo.store / "mine" / "clone.json").write_text("mine")

    left = repo.json("init", "--undo").data["left"]

    assert (repo.store / "j" / "notes.txt").read_text() == (repo.store / "mine" / "clone.json").read_text() == "mine"
    assert left == [str(repo.store / "j" / "notes.txt"), str(repo.store / "mine" / "clone.json")]
    assert everything_in(repo.store) == {"j", "j/notes.txt", "mine", "mine/clone.json"}


def test_history_goes_only_when_that_is_said(repo: Scratch):
    register(repo)

    assert repo.json("init", "--undo").code == "HISTORY_PRESENT"
    assert kinds(repo) == ["group.create", "actor.add"]
    assert repo.json("init", "--undo", "--delete-history").data["events_deleted"] == 1
    assert not repo.store.exists()


# -- the ledger's own verbs


def test_the_log_is_narrowed_by_kind_agent_time_and_number(repo: Scratch):
    for minute, name in enumerate(("amber-otter", "cobalt-harbor", "dusty-wren")):
        register(at(repo, AT(minute)), name)
    later = at(repo, AT(10))

    def logged(*words: str) -> list[str]:
        return [event["by"] for event in later.json("ledger", "log", *words).data]

    assert logged() == ["user", "amber-otter", "cobalt-harbor", "dusty-wren"]
    assert logged("--kind", "group.create") == ["user"]
    assert logged("--kind", "group.create", "--kind", "actor.add", "--limit", "2") == ["cobalt-harbor", "dusty-wren"]
    assert logged("--agent", "cobalt-harbor") == ["cobalt-harbor"]
    assert logged("--since", AT(1)) == logged("--since", "9m") == ["cobalt-harbor", "dusty-wren"]
    assert logged("--until", AT(1)) == ["user", "amber-otter"]
    assert [event["seq"] for event in later.json("ledger", "log").data] == [1, 2, 3, 4]


def test_an_event_is_shown_by_its_id_without_salt_or_chain(repo: Scratch):
    register(repo)
    event = repo.json("ledger", "log").data[-1]

    shown = repo.json("ledger", "show", event["id"]).data

    assert shown.pop("chain")["lamport"] == 2
    assert shown == event
    assert list(event) == ["v", "id", "ts", "seq", "kind", "group_id", "scope_key", "by", "data"]
    assert "_" not in event["data"]


def test_an_export_holds_every_event_and_the_raw_one_every_byte(repo: Scratch, tmp_path: Path):
    register(repo)
    events = repo.json("ledger", "log").data

    assert [json.loads(line) for line in repo.bb("ledger", "export").out.splitlines()] == events
    assert repo.json("ledger", "export").data == events
    assert repo.json("ledger", "export", "--output", str(tmp_path / "out.jsonl")).data["events"] == 2
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()] == events
    repo.json("ledger", "export", "--raw", "--output", str(tmp_path / "raw.jsonl"))
    assert (tmp_path / "raw.jsonl").read_bytes() == repo.journal().read_bytes()


def test_a_rebuilt_index_says_what_the_old_one_said(repo: Scratch):
    register(repo)
    before = repo.json("agent", "list").data

    assert repo.json("ledger", "rebuild").data == {"events": 2, "is_damaged": False}
    assert repo.json("agent", "list").data == before
    assert repo.json("ledger", "verify").data["is_index_right"] is True
