"""A day's work in which every text is hostile, as it is told by the commands that go on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bb.cli.watch import filters
from bb.cli.watch.layout import Framed, Layout
from bb.cli.watch.model import VIEWS, Chosen
from bb.cli.watch.watch import line
from bb.kernel.escaping import has_control
from bb.kernel.foreign import Foreign
from bb.ops.desk.desk import Desk
from bb.ops.overview.news import News
from bb.ops.overview.screen_view import ScreenData
from tests.faces.following import Following
from tests.hostile import has_raw, haunted_scene
from tests.near import Near
from tests.support import environment

# Notes down what it is told: what stands in its environment, and what it reads.
TELL = """import json, os, sys
told = {name: value for name, value in os.environ.items() if name.startswith(("BB_PROBLEM_", "BB_REPOSITORY"))}
with open(sys.argv[1], "a", encoding="utf-8") as log:
    log.write(json.dumps([told, sys.stdin.read(), sys.argv[2:]]) + "\\n")
"""


@pytest.fixture(scope="module")
def haunted(tmp_path_factory: pytest.TempPathFactory) -> Near:
    return haunted_scene(tmp_path_factory.mktemp("following"))


@pytest.fixture
def desk(haunted: Near) -> Desk:
    return Desk(str(haunted.path), environment(**haunted.settings))


def is_harmless(said: str) -> bool:
    return bool(said) and not has_raw(said) and not has_control(said) and not said.startswith("Error: [FORGED]")


def test_bb_watch_in_a_pipe_says_harmless_lines(haunted: Near, desk: Desk):
    there = list(News(desk, None, None).before(0))

    with Following(haunted, "watch", "--since", "2020-01-01T00:00:00Z") as watching:
        said = [watching.line() for _ in there]

    assert len(said) > 40
    assert all(map(is_harmless, said))
    assert said == [line(Foreign(each)) for each in there]


def test_bb_watch_says_ascii_in_json(haunted: Near, desk: Desk):
    there = list(News(desk, None, None).before(0))

    with Following(haunted, "watch", "--since", "2020-01-01T00:00:00Z", "--json") as watching:
        said = [watching.line() for _ in there]

    assert all(each.isascii() and is_harmless(each) for each in said)
    assert has_raw("".join(json.loads(each)["text"] for each in said)), "a program is told the text itself"


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_of_bb_watch_is_drawn_harmless(desk: Desk, view: str, columns: int):
    picture = ScreenData(desk, None, None, 0).picture()
    shown = filters.applied(picture, filters.of(None, None, ""))
    status = picture.status
    frame = Framed(status["repository"], status["sync"], status["is_damaged"], False, None)

    drawn = Layout().drawn(shown, frame, Chosen(view=view), columns, 400, desk.now())

    assert len([each for each in drawn.lines if each.strip()]) > 5
    assert all(not has_raw(each) and not has_control(each) for each in drawn.lines)


@pytest.mark.parametrize("json_or_not", [[], ["--json"]])
def test_bb_problems_says_harmless_lines_while_it_watches(haunted: Near, json_or_not: list[str]):
    count = len(haunted.json("problems").envelope["error"]["details"]["problems"])
    assert count > 5

    with Following(haunted, "problems", "--watch", *json_or_not) as watching:
        said = [watching.line() for _ in range(count)]

    assert all(map(is_harmless, said))
    assert not json_or_not or all(json.loads(each)["problem"]["text"] for each in said)


@pytest.mark.parametrize("words", [["--test"], ["--existing", "--once"]])
def test_the_command_of_bb_notify_is_told_harmless_lines_and_ascii(haunted: Near, tmp_path: Path, words: list[str]):
    (tmp_path / "tell.py").write_text(TELL)
    log = tmp_path / "told"

    ran = haunted.bb("notify", *words, "--command", f"{sys.executable} {tmp_path}/tell.py {log}")

    assert ran.status == 0, ran.err
    told = [json.loads(each) for each in log.read_text().splitlines()]
    assert len(told) > (0 if words == ["--test"] else 5)
    for variables, stdin, more in told:
        assert all(map(is_harmless, variables.values()))
        assert stdin.isascii()
        assert stdin.count("\n") == 1
        assert is_harmless(stdin.strip())
        assert json.loads(stdin)["problem"]["text"]
        assert more == []
    assert all(is_harmless(each) for each in (ran.out + ran.err).splitlines())
