"""Whoever may push may put anything on the branch. Nothing of it comes in: it is refused, and this clone stays as it
was, file by file, until the branch is put right.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bb.kernel import json_text
from bb.ledger.journal import line as lines
from bb.ledger.published.layout import BRANCH, LOCAL
from tests.grids import part, some
from tests.stories.travel.branch_support import (
    EXECUTABLE,
    FOLDER,
    SUBMODULE,
    SYMLINK,
    Branch,
    Chain,
    File,
    Name,
    chains,
)
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, clone, every_file, hub, settle

Files = dict[Name, File]

NO_LEDGER, REWRITTEN, TOO_NEW = "NOT_A_LEDGER", "LEDGER_REWRITTEN", "LEDGER_TOO_NEW"
NOTES = ("sync.json", "sync-runs.json", "sync.lock")  # what a sync came to, and that one is under way


class Scene:
    """Two clones that know everything, of which the second has something to say; and the branch they share."""

    def __init__(self, folder: Path) -> None:
        self.branch = Branch(hub(folder / "hub.git"))
        self.pair = agents_at_work(self.branch.hub, AMBER, COBALT)
        here, there = self.pair
        here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
        settle(self.pair)
        there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-2")
        # It signs what it wants to publish before it finds out what is on the branch: let it have done so.
        there.git("remote", "set-url", "origin", f"{self.branch.hub}-gone")
        assert there.refused("sync").code == "OFFLINE"
        there.git("remote", "set-url", "origin", str(self.branch.hub))
        self.tip = self.branch.tip
        self.fresh = clone(self.branch.hub, "fresh")

    @property
    def files(self) -> Files:
        """What is published."""
        return self.branch.files(self.tip)

    def chain_of(self, one: Clone) -> Chain:
        """What is published of the lines that a clone wrote itself."""
        (ours,) = (owner.parent.name for owner in one.store.glob("j/*/owner.json"))
        return next(chain for chain in chains(self.files) if chain.writer == ours)

    @contextmanager
    def hostile(self, found: str) -> Iterator[None]:
        """The branch is at FOUND for a while, and nothing changes here meanwhile. Then it is put right."""
        self.branch.point_at(found)
        before = [state(each) for each in self.pair]
        ref = self.pair[0].git("rev-parse", LOCAL)
        try:
            yield
            assert [state(each) for each in self.pair] == before
            assert self.pair[0].git("rev-parse", LOCAL) == ref
            assert (self.branch.hub / BRANCH).read_text().strip() == found, "the branch is left alone"
        finally:
            self.branch.point_at(self.tip)
        assert self.pair[0].sync(pull=True)["came"] == 0

    def assert_refused(self, found: str, *codes: str, by_newcomers: bool = True) -> None:
        """Nobody takes it over: not who only looks, not who has something to say, not who comes fresh."""
        here, there = self.pair
        everybody = ["who only looks", "who has something to say", *(["who comes fresh"] if by_newcomers else [])]
        with self.hostile(found):
            for who in some(everybody, 1):
                if who == "who only looks":
                    assert here.refused("sync", pull=True).code in codes
                elif who == "who has something to say":
                    assert there.refused("sync").code in codes
                else:
                    assert self.fresh.refused("sync", pull=True).code in codes
                    assert not (self.fresh.store / "clone.json").exists()
                    assert not (self.fresh.store / "j").exists()

    def assert_files_refused(self, files: Files, *codes: str) -> None:
        self.assert_refused(self.branch.commit(files, [self.tip]), *codes)


def state(here: Clone) -> dict[str, bytes]:
    """What the store holds, file by file, but for what is said about syncing itself."""
    files = every_file(here.store)
    passing = (*NOTES, "index.sqlite-wal", "index.sqlite-shm")
    return {name: octets for name, octets in files.items() if name not in passing}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """No test changes it."""
    return Scene(tmp_path_factory.mktemp("scene"))


@pytest.fixture
def own(tmp_path: Path) -> Scene:
    """One to be changed."""
    return Scene(tmp_path)


def assert_all_is_well(scene: Scene) -> None:
    """All know the same, and so does who comes late."""
    settle(scene.pair)
    late = clone(scene.branch.hub, f"late-{len(list(scene.branch.hub.parent.iterdir()))}")
    late.sync(pull=True)
    here, there = scene.pair
    assert (COBALT, "docs", "active") in here.holds()
    assert here.digest == there.digest == late.digest


# -- what is no ledger

NO_LEDGERS: dict[str, Files] = {
    "empty": {},
    "code": {"src/main.c": File(b"int main;"), "README": File(b"hello")},
    "a readme alone": {"README.md": File(b"# Ledger")},
    "no charter": {f"w/ab/abcdefghijkl/{1:012}.jsonl": File(b"{}\n")},
}


@pytest.mark.parametrize("files", NO_LEDGERS.values(), ids=NO_LEDGERS)
def test_a_branch_that_never_was_a_ledger_is_none(tmp_path: Path, files: Files):
    branch = Branch(hub(tmp_path / "hub.git"))
    made = branch.commit(files, [])
    branch.point_at(made)
    here, fresh = clone(branch.hub, "here"), clone(branch.hub, "fresh")
    here.ask("agent.register", name=AMBER, role="builder")
    before = state(here)

    for ways in ({"pull": True}, {"publish": True}):
        assert here.refused("sync", **ways).code == NO_LEDGER
    assert fresh.refused("sync", pull=True).code == NO_LEDGER
    assert here.refused("sync").code in (NO_LEDGER, "NOT_PUBLISHED")
    assert state(here) | before == state(here), "only what was said about publishing has come"
    assert not (fresh.store / "clone.json").exists()
    assert branch.tip == made


@pytest.mark.parametrize("kind", ["tag", "tree", "blob"])
def test_a_branch_that_is_no_commit_is_no_ledger(scene: Scene, kind: str):
    branch = scene.branch
    tag = f"object {scene.tip}\ntype commit\ntag x\ntagger Somebody <a@example.invalid> 1767614400 +0000\n\nx\n"
    made = {"tag": lambda: branch.write("tag", tag.encode()), "tree": lambda: branch.tree(scene.files)}

    scene.assert_refused(made.get(kind, lambda: branch.write("blob", b"x"))(), NO_LEDGER)


# -- bb.json


def charter(files: Files, **changes: object) -> Files:
    found = json_text.loads(files["bb.json"].octets.decode()) | changes
    return files | {"bb.json": File((json_text.dumps(found) + "\n").encode())}


PREVIOUS = {"commit": "a" * 40, "generation": 1, "by": "user", "reason": "why", "ts": "2026-01-05T12:00:00.000Z"}

BROKEN = {
    "nothing": b"",
    "no json": b"{",
    "no object": b"[]",
    "null": b"null",
    "text": b'"repo"',
    "members missing": b'{"repo":"abc"}',
    "no utf-8": b'{"repo":"\xff"}',
    "half a surrogate": b'{"repo":"\\ud800","format":1,"min_reader":1,"min_writer":1,"epoch":1}',
    "a million brackets": b"[" * 60_000,
    "huge": b" " * (1 << 20),
    "a number too long to read": b'{"repo":"abc","format":' + b"9" * 5000 + b"}",
    "nul": b"\0" * 100,
}


@pytest.mark.parametrize("octets", BROKEN.values(), ids=BROKEN)
def test_a_charter_that_cannot_be_read_is_refused(scene: Scene, octets: bytes):
    scene.assert_files_refused(scene.files | {"bb.json": File(octets)}, NO_LEDGER)


@pytest.mark.parametrize(
    "changes",
    [
        *({"repo": value} for value in (7, None, "", "x" * 65, "../x", "a b", ["a"], {"a": 1})),
        *({"format": value} for value in (0, -1, 1.5, "1", True, None, [1])),
        *({"min_reader": value} for value in (0, "1", None, True)),
        *({"min_writer": value} for value in (0, "1", None, [])),
        *({"epoch": value} for value in (0, "1", None, 2)),
        *({"epoch": 2, "previous": value} for value in (None, {}, [], "x", {"commit": "a"}, PREVIOUS | {"more": 1})),
        *({"epoch": 2, "previous": PREVIOUS | wrong} for wrong in ({"generation": "1"}, {"by": 1}, {"generation": 0})),
        {"previous": PREVIOUS},
    ],
    ids=str,
)
def test_a_charter_that_makes_no_sense_is_refused(scene: Scene, changes: dict[str, object]):
    scene.assert_files_refused(charter(scene.files, **changes), NO_LEDGER)


@pytest.mark.parametrize("changes", [{"repo": "another"}, {"epoch": 2, "previous": PREVIOUS}], ids=["repo", "epoch"])
def test_a_charter_of_another_ledger_is_a_rewriting(scene: Scene, changes: dict[str, object]):
    scene.assert_files_refused(charter(scene.files, **changes), REWRITTEN)


def test_what_only_a_newer_bb_can_read_is_too_new(scene: Scene):
    scene.assert_files_refused(charter(scene.files, format=9, min_reader=9, min_writer=9), TOO_NEW)


def test_what_only_a_newer_bb_can_write_is_read_and_not_written_to(own: Scene):
    here, there = own.pair
    here.ask("agent.reserve", agent=AMBER, scope=["lib"], bead="bb-1")
    here.sync()
    own.branch.put(charter(own.branch.files(), format=9, min_writer=9))
    tip = own.branch.tip

    assert there.sync(pull=True)["came"] == 1
    assert there.refused("sync").code == TOO_NEW
    assert there.refused("agent.reserve", agent=COBALT, scope=["web"], bead="b", **{"global": True}).code == TOO_NEW
    assert own.branch.tip == tip
    assert (AMBER, "lib", "active") in there.holds()
    assert {scope for agent, scope, state in there.holds() if agent == COBALT and state == "active"} == {"docs"}


# -- files that have no place in a ledger

STRANGE: list[Name] = [
    *("../x", "w/../../x", "..", ".", "./x", "/etc/passwd", ".git/config", ".git/hooks/post-checkout", ".GIT/config"),
    *("x", "bb.json.bak", "BB.JSON", "readme.md", "snap/x", "w", "w/x", ".gitmodules", ".gitattributes"),
    *("w/ab/abcdefghijkl", "w/ab/abcdefghijkl/x", "w/ab/abcdefghijkl/1.jsonl", "w/ab/abcdefghijkl/000000000000.jsonl"),
    *("w/ab/abcdefghijkl/0000000000001.jsonl", "w/ab/abcdefghijkl/000000000001.jsonl.jsonl"),
    *("w/ab/abcdefghijkl/000000000001.JSONL", "w/ab/abcdefghijkl/-00000000001.jsonl"),
    *("w/ab/abcdefghijkl/00000000000\u0661.jsonl", "w/ab/abcdefghijkl/000000000001.jsonl/000000000001.jsonl"),
    *("w/xx/abcdefghijkl/000000000001.jsonl", "w/a/abcdefghijkl/000000000001.jsonl", "W/ab/abcdefghijkl/1.jsonl"),
    *("w/ab/abcdefghijk1/000000000001.jsonl", "w/AB/ABCDEFGHIJKL/000000000001.jsonl"),
    *("w/ab/abcdefghijk/000000000001.jsonl", "w/ab/abcdefghijklm/000000000001.jsonl"),
    *("w/ab/abcdefghij\n\x1b/000000000001.jsonl", "w/ab/abcdefghij../000000000001.jsonl"),
    *("a\x1b[2Jb", "a\nb", "a\rb", "a\tb", "\u202egnp", ":x", ":100644 100644 a b A", " ", '"'),
    "w/ab/abcdefghijkl/" + "9" * 5000 + ".jsonl",
    "w/ab/abcdefghijkl/" + "1" * 13 + ".jsonl",
    "/".join(["d"] * 400),
    b"w/ab/\xff\xfe/000000000001.jsonl",
    b"\xff",
]


@pytest.mark.parametrize("path", STRANGE, ids=lambda path: ascii(path)[:60])
def test_a_file_that_has_no_place_in_a_ledger_is_refused(scene: Scene, path: Name):
    no_tree = ["OFFLINE"] if path == "/etc/passwd" else []  # the hub itself chokes on a file without a name
    scene.assert_files_refused(scene.files | {path: File(b"x\n")}, NO_LEDGER, *no_tree)


def lines_of_the_first(files: Files) -> Chain:
    return chains(files)[0]


@pytest.mark.parametrize("at", ["bb.json", "README.md", "lines", "new"])
@pytest.mark.parametrize("mode", [EXECUTABLE, SYMLINK, SUBMODULE, FOLDER, "120777", "0"])
def test_what_is_no_plain_file_is_refused(scene: Scene, mode: str, at: str):
    files = scene.files
    path = {"lines": lines_of_the_first(files).path, "new": Chain("abcdefghijkl", ()).path}.get(at, at)
    octets = files[path].octets if path in files else b"x\n"
    found = {SUBMODULE: scene.tip, FOLDER: scene.branch.tree({"x": File(b"x")})}.get(mode, "")

    scene.assert_files_refused({**files, path: File(octets, mode, found)}, NO_LEDGER, REWRITTEN)


def test_a_file_larger_than_a_ledger_has_is_not_even_read(scene: Scene):
    files = scene.files
    for path in ("README.md", "bb.json", lines_of_the_first(files).path, Chain("abcdefghijkl", ()).path):
        octets = files[path].octets if path in files else b""
        scene.assert_files_refused(files | {path: File(octets + b"x" * (9 << 20) + b"\n")}, NO_LEDGER)


# -- histories that are none


def grown(branch: Branch) -> Files:
    """The published files, and one sound line more of the first writer."""
    files = branch.files()
    first = lines_of_the_first(files)
    return files | {first.path: File(first.and_then(first.forged()).octets)}


def _merge(branch: Branch) -> str:
    side = branch.commit(grown(branch), branch.parents())
    return branch.commit(branch.files(), [branch.tip, side])


def _merge_of_code(branch: Branch) -> str:
    return branch.commit(branch.files(), [branch.tip, branch.commit({"x": File(b"x")}, [])])


def _sideways(branch: Branch) -> str:
    return branch.commit(grown(branch), branch.parents())


def _from_the_root_on(branch: Branch) -> str:
    return branch.commit(branch.files(), [])


def _back(branch: Branch) -> str:
    return branch.parents()[0]


def _back_to_the_root(branch: Branch) -> str:
    return branch.git("rev-list", "--max-parents=0", "refs/heads/bb-ledger").decode().strip()


def _emptied(branch: Branch) -> str:
    return branch.commit({}, [branch.tip])


def _without(path_of: Callable[[Files], Name]) -> Callable[[Branch], str]:
    def made(branch: Branch) -> str:
        files = branch.files()
        del files[path_of(files)]
        return branch.commit(files, [branch.tip])

    return made


def _with_lines(change: Callable[[tuple[bytes, ...]], tuple[bytes, ...]]) -> Callable[[Branch], str]:
    def made(branch: Branch) -> str:
        files = branch.files()
        first = lines_of_the_first(files)
        changed = Chain(first.writer, change(first.raws))
        return branch.commit(files | {first.path: File(changed.octets)}, [branch.tip])

    return made


def _moved(branch: Branch) -> str:
    """The last line leaves its file for one that would follow."""
    files = branch.files()
    first = lines_of_the_first(files)
    rest = Chain(first.writer, first.raws[:-1])
    files[first.path] = File(rest.octets)
    files[f"w/{first.writer[:2]}/{first.writer}/{len(first.raws):012}.jsonl"] = File(first.raws[-1] + b"\n")
    return branch.commit(files, [branch.tip])


def _swapped(raws: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return raws[1], raws[0], *raws[2:]


def _one_letter(raws: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return raws[0], raws[1].replace(b'"actor.add"', b'"actor.axd"'), *raws[2:]


def _another_payload(raws: tuple[bytes, ...]) -> tuple[bytes, ...]:
    head, mark, data = raws[1].partition(lines.DATA)
    return raws[0], head + mark + data.replace(b"builder", b"burglar"), *raws[2:]


HISTORIES: dict[str, tuple[Callable[[Branch], str], bool]] = {  # and whether a newcomer can tell
    "a merge": (_merge, True),
    "a merge of something else": (_merge_of_code, True),
    "sideways": (_sideways, False),
    "begun anew": (_from_the_root_on, False),
    "back": (_back, False),
    "back to the root": (_back_to_the_root, False),
    "emptied": (_emptied, True),
    "without charter": (_without(lambda _: "bb.json"), True),
    "without readme": (_without(lambda _: "README.md"), True),
    "without a writer": (_without(lambda files: lines_of_the_first(files).path), True),
    "shorter by a line": (_with_lines(lambda raws: raws[:-1]), True),
    "no line left": (_with_lines(lambda _: ()), True),
    "without the first line": (_with_lines(lambda raws: raws[1:]), True),
    "without a line in the middle": (_with_lines(lambda raws: raws[:1] + raws[2:]), True),
    "two lines swapped": (_with_lines(_swapped), True),
    "another letter": (_with_lines(_one_letter), True),
    "another payload": (_with_lines(_another_payload), True),
    "a line twice": (_with_lines(lambda raws: (*raws, raws[-1])), True),
    "a line twice in the middle": (_with_lines(lambda raws: (raws[0], raws[0], *raws[1:])), True),
    "a line moved to another file": (_moved, True),
}


@pytest.mark.parametrize("history", HISTORIES)
def test_what_is_published_stays_published(scene: Scene, history: str):
    make, is_plain = HISTORIES[history]

    scene.assert_refused(make(scene.branch), REWRITTEN, NO_LEDGER, by_newcomers=is_plain)


def test_a_rewriting_is_found_though_a_commit_that_mends_it_follows(scene: Scene):
    shorter = _with_lines(lambda raws: raws[:-1])(scene.branch)

    scene.assert_refused(scene.branch.commit(scene.files, [shorter]), REWRITTEN)


def test_a_rewriting_is_found_though_git_has_forgotten_what_was_there(own: Scene):
    here, _ = own.pair
    for ref in (LOCAL, "refs/bb/remote/origin", "refs/bb/incoming/origin", "refs/remotes/origin/bb-ledger"):
        here.git("update-ref", "-d", ref)
    here.git("gc", "--quiet", "--prune=now")
    before = state(here)
    with pytest.raises(subprocess.CalledProcessError):
        here.git("cat-file", "-e", own.tip)
    own.branch.point_at(_from_the_root_on(own.branch))

    assert here.refused("sync", pull=True).code == REWRITTEN
    assert state(here) == before
    own.branch.point_at(own.tip)
    assert_all_is_well(own)


# -- lines that cannot be right


def forgeries(chain: Chain) -> dict[str, bytes]:
    """What stands behind the published lines of a chain, that must not."""
    good, link = chain.forged() + b"\n", chain.link
    long = chain.forged(data=b'{"_":"' + b"a" * (1 << 20) + b'"}') + b"\n"
    return {
        "nothing but a line feed": b"\n",
        "an empty line, then a good one": b"\n" + good,
        "a good one, then an empty line": good + b"\n",
        "no line feed": good[:-1],
        "half a line": good[: len(good) // 2],
        "a good one, then half of one": good + good[:30],
        "cr lf": good[:-1] + b"\r\n",
        "nul": b"\0\n",
        "nul before it": b"\0" + good,
        "a byte order mark before it": b"\xef\xbb\xbf" + good,
        "no utf-8": b"\xff\xfe\n",
        "no json": b"hello\n",
        "json, but no line": b"{}\n",
        "brackets": b"[" * (1 << 19) + b"\n",
        "braces": b'{"v":1,' * 70_000 + b"\n",
        "a space before it": b" " + good,
        "the same number again": chain.forged(n=link.n) + b"\n",
        "a number left out": chain.forged(n=link.n + 2) + b"\n",
        "number nought": chain.forged(n=0) + b"\n",
        "a negative number": chain.forged(n=-1) + b"\n",
        "a number with a nought before it": chain.forged(n=f"0{link.n + 1}") + b"\n",
        "a number in other digits": chain.forged(n="\u0661") + b"\n",
        "another chain": chain.forged(p="0" * 32) + b"\n",
        "another digest": chain.forged(dh="0" * 32) + b"\n",
        "another writer": chain.forged(writer="abcdefghijkl") + b"\n",
        "the same time": chain.forged(lamport=link.lamport) + b"\n",
        "an earlier time": chain.forged(lamport=1) + b"\n",
        "a leap in time": chain.forged(lamport=link.lamport + lines.LEAP + 1) + b"\n",
        "no time": chain.forged(lamport="x") + b"\n",
        "a time too long to read": chain.forged(lamport="9" * 5000) + b"\n",
        "a fraction of time": chain.forged(lamport=f"{link.lamport + 1}.5") + b"\n",
        "too long": long,
    }


@pytest.mark.parametrize("name", forgeries(Chain("abcdefghijkl", (Chain("abcdefghijkl", ()).forged(),))))
def test_a_line_that_cannot_be_right_is_not_taken_in(scene: Scene, name: str):
    files = scene.files
    chain = lines_of_the_first(files)
    scene.assert_files_refused(files | {chain.path: File(chain.octets + forgeries(chain)[name])}, NO_LEDGER, REWRITTEN)


def test_good_lines_that_come_with_a_bad_one_are_not_taken_in_either(scene: Scene):
    files = scene.files
    one, other = chains(files)
    files |= {one.path: File(one.and_then(one.forged()).octets)}
    good = scene.branch.commit(files, [scene.tip])
    files |= {other.path: File(other.octets + other.forged(p="0" * 32) + b"\n")}

    scene.assert_refused(scene.branch.commit(files, [good]), NO_LEDGER)


@pytest.mark.parametrize(
    "number",
    [lambda lines: 2, lambda lines: lines, lambda lines: lines + 2, lambda lines: 999_999_999_999],
    ids=["the second", "one too early", "one too late", "the last"],
)
def test_a_file_that_begins_at_the_wrong_number_is_refused(scene: Scene, number: Callable[[int], int]):
    files = scene.files
    chain = lines_of_the_first(files)  # of either clone, and one has a line more
    first = number(len(chain.raws))
    for writer, octets in ((chain.writer, chain.forged() + b"\n"), ("abcdefghijkl", b"x\n")):
        path = f"w/{writer[:2]}/{writer}/{first:012}.jsonl"
        scene.assert_files_refused(files | {path: File(octets)}, NO_LEDGER)


def test_lines_added_to_a_closed_file_are_refused(own: Scene):
    files = own.files
    chain = own.chain_of(own.pair[0])
    longer = chain.and_then(chain.forged())
    following = f"w/{chain.writer[:2]}/{chain.writer}/{len(chain.raws) + 1:012}.jsonl"
    files |= {following: File(longer.raws[-1] + b"\n")}
    own.tip = own.branch.put(files)
    for each in own.pair:
        assert each.sync(pull=True)["came"] == 1, "a writer may close a file early"

    own.assert_files_refused(files | {chain.path: File(longer.octets)}, REWRITTEN)
    assert_all_is_well(own)


def test_an_empty_file_is_no_file_of_lines(scene: Scene):
    scene.assert_files_refused(scene.files | {Chain("abcdefghijkl", ()).path: File(b"")}, NO_LEDGER)


# -- lines that are sound, and say what nobody can mean


SAYING = {
    "deep": b'{"_":"aaaaaaaa","x":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "no object": b"[1,2]",
    "a number": b"7",
    "no json": b"{{{{",
    "no utf-8": b'{"_":"\xff"}',
    "a huge number": b'{"_":"aaaaaaaa","x":1e999,"y":' + b"9" * 5000 + b"}",
    "blanked": b"null     ",
    "wrong types": b'{"_":"a","actor_id":7,"scope":[1],"agent":null,"heads":{"a":"b"},"base":[],"takes":9}',
}
SAID_AS = [
    "x.other",
    "actor.add",
    "x.bb.reserved",
    "x.bb.released",
    "x.bb.merged",
    "chat.message",
    "x.bb.seen",
    "\u202e",
]


@pytest.mark.parametrize("name", part(SAYING, 3))
def test_a_sound_line_that_says_nonsense_is_kept_and_passed_over(own: Scene, name: str):
    here, there = own.pair
    files, chain = own.files, Chain("abcdefghijkl", ())
    for kind in SAID_AS:
        for who in ("user", "\x1b[2J", AMBER):
            chain = chain.and_then(chain.forged(data=SAYING[name], kind=kind, by=json_text.dumps(who)[1:-1]))
    own.branch.put(files | {chain.path: File(chain.octets)})
    before = here.holds()

    assert here.sync()["came"] == len(chain.raws)
    assert here.holds() == before
    assert_all_is_well(own)
    there.ask("agent.reserve", agent=COBALT, scope=["web"], bead="bb-2", **{"global": True})
    assert_all_is_well(own)


def test_a_chain_of_ours_that_goes_on_elsewhere_is_followed_and_not_forked(own: Scene):
    """Somebody has forged the next line of our own chain. It is sound, so it is ours from now on."""
    here, there = own.pair
    chain = own.chain_of(here)
    own.branch.put(own.files | {chain.path: File(chain.and_then(chain.forged()).octets)})

    here.sync()
    here.ask("agent.reserve", agent=AMBER, scope=["lib"], bead="bb-1")
    here.sync()

    assert_all_is_well(own)
    assert (AMBER, "lib", "active") in there.holds()


def test_commits_that_bring_nothing_do_no_harm(own: Scene):
    for _ in range(5):
        own.branch.put(own.files)

    assert own.pair[0].sync()["came"] == 0
    assert_all_is_well(own)


def test_no_program_on_the_branch_is_ever_started(scene: Scene, tmp_path: Path):
    ran = tmp_path / "ran"
    hook = File(f"#!/bin/sh\ntouch {ran}\n".encode(), EXECUTABLE)
    for path in (".git/hooks/post-checkout", "hooks/post-checkout", "x"):
        scene.assert_files_refused(scene.files | {path: hook}, NO_LEDGER)

    assert not ran.exists()
