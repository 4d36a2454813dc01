"""A small branch that unpacks into a huge one is refused by a code of its own, soon, in little memory, and changes
nothing here: git packs what repeats itself into next to nothing, and anybody who may push can use that."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bb.ledger.files.child import Child, TooMuch
from bb.ledger.files.windows_processes import SubprocessChild
from bb.ledger.journal import line as lines
from bb.ledger.published import bounds
from bb.ledger.published.charter import Charter, NotALedger
from tests.stories.travel.branch_support import FOLDER, PLAIN, WHO, Branch, File
from tests.support import Scratch, environment, scratch

TOO_LARGE, NO_LEDGER, CHANGE = "LEDGER_TOO_LARGE", "NOT_A_LEDGER", "CHANGE_TOO_LARGE"
MOST_MEMORY = 256  # megabytes of any process, git's own included; without bounds it is thousands
WRITER = "a" * 12
Put = Callable[[Branch], str]


def entry(mode: str, name: bytes, found: str) -> bytes:
    return b"%s %s\0%s" % (mode.encode(), name, bytes.fromhex(found))


def tree(branch: Branch, **found: tuple[str, str]) -> str:
    """A tree by hand: NAME=(mode, object)."""
    return branch.write("tree", b"".join(entry(mode, name.encode(), at) for name, (mode, at) in sorted(found.items())))


def commit(branch: Branch, at: str, message: str = "x", parents: tuple[str, ...] = ()) -> str:
    rows = [f"tree {at}", *(f"parent {each}" for each in parents), f"author {WHO}", f"committer {WHO}", "", message, ""]
    return branch.write("commit", "\n".join(rows).encode())


def charter(branch: Branch) -> tuple[str, str]:
    return PLAIN, branch.write("blob", Charter("abcdefghijklmnop").text().encode())


def repeated(branch: Branch) -> str:
    """Thirty levels, each of which has the next one twice: a billion paths."""
    found = tree(branch, f=(PLAIN, branch.write("blob", b"x\n")))
    for _ in range(30):
        found = tree(branch, a=(FOLDER, found), b=(FOLDER, found))
    return found


def a_tree_that_repeats_itself(branch: Branch) -> str:
    return branch.write("tree", entry(PLAIN, b"bb.json", charter(branch)[1]) + entry(FOLDER, b"w", repeated(branch)))


def writers_that_share_their_files(branch: Branch) -> str:
    blob = branch.write("blob", b"x\n")
    files = branch.write("tree", b"".join(entry(PLAIN, b"%012d.jsonl" % n, blob) for n in range(1, 2001)))
    writers = branch.write("tree", b"".join(entry(FOLDER, b"aa%08d" % n, files) for n in range(2000)))
    return tree(branch, **{"bb.json": charter(branch), "w": (FOLDER, tree(branch, aa=(FOLDER, writers)))})


def a_huge_charter(branch: Branch) -> str:
    return tree(branch, **{"bb.json": (PLAIN, branch.write("blob", b" " * (250 << 20)))})


def lines_of_spaces(branch: Branch) -> str:
    """Each line is right, and forty megabytes of them are packed a thousand times smaller."""
    data = b'{"_":"aaaaaaaa","x":"' + b" " * 1_000_000 + b'"}'
    link, files = lines.START, {"bb.json": File(found=charter(branch)[1])}
    for n in range(1, 41):
        head = (
            f'{{"v":1,"id":"{WRITER}.{n}","l":{n},"ts":"2026-01-05T12:00:00.000Z","kind":"x.other","group_id":"g_x",'
            f'"scope_key":"","by":"user","p":"{link.head_digest}","dh":"{lines.digest(data)}"'
        )
        raw = head.encode() + b',"data":' + data + b"}"
        link = lines.check(raw, WRITER, link)
        files[f"w/{WRITER[:2]}/{WRITER}/{n:012}.jsonl"] = File(raw + b"\n")
    return branch.tree(files)


def line_feeds(branch: Branch) -> str:
    return branch.tree(
        {"bb.json": File(found=charter(branch)[1]), f"w/aa/{WRITER}/000000000001.jsonl": File(b"\n" * 1_000_000)}
    )


def a_snapshot_of_line_feeds(branch: Branch) -> str:
    part = branch.write("blob", b"\n" * (15 << 20))
    parts = branch.write("tree", b"".join(entry(PLAIN, b"%04d.jsonl" % n, part) for n in range(1, 17)))
    manifest = tree(branch, **{"000001.jsonl": (PLAIN, branch.write("blob", b"{}\n" * 1_000_000))})
    snap = tree(branch, **{"0" * 32: (FOLDER, parts)})
    return tree(branch, **{"archive": (FOLDER, manifest), "bb.json": charter(branch), "snap": (FOLDER, snap)})


BOMBS: dict[str, tuple[Callable[[Branch], str], tuple[str, ...]]] = {
    "a tree that repeats itself": (a_tree_that_repeats_itself, (TOO_LARGE, NO_LEDGER)),
    "writers that share their files": (writers_that_share_their_files, (TOO_LARGE,)),
    "a huge charter": (a_huge_charter, (TOO_LARGE,)),
    "lines of spaces": (lines_of_spaces, (TOO_LARGE,)),
    "line feeds": (line_feeds, (NO_LEDGER,)),
    "a snapshot of line feeds": (a_snapshot_of_line_feeds, (NO_LEDGER, TOO_LARGE)),
}
MEASURED = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // (1 << 20 if sys.platform == "darwin" else 1 << 10)
print(json.dumps([json.loads(done.stdout), done.returncode, peak]))
"""


def measured(repo: Scratch, *words: str) -> tuple[dict[str, Any], int, int]:
    """What a command answers, its exit status, and the most memory that it or a process of its needed, in megabytes."""
    command = [sys.executable, "-c", MEASURED, sys.executable, "-m", "bb", *words, "--json"]
    done = subprocess.run(
        command, cwd=repo.path, env=environment(**repo.settings), capture_output=True, text=True, check=True
    )
    answer, status, peak = json.loads(done.stdout)
    return answer, status, peak


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    made = scratch(tmp_path / "repo")
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "hub.git")], check=True, env=environment())
    made.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    made.git("-c", "user.name=A", "-c", "user.email=a@example.invalid", "commit", "--allow-empty", "-q", "-m", "x")
    return made


@pytest.mark.skipif(sys.platform == "win32", reason="asks for what processes needed")
@pytest.mark.parametrize("name", BOMBS)
def test_a_small_branch_that_unpacks_into_a_huge_one_is_refused_in_little_memory(
    repo: Scratch, tmp_path: Path, name: str
):
    make, codes = BOMBS[name]
    branch = Branch(tmp_path / "hub.git")
    branch.point_at(commit(branch, make(branch)))

    for words in (["sync", "--pull"], ["ci", "check", "--base", "HEAD"]):
        answer, status, peak = measured(repo, *words)

        assert status == 4, answer
        assert answer["error"]["code"] in codes
        assert answer["error"]["hint"].startswith("nothing was imported")
        assert peak < MOST_MEMORY
    assert not (repo.store / "clone.json").exists()
    assert not (repo.store / "j").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="asks for what processes needed")
@pytest.mark.parametrize("how", ["a commit", "a file that becomes a folder", "a merge"])
def test_a_change_whose_own_tree_repeats_itself_is_refused_in_little_memory(repo: Scratch, how: str):
    assert repo.bb("init").status == 0
    branch = Branch(repo.path / ".git")
    base = repo.git("rev-parse", "HEAD").strip()
    if how == "a commit":
        found = commit(branch, repeated(branch), parents=(base,))
    else:
        before = commit(branch, tree(branch, a=(PLAIN, branch.write("blob", b"x"))), parents=(base,))
        after = tree(branch, a=(FOLDER, repeated(branch)))
        found = commit(branch, after, parents=(before,) if how.startswith("a file") else (before, base))

    answer, status, peak = measured(repo, "ci", "check", "--local", "--base", base, "--head", found)

    assert (status, answer["error"]["code"]) == (4, CHANGE)
    assert peak < MOST_MEMORY


# -- what a ledger may be


def test_what_is_packed_as_text_is_packed_may_be_as_large_as_it_likes():
    allowance = bounds.Allowance()
    line = b'{"v":1,"id":"%s.%d","p":"%032x","dh":"%032x","data":{"text":"a handful of words that come again"}}\n'
    for n in range(400):
        allowance.take(
            b"".join(line % (WRITER.encode(), k, k * 0x9E3779B97F4A7C15F39CC0605, k**9) for k in range(n, n + 256))
        )


def test_what_repeats_itself_may_be_as_large_as_a_few_messages():
    allowance = bounds.Allowance()
    for _ in range(7):
        allowance.take(b" " * (1 << 20))

    def go_on() -> None:
        for _ in range(13):
            allowance.take(b" " * (1 << 20))

    with pytest.raises(bounds.LedgerTooLarge.error):
        go_on()


def test_a_file_has_no_more_lines_than_fit_into_it():
    bounds.must_be_lines((b"x" * 200 + b"\n") * 256, "a file")
    bounds.must_be_lines(b"", "nothing")

    with pytest.raises(NotALedger, match="too short"):
        bounds.must_be_lines(b"{}\n" * 10, "a file")


@pytest.mark.parametrize("kind", [Child, SubprocessChild])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_program_that_says_more_than_it_may_is_stopped(kind: type[Child], stream: str):
    endless = f"import sys\nwhile True: sys.{stream}.write('x' * 65536)"

    with pytest.raises(TooMuch):
        kind([sys.executable, "-c", endless], dict(environment())).communicate(b"", 60, 1 << 20)

    said = kind([sys.executable, "-c", "print(input())"], dict(environment())).communicate(b"hello\n", 60, 100)
    assert (said[0], said[1].strip()) == (0, b"hello")
