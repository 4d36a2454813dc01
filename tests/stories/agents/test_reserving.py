"""Holding paths, letting go of them and asking who holds them: Operative Protocol v1, §4.4 and §5, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.agents.agents_support import (
    HARBOR,
    OTTER,
    WREN,
    after,
    crew,
    inbox,
    incursions,
    kept,
    log,
    moment,
    nothing_written,
    reserve,
    stay,
)
from tests.support import NOON, Ran, Scratch


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return crew(tmp_path / "repo", OTTER, HARBOR)


@pytest.fixture
def held(repo: Scratch) -> Scratch:
    """amber-otter holds src/parser."""
    reserve(repo, OTTER, "src/parser")
    return repo


def release(repo: Scratch, agent: str, *words: str) -> Ran:
    return repo.json("agent", "release", "--agent", agent, *words)


def renew(repo: Scratch, agent: str, *words: str) -> Ran:
    return repo.json("agent", "renew", "--agent", agent, *words)


def owners(repo: Scratch) -> dict[str, str]:
    """What is held at this moment, and by whom."""
    live = repo.json("agent", "status").data["reservations"]
    return {each["scope"]: each["agent_id"] for each in live if each["state"] == "active"}


# -- §4.4


def test_a_reservation_says_what_is_held_by_whom_for_what_and_until_when(repo: Scratch):
    given = reserve(repo, OTTER, "src/parser").data

    (only,) = given.pop("reservations")
    assert (given.pop("taken_over"), given.pop("incursions"), given.pop("not_there")) == ([], [], ["src/parser"])
    listed = repo.json("agent", "status").data["reservations"][0]
    assert listed.pop("seconds_left") == 120 * 60
    assert given == only == listed
    assert given == {
        "reservation_id": log(repo)[-1]["id"],
        "scope": "src/parser",
        "agent_id": OTTER,
        "bead_id": "bb-1",
        "state": "active",
        "shared": False,
        "kind": "exclusive",
        "ttl_minutes": 120,
        "created_at": NOON,
        "renewed_at": NOON,
        "expires_at": moment(120),
        "released_at": None,
        "owner_liveness": "active",
    }


def test_what_does_not_exist_yet_is_named_in_case_it_was_a_slip(repo: Scratch):
    (repo.path / "src").mkdir()

    given = reserve(repo, OTTER, "src", "--scope", "scr/parzer", "--scope", "docs/*.md").data

    assert given["not_there"] == ["scr/parzer"]


@pytest.mark.parametrize(
    ("theirs", "kind"), [("src/parser", "exact"), ("src", "partial"), ("src/parser/a.py", "partial")]
)
@pytest.mark.parametrize("flags", [[], ["--takeover-stale"]])
def test_4_4_1_an_active_owner_cannot_be_taken_over(held: Scratch, theirs: str, kind: str, flags: list[str]):
    refused = reserve(after(held, 14.9), HARBOR, theirs, *flags)

    assert (refused.code, refused.status) == ("RESERVATION_CONFLICT", 7)
    (conflict,) = refused.envelope["error"]["details"]["conflicts"]
    assert (conflict["agent_id"], conflict["class"], conflict["liveness"]) == (OTTER, kind, "active")
    assert conflict["expires_at"] == moment(120)
    assert OTTER in refused.envelope["error"]["message"]
    assert owners(held) == {"src/parser": OTTER}


def test_4_4_2_a_stale_owner_is_taken_over_only_when_that_is_said(held: Scratch):
    later = stay(after(held, 15), HARBOR)

    with nothing_written(later):
        refused = reserve(later, HARBOR, "src/parser")
    taken = reserve(later, HARBOR, "src/parser", "--takeover-stale").data

    assert (refused.code, refused.status) == ("RESERVATION_STALE_FOUND", 7)
    assert "--takeover-stale" in refused.envelope["error"]["hint"]
    assert owners(later) == {"src/parser": HARBOR}
    (before,) = taken["taken_over"]
    assert (before["agent_id"], before["state"], before["owner_liveness"]) == (OTTER, "taken_over", "stale")
    assert before["released_at"] == moment(15)


def test_4_4_3_what_an_evicted_owner_held_is_taken_over_and_archived_as_expired(held: Scratch):
    later = stay(after(held, 30), HARBOR)

    assert reserve(later, HARBOR, "src/parser").code == "RESERVATION_STALE_FOUND"
    (before,) = reserve(later, HARBOR, "src/parser", "--takeover-stale").data["taken_over"]

    assert (before["agent_id"], before["state"], before["owner_liveness"]) == (OTTER, "expired", "evicted")
    assert owners(later) == {"src/parser": HARBOR}


def test_who_is_taken_over_is_told_by_mail_and_the_incursion_is_on_record_once(held: Scratch):
    later = stay(after(held, 20), HARBOR)
    for _ in range(2):
        reserve(later, HARBOR, "src/parser", "--takeover-stale")

    (letter,) = inbox(later, OTTER)
    assert (letter["from_agent"], letter["category"], letter["bead_id"]) == (HARBOR, "INFO", "bb-1")
    assert "took over src/parser" in letter["subject"]
    (event,) = incursions(later)
    assert event["payload"]["owner_liveness"] == "stale"
    assert (event["from_agent"], event["to_agent"], event["scope"]) == (HARBOR, OTTER, "src/parser")


def test_who_comes_back_has_lost_what_was_taken_over_meanwhile(held: Scratch):
    reserve(after(held, 20), HARBOR, "src/parser", "--takeover-stale")
    later = stay(after(held, 21), OTTER)

    assert owners(later) == {"src/parser": HARBOR}
    assert reserve(later, OTTER, "src/parser", "--takeover-stale").code == "RESERVATION_CONFLICT"
    assert release(later, OTTER, "--scope", "src/parser").code == "RELEASE_FORBIDDEN"


def test_who_comes_back_in_time_has_lost_nothing(held: Scratch):
    later = stay(after(held, 29), OTTER)

    assert reserve(later, HARBOR, "src/parser", "--takeover-stale").code == "RESERVATION_CONFLICT"
    assert owners(later) == {"src/parser": OTTER}


def test_nobody_is_woken_by_being_asked_about_or_by_trying_in_vain(held: Scratch):
    later = after(held, 20)

    with nothing_written(later):
        for words in (
            ["agent", "status", "--agent", OTTER],
            ["agent", "inbox", "--agent", OTTER],
            ["check", "src/parser", "--agent", OTTER],
            ["resume", "--agent", OTTER],
            ["agent", "release", "--agent", OTTER, "--scope", "docs"],
            ["agent", "reserve", "--agent", OTTER, "--scope", "docs", "--bead", "bb-1", "--ttl", "4"],
        ):
            later.json(*words)

    assert later.json("agent", "show", "--agent", OTTER).data["liveness"] == "stale"


def test_the_time_is_over_although_the_owner_is_alive(repo: Scratch):
    reserve(repo, OTTER, "src/parser", "--ttl", "5")
    later = after(repo, 5)

    refused = reserve(later, HARBOR, "src/parser")
    (before,) = reserve(later, HARBOR, "src/parser", "--takeover-stale").data["taken_over"]

    assert refused.code == "RESERVATION_STALE_FOUND"
    assert refused.envelope["error"]["details"]["conflicts"][0]["liveness"] == "active"
    assert (before["state"], before["owner_liveness"]) == ("expired", "active")


def test_a_lease_does_not_lapse_under_an_agent_at_work_nor_outlive_a_silent_one(repo: Scratch):
    reserve(repo, OTTER, "src/parser", "--ttl", "5")
    for minute in (4, 8, 12):
        stay(after(repo, minute), OTTER)

    assert owners(after(repo, 16.9)) == {"src/parser": OTTER}
    assert owners(after(repo, 17)) == {}


def test_a_lease_ends_a_day_after_it_was_last_renewed_by_word(repo: Scratch):
    reserve(repo, OTTER, "src/parser")
    reserve(repo, OTTER, "docs")
    renew(stay(after(repo, 1000), OTTER), OTTER, "--scope", "docs")

    assert owners(stay(after(repo, 1439), OTTER)) == {"src/parser": OTTER, "docs": OTTER}
    assert owners(stay(after(repo, 1441), OTTER)) == {"docs": OTTER}
    assert owners(stay(after(repo, 1000 + 1441), OTTER)) == {}


@pytest.mark.parametrize(("minutes", "ahead"), [(-600, "behind"), (600, "ahead")])
def test_a_clock_that_is_wrong_makes_no_lease_of_a_living_agent_free_for_ever(
    repo: Scratch, minutes: float, ahead: str
):
    """amber-otter's clock is ten hours off when it reserves; everybody else's is right."""
    stay(after(repo, minutes), OTTER)
    reserve(after(repo, minutes), OTTER, "src/parser")

    if ahead == "ahead":  # it counts as having been seen just now, and stays bounded
        (lease,) = repo.json("agent", "status").data["reservations"]
        assert (lease["owner_liveness"], lease["expires_at"]) == ("active", moment(120))
        assert reserve(repo, HARBOR, "src/parser", "--takeover-stale").code == "RESERVATION_CONFLICT"
    else:
        assert owners(stay(repo, OTTER)) == {"src/parser": OTTER}


def test_a_clock_set_back_writes_nothing_that_cannot_be_undone(held: Scratch):
    earlier = after(held, -60)

    assert owners(earlier) == {"src/parser": OTTER}
    assert release(earlier, OTTER, "--scope", "src/parser").data["state"] == "released"
    assert owners(held) == {}
    assert [event["seq"] for event in log(held)] == list(range(1, len(log(held)) + 1))


# -- incursions


def test_a_refusal_is_on_record_once_however_often_it_is_tried(held: Scratch):
    for _ in range(3):
        reserve(held, HARBOR, "src")

    (event,) = incursions(held)
    assert event["payload"] == {
        "incursion_kind": "partial",
        "owner_agent": OTTER,
        "incoming_agent": HARBOR,
        "owner_liveness": "active",
        "resolution_hint": event["payload"]["resolution_hint"],
    }
    assert event["payload"]["resolution_hint"]
    assert (event["outcome"], event["state"]) == ("refused", "closed")
    assert inbox(held, OTTER) == [], "who was not disturbed is not bothered"


def test_a_new_reservation_of_the_same_scope_is_a_new_incident(held: Scratch):
    reserve(held, HARBOR, "src")
    release(held, OTTER, "--scope", "src/parser")
    reserve(held, OTTER, "src/parser")
    reserve(held, HARBOR, "src")

    assert len(incursions(held)) == 2


def test_who_goes_ahead_where_the_overlap_is_partial_is_on_record_and_the_other_is_told(held: Scratch):
    given = reserve(held, HARBOR, "src/parser/a.py", "--allow-overlap").data

    assert [each["outcome"] for each in given["incursions"]] == ["overlapping"]
    assert owners(held) == {"src/parser": OTTER, "src/parser/a.py": HARBOR}
    assert [letter["from_agent"] for letter in inbox(held, OTTER)] == [HARBOR]
    assert [event["state"] for event in incursions(held)] == ["open"]
    release(held, HARBOR, "--scope", "src/parser/a.py")
    assert [event["state"] for event in incursions(held)] == ["closed"]


def test_the_same_scope_is_not_to_be_had_by_allowing_overlaps(held: Scratch):
    assert reserve(held, HARBOR, "src/parser", "--allow-overlap").code == "RESERVATION_CONFLICT"
    assert owners(held) == {"src/parser": OTTER}


def test_those_who_share_do_so_with_those_who_share_too(repo: Scratch):
    reserve(repo, OTTER, "docs", "--shared")

    assert reserve(repo, HARBOR, "docs", "--shared").data["shared"] is True
    assert incursions(repo) == []
    assert reserve(repo, HARBOR, "docs/a.md").code == "RESERVATION_CONFLICT"


def test_several_scopes_are_had_together_or_not_at_all(held: Scratch):
    refused = reserve(held, HARBOR, "docs", "--scope", "src/parser/a.py", "--scope", "web")

    assert refused.code == "RESERVATION_CONFLICT"
    assert owners(held) == {"src/parser": OTTER}
    given = reserve(held, HARBOR, "docs", "--scope", "./docs/", "--scope", "web").data
    assert [each["scope"] for each in given["reservations"]] == ["docs", "web"]


def test_reserving_a_scope_of_ones_own_again_renews_it(held: Scratch):
    again = reserve(after(held, 10), OTTER, "./src//parser/", "--ttl", "60").data

    assert (again["scope"], again["created_at"], again["expires_at"]) == ("src/parser", moment(10), moment(70))
    assert len(held.json("agent", "status").data["reservations"]) == 1
    assert held.json("agent", "status").data["summary"]["released"] == 1


@pytest.mark.parametrize("flag", ["--agent", "BB_AGENT"])
def test_a_reservation_repeated_under_its_key_answers_as_the_first_time(repo: Scratch, flag: str):
    words = ["agent", "reserve", "--scope", "src", "--bead", "bb-1", "--key", "k1"]
    who = ([*words, "--agent", OTTER], {}) if flag == "--agent" else (words, {"BB_AGENT": OTTER})

    first = repo.json(*who[0], **who[1]).data
    ledger = repo.journal().read_bytes()

    assert repo.json(*who[0], **who[1]).data == first
    assert repo.journal().read_bytes() == ledger


def test_a_key_that_stood_for_something_else_is_refused(repo: Scratch):
    reserve(repo, OTTER, "src", "--key", "k1")

    with nothing_written(repo):
        refused = reserve(repo, OTTER, "docs", "--key", "k1")

    assert refused.status in (2, 7)
    assert owners(repo) == {"src": OTTER}


# -- giving back, renewing


def test_only_its_holder_gives_a_reservation_back(held: Scratch):
    with nothing_written(held):
        refused = release(held, HARBOR, "--scope", "src/parser")
    assert (refused.code, refused.status) == ("RELEASE_FORBIDDEN", 5)

    given_back = release(held, OTTER, "--scope", "src/../src/parser/").data
    assert (given_back["state"], given_back["released_at"]) == ("released", NOON)
    with nothing_written(held):
        again = release(held, OTTER, "--scope", "src/parser")
    assert (again.code, again.status) == ("RESERVATION_NOT_FOUND", 3)


def test_only_its_holder_renews_a_reservation(held: Scratch):
    with nothing_written(held):
        refused = renew(held, HARBOR, "--scope", "src/parser")

    assert (refused.code, refused.status) == ("RENEW_FORBIDDEN", 5)
    renewed = renew(after(held, 10), OTTER, "--scope", "src/parser", "--ttl", "60").data
    assert (renewed["renewed_at"], renewed["expires_at"], renewed["created_at"]) == (moment(10), moment(70), NOON)


def test_everything_is_renewed_and_given_back_at_once(held: Scratch):
    reserve(held, OTTER, "docs")
    reserve(held, HARBOR, "web")

    assert {each["scope"] for each in renew(held, OTTER, "--all").data["reservations"]} == {"src/parser", "docs"}
    assert {each["state"] for each in release(held, OTTER, "--all").data["reservations"]} == {"released"}
    assert owners(held) == {"web": HARBOR}


@pytest.mark.parametrize("verb", ["renew", "release"])
def test_what_has_lapsed_is_neither_renewed_nor_given_back_but_archived_as_expired(repo: Scratch, verb: str):
    reserve(repo, OTTER, "src", "--ttl", "5")
    later = after(repo, 20)

    refused = later.json("agent", verb, "--agent", OTTER, "--scope", "src")

    assert (refused.code, refused.status) == ("RESERVATION_NOT_FOUND", 3)
    assert log(later)[-1]["kind"] == "x.bb.expired"


def test_one_scope_or_all_of_them_must_be_said_and_not_both(held: Scratch):
    with nothing_written(held):
        for verb in ("renew", "release"):
            for words in ([], ["--all", "--scope", "src/parser"], ["--scope", " "]):
                refused = held.json("agent", verb, "--agent", OTTER, *words)
                assert (refused.code, refused.status) == ("INVALID_ARGS", 2), (verb, words)


# -- a retired agent


def test_a_retired_agent_has_given_everything_back_and_does_nothing_more(held: Scratch):
    assert held.json("agent", "retire", "--agent", OTTER).data == {
        "agent_id": OTTER,
        "status": "retired",
        "released": 1,
        "not_accepted": [],
    }
    assert owners(held) == {}

    before = kept(held)
    for words in (
        ["reserve", "--scope", "src", "--bead", "bb-1"],
        ["release", "--all"],
        ["renew", "--all"],
        ["retire"],
        ["heartbeat"],
    ):
        refused = held.json("agent", words[0], "--agent", OTTER, *words[1:])
        assert (refused.code, refused.status) == ("AGENT_RETIRED", 4), words
    assert kept(held) == before


# -- status


def test_status_is_narrowed_by_agent_and_bead_and_counts_what_is_owed(held: Scratch):
    held.json("agent", "reserve", "--agent", HARBOR, "--scope", "docs", "--bead", "bb-2")
    held.json(
        "agent", "send", "--from", OTTER, "--to", HARBOR, "--bead", "bb-2", "--category", "HANDOFF",
        "--subject", "Docs", "--body", "Go on.",
    )  # fmt: skip

    def status(*words: str) -> tuple[list[str], int]:
        data = held.json("agent", "status", *words).data
        return [each["scope"] for each in data["reservations"]], data["summary"]["unacked_required_messages"]

    assert status() == (["src/parser", "docs"], 1)
    assert status("--agent", OTTER) == (["src/parser"], 0)
    assert status("--agent", HARBOR) == status("--bead", "bb-2") == (["docs"], 1)
    assert status("--agent", HARBOR, "--bead", "bb-1") == ([], 0)


# -- who holds what, from everywhere


def test_every_worktree_branch_and_directory_gives_the_same_answer(held: Scratch, tmp_path: Path):
    held.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "tree"))
    places = [held.path, tmp_path / "tree", held.path / "src" / "parser", tmp_path / "tree" / "web" / "deep"]
    above = ["", "", "../../", "../../"]
    for place in places:
        place.mkdir(parents=True, exist_ok=True)

    def answers(agent: str) -> list[dict]:
        return [
            held.json("check", f"{up}src/parser/a.py", f"{up}docs", "--agent", agent, cwd=place).envelope
            for place, up in zip(places, above, strict=True)
        ]

    refused, *others = answers(HARBOR)
    assert refused["error"]["code"] == "PATH_HELD"
    assert others == [refused] * 3
    allowed, *others = answers(OTTER)
    assert [each["verdict"] for each in allowed["data"]["paths"]] == ["yours", "free"]
    assert others == [allowed] * 3


def test_who_asks_from_a_directory_means_what_lies_there(held: Scratch):
    (held.path / "src").mkdir()

    assert held.json("check", "parser", "--agent", HARBOR, cwd=held.path / "src").code == "PATH_HELD"
    assert reserve(held, HARBOR, "lexer", cwd=held.path / "src").data["scope"] == "src/lexer"


def test_a_path_held_by_a_silent_agent_is_held_until_it_is_taken_over(held: Scratch):
    later = stay(after(held, 40), HARBOR)

    refused = later.json("check", "src/parser/a.py", "--agent", HARBOR)

    assert (refused.code, refused.status) == ("PATH_HELD", 7)
    assert "--takeover-stale" in refused.envelope["error"]["hint"]


def test_a_person_is_told_and_not_stopped(held: Scratch):
    for words in ([], ["--agent", "user"]):
        answer = held.json("check", "src/parser", *words)
        assert answer.data["may_touch"] is False
        assert [each["verdict"] for each in answer.data["paths"]] == ["held"]


def test_asking_writes_nothing_and_where_there_is_no_ledger_everything_is_free(tmp_path: Path, held: Scratch):
    with nothing_written(held):
        held.json("check", "src/parser", "--agent", HARBOR)
    bare = crew(tmp_path / "fresh")

    answer = bare.json("check", "src", "--agent", OTTER).data

    assert (answer["may_touch"], answer["is_managed"]) == (True, False)
    assert not bare.store.exists()


def test_the_whole_directory_is_mine_only_if_all_of_it_is(held: Scratch):
    assert held.json("check", "src", "--agent", HARBOR).code == "PATH_HELD"
    (judged,) = held.json("check", "src", "--agent", OTTER).data["paths"]
    assert judged["verdict"] == "free"


# -- §5


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("src/*", "src/lib/parser.ts", "partial"),
        ("src/lib", "src/lib/parser.ts", "partial"),
        ("src/lib/parser.ts", "src/lib/parser.ts", "exact"),
        ("src/lib", "src/components", "disjoint"),
        # §5.1: one pipeline for both sides
        ("src/lib/", "./src//x/../lib", "exact"),
        ("src/lib", "src/library", "disjoint"),
        (".", "src", "partial"),
        ("src/lib", "src/LIB", "disjoint"),
        ("src/*", "src/lib/*", "partial"),
    ],
)
def test_5_3_the_examples_of_the_specification(repo: Scratch, a: str, b: str, expected: str):
    assert repo.json("scope", "compare", a, b).data["class"] == expected
    assert repo.json("scope", "compare", b, a).data["class"] == expected


def test_5_1_1_a_scope_is_resolved_to_an_absolute_path_with_slashes(repo: Scratch):
    compared = repo.json("scope", "compare", "src/./lib/", str(repo.path / "src" / "x" / ".." / "lib")).data

    assert compared["class"] == "exact"
    assert compared["a"] == compared["b"] == {"canonical": "src/lib", "absolute": f"{repo.path}/src/lib"}


def test_5_1_3_on_windows_case_and_separators_do_not_count(repo: Scratch):
    words = [r"C:\Repo\Src", r"c:\repo\src\A.ts", "--root", r"C:\Repo", "--platform", "windows"]
    compared = repo.json("scope", "compare", *words).data

    assert compared["class"] == "partial"
    assert (compared["a"]["absolute"], compared["b"]["absolute"]) == ("c:/repo/src", "c:/repo/src/a.ts")


def test_comparing_needs_no_repository_and_writes_nothing(tmp_path: Path):
    answer = Scratch(tmp_path).json("scope", "compare", "a", "a/b")

    assert answer.data["class"] == "partial"
    assert list(tmp_path.iterdir()) == []


def test_no_work_tree_is_ever_dirtied(held: Scratch):
    reserve(held, HARBOR, "src")
    release(held, OTTER, "--all")

    assert held.git("status", "--porcelain", "--ignored") == ""


# -- an identity of another role is not another agent


def test_three_agents_and_one_way_through(tmp_path: Path):
    """Stale, evicted and active owners at once: one active owner is enough to refuse all of it."""
    repo = crew(tmp_path / "repo", OTTER, HARBOR, WREN)
    reserve(repo, OTTER, "src/a")
    reserve(repo, HARBOR, "src/b")
    later = stay(after(repo, 16), HARBOR, WREN)

    refused = reserve(later, WREN, "src", "--takeover-stale")
    assert refused.code == "RESERVATION_CONFLICT"
    assert owners(later)["src/a"] == OTTER

    release(later, HARBOR, "--all")
    taken = reserve(later, WREN, "src", "--takeover-stale").data
    assert [each["agent_id"] for each in taken["taken_over"]] == [OTTER]
    assert owners(later) == {"src": WREN}
