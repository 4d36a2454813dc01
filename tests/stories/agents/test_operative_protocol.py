"""Operative Protocol v1, clause by clause, through the command line. docs/operative-protocol.md points here."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import NOON, ROOT, Scratch, environment
from tests.waiting import PATIENCE

AMBER, COBALT = "amber-otter", "cobalt-harbor"


def at(minutes: float) -> str:
    """The time so many MINUTES after noon."""
    seconds = round(minutes * 60)
    return f"2026-01-05T{12 + seconds // 3600:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}.000Z"


@pytest.fixture
def two(repo: Scratch) -> Scratch:
    """Two agents, registered at noon; it stays noon unless a test says otherwise."""
    repo.settings["BB_NOW"] = NOON
    for name in (AMBER, COBALT):
        assert repo.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    return repo


def reserve(repo: Scratch, agent: str, scope: str, *more: str, **settings: Any):
    return repo.json("agent", "reserve", "--agent", agent, "--scope", scope, "--bead", "bb-1", *more, **settings)


def events(repo: Scratch, event_type: str, **settings: Any) -> list[dict[str, Any]]:
    return repo.json("protocol", "list", "--type", event_type, **settings).data


def unchanged(repo: Scratch, before: bytes) -> bool:
    return repo.journal().read_bytes() == before


# -- 1 boundaries


def test_1_3_the_bead_trackers_file_is_never_written(two: Scratch):
    shutil.copytree(ROOT / ".beads-example", two.path / ".beads")
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in (two.path / ".beads").iterdir()}

    two.json("init", "--adopt", AMBER, "--non-interactive")
    two.json("sessions", "list")
    two.json("sessions", "show", "demo-a1.1")

    after = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in (two.path / ".beads").iterdir()}
    assert after == before


# -- 3 identity


def test_3_2_1_uncommitted_changes_in_its_scope_allow_adoption(two: Scratch):
    reserve(two, AMBER, "src")
    (two.path / "src" / "deep").mkdir(parents=True)
    (two.path / "src" / "deep" / "new file.py").write_text("x = 1\n")

    adopted = two.json("init", "--adopt", AMBER, "--non-interactive").data

    assert (adopted["mode"], adopted["reason"]) == ("adopt", "uncommitted_scope")
    assert adopted["looked_at"]["changed"] == ["src/deep/new file.py"]
    assert adopted["recommendation"]["reason"] == "uncommitted_scope"


def test_3_2_2_a_bead_in_progress_that_it_owns_allows_adoption(two: Scratch):
    shutil.copytree(ROOT / ".beads-example", two.path / ".beads")

    adopted = two.json("init", "--adopt", AMBER, "--non-interactive").data

    assert adopted["reason"] == "in_progress_ownership"
    assert adopted["looked_at"]["beads"]["source"] == "jsonl"
    assert adopted["looked_at"]["beads"]["as_of"]


@pytest.mark.parametrize(
    ("where", "scope"),
    [
        ("docs/other.md", "src"),
        ("srcs/x", "src"),
        (".beads/issues.jsonl", "."),
        (".beadboard/x", "."),
        (".bb/notes", "."),
        (".beads", "."),
        ("pkg/.beads/issues.jsonl", "pkg"),
    ],
)
def test_3_2_adoption_without_evidence_is_rejected_in_non_interactive_mode(two: Scratch, where: str, scope: str):
    """Changes elsewhere are no evidence, nor are the tools' own files."""
    reserve(two, AMBER, scope)
    path = two.path / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}\n")
    before = two.journal().read_bytes()

    refused = two.json("init", "--adopt", AMBER, "--non-interactive")

    assert (refused.code, refused.status) == ("ADOPTION_REJECTED", 4)
    assert refused.envelope["error"]["details"]["recommendation"]["reason"] == "no_evidence"
    assert unchanged(two, before)


def test_3_2_what_it_held_last_counts_when_it_holds_nothing(two: Scratch):
    reserve(two, AMBER, "src")
    two.bb("agent", "release", "--agent", AMBER, "--all")
    (two.path / "src").mkdir()
    (two.path / "src" / "x").write_text("x")

    assert two.json("init", "--adopt", AMBER, "--non-interactive").data["looked_at"]["claimed"] == ["src"]


def test_3_2_both_sides_of_a_rename_count(two: Scratch):
    (two.path / "src").mkdir()
    (two.path / "src" / "a.py").write_text("x = 1\n" * 50)
    two.git("add", ".")
    two.git("commit", "--quiet", "-m", "a")
    two.git("mv", "src/a.py", "b.py")

    for scope in ("src", "b.py"):  # by one session: another one would have to wait until this one is silent
        adopted = two.json("init", "--adopt", AMBER, "--non-interactive", "--scope", scope, BB_SESSION="one")
        assert adopted.data["mode"] == "adopt"


def test_3_3_1_a_session_starts_under_a_name_nobody_has(two: Scratch):
    refused = two.json("init", "--register", AMBER, "--non-interactive")

    assert (refused.code, refused.status) == ("DUPLICATE_AGENT_ID", 7)
    advice = refused.envelope["error"]["details"]["recommendation"]
    assert (advice["reason"], advice["action"]) == ("name_taken", "register")
    assert two.json("init", "--register", advice["agent_id"], "--non-interactive").data["mode"] == "register"


def test_3_3_2_an_identity_is_not_reused_without_the_adoption_checks(two: Scratch):
    before = two.journal().read_bytes()

    assert two.json("agent", "register", "--name", AMBER, "--role", "x").code == "DUPLICATE_AGENT_ID"
    forced = two.json("agent", "register", "--name", AMBER, "--role", "x", "--force-update", BB_NOW=at(20))
    assert forced.code == "ADOPTION_NEEDED"
    assert two.json("init", "--adopt", AMBER, "--register", "new-name").code == "ADOPT_OR_REGISTER"
    assert unchanged(two, before)


def test_3_3_3_names_that_are_proposed_are_adjective_and_noun(two: Scratch):
    names = two.json("agent", "name", "--seed", "x", "--count", "50").data["names"]

    assert len(set(names)) == 50
    assert all(len(name.split("-")) == 2 for name in names)
    assert two.json("agent", "name", "--seed", "x", "--count", "50").data["names"] == names


def test_3_4_a_successful_adoption_emits_one_resume_event(two: Scratch):
    shutil.copytree(ROOT / ".beads-example", two.path / ".beads")

    two.json("init", "--adopt", AMBER, "--non-interactive", "--bead", "demo-a1.1")

    (event,) = events(two, "RESUME")
    assert event["payload"]["prior_session_agent"] == event["payload"]["adopted_agent"] == AMBER
    assert event["payload"]["resume_reason"] == "in_progress_ownership"
    assert event["bead_id"] == "demo-a1.1"
    assert "demo-a1.1" in event["payload"]["evidence"]
    assert event["beads"] == ["demo-a1.1"]
    rows = two.json("sessions", "show", "demo-a1.1").data["conversation"]
    assert [row["event_type"] for row in rows] == ["RESUME"]  # in the history that Sessions show


def test_3_4_3_a_resume_names_the_beads_of_the_reservations_in_which_the_changes_lie(two: Scratch):
    for bead in ("old-1", "old-2"):
        two.json("agent", "reserve", "--agent", AMBER, "--scope", "src", "--bead", bead).data  # noqa: B018
    two.json("agent", "reserve", "--agent", AMBER, "--scope", "docs", "--bead", "other").data  # noqa: B018
    (two.path / "src").mkdir()
    (two.path / "src" / "x").write_text("x")

    two.json("init", "--adopt", AMBER, "--non-interactive").data  # noqa: B018

    (event,) = events(two, "RESUME")
    assert (event["beads"], event["bead_id"], event["scope"]) == (["old-2"], "old-2", "src")


# -- 4 liveness and reservations (4.1 to 4.3: tests/coordination/agents/test_liveness.py, test_identities.py)


def test_4_4_1_an_active_owner_cannot_be_taken_over(two: Scratch):
    reserve(two, AMBER, "src")
    before = two.journal().read_bytes()

    refused = reserve(two, COBALT, "src", "--takeover-stale", BB_NOW=at(14.99))

    assert (refused.code, refused.status) == ("RESERVATION_CONFLICT", 7)
    (holder,) = refused.envelope["error"]["details"]["conflicts"]
    assert (holder["agent_id"], holder["class"], holder["liveness"]) == (AMBER, "exact", "active")
    assert before in two.journal().read_bytes()  # only the incursion was added
    assert [each["agent_id"] for each in two.json("agent", "status").data["reservations"]] == [AMBER]


@pytest.mark.parametrize(("minutes", "liveness", "archived"), [(15, "stale", "taken_over"), (30, "evicted", "expired")])
def test_4_4_2_and_3_a_silent_owner_is_taken_over_only_when_asked_for(
    two: Scratch, minutes: int, liveness: str, archived: str
):
    first = reserve(two, AMBER, "src").data

    without = reserve(two, COBALT, "src", BB_NOW=at(minutes))
    taken = reserve(two, COBALT, "src", "--takeover-stale", BB_NOW=at(minutes)).data

    assert (without.code, without.status) == ("RESERVATION_STALE_FOUND", 7)
    (before,) = taken["taken_over"]
    assert (before["reservation_id"], before["state"]) == (first["reservation_id"], archived)
    assert before["owner_liveness"] == liveness
    (told,) = two.json("agent", "inbox", "--agent", AMBER).data
    assert (told["category"], told["from_agent"]) == ("INFO", COBALT)


def test_4_4_a_heartbeat_gives_nothing_back_that_was_taken_over(two: Scratch):
    reserve(two, AMBER, "src")
    reserve(two, COBALT, "src", "--takeover-stale", BB_NOW=at(31))

    two.bb("agent", "heartbeat", "--agent", AMBER, BB_NOW=at(32))

    assert two.json("agent", "release", "--agent", AMBER, "--scope", "src", BB_NOW=at(32)).code == "RELEASE_FORBIDDEN"


# -- 5 scopes


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("src/*", "src/lib/parser.ts", "partial"),
        ("src/lib", "src/lib/parser.ts", "partial"),
        ("src/lib/parser.ts", "src/lib/parser.ts", "exact"),
        ("src/lib", "src/components", "disjoint"),
    ],
)
def test_5_3_required_examples_decide_who_gets_what(two: Scratch, one: str, other: str, expected: str):
    for a, b in ((one, other), (other, one)):
        assert two.json("scope", "compare", a, b).data["class"] == expected
    reserve(two, AMBER, one)
    assert reserve(two, COBALT, other).status == (0 if expected == "disjoint" else 7)


def test_5_1_windows_rules_apply_where_they_are_asked_for(two: Scratch):
    words = ["scope", "compare", r"C:\Repo\Src\\lib\.\A.ts", "c:/repo/src/LIB/a.ts/"]
    compared = two.json(*words, "--root", "C:\\Repo", "--platform", "windows").data

    assert compared["class"] == "exact"
    assert compared["a"]["absolute"] == compared["b"]["absolute"] == "c:/repo/src/lib/a.ts"


# -- 6 protocol events

ENVELOPE = ["id", "version", "event_type", "project_root", "bead_id", "from_agent", "to_agent", "scope", "created_at"]
HANDOFF = ["--bead", "bb-1", "--subject", "Parser", "--summary", "All but dates.", "--next-action", "Dates."]
BLOCKED = [
    *("--bead", "bb-1", "--subject", "Format", "--blocker", "Two in use."),
    *("--requested-action", "Choose.", "--urgency", "high"),
]


def test_6_1_every_event_has_the_whole_envelope(two: Scratch):
    two.bb("protocol", "handoff", "--from", AMBER, "--to", COBALT, *HANDOFF, "--scope", "./src//x/")
    reserve(two, AMBER, "src")
    reserve(two, COBALT, "src/x")
    two.bb("init", "--adopt", AMBER, "--scope", "src", "--non-interactive")

    for event in two.json("protocol", "list").data:
        assert list(event)[:10] == [*ENVELOPE, "payload"]
        assert (event["version"], event["project_root"]) == ("v1", str(two.path))
        assert two.json("protocol", "show", event["id"]).data == event
    (passed,) = events(two, "HANDOFF")
    assert (passed["scope"], passed["from_agent"], passed["to_agent"]) == ("src/x", AMBER, COBALT)
    assert str(two.path) not in two.journal().read_text()  # an absolute path is nobody else's business


def test_6_2_handoff_carries_its_payload_and_asks_to_be_accepted(two: Scratch):
    sent = two.json("protocol", "handoff", "--from", AMBER, "--to", COBALT, *HANDOFF).data

    assert sent["payload"] == {
        "subject": "Parser",
        "summary": "All but dates.",
        "next_action": "Dates.",
        "requires_ack": True,
    }
    two.bb("agent", "ack", "--agent", COBALT, "--message", sent["id"])
    assert two.json("protocol", "show", sent["id"]).data["state"] == "acked"


def test_6_2_blocked_carries_its_payload_and_always_asks_to_be_accepted(two: Scratch):
    sent = two.json("protocol", "blocked", "--from", AMBER, "--to", "user", *BLOCKED).data

    assert sent["payload"]["urgency"] == "high"
    assert sent["payload"]["requires_ack"] is True
    assert two.json("problems").envelope["error"]["details"]["problems"][0]["message_id"] == sent["id"]


@pytest.mark.parametrize(
    ("verb", "option"),
    [
        (verb, option)
        for verb, words in (("handoff", HANDOFF), ("blocked", BLOCKED))
        for option in words[::2]
        if option != "--subject"
    ],
)
def test_6_2_a_blank_or_missing_field_is_refused_and_nothing_is_recorded(two: Scratch, verb: str, option: str):
    words = {"handoff": HANDOFF, "blocked": BLOCKED}[verb]
    place = words.index(option)
    before = two.journal().read_bytes()

    blank, missing = (
        two.json("protocol", verb, "--from", AMBER, "--to", COBALT, *words[:place], *given, *words[place + 2 :])
        for given in ([option, "  "], [])
    )

    assert blank.code in ("INVALID_PROTOCOL_EVENT", "INVALID_MESSAGE", "MISSING_BEAD_ID", "INVALID_VALUE")
    assert missing.code == "MISSING_OPTION"
    assert unchanged(two, before)


@pytest.mark.parametrize(
    ("verb", "words", "text"), [("handoff", HANDOFF, "--summary"), ("blocked", BLOCKED, "--blocker")]
)
def test_6_2_an_event_always_has_a_subject_and_a_blank_one_is_refused(
    two: Scratch, verb: str, words: list[str], text: str
):
    place = words.index("--subject")
    without = [*words[:place], *words[place + 2 :]]
    call = ["protocol", verb, "--from", AMBER, "--to", COBALT, *without]

    assert two.json(*call, "--subject", "  ").code in ("INVALID_PROTOCOL_EVENT", "INVALID_MESSAGE")
    assert two.json(*call).data["payload"]["subject"] == words[words.index(text) + 1]


def test_6_2_an_urgency_that_is_none_is_refused(two: Scratch):
    refused = two.json("protocol", "blocked", "--from", AMBER, "--to", COBALT, *BLOCKED[:-1], "urgent")

    assert (refused.code, refused.status) == ("INVALID_VALUE", 2)


def test_6_2_incursion_is_recorded_once_for_an_incident(two: Scratch):
    reserve(two, AMBER, "src")

    for _ in range(3):
        assert reserve(two, COBALT, "src/lib").code == "RESERVATION_CONFLICT"

    (event,) = events(two, "INCURSION")
    assert event["payload"] == {
        "incursion_kind": "partial",
        "owner_agent": AMBER,
        "incoming_agent": COBALT,
        "owner_liveness": "active",
        "resolution_hint": event["payload"]["resolution_hint"],
    }
    assert (event["outcome"], event["state"]) == ("refused", "closed")


def test_6_2_an_overlap_that_was_allowed_is_open_until_one_of_them_leaves(two: Scratch):
    reserve(two, AMBER, "src")
    assert reserve(two, COBALT, "src/lib", "--allow-overlap").status == 0
    assert [event["state"] for event in events(two, "INCURSION")] == ["open"]
    assert two.json("problems").status == 4

    two.bb("agent", "release", "--agent", COBALT, "--all")

    assert [event["state"] for event in events(two, "INCURSION")] == ["closed"]
    assert two.json("problems").status == 0


def test_6_3_sessions_use_the_labels_of_the_protocol(two: Scratch):
    two.bb("protocol", "handoff", "--from", AMBER, "--to", COBALT, *HANDOFF)
    two.bb("protocol", "blocked", "--from", AMBER, "--to", COBALT, *BLOCKED)
    reserve(two, AMBER, "src")
    reserve(two, COBALT, "src")

    rows = two.json("sessions", "show", "bb-1").data["conversation"]

    labels = [row.get("label") for row in rows if row["type"] == "protocol"]
    assert sorted(labels) == ["Incursion", "Needs input", "Passed to"]
    passed = next(row for row in rows if row.get("label") == "Passed to")
    assert passed["actions"] == ["Seen", "Accepted"]
    for verb, label, actions in (("read", "Seen", ["Accepted"]), ("ack", "Accepted", [])):
        two.json("agent", verb, "--agent", COBALT, "--message", passed["id"]).data  # noqa: B018  (must succeed)
        row = next(r for r in two.json("sessions", "show", "bb-1").data["conversation"] if r["id"] == passed["id"])
        assert (row["state_label"], row["actions"]) == (label, actions)


def test_6_3_an_incursion_is_a_row_of_the_owners_bead_and_of_the_incoming_ones(two: Scratch):
    two.json("agent", "reserve", "--agent", AMBER, "--scope", "src", "--bead", "b-own").data  # noqa: B018
    assert two.json("agent", "reserve", "--agent", COBALT, "--scope", "src/lib", "--bead", "b-inc").status == 7

    for bead in ("b-own", "b-inc"):
        rows = two.json("sessions", "show", bead).data["conversation"]
        (row,) = [row for row in rows if row["type"] == "protocol"]
        assert (row["event_type"], row["label"], row["from"], row["to"]) == ("INCURSION", "Incursion", COBALT, AMBER)
    assert {"b-own", "b-inc"} <= {
        task["id"] for group in two.json("sessions", "list").data["feed"] for task in group["tasks"]
    }


def test_6_3_a_resume_is_a_row_of_each_bead_it_is_about_and_makes_no_bead_of_its_own(two: Scratch):
    for scope, bead in (("src", "b-1"), ("src/lib", "b-2"), ("docs", "b-3")):
        two.json("agent", "reserve", "--agent", AMBER, "--scope", scope, "--bead", bead).data  # noqa: B018
    (two.path / "src" / "lib").mkdir(parents=True)
    (two.path / "src" / "lib" / "x").write_text("x")
    (two.path / "other").write_text("x")

    two.json("init", "--adopt", AMBER, "--non-interactive").data  # noqa: B018
    two.json("init", "--adopt", COBALT, "--scope", "other", "--non-interactive").data  # noqa: B018

    def resumed(bead: str) -> list[str]:
        rows = two.json("sessions", "show", bead).data["conversation"]
        return [row["from"] for row in rows if row.get("label") == "Resumed"]

    assert [resumed(bead) for bead in ("b-1", "b-2", "b-3")] == [[AMBER], [AMBER], []]
    assert two.json("sessions", "show", "unknown").code == "SESSION_NOT_FOUND"
    without = next(
        each for each in two.json("protocol", "list", "--type", "RESUME").data if each["from_agent"] == COBALT
    )
    assert (without["bead_id"], without["scope"]) == ("", "other")
    assert "no bead is known" in without["payload"]["evidence"]
    assert any("continues as" in each["text"] for each in two.json("timeline", "--agent", COBALT).data)


# -- 7 the command line


def test_7_1_heartbeat_answers_with_the_envelope(two: Scratch):
    beaten = two.json("agent", "heartbeat", "--agent", AMBER)

    assert list(beaten.envelope) == ["ok", "command", "data", "error"]
    assert beaten.data["last_seen_at"] == NOON


def test_7_2_non_interactive_without_a_choice_fails_with_a_recommendation_and_never_asks(two: Scratch):
    before = two.journal().read_bytes()

    first, second = (two.json("init", "--non-interactive") for _ in range(2))

    assert (first.code, first.status) == ("AMBIGUOUS_SESSION", 2)
    assert first.envelope["error"]["details"]["recommendation"]["reason"] == "no_identity_requested"
    assert first.out == second.out  # deterministic
    assert unchanged(two, before)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--register", "shy-lynx", "--role", "tester"], 0, '"agent_id":"shy-lynx"'),
        (["--adopt", AMBER, "--non-interactive"], 0, '"mode":"adopt"'),
        (["--adopt", COBALT, "--non-interactive"], 4, '"ADOPTION_REJECTED"'),
        (["--non-interactive"], 2, '"AMBIGUOUS_SESSION"'),
    ],
    ids=["register", "adopt", "no evidence", "neither"],
)
def test_7_2_to_4_bb_init_is_a_script_of_its_own_too(two: Scratch, words: list[str], status: int, said: str):
    reserve(two, AMBER, "src")
    (two.path / "src").mkdir()
    (two.path / "src" / "x").write_text("x")

    done = subprocess.run(
        [str(ROOT / "scripts" / "bb-init"), *words, "--json"],
        cwd=two.path,
        env=environment(BB_NOW=NOON, BB_PYTHON=sys.executable),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, said in done.stdout) == (status, True)
    assert '"recommendation"' in done.stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "no_identity_requested"),
        (["--adopt", COBALT], "no_evidence"),
        (["--register", AMBER], "name_taken"),
        (["--adopt", "shy-lynx"], "unknown_agent"),
        (["--adopt", "Shy_Lynx"], "unknown_agent"),
        (["--adopt", "-bad id"], "invalid_request"),
        (["--register", "Bad_ID"], "invalid_request"),
        (["--register", "new-name", "--role", ""], "invalid_request"),
        (["--adopt", COBALT, "--scope", "../out"], "invalid_request"),
        (["--adopt", COBALT, "--bead", "a\nb"], "invalid_request"),
        (["--adopt", COBALT, "--register", "new-name"], "invalid_request"),
        (["--register", "new-name", "--bead", "bb-1"], "invalid_request"),
        (["--register", "new-name", "--undo"], "invalid_request"),
    ],
    ids=" ".join,
)
def test_7_3_every_refusal_recommends_what_to_do_and_says_why(two: Scratch, words: list[str], reason: str):
    before = two.journal().read_bytes()

    refused = two.json("init", *words, "--non-interactive")
    told = two.bb("init", *words, "--non-interactive")

    advice = refused.envelope["error"]["details"]["recommendation"]
    assert (advice["reason"], advice["action"]) == (reason, "register")
    assert advice["why"]
    assert f"bb init --non-interactive --register {advice['agent_id']}" in told.err
    assert unchanged(two, before)
    assert two.bb(*advice["command"].split()[1:]).status == 0


def test_7_3_outside_a_repository_nothing_is_recommended_and_that_is_said(tmp_path: Path):
    refused = Scratch(tmp_path).json("init", "--register", "shy-lynx", "--non-interactive")

    assert refused.code == "NOT_A_REPOSITORY"
    advice = refused.envelope["error"]["details"]["recommendation"]
    assert (advice["action"], advice["reason"], advice["command"]) == ("stop", "not_a_git_repo", None)


def ask(repo: Scratch, answer: str, *words: str) -> tuple[int, str]:
    """`bb init --adopt` at a terminal, where a person types ANSWER."""
    here, there = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "bb", "init", "--adopt", AMBER, *words],
        cwd=repo.path,
        env=environment(BB_NOW=NOON),
        stdin=there,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    os.write(here, answer.encode())
    out, _ = child.communicate(timeout=PATIENCE)
    os.close(here)
    os.close(there)
    return child.returncode, out


@pytest.mark.parametrize("words", [["--non-interactive"], ["--json"], ["--non-interactive", "--json"]], ids=" ".join)
def test_7_1_whoever_wants_no_questions_is_asked_none_even_at_a_terminal(two: Scratch, words: list[str]):
    status, out = ask(two, "y\n", *words)

    assert (status, "[y/N]" in out, "ADOPTION_REJECTED" in out) == (4, False, True)
    assert events(two, "RESUME") == []


def test_3_2_at_a_terminal_a_person_is_asked(two: Scratch):
    status, out = ask(two, "n\n")
    assert (status, "[y/N]" in out, "ADOPTION_REJECTED" in out) == (4, True, True)
    assert events(two, "RESUME") == []

    status, out = ask(two, "y\n")
    assert (status, "continues as amber-otter" in out) == (0, True)
    (event,) = events(two, "RESUME")
    assert "a person at the terminal confirmed" in event["payload"]["evidence"]
