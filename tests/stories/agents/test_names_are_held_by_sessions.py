"""Nobody speaks for another: a name is held by one session, and the others are told (Operative Protocol §3.2, §3.3)."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.agents import callers
from tests.stories.agents.agents_support import HARBOR, NOON, OTTER, WREN, after, crew, inbox, kept, log, reserve, stay
from tests.support import Ran, Scratch, environment

CLAUDE = "CLAUDE_CODE_SESSION_ID"
LETTER = ["--subject", "s", "--body", "b"]


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """An agent that holds src, with a change in it that nobody has committed."""
    made = crew(tmp_path / "repo", OTTER, HARBOR)
    reserve(made, OTTER, "src")
    change(made, "src/a.py")
    return made


def change(repo: Scratch, name: str) -> None:
    (repo.path / name).parent.mkdir(parents=True, exist_ok=True)
    (repo.path / name).write_text("changed\n")


def adopt(repo: Scratch, name: str = OTTER, *more: str, **settings: str) -> Ran:
    return repo.json("init", "--non-interactive", "--adopt", name, *more, **settings)


def beat(repo: Scratch, name: str = OTTER, **settings: str) -> Ran:
    return repo.json("agent", "heartbeat", "--agent", name, **settings)


def refused(ran: Ran) -> tuple[str, int]:
    assert ran.envelope["error"]["hint"], "the way back is named"
    return ran.code, ran.status


# -- §3.2, §3.3: one session a name


def test_3_2_of_eight_that_adopt_at_once_one_wins(repo: Scratch):
    words = [sys.executable, "-m", "bb", "init", "--non-interactive", "--adopt", OTTER, "--json"]
    how: dict[str, Any] = {"cwd": repo.path, "env": environment(BB_NOW=NOON), "stdin": subprocess.DEVNULL}
    children = [subprocess.Popen(words, stdout=subprocess.PIPE, **how) for _ in range(8)]
    answers = [Ran(child.wait(), (child.communicate()[0] or b"").decode(), "") for child in children]

    won = [each for each in answers if each.status == 0]
    assert len(won) == 1
    lost = [each for each in answers if each.status != 0]
    assert {refused(each) for each in lost} == {("ADOPTION_REJECTED", 4)}
    assert {each.envelope["error"]["details"]["recommendation"]["reason"] for each in lost} == {"session_alive"}
    assert len(repo.json("protocol", "list", "--type", "RESUME").data) == 1


def test_3_2_adoption_is_rejected_while_another_session_is_known_to_be_alive_and_not_after(repo: Scratch):
    adopt(repo, BB_SESSION="one").data  # noqa: B018

    assert refused(adopt(after(repo, 1.9), BB_SESSION="two")) == ("ADOPTION_REJECTED", 4)
    assert adopt(after(repo, 1.9), BB_SESSION="one").data["session_id"] is None, "its own session may"
    beat(after(repo, 3), BB_SESSION="one").data  # noqa: B018
    assert adopt(after(repo, 4), BB_SESSION="two").code == "ADOPTION_REJECTED"
    assert adopt(after(repo, 5), BB_SESSION="two").data["reason"] == "uncommitted_scope", "evidence decides"


def test_3_2_evidence_decides_a_minute_after_a_crash_of_a_session_that_nobody_knows(repo: Scratch):
    assert adopt(after(repo, 1)).data["reason"] == "uncommitted_scope"


def test_3_3_who_was_superseded_is_told_at_its_next_call_by_every_verb(repo: Scratch):
    begun = {CLAUDE: "one"}
    repo.json("agent", "register", "--name", WREN, "--role", "tester", **begun).data  # noqa: B018
    reserve(repo, WREN, "docs", **begun).data  # noqa: B018
    change(repo, "docs/b.md")
    later = after(repo, 5)
    assert adopt(later, WREN, **{CLAUDE: "two"}).status == 0

    before = kept(later)
    letter = ["--to", OTTER, "--bead", "b", "--category", "INFO", *LETTER]
    for words in (
        ["agent", "heartbeat", "--agent", WREN],
        ["agent", "reserve", "--agent", WREN, "--scope", "x", "--bead", "b"],
        ["agent", "release", "--agent", WREN, "--all"],
        ["agent", "renew", "--agent", WREN, "--all"],
        ["agent", "retire", "--agent", WREN],
        ["agent", "register", "--name", WREN, "--role", "boss", "--force-update"],
        ["agent", "send", "--from", WREN, *letter],
        ["agent", "wait", "--agent", WREN, "--timeout", "1"],
        ["agent", "transfer", "--agent", WREN, "--scope", "docs", "--to", OTTER],
        ["check", "docs/b.md", "--agent", WREN],
        ["chat", "inject", "--agent", WREN],
        ["cbcl", "send", "(tell (content x))", "--agent", WREN],
    ):
        assert refused(later.json(*words, **begun)) == ("SESSION_SUPERSEDED", 5), words
    assert kept(later) == before
    assert beat(later, WREN, **{CLAUDE: "two"}).status == 0
    assert beat(later, WREN).status == 0, "a caller without an id cannot be told from any other"


def test_a_session_that_never_was_this_agents_cannot_act_in_its_name(repo: Scratch):
    repo.json("agent", "register", "--name", WREN, "--role", "tester", **{CLAUDE: "one"}).data  # noqa: B018

    assert refused(beat(repo, WREN, **{CLAUDE: "two"})) == ("NOT_YOUR_NAME", 5)
    assert refused(repo.json("agent", "release", "--agent", OTTER, "--all", **{CLAUDE: "one"})) == ("NOT_YOUR_NAME", 5)
    assert repo.json("agent", "show", "--agent", WREN, **{CLAUDE: "two"}).status == 0, "anybody may look"


def test_an_overtaken_heartbeat_does_not_give_the_name_back(repo: Scratch):
    """It read before the adoption and writes after it: the next one asks the ledger."""
    path = repo.store / "presence" / f"{WREN}.json"
    repo.json("agent", "register", "--name", WREN, "--role", "tester", **{CLAUDE: "one"}).data  # noqa: B018
    reserve(repo, WREN, "docs", **{CLAUDE: "one"}).data  # noqa: B018
    change(repo, "docs/b.md")
    read_before = path.read_bytes()
    later = after(repo, 5)
    adopt(later, WREN, **{CLAUDE: "two"}).data  # noqa: B018

    path.write_bytes(read_before)

    assert beat(later, WREN, **{CLAUDE: "one"}).code == "SESSION_SUPERSEDED"
    assert beat(later, WREN, **{CLAUDE: "two"}).status == 0


def test_an_evicted_name_comes_back_by_its_own_session_or_by_adoption(repo: Scratch):
    repo.json("agent", "register", "--name", WREN, "--role", "tester", **{CLAUDE: "one"}).data  # noqa: B018
    days_later = after(repo, 3 * 24 * 60)

    with_none, stranger = beat(days_later, WREN), beat(days_later, WREN, **{CLAUDE: "two"})
    assert (refused(with_none), refused(stranger)) == (("ADOPTION_NEEDED", 4), ("NOT_YOUR_NAME", 5))
    assert f"bb init --adopt {WREN}" in with_none.envelope["error"]["hint"]
    assert beat(days_later, WREN, **{CLAUDE: "one"}).data["liveness"] == "active"
    assert beat(days_later, OTTER).data["liveness"] == "active", "whose session was never known comes back as ever"


def test_what_was_recorded_under_a_key_before_is_answered_only_to_the_session_that_may_act(repo: Scratch):
    register = ["agent", "register", "--name", WREN, "--role", "tester", "--key", "start"]
    letter = ["--from", WREN, "--to", OTTER, "--bead", "b", "--category", "INFO", *LETTER]
    send = ["agent", "send", *letter, "--key", "first"]
    begun, days_later = {CLAUDE: "one"}, after(repo, 3 * 24 * 60)
    for words in (register, send):
        assert repo.json(*words, **begun).status == 0
        assert repo.json(*words, **begun).status == 0, "to repeat is safe"

    for words in (register, send):
        assert refused(repo.json(*words, **{CLAUDE: "two"})) == ("NOT_YOUR_NAME", 5), words
        assert refused(days_later.json(*words)) == ("ADOPTION_NEEDED", 4), words
    states = {row["agent_id"]: row["liveness"] for row in days_later.json("agent", "list").data}
    assert states[WREN] == "evicted", "nobody has revived it"


def test_an_evicted_name_is_not_spoken_for_in_chat_either(repo: Scratch):
    repo.json("agent", "register", "--name", WREN, "--role", "tester", **{CLAUDE: "one"}).data  # noqa: B018
    days_later = after(repo, 3 * 24 * 60)

    for words in (
        ["chat", "send", "as another"],
        ["chat", "progress", "deploy", "--progress", "1"],
        ["call", "context_sync", "--args", '{"ops": []}'],
        ["actor", "remove", WREN],
    ):
        assert refused(days_later.json(*words, BB_AGENT=WREN)) == ("ADOPTION_NEEDED", 4), words
    assert days_later.json("chat", "send", "I am back", BB_AGENT=WREN, **{CLAUDE: "one"}).status == 0


def test_who_holds_another_name_does_not_act_under_one_that_was_adopted_without_an_id(repo: Scratch):
    repo.json("agent", "register", "--name", WREN, "--role", "tester", **{CLAUDE: "one"}).data  # noqa: B018
    adopt(repo).data  # noqa: B018

    assert refused(repo.json("agent", "release", "--agent", OTTER, "--all", **{CLAUDE: "one"})) == ("NOT_YOUR_NAME", 5)
    assert beat(repo, BB_SESSION="somebody-else").status == 0, "who holds none may be it"


def test_a_session_that_a_clock_far_ahead_has_opened_keeps_the_name_from_nobody(repo: Scratch):
    years_ahead = after(repo, 4 * 365 * 24 * 60)
    years_ahead.json("agent", "register", "--name", WREN, "--role", "tester", **{CLAUDE: "one"}).data  # noqa: B018
    reserve(years_ahead, WREN, "docs", **{CLAUDE: "one"}).data  # noqa: B018
    change(repo, "docs/b.md")

    assert adopt(after(repo, 60), WREN, **{CLAUDE: "two"}).data["reason"] == "uncommitted_scope"


def test_a_new_name_is_its_session_s_own_though_bb_agent_names_one_that_is_not(repo: Scratch):
    repo.json("agent", "register", "--name", WREN, "--role", "tester", **{CLAUDE: "one"}).data  # noqa: B018
    for other in (WREN, "shy-lyn"):  # somebody else's, and one that nobody has registered
        name = f"{other}-two"
        begun = repo.json("init", "--register", name, BB_AGENT=other, **{CLAUDE: "two"})

        assert begun.status == 0
        assert refused(beat(repo, name, **{CLAUDE: "three"})) == ("NOT_YOUR_NAME", 5)
        assert beat(repo, name, **{CLAUDE: "two"}).status == 0


def test_what_a_superseded_session_finds_is_not_told_in_the_agent_s_name(repo: Scratch):
    repo.json("agent", "register", "--name", WREN, "--role", "tester", **{CLAUDE: "one"}).data  # noqa: B018
    repo.git("add", "src")
    repo.git("commit", "--quiet", "-m", f"Touch\n\nBB-Agent: {WREN}")
    check = ["ci", "check", "--base", "HEAD~1", "--local", "--record"]

    repo.json(*check, BB_AGENT=WREN, **{CLAUDE: "two"})

    told = [line for line in log(repo) if line["kind"] in ("system.notify", "chat.message")]
    assert told
    assert {line["by"] for line in told} == {"user"}


def test_what_the_person_takes_with_an_actor_is_the_person_s_doing_and_told(repo: Scratch):
    assert repo.json("actor", "remove", OTTER, "--by", "user").status == 0

    (given_back,) = [line for line in log(repo) if line["kind"] == "x.bb.released"]
    assert given_back["by"] == "user"
    letters = [line for line in log(repo) if line["kind"] == "chat.message"]
    assert [line["data"]["to"] for line in letters] == [[OTTER]]


def test_what_is_said_of_a_holder_that_is_gone_can_be_done_by_the_person(repo: Scratch):
    later = after(repo, 45)
    (problem,) = later.json("problems").envelope["error"]["details"]["problems"]

    _, _, command = problem["next_step"].partition("release it: bb ")
    assert later.bb(*shlex.split(command.replace(" --agent user", "")), BB_AGENT="user").status == 0
    assert later.json("problems").status == 0


def test_the_plain_story_without_any_session_works_as_ever(repo: Scratch):
    adopted = adopt(repo).data

    assert adopted["session_id"].startswith("bb-")
    assert beat(after(repo, 10)).status == 0
    assert beat(after(repo, 500)).status == 0
    assert reserve(after(repo, 500), OTTER, "docs").status == 0


def test_a_session_that_bb_has_named_can_be_shown_and_is_known_from_then_on(repo: Scratch):
    mine = adopt(repo).data["session_id"]
    assert beat(repo, BB_SESSION="somebody-else").status == 0, "until it is shown it is nobody's for certain"

    assert beat(repo, BB_SESSION=mine).status == 0

    assert refused(beat(repo, BB_SESSION="somebody-else")) == ("NOT_YOUR_NAME", 5)
    assert refused(beat(after(repo, 60))) == ("ADOPTION_NEEDED", 4)


def test_a_session_is_in_the_ledger_as_a_digest_only(repo: Scratch):
    secret = "a-session-that-is-nobodys-business"
    repo.json("agent", "register", "--name", WREN, "--role", "tester", **{CLAUDE: secret}).data  # noqa: B018

    assert all(secret.encode() not in octets for octets in kept(repo).values())
    assert log(repo, "--kind", "actor.add")[-1]["data"]["session"] == callers.session_digest(secret)


def test_adopted_in_two_clones_the_later_line_counts_and_the_other_session_is_told_after_a_sync(
    repo: Scratch, tmp_path: Path
):
    repo.git("init", "--quiet", "--bare", str(tmp_path / "hub.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    repo.git("push", "--quiet", "origin", "HEAD")
    adopt(repo, **{CLAUDE: "one"}).data  # noqa: B018
    repo.json("sync", "--publish").data  # noqa: B018
    repo.git("clone", "--quiet", str(tmp_path / "hub.git"), str(tmp_path / "other"))
    other = replace(repo, path=tmp_path / "other")
    other.json("sync", "--pull").data  # noqa: B018
    other = after(other, 5)
    change(other, "src/a.py")
    adopt(other, **{CLAUDE: "two"}).data  # noqa: B018
    assert beat(after(repo, 5), **{CLAUDE: "one"}).status == 0, "nothing is known of it here"

    other.json("sync", "--publish").data  # noqa: B018
    after(repo, 5).json("sync", "--pull").data  # noqa: B018

    assert refused(beat(after(repo, 6), **{CLAUDE: "one"})) == ("SESSION_SUPERSEDED", 5)
    assert beat(after(other, 1), **{CLAUDE: "two"}).status == 0


def test_stale_minutes_that_are_pinned_hold_in_other_clones_too(repo: Scratch, tmp_path: Path):
    repo.git("init", "--quiet", "--bare", str(tmp_path / "hub.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    repo.git("push", "--quiet", "origin", "HEAD")
    repo.json("init", "--stale-minutes", "45").data  # noqa: B018
    repo.json("sync", "--publish").data  # noqa: B018
    repo.git("clone", "--quiet", str(tmp_path / "hub.git"), str(tmp_path / "other"))
    other = replace(repo, path=tmp_path / "other")

    other.json("sync", "--pull").data  # noqa: B018

    assert other.json("status", BB_AGENT_STALE_MINUTES="1").data["stale_minutes"] == {"minutes": 45, "pinned": 45}
    assert (other.store / "stale-minutes").read_text() == "45"


# -- the evidence


def test_3_2_changes_inside_another_agents_live_reservation_are_no_evidence(repo: Scratch):
    reserve(repo, HARBOR, "docs").data  # noqa: B018
    (repo.path / "src" / "a.py").unlink()
    change(repo, "docs/b.md")

    rejected = adopt(repo, OTTER, "--scope", ".")

    assert refused(rejected) == ("ADOPTION_REJECTED", 4)
    assert rejected.envelope["error"]["details"]["held_by_others"] == ["docs/b.md"]
    assert "docs/b.md" in rejected.envelope["error"]["message"]
    repo.json("agent", "release", "--agent", HARBOR, "--all").data  # noqa: B018
    assert adopt(repo, OTTER, "--scope", ".").status == 0


def test_3_4_the_resume_names_the_beads_whose_files_are_the_evidence(repo: Scratch):
    repo.json("agent", "reserve", "--agent", OTTER, "--scope", "lib", "--bead", "bb-7").data  # noqa: B018

    adopted = adopt(repo, OTTER, "--scope", ".").data

    assert adopted["beads"] == ["bb-1"]
    (event,) = repo.json("protocol", "list", "--type", "RESUME").data
    assert (event["bead_id"], event["scope"]) == ("bb-1", ".")


def test_3_4_without_any_bead_it_says_so_and_makes_none(repo: Scratch):
    adopted = adopt(repo, HARBOR, "--scope", "src").code
    assert adopted == "ADOPTION_REJECTED", "the change lies in what the other one holds"
    change(repo, "other/x")

    adopted = adopt(repo, HARBOR, "--scope", "other").data

    assert (adopted["beads"], "no bead is known" in adopted["evidence"]) == ([], True)
    beads = [task["id"] for epic in repo.json("sessions", "list").data["feed"] for task in epic["tasks"]]
    assert "unknown" not in beads


# -- who one is, and whom one names


@pytest.mark.parametrize(
    "words",
    [
        ["agent", "release", "--agent", OTTER, "--all"],
        ["agent", "reserve", "--agent", OTTER, "--scope", "x", "--bead", "b"],
        ["agent", "heartbeat", "--agent", OTTER],
        ["agent", "retire", "--agent", OTTER],
        ["agent", "ack", "--agent", OTTER, "--message", "aaaaaaaaaaaa.1"],
        ["agent", "wait", "--agent", OTTER, "--timeout", "1"],
        ["agent", "register", "--name", OTTER, "--role", "boss", "--force-update"],
        ["check", "src/a.py", "--agent", OTTER],
        ["protocol", "resolve", "aaaaaaaaaaaa.1", "--agent", OTTER, "--as", "accepted"],
        ["chat", "list", "--agent", OTTER],
        ["chat", "inject", "--agent", OTTER],
        ["cbcl", "send", "(tell (content x))", "--agent", OTTER],
        ["call", "actor_list", "--args", f'{{"by": "{OTTER}"}}'],
        ["call", "agent.release", "--args", f'{{"agent": "{OTTER}", "all": true}}'],
        ["agent", "send", "--from", OTTER, "--to", "user", "--bead", "b", "--category", "INFO", *LETTER],
    ],
    ids=lambda words: " ".join(words[:3]),
)
@pytest.mark.parametrize("caller", [HARBOR, "user"])
def test_who_names_another_agent_as_the_actor_is_refused(repo: Scratch, words: list[str], caller: str):
    before = kept(repo)
    assert refused(repo.json(*words, BB_AGENT=caller)) == ("NOT_YOUR_NAME", 5)
    assert kept(repo) == before


def test_a_person_without_bb_agent_may_act_as_an_agent_and_anybody_may_look(repo: Scratch):
    assert repo.json("agent", "release", "--agent", OTTER, "--all").status == 0
    for words in (["agent", "show"], ["agent", "inbox"], ["resume"], ["agent", "status"]):
        assert repo.json(*words, "--agent", OTTER, BB_AGENT=HARBOR).status == 0, words


def test_an_agent_that_registers_another_opens_no_session_of_it(repo: Scratch):
    register = ["agent", "register", "--name", WREN, "--role", "tester"]
    repo.json(*register, BB_AGENT=HARBOR, **{CLAUDE: "boss"}).data  # noqa: B018

    assert beat(repo, WREN, BB_AGENT=WREN, **{CLAUDE: "its-own"}).status == 0


# -- in an editor


def hook(repo: Scratch, verb: str, session: str, **more: str) -> dict[str, Any]:
    name = {"pre-tool": "PreToolUse", "prompt": "UserPromptSubmit"}[verb]
    edit = '"tool_name": "Write", "tool_input": {"file_path": "docs/b.md"}'
    payload = f'{{"hook_event_name": "{name}", "session_id": "{session}", {edit}}}'
    found: dict[str, Any] = repo.json("hook", verb, "--payload", payload, **more).data
    return found


def test_an_editors_hooks_know_its_session_and_stop_one_that_was_superseded(repo: Scratch):
    repo.json("agent", "register", "--name", WREN, "--role", "tester", **{CLAUDE: "one"}).data  # noqa: B018
    reserve(repo, WREN, "docs", **{CLAUDE: "one"}).data  # noqa: B018
    change(repo, "docs/b.md")
    assert hook(repo, "pre-tool", "one", BB_AGENT=WREN)["verdict"] == "passed"
    later = after(repo, 5)
    adopt(later, WREN, **{CLAUDE: "two"}).data  # noqa: B018

    stopped, told = (hook(later, verb, "one", BB_AGENT=WREN) for verb in ("pre-tool", "prompt"))

    assert stopped["verdict"] == "refused"
    assert "another session took over the name" in str(stopped["reply"])
    assert f"bb init --adopt {WREN}" in str(told["reply"])
    assert hook(later, "pre-tool", "two", BB_AGENT=WREN)["verdict"] == "passed"


# -- stale minutes that are pinned


def test_4_1_pinned_stale_minutes_hold_against_everybodys_environment(repo: Scratch):
    take = ["agent", "reserve", "--agent", HARBOR, "--scope", "src", "--bead", "b", "--takeover-stale"]
    later = stay(after(repo, 2), HARBOR)
    pinned = repo.json("init", "--stale-minutes", "15").data

    assert (pinned["stale_minutes"], pinned["changed"]) == (15, True)
    assert repo.json("init", "--stale-minutes", "15").data["changed"] is False
    assert later.json(*take, BB_AGENT_STALE_MINUTES="1").code == "RESERVATION_CONFLICT"
    assert later.json("status", BB_AGENT_STALE_MINUTES="1").data["stale_minutes"] == {"minutes": 15, "pinned": 15}
    assert "15 minutes" in later.bb("status").out
    assert repo.json("init", "--stale-minutes", "default").data["stale_minutes"] is None
    assert later.json(*take, BB_AGENT_STALE_MINUTES="1").status == 0, "as §4.1 has it"


def test_4_1_only_the_person_pins(repo: Scratch):
    assert refused(repo.json("init", "--stale-minutes", "15", BB_AGENT=OTTER)) == ("PERSON_ONLY", 5)
    assert refused(repo.json("init", "--stale-minutes", "0")) == ("INVALID_PIN", 2)
    assert repo.json("init", "--stale-minutes", "15", "--register", "shy-lynx").status == 2


# -- what the person does


def test_a_paused_agent_is_not_silent_and_keeps_what_it_holds(repo: Scratch):
    repo.json("agent", "pause", OTTER).data  # noqa: B018
    later = stay(after(repo, 600), HARBOR)
    take = ["agent", "reserve", "--agent", HARBOR, "--scope", "src", "--bead", "b", "--takeover-stale"]

    assert later.json(*take).code == "RESERVATION_CONFLICT"
    assert later.json("agent", "show", "--agent", OTTER).data["liveness"] == "active"
    later.json("agent", "unpause", OTTER).data  # noqa: B018
    assert later.json(*take).code == "RESERVATION_CONFLICT", "its silence counts from here"
    assert stay(after(repo, 620), HARBOR).json(*take).status == 0


@pytest.mark.parametrize("verb", ["release", "renew"])
def test_what_the_person_does_to_a_reservation_is_told_to_its_holder(repo: Scratch, verb: str):
    repo.json("agent", verb, "--agent", "user", "--scope", "src").data  # noqa: B018

    (letter,) = inbox(repo, OTTER)
    assert (letter["from_agent"], letter["category"], letter["bead_id"]) == ("user", "INFO", "bb-1")
    assert "src" in letter["subject"]
    repo.json("agent", verb, "--agent", OTTER, "--scope", "src")
    assert len(inbox(repo, OTTER)) == 1, "what one does oneself is no news"
