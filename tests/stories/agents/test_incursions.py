"""What an agent changes in a place that another one holds is found, told once, and settled between the two of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.stories.agents.agents_support import (
    HARBOR,
    OTTER,
    WREN,
    after,
    crew,
    inbox,
    incursions,
    log,
    nothing_written,
    reserve,
)
from tests.support import Scratch, environment

COMMIT = "c0ffee" * 6 + "beef"

# what a hook, or CI, does with the paths that it has found
FINDER = """
import json, sys
from bb.ops.desk import desk; from bb.ops.holdings import incursions
here = desk.desk_here()
who, by, commit, *paths = sys.argv[1:]
held = here.holdings(here.store.caught_up(), here.now())
met = [(path, overlap.held) for path in paths for overlap in held.overlaps([here.scope(path, is_path=True)])]
print(json.dumps([event.id for event in incursions.report(here, who, by, met, commit or None)]))
"""


def find(repo: Scratch, who: str, *paths: str, by: str = "hook", commit: str = "", agent: str = "") -> list[str]:
    """The incursions that are recorded when WHO is found to have touched PATHS, and AGENT is the one who looks."""
    settings = repo.settings | ({"BB_AGENT": agent} if agent else {})
    done = subprocess.run(
        [sys.executable, "-c", FINDER, who, by, commit, *paths],
        cwd=repo.path,
        env=environment(**settings),
        check=True,
        capture_output=True,
    )
    return list(json.loads(done.stdout))


def resolve(repo: Scratch, event: str, state: str, agent: str, *more: str) -> Any:
    return repo.json("protocol", "resolve", event, "--as", state, "--agent", agent, *more)


def listed(repo: Scratch, *more: str) -> list[dict[str, Any]]:
    return repo.json("protocol", "incursions", *more).data


def holders(repo: Scratch) -> dict[str, str]:
    return {each["scope"]: each["agent_id"] for each in repo.json("agent", "status").data["reservations"]}


def problems(repo: Scratch) -> list[dict[str, Any]]:
    asked = repo.json("problems")
    found = asked.data if asked.status == 0 else asked.envelope["error"]["details"]
    return [each for each in found["problems"] if each["kind"] == "incursion"]


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    made = crew(tmp_path / "repo", OTTER, HARBOR, WREN)
    reserve(made, HARBOR, "src").data  # noqa: B018  (must succeed)
    return made


def test_what_was_touched_is_open_and_its_owner_is_told_once_however_often_it_is_found(repo: Scratch):
    (event,) = find(repo, OTTER, "src/a.py", "src/b.py", commit=COMMIT, by="commit", agent=OTTER)
    with nothing_written(repo):
        assert find(repo, OTTER, "src/a.py", "src/b.py", commit=COMMIT, by="ci") == []

    (found,) = incursions(repo)
    assert (found["id"], found["outcome"], found["state"]) == (event, "touched", "open")
    assert (found["paths"], found["count"], found["commit"]) == (["src/a.py", "src/b.py"], 2, COMMIT)
    assert (found["found_by"], found["resolution"]) == ("commit", None)
    (letter,) = inbox(repo, HARBOR)
    assert letter["from_agent"] == OTTER
    assert "src/b.py" in letter["body"]
    assert repo.json("protocol", "show", event).data == found == listed(repo)[0]


def test_who_looks_need_not_be_who_did_it_and_a_person_may_have(repo: Scratch):
    find(repo, OTTER, "src/a.py", by="ci")
    find(repo, "user", "src/b.py")
    assert [
        (event["by"], event["data"]["context"]["from_agent"]) for event in log(repo, "--kind", "system.notify")
    ] == [
        ("user", OTTER),
        ("user", "user"),
    ]
    told = [each["text"] for each in repo.json("timeline").data]
    assert f"found that {OTTER} changed src/a.py, held by {HARBOR}" in told
    assert f"changed src/b.py, held by {HARBOR}" in told


def test_every_overview_says_what_is_open_until_it_is_settled(repo: Scratch):
    (event,) = find(repo, OTTER, "src/a.py")
    assert [each["id"] for each in repo.json("status").data["incursions"]] == [event]
    (problem,) = problems(repo)
    assert (problem["event_id"], problem["text"]) == (
        event,
        f"{OTTER} changed src/a.py, in a scope that {HARBOR} holds: src",
    )
    command = problem["next_step"].partition(": ")[2].split()[1:]
    assert f"{OTTER} changed src/a.py, held by {HARBOR} (src)" in repo.bb("status").out

    repo.json(*command).data  # noqa: B018  (the next step works as it is printed)

    assert repo.json("status").data["incursions"] == problems(repo) == []
    assert repo.json("protocol", "list", "--state", "accepted").data[0]["resolution"]["by"] == "user"


def test_the_owner_accepts_and_who_came_in_is_told(repo: Scratch):
    (event,) = find(repo, OTTER, "src/a.py")
    settled = resolve(repo, event, "accepted", HARBOR, "--note", "Thank you.").data
    assert settled["state"] == "accepted"
    assert settled["resolution"] == {
        "state": "accepted",
        "by": HARBOR,
        "at": repo.settings["BB_NOW"],
        "note": "Thank you.",
    }
    assert inbox(repo, OTTER)[0]["body"] == f"{HARBOR} accepted the changes of {OTTER} in src/a.py. Thank you."
    assert holders(repo) == {"src": HARBOR}
    shown = repo.bb("protocol", "show", event).out
    assert "src/a.py" in shown
    assert f"accepted by {HARBOR}" in shown

    with nothing_written(repo):
        assert resolve(repo, event, "accepted", HARBOR).data == settled
        refused = resolve(repo, event, "reverted", OTTER)
        assert (refused.status, refused.code) == (7, "INCURSION_RESOLVED")


def test_who_came_in_takes_it_back_and_to_touch_it_again_is_new(repo: Scratch):
    (event,) = find(repo, OTTER, "src/a.py")
    with nothing_written(repo):
        assert resolve(repo, event, "accepted", OTTER).code == "RESOLVE_FORBIDDEN"
        assert resolve(repo, event, "reverted", WREN).code == "RESOLVE_FORBIDDEN"
    assert resolve(repo, event, "reverted", OTTER).data["state"] == "reverted"

    (again,) = find(repo, OTTER, "src/a.py")
    assert [(each["id"], each["state"]) for each in listed(repo)] == [(again, "open"), (event, "reverted")]
    assert len(inbox(repo, HARBOR)) == 3


@pytest.mark.parametrize("who", [HARBOR, "user"])
def test_what_is_transferred_is_held_by_who_came_in_from_that_moment_on(repo: Scratch, who: str):
    (event,) = find(repo, OTTER, "src/a.py")
    before = len(log(repo))
    resolve(repo, event, "transferred", who).data  # noqa: B018

    assert holders(repo) == {"src": OTTER}
    recorded = [(each["kind"], each["by"]) for each in log(repo)[before:]]
    assert recorded[:3] == [("x.bb.resolved", who), ("x.bb.released", who), ("x.bb.reserved", OTTER)]
    assert repo.json("agent", "release", "--agent", OTTER, "--all").data["scope"] == "src"
    assert repo.json("ledger", "verify").status == 0


def test_what_nobody_holds_any_more_cannot_be_transferred(repo: Scratch):
    (event,) = find(repo, OTTER, "src/a.py")
    repo.json("agent", "release", "--agent", HARBOR, "--all").data  # noqa: B018
    with nothing_written(repo):
        refused = resolve(repo, event, "transferred", HARBOR)
    assert (refused.status, refused.code) == (4, "NOTHING_TO_TRANSFER")
    assert listed(repo, "--state", "open") != [], "it is still to be settled"


def test_nothing_is_transferred_to_an_agent_that_is_not_in_service(repo: Scratch):
    (gone,) = find(repo, OTTER, "src/a.py")
    (stranger,) = find(repo, "wild-goose", "src/b.py")
    repo.json("agent", "retire", "--agent", OTTER).data  # noqa: B018
    with nothing_written(repo):
        assert resolve(repo, gone, "transferred", HARBOR).code == "AGENT_RETIRED"
        assert resolve(repo, stranger, "transferred", HARBOR).code == "AGENT_NOT_FOUND"
    assert resolve(repo, stranger, "accepted", HARBOR).data["state"] == "accepted"


def test_two_who_work_beside_each_other_are_settled_too_and_a_refusal_is_not(repo: Scratch):
    reserve(repo, OTTER, "src/a.py", "--allow-overlap").data  # noqa: B018
    assert reserve(repo, WREN, "src/b.py").status == 7
    beside, refused = sorted(listed(repo), key=lambda each: str(each["outcome"]))
    assert (beside["state"], refused["state"]) == ("open", "closed")

    assert resolve(repo, refused["id"], "accepted", HARBOR).code == "INCURSION_CLOSED"
    assert resolve(repo, beside["id"], "accepted", HARBOR).data["state"] == "accepted"
    assert problems(repo) == []


def test_the_list_has_what_is_open_first_and_can_be_narrowed(repo: Scratch):
    (first,) = find(repo, OTTER, "src/a.py")
    (second,) = find(after(repo, 1), WREN, "src/b.py")
    (third,) = find(after(repo, 2), OTTER, "src/c.py")
    resolve(repo, third, "accepted", HARBOR).data  # noqa: B018

    assert [each["id"] for each in listed(repo)] == [second, first, third]
    assert [each["id"] for each in listed(repo, "--agent", OTTER)] == [first, third]
    assert [each["id"] for each in listed(repo, "--state", "accepted")] == [third]
    assert [each["id"] for each in listed(repo, "--limit", "1")] == [second]
    assert listed(repo, "--state", "transferred") == []
    assert repo.bb("protocol", "incursions", "--state", "transferred").out == "No incursions.\n"


@pytest.mark.parametrize("name", ["", "nope", "HANDOFF", "aaaaaaaaaaaa.1", "\x1b[2J", "x" * 999])
def test_what_is_no_incursion_cannot_be_settled(repo: Scratch, name: str):
    if name == "HANDOFF":
        said = ["--bead", "b", "--subject", "s", "--summary", "s", "--next-action", "n"]
        name = repo.json("protocol", "handoff", "--from", OTTER, "--to", HARBOR, *said).data["id"]
    with nothing_written(repo):
        refused = resolve(repo, name, "accepted", HARBOR)
    assert (refused.status, refused.code) == (3, "INCURSION_NOT_FOUND")


def test_two_clones_that_find_the_same_have_found_one_thing(repo: Scratch, tmp_path: Path):
    shutil.copytree(repo.path, tmp_path / "copy")
    copy = Scratch(tmp_path / "copy", repo.settings)
    (here,) = find(repo, OTTER, "src/a.py", commit=COMMIT)
    (there,) = find(copy, OTTER, "src/a.py", commit=COMMIT, by="ci")
    assert here != there
    resolve(copy, there, "accepted", HARBOR).data  # noqa: B018
    (foreign,) = [path for path in (copy.store / "j").iterdir() if path.name == there.partition(".")[0]]
    shutil.copytree(foreign, repo.store / "j" / foreign.name)

    (found,) = listed(repo)
    assert found["state"] == "accepted"
    assert found["id"] in (here, there)
    assert {repo.json("protocol", "show", each).data["id"] for each in (here, there)} == {found["id"]}
    assert repo.json("status").data["incursions"] == problems(repo) == []
    told = [letter["subject"] for letter in inbox(repo, HARBOR)]
    assert told == [f"{OTTER} changed src/a.py; you hold src"] * 2, "each clone has told on its own"
