"""The harness that docs/harness.md shows is a whole one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from bb.attention.acts.tools import TOOLS
from bb.attention.refusals import NUMBERS
from bb.wire.harness_session import METHODS, NOTICES
from tests.stories.attention.harness_support import AMBER, World, dm
from tests.support import ROOT, environment
from tests.waiting import until

PAGE = (ROOT / "docs" / "harness.md").read_text()
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_harness_of_the_page_answers_what_it_is_asked(world: World, tmp_path: Path):
    assert len(EXAMPLE.splitlines()) < 60
    script = tmp_path / "harness.py"
    script.write_text(EXAMPLE)
    world.bb("chat", "bind", AMBER, "--handle", "github:amber-bot")
    harness = subprocess.Popen(
        [sys.executable, str(script), sys.executable, "-m", "bb", "chat", "serve", "--stdio"],
        cwd=world.repo.path,
        env=environment(BB_AGENT=AMBER),
        stdin=subprocess.DEVNULL,
    )
    try:
        on_github = {"source": {"platform": "github"}, "target": {"recipient": "amber-bot"}}
        line = {**dm("1", "check the deploy?"), **on_github}
        assert world.repo.json("chat", "ingest", stdin=json.dumps(line)).status == 0
        until(lambda: world.show("1")["disposition"] == "responded", "the response")
        steps = [each["step"] for each in world.show("1")["steps"]]
    finally:
        harness.kill()
        harness.wait()

    assert steps[:5] == ["decided", "offered", "accepted", "started", "answered"]
    sent = world.bb("chat", "read", "1", "--agent", AMBER)["items"][-1]
    assert sent["parts"][0]["text"] == "I look into it."


def test_the_page_names_every_method_tool_and_number():
    assert [method for method in (*METHODS, *NOTICES) if f"`{method}`" not in PAGE] == []
    assert len(TOOLS) == 7
    codes = {code.lower() for code in NUMBERS} - {"not_initialized_session"} | {"not_initialized"}
    assert [code for code in codes if f"`{code}`" not in PAGE] == []
    assert [number for number in NUMBERS.values() if str(number) not in PAGE] == []
