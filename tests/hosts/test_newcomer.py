"""Somebody who has read the README, and has nothing but its commands and an agent program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.hosts import tools
from tests.hosts.bench import SECONDS
from tests.hosts.model.server import Model, serve
from tests.hosts.programs import HOSTS, isolated
from tests.support import ROOT

pytestmark = pytest.mark.hosts

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(?:sh|console)(?: title=\"[^\"]+\")?\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
MINUTES = 5


def typed(block: str) -> str:
    """The commands of a block of the README."""
    return "\n".join(re.findall(r"^\$ (.*)$", block, re.MULTILINE))


def test_from_a_clone_to_a_refused_edit_in_five_minutes_with_the_commands_of_the_readme(tmp_path: Path):
    host, model = HOSTS["claude"], Model()
    began = time.monotonic()
    install, set_up, first_agent = BLOCKS[0], typed(BLOCKS[1]), typed(BLOCKS[2])
    (pip,) = re.findall(r"pip install '.*'", install.replace("pipx", ""))
    (clone,) = re.findall(r"^git clone (\S+)$", install, re.MULTILINE)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    programs = os.pathsep.join([str(tmp_path / "venv" / "bin"), str(host.path.parent), os.environ["PATH"]])
    person = {
        f"GIT_{who}_{what}": "sam@example.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    here = dict(os.environ) | person | {"HOME": str(tmp_path), "PATH": programs}

    def run(commands: str, folder: Path, **more: str) -> str:
        done = subprocess.run(
            ["bash", "-ec", commands], cwd=folder, env=here | more, capture_output=True, text=True, timeout=MINUTES * 60
        )
        assert done.returncode == 0, f"{commands}: {done.stdout}{done.stderr}"
        return done.stdout

    run(f"git clone --quiet '{ROOT}' bb && {pip}", tmp_path)  # from here, not from the address that the README names
    assert clone.endswith("/bb")
    shown = run(set_up, tmp_path)
    shop = tmp_path / "shop"
    run(first_agent, shop)
    server = serve(model)
    env = isolated(tmp_path, tmp_path / "venv" / "bin") | host.settings(tmp_path, shop, model.url)
    model.script = [*tools.edit("claude", shop / "src" / "dates.py"), "All done."]
    try:
        subprocess.run(
            [host.path, *host.words, "Make x two."], cwd=shop, env=env, stdin=subprocess.DEVNULL, timeout=SECONDS
        )
    finally:
        server.shutdown()
        server.server_close()

    assert "Claude Code" in shown
    assert (shop / "src" / "dates.py").read_text() == "x = 1\n"
    assert "src/dates.py is reserved by amber-otter" in model.turns[-1].text
    assert time.monotonic() - began < MINUTES * 60
