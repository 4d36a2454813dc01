"""`bb ledger …`: looking at the ledger, checking it, carrying it away."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bb.ledger.journal import line as lines
from tests.faces.faces_support import Forger, everything_in
from tests.forks import Call
from tests.near import near, run_all
from tests.support import NOON, Scratch, environment, scratch

AT = "2026-01-05T12:{:02}:00.000Z".format
NAMES = ["amber-otter", "cobalt-harbor", "dusty-wren", "ember-fox"]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """Four agents registered a minute apart from noon; one changed at twelve ten. It is a quarter past."""
    made = near(tmp_path_factory.mktemp("verbs") / "repo")
    calls = [
        Call(["agent", "register", "--name", name, "--role", "builder"], {"BB_NOW": AT(minute)})
        for minute, name in enumerate(NAMES)
    ]
    calls.append(
        Call(["agent", "register", "--name", NAMES[0], "--role", "tester", "--force-update"], {"BB_NOW": AT(10)})
    )
    assert [ran.status for ran in run_all(made, calls)] == [0] * 5
    made.settings["BB_NOW"] = AT(15)
    return made


@pytest.fixture
def own(repo: Scratch, tmp_path: Path) -> Scratch:
    """A repository that a test may spoil."""
    made = scratch(tmp_path / "own")
    made.settings["BB_NOW"] = NOON
    assert made.bb("agent", "register", "--name", "amber-otter", "--role", "Bäcker 試").status == 0
    return made


def logged(repo: Scratch, *tails: list[str]) -> list[list[str]]:
    """For each list of options, the log as `minute who`."""
    answers = run_all(repo, [Call(["ledger", "log", *tail, "--json"]) for tail in tails])
    return [[f"{event['ts'][14:16]} {event['by']}" for event in answer.data] for answer in answers]


ALL = ["00 user", "00 amber-otter", "01 cobalt-harbor", "02 dusty-wren", "03 ember-fox", "10 amber-otter"]


# -- log


def test_the_log_is_oldest_first_and_the_limit_keeps_the_latest(repo: Scratch):
    everything, three, one, many = logged(repo, [], ["--limit", "3"], ["--limit", "1"], ["--limit", "1000000"])

    assert everything == many == ALL
    assert three == ALL[-3:]
    assert one == ALL[-1:]


def test_fifty_events_are_shown_unless_more_are_asked_for(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    repo.bb("init")
    forger = Forger(repo)
    for number in range(60):
        forger.add("x.filler", "user", {"number": number})

    assert [event["data"]["number"] for event in repo.json("ledger", "log").data] == list(range(10, 60))
    assert len(repo.bb("ledger", "log").out.splitlines()) == 50


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        (["--kind", "actor.add"], ALL[1:5]),
        (["--kind", "actor.update"], ALL[5:]),
        (["--kind", "actor.add", "--kind", "group.create"], ALL[:5]),
        (["--kind=actor.update", "--kind=actor.update"], ALL[5:]),
        (["--kind", "actor"], []),
        (["--kind", "actor.ad"], []),
        (["--kind", "ACTOR.ADD"], []),
        (["--agent", "amber-otter"], [ALL[1], ALL[5]]),
        (["--agent", "nobody-here"], []),
        (["--agent", "amber-otter", "--kind", "actor.add"], [ALL[1]]),
        (["--since", AT(2)], ALL[3:]),
        (["--since", "2026-01-05T12:02:00.001Z"], ALL[4:]),
        (["--since", "2026-01-05T14:02:00+02:00"], ALL[3:]),
        (["--since", "13m"], ALL[3:]),
        (["--since", "780s"], ALL[3:]),
        (["--since", "1h"], ALL),
        (["--since", "2d"], ALL),
        (["--since", "0s"], []),
        (["--since", "2100-01-01T00:00:00Z"], []),
        (["--until", AT(2)], ALL[:3]),
        (["--until", "13m"], ALL[:3]),
        (["--until", "1h"], []),
        (["--since", AT(1), "--until", AT(3)], ALL[2:4]),
        (["--since", AT(3), "--until", AT(1)], []),
        (["--since", AT(1), "--limit", "2"], ALL[4:]),
        (["--agent", "amber-otter", "--limit", "1"], [ALL[5]]),
        (["--kind", "actor.add", "--since", "13m", "--agent", "ember-fox", "--limit", "7"], [ALL[4]]),
    ],
    ids=lambda value: " ".join(value) if value and str(value[0]).startswith("-") else "",
)
def test_the_log_is_narrowed(repo: Scratch, tail: list[str], expected: list[str]):
    assert logged(repo, tail) == [expected]


def test_events_about_an_agent_count_as_its_own(own: Scratch):
    Forger(own).add("actor.update", "cobalt-harbor", {"actor_id": "amber-otter", "role": "x"})

    (events,) = logged(own, ["--agent", "amber-otter"])

    assert events == ["00 amber-otter", "00 cobalt-harbor"]


AGES = ("", " ", "yesterday", "2h ago", "2 h", "h", "-2h", "+2h", "1.5h", "2w", "2H", "٢h", "9999999d")
TIMES = ("2026-01-05", "2026-01-05T12:00", "2026-01-05T12:00:00", "2026-13-01T00:00:00Z", "1767614400")
NUMBERS = ("", "0", "-1", "1e3", "1.0", "0x10", "１", "1000001", "9" * 40, " 5")
MEANINGLESS = [
    *(["--since", text] for text in (*AGES, *TIMES)),
    *(["--until", text] for text in ("", "tomorrow", "2026-02-30T00:00:00Z")),
    *(["--limit", text] for text in NUMBERS),
    *(["--agent", text] for text in ("", "../x", "a b", "CON", "x" * 49)),
    ["--kind", ""],
]


@pytest.mark.parametrize("tail", MEANINGLESS, ids=repr)
def test_a_filter_that_means_nothing_is_refused_rather_than_ignored(repo: Scratch, tail: list[str]):
    """`--since "$LAST"` with LAST unset must not read as: from the beginning."""
    log, export = run_all(repo, [Call(["ledger", verb, *tail, "--json"]) for verb in ("log", "export")])

    assert (log.status, export.status) == (2, 2), log.out


def test_an_age_counts_back_from_the_clock_that_bb_now_sets(repo: Scratch):
    calls = [
        Call(["ledger", "log", "--since", "5m", "--json"], {"BB_NOW": AT(minute)}) for minute in (3, 5, 14, 15, 16)
    ]

    assert [len(answer.data) for answer in run_all(repo, calls)] == [6, 6, 1, 1, 0]


def test_an_event_for_people_is_one_line_that_says_when_what_who_and_which(repo: Scratch):
    told = repo.bb("ledger", "log", "--limit", "1").out
    (event,) = repo.json("ledger", "log", "--limit", "1").data

    assert told == f"{AT(10)}  actor.update  amber-otter  actor_id=amber-otter, role=tester  [{event['id']}]\n"


# -- follow


def follow(repo: Scratch, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "bb", "ledger", "log", "--follow", *words],
        cwd=repo.path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(follower: subprocess.Popen[str]) -> None:
    follower.kill()
    for stream in (follower.stdout, follower.stderr):
        if stream:
            stream.close()
    follower.wait()


def next_line(follower: subprocess.Popen[str]) -> str:
    assert follower.stdout is not None
    timer = threading.Timer(10, follower.kill)  # a follower that shows nothing must not hang the tests
    timer.start()
    try:
        return follower.stdout.readline()
    finally:
        timer.cancel()


def test_a_follower_shows_at_once_what_another_process_appends(own: Scratch):
    follower = follow(own, "--json")
    try:
        shown = [json.loads(next_line(follower)) for _ in range(2)]
        lags = []
        for name in NAMES[1:]:
            assert own.bb("agent", "register", "--name", name, "--role", "builder").status == 0
            appended = time.monotonic()
            shown.append(json.loads(next_line(follower)))
            lags.append(time.monotonic() - appended)
    finally:
        ended(follower)

    assert [event["by"] for event in shown] == ["user", *NAMES]
    assert [event["seq"] for event in shown] == [1, 2, 3, 4, 5]
    assert shown == own.json("ledger", "log").data
    assert min(lags) < 0.3


def test_a_follower_keeps_to_its_filters(own: Scratch):
    follower = follow(own, "--json", "--agent", "dusty-wren", "--kind", "actor.update")
    try:
        for name in NAMES[1:]:
            own.bb("agent", "register", "--name", name, "--role", "builder")
        own.bb("agent", "register", "--name", "cobalt-harbor", "--role", "tester", "--force-update")
        own.bb("agent", "register", "--name", "dusty-wren", "--role", "tester", "--force-update")
        (event,) = [json.loads(next_line(follower))]
    finally:
        ended(follower)

    assert (event["kind"], event["by"]) == ("actor.update", "dusty-wren")


def test_a_follower_sees_every_line_of_a_flood_once_and_in_order(own: Scratch):
    follower = follow(own, "--limit", "1", "--json")
    try:
        next_line(follower)
        forger = Forger(own)
        for number in range(500):
            forger.add("x.flood", "user", {"number": number})
        numbers = [json.loads(next_line(follower))["data"]["number"] for _ in range(500)]
    finally:
        ended(follower)

    assert numbers == list(range(500))


@pytest.mark.parametrize("tail", [["--since", "nonsense"], ["--limit", "0"], ["--agent", "../x"]], ids=" ".join)
def test_a_follower_that_cannot_start_refuses_with_one_document(repo: Scratch, tail: list[str]):
    asked = repo.json("ledger", "log", "--follow", *tail)

    assert (asked.status, asked.envelope["command"]) == (2, "ledger log")


def test_without_a_ledger_there_is_nothing_to_follow(tmp_path: Path):
    repo = scratch(tmp_path / "repo")

    assert repo.json("ledger", "log", "--follow").code == "NOT_INITIALIZED"
    assert not repo.store.exists()


# -- show


def test_show_gives_the_event_of_the_log_and_its_place(repo: Scratch):
    events = repo.json("ledger", "log").data

    shown = run_all(repo, [Call(["ledger", "show", event["id"], "--json"]) for event in events])

    for event, answer, raw in zip(events, shown, repo.journal().read_bytes().splitlines(keepends=True), strict=True):
        assert answer.data == event | {"chain": {"lamport": json.loads(raw)["l"], "key": None, "line_bytes": len(raw)}}


WRITER = "aaaabbbbcccc"
NO_EVENTS = [
    *("", ".", "1", "x.1", WRITER, f"{WRITER}.", f"{WRITER}.0", f"{WRITER}.01", f"{WRITER}.-1", f"{WRITER}.1.1"),
    *(f"{WRITER}.1 ", f"{WRITER}.١", f"{WRITER}.{'9' * 16}", f"{WRITER}/1", f"{WRITER.upper()}.1", "aaaabbbbccc1.1"),
    "../../etc/passwd.1",
]


@pytest.mark.parametrize("event", NO_EVENTS, ids=repr)
def test_what_is_no_event_id_is_refused(repo: Scratch, event: str):
    (answer,) = run_all(repo, [Call(["ledger", "show", "--json", "--", event])])

    assert (answer.code, answer.status) == ("INVALID_EVENT_ID", 2)


def test_an_event_that_is_not_there_is_not_found(repo: Scratch):
    writer = repo.journal().parent.name

    answers = run_all(
        repo,
        [
            Call(["ledger", "show", event, "--json"])
            for event in (f"{writer}.7", f"{writer}.999999999999999", "a" * 12 + ".1")
        ],
    )

    assert [(answer.code, answer.status) for answer in answers] == [("EVENT_NOT_FOUND", 3)] * 3


# -- verify, status, rebuild


def test_verify_names_the_head_of_every_chain(repo: Scratch):
    found = repo.json("ledger", "verify").data
    told = repo.bb("ledger", "verify").out

    (chain,) = found["chains"]
    link = lines.START
    for raw in repo.journal().read_bytes().splitlines():
        link = lines.check(raw, chain["writer"], link)
    assert (found["events"], found["is_index_right"], chain["lines"]) == (6, True, 6)
    assert chain["head"] == link.head_digest
    assert told.splitlines()[0] == f"our writer {chain['writer']}: 6 lines, head {link.head_digest}"
    assert f"state {found['state']}" in told


def test_verify_names_the_line_that_was_changed(own: Scratch):
    journal = own.journal()
    first, second = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(first + second.replace(b"2026-01-05", b"2027-01-05"))

    asked, told = own.json("ledger", "verify"), own.bb("ledger", "verify")

    assert (asked.code, asked.status) == ("LEDGER_DAMAGED", 4)
    assert f"{journal} at byte {len(first)}" in asked.envelope["error"]["message"]
    assert f"line 2 in {journal}" in told.err
    assert "doctor --fix" in told.err


def test_status_counts_what_is_there(repo: Scratch):
    found = repo.json("ledger", "status").data

    assert (found["exists"], found["events"], found["is_damaged"]) == (True, 6, False)
    assert found["store"] == str(repo.store)
    assert found["bytes"] == repo.journal().stat().st_size
    assert found["writers"] == [{"writer": repo.journal().parent.name, "events": 6, "is_ours": True}]


def test_rebuild_makes_the_index_anew_and_changes_no_line(own: Scratch):
    before, agents = everything_in(own.store / "j"), own.json("agent", "list").data
    (own.store / "index.sqlite").unlink()

    assert own.json("ledger", "rebuild").data == {"events": 2, "is_damaged": False}
    assert own.json("agent", "list").data == agents
    assert everything_in(own.store / "j") == before


# -- export


def test_an_export_goes_on_as_the_log_does_but_without_a_limit(repo: Scratch):
    log, narrowed = repo.json("ledger", "log").data, repo.json("ledger", "log", "--agent", "amber-otter").data

    assert [json.loads(line) for line in repo.bb("ledger", "export").out.splitlines()] == log
    assert repo.json("ledger", "export", "--agent", "amber-otter").data == narrowed


def test_a_raw_export_can_be_checked_line_by_line_elsewhere(own: Scratch):
    done = subprocess.run(
        [sys.executable, "-m", "bb", "ledger", "export", "--raw"], cwd=own.path, env=environment(), capture_output=True
    )
    link = lines.START

    for raw in done.stdout.splitlines():
        link = lines.check(raw, own.journal().parent.name, link)

    assert done.stdout == own.journal().read_bytes()
    assert link.head_digest == own.json("ledger", "verify").data["chains"][0]["head"]


@pytest.mark.parametrize(
    "filters", [["--kind", "actor.add"], ["--agent", "amber-otter"], ["--since", "1h"], ["--until", "1h"]]
)
def test_a_raw_export_takes_no_filters_and_says_so(repo: Scratch, filters: list[str]):
    """A copy that is thought to hold one agent's lines and holds everybody's is worse than none."""
    (answer,) = run_all(repo, [Call(["ledger", "export", "--raw", *filters, "--json"])])

    assert answer.status == 2


def exported(repo: Scratch, to: str, *words: str) -> Any:
    return repo.json("ledger", "export", "--output", to, *words)


def test_an_export_into_a_file_says_where_and_how_much(own: Scratch, tmp_path: Path):
    (own.path / "deep").mkdir()

    relative = own.bb("ledger", "export", "--output", "events.jsonl", "--json", cwd=own.path / "deep").data
    absolute = exported(own, str(tmp_path / "raw.jsonl"), "--raw").data

    assert relative == {"output": str(own.path / "deep" / "events.jsonl"), "events": 2}
    assert absolute == {"output": str(tmp_path / "raw.jsonl"), "events": 2}
    assert (tmp_path / "raw.jsonl").read_bytes() == own.journal().read_bytes()
    assert len((own.path / "deep" / "events.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_an_export_over_a_file_takes_its_place_whole(own: Scratch):
    old = own.path / "events.jsonl"
    old.write_text("old\n" * 1000)

    assert exported(own, "events.jsonl").status == 0

    assert "old" not in old.read_text()
    assert [path.name for path in own.path.iterdir() if path.name != ".git"] == ["events.jsonl"]


def test_an_export_for_which_there_is_no_room_leaves_the_old_file_and_nothing_else(own: Scratch):
    forger = Forger(own)
    for number in range(100):
        forger.add("x.filler", "user", {"number": number, "text": "x" * 1000})
    own.bb("ledger", "status")
    (own.path / "events.jsonl").write_text("old\n")
    before = everything_in(own.path, but=own.path / ".git")
    limited = ["sh", "-c", 'ulimit -f 64 && exec "$@"', "sh", sys.executable, "-m", "bb"]

    done = subprocess.run(
        [*limited, "ledger", "export", "--output", "events.jsonl", "--json"],
        cwd=own.path,
        env=environment(),
        capture_output=True,
        text=True,
    )

    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (4, "DISK_FULL")
    assert everything_in(own.path, but=own.path / ".git") == before


def test_an_export_to_a_link_writes_the_file_it_leads_to(own: Scratch, tmp_path: Path):
    target = tmp_path / "target.jsonl"
    target.write_text("old\n")
    (own.path / "link.jsonl").symlink_to(target)

    exported(own, "link.jsonl")

    assert (own.path / "link.jsonl").is_symlink()
    assert len(target.read_text().splitlines()) == 2


def test_an_export_to_a_pipe_goes_through_it(own: Scratch):
    """So do /dev/stdout, /dev/null and >(…): to put a file in the place of one of those breaks the machine."""
    pipe = own.path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    holding = os.open(pipe, os.O_RDWR)  # so that neither side waits for the other to open it
    reader = threading.Thread(target=lambda: read.append(os.read(holding, 1 << 16)))
    reader.start()

    done = exported(own, "pipe")

    is_pipe = stat.S_ISFIFO(pipe.lstat().st_mode)
    os.write(holding, b"\n")
    reader.join()
    os.close(holding)
    assert done.status == 0
    assert is_pipe, "a file has taken the pipe's place"
    assert read[0].startswith(b'{"v":1,')


def test_an_export_keeps_the_permissions_of_the_file_it_replaces(own: Scratch):
    old = own.path / "events.jsonl"
    old.write_text("old\n")
    old.chmod(0o600)

    exported(own, "events.jsonl")

    assert stat.S_IMODE(old.stat().st_mode) == 0o600


@pytest.mark.parametrize("to", ["", "missing/events.jsonl", ".git", ".", "/", "events.jsonl/x", "x" * 300])
def test_an_export_that_cannot_be_written_blames_the_file_and_not_the_ledger(own: Scratch, to: str):
    (own.path / "events.jsonl").write_text("old\n")
    before = everything_in(own.path)

    refused = exported(own, to)
    error = refused.envelope["error"]

    assert refused.status in (2, 3, 4, 5)
    assert everything_in(own.path) == before
    assert "doctor" not in (error["hint"] or "")
    assert "ledger" not in error["message"]


# -- a ledger without a line


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize(
    "words", [["log"], ["export"], ["export", "--raw"], ["verify"], ["status"], ["rebuild"]], ids=" ".join
)
def test_a_ledger_whose_journals_are_gone_is_read_as_empty(own: Scratch, words: list[str], form: list[str]):
    own.journal().unlink()
    (folder,) = (own.store / "j").iterdir()
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()

    done = own.bb("ledger", *words, *form)

    assert done.status in (0, 4), done.out + done.err
    assert "INTERNAL_ERROR" not in done.out + done.err


def test_reading_makes_no_ledger(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    before = everything_in(repo.path)
    words = [
        *(["ledger", verb] for verb in ("status", "log", "verify", "export", "rebuild")),
        ["ledger", "show", "a" * 12 + ".1"],
        ["agent", "list"],
        ["agent", "show", "--agent", "amber-otter"],
        ["agent", "heartbeat", "--agent", "amber-otter"],
        ["doctor"],
        ["doctor", "--fix"],
        ["init", "--dry-run"],
        ["init", "--undo"],
        ["--version"],
    ]

    run_all(repo, [Call(one) for one in words])

    assert everything_in(repo.path) == before
