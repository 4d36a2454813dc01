"""The token of a global reservation fences off whoever goes on after somebody else was granted the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bb.ledger.published import pins
from tests.stories.travel.travel_support import AMBER, COBALT, SILENT, Clone
from tests.support import NOON, environment


def reserve(at: Clone, agent: str, scope: str, **given: object) -> int:
    answer = at.ask("agent.reserve", agent=agent, scope=[scope], bead="bb-1", **{"global": True}, **given)
    return int(answer["token"])


def test_work_under_an_old_token_is_refused_and_under_the_current_one_it_is_not(pair: list[Clone]):
    here, there = pair
    old = reserve(here, AMBER, "src")
    there.sync()
    new = reserve(there, COBALT, "src", takeover_stale=True, now=SILENT)
    here.sync(now=SILENT)

    refusal = here.refused("check", path=["src/a.py"], agent=AMBER, token=old, now=SILENT)

    assert old < new
    assert (refusal.code, refusal.details["token"]) == ("TOKEN_FENCED", new)
    assert there.ask("check", path=["src/a.py"], agent=COBALT, token=new, now=SILENT)["may_touch"]
    assert here.ask("check", path=["docs/a.md"], agent=AMBER, token=old, now=SILENT)["may_touch"]


def test_a_commit_of_what_is_held_everywhere_says_under_which_token_it_was_made(pair: list[Clone]):
    here, _ = pair
    token = reserve(here, AMBER, "src")
    assert here.bb("hooks", "install").status == 0
    (here.path / "src").mkdir()
    (here.path / "src" / "a.py").write_text("a = 1\n")
    (here.path / "b.py").write_text("b = 1\n")
    here.settings["BB_AGENT"] = AMBER

    env = environment(BB_AGENT=AMBER, BB_NOW=NOON, PATH=f"{Path(sys.executable).parent}:/usr/bin:/bin")
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.invalid"]
    for name in ("src/a.py", "b.py"):
        subprocess.run(["git", "add", name], cwd=here.path, env=env, check=True)
        subprocess.run(["git", *identity, "commit", "-q", "-m", f"Add {name}"], cwd=here.path, env=env, check=True)

    covered, other = here.git("log", "-1", "--format=%B", "HEAD^"), here.git("log", "-1", "--format=%B", "HEAD")
    assert f"BB-Token: {token}" in covered
    assert f"BB-Agent: {AMBER}" in covered
    assert f"BB-Agent: {AMBER}" in other
    assert "BB-Token" not in other


def test_a_token_from_before_what_is_still_known_is_good_only_for_what_is_held_with_it(pair: list[Clone]):
    """A fleet has forgotten who was granted what since then, and who has released it again."""
    here, _ = pair
    token = reserve(here, AMBER, "src")
    store = str(here.path / ".git" / "bb")
    known = pins.read(store)
    pins.write(store, known.replace(admitted=known.admitted.replace(floor=token + 1)))

    refusal = here.refused("check", path=["docs/a.md"], agent=AMBER, token=token)

    assert (refusal.code, refusal.details) == ("TOKEN_FENCED", {"token": token, "path": "docs/a.md"})
    assert here.ask("check", path=["src/a.py"], agent=AMBER, token=token)["may_touch"]
