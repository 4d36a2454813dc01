"""The programs that run for the daemon, written down for the next one."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.daemon.actors import children
from bb.daemon.actors.children import Child, Children, LeftOver
from bb.kernel.errors import BbError
from tests.waiting import PATIENCE, until

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts programs in sessions of their own, which go when the test has ended."""
    started: list[subprocess.Popen[bytes]] = []

    def one(*command: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(command or ["sleep", "60"], start_new_session=True, stdout=subprocess.PIPE))
        return started[-1]

    yield one
    for each in started:
        each.kill()
        each.wait()
        if each.stdout:
            each.stdout.close()


def fates(path: Path) -> dict[str, bool]:
    return {each.child.actor: each.is_running for each in Children(str(path)).left_over()}


def rewritten(path: Path, **changes: Any) -> None:
    """Change what is written down about every child."""
    written = json.loads(path.read_text())
    for each in written["children"]:
        each |= changes
    path.write_text(json.dumps(written))


@needs_proc
def test_the_next_daemon_learns_who_still_runs_and_who_has_gone(tmp_path: Path, start: Start):
    path, here, gone = tmp_path / "children.json", start(), start()
    kept = Children(str(path))
    kept.add("g1", "ada", here.pid, "sleep")
    kept.add("g1", "bo1", gone.pid, "sleep")
    gone.kill()
    gone.wait()
    assert fates(path) == {"ada": True, "bo1": False}
    assert [child.pid for child in Children(str(path))] == [here.pid, gone.pid]


@needs_proc
def test_one_that_has_ended_and_was_not_waited_for_does_not_run(tmp_path: Path, start: Start):
    ended = start("true")
    kept = Children(str(tmp_path / "children.json"))
    child = kept.add("g1", "ada", ended.pid, "true")
    until(lambda: not children.is_running(child))
    assert children.start_time(ended.pid) is None
    ended.wait()


def test_a_child_is_written_down_at_once_and_forgotten_at_once(tmp_path: Path):
    path = tmp_path / "children.json"
    kept = Children(str(path))
    kept.add("g1", "ada", 4_000_001, "claude")
    kept.add("g2", "ada", 4_000_002, "codex")
    kept.add("g1", "ada", 4_000_003, "gemini")
    assert [(each.group, each.pid) for each in Children(str(path))] == [("g1", 4_000_003), ("g2", 4_000_002)]
    kept.remove("g1", "ada")
    kept.remove("g1", "nobody")
    assert [(each.group, each.program) for each in Children(str(path))] == [("g2", "codex")]


@needs_proc
def test_a_number_that_was_given_to_another_process_is_left_alone(tmp_path: Path, start: Start):
    path, other = tmp_path / "children.json", start()
    Children(str(path)).add("g1", "ada", other.pid, "sleep")
    rewritten(path, began=children.start_time(other.pid) - 1)
    check_left_alone(path, other)


@needs_proc
@pytest.mark.parametrize("boot", ["another", None])
def test_nobody_is_taken_for_a_process_of_another_boot(tmp_path: Path, start: Start, boot: str | None):
    path, other = tmp_path / "children.json", start()
    Children(str(path)).add("g1", "ada", other.pid, "sleep")
    rewritten(path, boot=boot)
    check_left_alone(path, other)


@needs_proc
def test_where_it_is_not_known_when_it_began_it_is_left_alone(tmp_path: Path, start: Start):
    path, other = tmp_path / "children.json", start()
    Children(str(path)).add("g1", "ada", other.pid, "sleep")
    rewritten(path, began=None)
    check_left_alone(path, other)


def check_left_alone(path: Path, other: subprocess.Popen[bytes]) -> None:
    (found,) = Children(str(path)).left_over()
    assert not found.is_running
    assert not children.stop(found.child)
    assert not children.kill(found.child)
    assert other.poll() is None


@needs_proc
def test_who_was_left_behind_is_stopped_with_what_it_started(tmp_path: Path, start: Start):
    leader = start("sh", "-c", "sleep 60 & echo $!; wait")
    assert leader.stdout
    follower = int(leader.stdout.readline())
    Children(str(tmp_path / "children.json")).add("g1", "ada", leader.pid, "sh")
    (found,) = Children(str(tmp_path / "children.json")).left_over()
    assert found == LeftOver(found.child, True)
    assert children.stop(found.child)
    assert leader.wait(PATIENCE) == -15
    until(lambda: children.start_time(follower) is None)
    assert not children.stop(found.child)


@needs_proc
def test_who_does_not_listen_is_killed(tmp_path: Path, start: Start):
    stubborn = start("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
    assert stubborn.stdout
    stubborn.stdout.readline()
    child = Children(str(tmp_path / "children.json")).add("g1", "ada", stubborn.pid, "sh")
    assert children.stop(child)
    assert children.is_running(child)
    assert children.kill(child)
    assert stubborn.wait(PATIENCE) == -9


@needs_proc
def test_a_name_with_parentheses_and_spaces_hides_nothing(tmp_path: Path, start: Start):
    program = tmp_path / "a) S 1 (b"
    program.symlink_to("/bin/sleep")
    before, one, after = start(), start(str(program), "60"), start()
    until(lambda: Path(f"/proc/{one.pid}/comm").read_text() == "a) S 1 (b\n")
    moments = [children.start_time(each.pid) or 0 for each in (before, one, after)]
    assert moments == sorted(moments)
    assert moments[0] > 0


# -- a file that is none


def test_where_nothing_was_written_down_nobody_is_left(tmp_path: Path):
    assert Children(str(tmp_path / "children.json")).left_over() == []


GOOD = {"group": "g1", "actor": "ada", "pid": 4_000_001, "began": 7, "boot": "b", "program": "claude"}
WRONG = [
    *({**GOOD, name: value} for name in ("group", "actor", "program") for value in (None, 3, [], {})),
    *({**GOOD, "pid": value} for value in (None, "7", True, 1.5, 0, 1, -1, [])),
    *({**GOOD, "began": value} for value in ("7", True, 1.5, [])),
    *({**GOOD, "boot": value} for value in (7, True, [])),
    *([], None, "ada", 7, {}),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_does_not_fit_is_skipped(tmp_path: Path, wrong: Any):
    path = tmp_path / "children.json"
    path.write_text(json.dumps({"v": 1, "children": [wrong, GOOD, {**GOOD, "group": "g2", "new": 1}]}))
    kept = [Child(**GOOD), Child(**GOOD).replace(group="g2")]
    assert list(Children(str(path))) == kept
    assert fates(path) == {"ada": False}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["children", "pid", "v"]), inner),
)


@given(st.binary(max_size=60) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_file_can_be_read_and_written_over(tmp_path_factory: pytest.TempPathFactory, octets: bytes):
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(octets)
    kept = Children(str(path))
    assert [each.is_running for each in kept.left_over()] == [False] * len(list(kept))
    kept.add("g1", "ada", 4_000_001, "claude")
    assert [each.actor for each in Children(str(path))][-1] == "ada"


def test_what_cannot_be_written_down_is_refused(tmp_path: Path):
    with pytest.raises(BbError) as refusal:
        Children(str(tmp_path / "none" / "children.json")).add("g1", "ada", 4_000_001, "claude")
    assert refusal.value.code == "FOLDER_MISSING"
