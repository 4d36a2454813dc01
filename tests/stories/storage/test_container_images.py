"""Containers of one image that brings a ledger along: each is a writer of its own from its first line on."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import environment, scratch

PROGRAM = f"{sys.executable} -m bb"

OVERLAYS = """
set -e
cd "$1"
mount -t tmpfs none layers
mkdir layers/u1 layers/w1 layers/u2 layers/w2
mount -t overlay one -o lowerdir=image,upperdir=layers/u1,workdir=layers/w1 one
mount -t overlay two -o lowerdir=image,upperdir=layers/u2,workdir=layers/w2 two
shift
exec "$@"
"""


def may_mount() -> bool:
    if shutil.which("unshare") is None or os.geteuid() != 0:
        return False
    return (
        subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0
    )


pytestmark = pytest.mark.skipif(not may_mount(), reason="this system lets us mount nothing")


def in_containers(folder: Path, script: str) -> str:
    """The output of a script that runs where `one` and `two` are containers of the image."""
    words = ["unshare", "-m", "sh", "-c", OVERLAYS, "sh", str(folder), "sh", "-ec", script]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment())
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("image", "one", "two", "layers"):
        (tmp_path / name).mkdir()
    repo = scratch(tmp_path / "image" / "repo")
    repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder")
    return tmp_path


def test_two_containers_of_one_image_are_two_writers_from_the_first_line_on(folder: Path):
    register = f"{PROGRAM} agent register --role builder --name"
    twice = f"(cd $box/repo; {register} $box-otter; {register} $box-heron; {PROGRAM} ledger status --json)"

    out = in_containers(folder, f"for box in one two; do {twice} | tail -n 1; done")

    one, two = (json.loads(row)["data"] for row in out.splitlines())
    image = {row["writer"] for row in one["writers"]} & {row["writer"] for row in two["writers"]}
    assert len(image) == 1
    assert [{row["writer"]: row["events"] for row in box["writers"]}[box["writer"]] for box in (one, two)] == [3, 3]
    assert len({one["writer"], two["writer"], *image}) == 3


def test_a_container_s_writer_is_not_kept_after_a_reboot(folder: Path):
    """Nothing would distinguish two containers then."""
    act = f"(cd one/repo; {PROGRAM} agent register --role builder --name $name-otter >/dev/null; ls .git/bb/j | wc -l)"
    reboot = 'sed -i \'s/"boot":"[^"]*"/"boot":"another"/\' one/repo/.git/bb/j/*/owner.json'

    out = in_containers(folder, f"name=first; {act}; {reboot}; name=second; {act}; name=third; {act}")

    assert out.split() == ["2", "3", "3"]
