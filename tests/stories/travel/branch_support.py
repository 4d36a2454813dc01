"""Putting anything whatever on the ledger's branch of a hub: what `bb` writes, and what only an attacker would."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bb.ledger.journal import line as lines
from bb.ledger.journal.line import Link
from bb.ledger.published.layout import BRANCH
from tests.support import environment

PLAIN, EXECUTABLE, SYMLINK, SUBMODULE, FOLDER = "100644", "100755", "120000", "160000", "40000"
WHO = "Somebody <somebody@example.invalid> 1767614400 +0000"
Name = str | bytes


@dataclass(frozen=True)
class File:
    """What stands at a path: octets as a file of some mode, or an object that is in the hub already."""

    octets: bytes = b""
    mode: str = PLAIN
    found: str = ""


class Branch:
    """The ledger's branch in a hub, seen from behind git's back: any tree, any parents, any object."""

    def __init__(self, hub: Path) -> None:
        self.hub = hub

    def git(self, *words: str, given: bytes = b"") -> bytes:
        done = subprocess.run(
            ["git", "--git-dir", str(self.hub), *words], input=given, capture_output=True, check=True, env=environment()
        )
        return done.stdout

    @property
    def tip(self) -> str:
        return self.git("rev-parse", BRANCH).decode().strip()

    def files(self, commit: str = BRANCH) -> dict[Name, File]:
        """What a commit holds, path by path."""
        found: dict[Name, File] = {}
        for row in self.git("ls-tree", "-r", "-z", commit).split(b"\0")[:-1]:
            about, _, path = row.partition(b"\t")
            mode, _, name = about.decode().split(" ")
            found[path.decode()] = File(self.git("cat-file", "blob", name), mode)
        return found

    def parents(self, commit: str = BRANCH) -> list[str]:
        return self.git("rev-list", "--max-count=1", "--parents", commit).decode().split()[1:]

    def write(self, kind: str, octets: bytes) -> str:
        """An object of any contents; git is told not to mind."""
        return self.git("hash-object", "-w", "--literally", "--stdin", "-t", kind, given=octets).decode().strip()

    def tree(self, files: Mapping[Name, File]) -> str:
        """A tree of FILES. What stands between two slashes is a name, whatever it is."""
        entries: list[tuple[bytes, str, str]] = []
        folders: dict[bytes, dict[Name, File]] = {}
        for path, file in files.items():
            first, slash, rest = (path if isinstance(path, bytes) else path.encode()).partition(b"/")
            if slash:
                folders.setdefault(first, {})[rest] = file
            else:
                entries.append((first, file.mode, file.found or self.write("blob", file.octets)))
        entries += [(name, FOLDER, self.tree(inside)) for name, inside in folders.items()]
        entries.sort(key=lambda entry: entry[0] + (b"/" if entry[1] == FOLDER else b""))
        raw = (b"%s %s\0%s" % (mode.encode(), name, bytes.fromhex(found)) for name, mode, found in entries)
        return self.write("tree", b"".join(raw))

    def commit(self, files: Mapping[Name, File], parents: Sequence[str], message: str = "x\n") -> str:
        rows = [f"tree {self.tree(files)}", *(f"parent {each}" for each in parents)]
        return self.write("commit", "\n".join([*rows, f"author {WHO}", f"committer {WHO}", "", message]).encode())

    def put(self, files: Mapping[Name, File]) -> str:
        """Publish FILES in one commit on top of what is there."""
        made = self.commit(files, [self.tip])
        self.point_at(made)
        return made

    def point_at(self, found: str) -> None:
        """Let the branch be at any object: git itself would refuse what is no commit."""
        path = self.hub / BRANCH
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found + "\n")
        packed = self.hub / "packed-refs"
        if packed.exists():
            kept = [row for row in packed.read_text().splitlines(keepends=True) if BRANCH not in row]
            packed.write_text("".join(kept))


@dataclass(frozen=True)
class Chain:
    """A writer's published lines, and those that a forger adds."""

    writer: str
    raws: tuple[bytes, ...]

    @property
    def octets(self) -> bytes:
        return b"".join(raw + b"\n" for raw in self.raws)

    @property
    def path(self) -> str:
        return f"w/{self.writer[:2]}/{self.writer}/000000000001.jsonl"

    @property
    def link(self) -> Link:
        return lines.link_without_previous(self.raws[-1], self.writer) if self.raws else lines.START

    def forged(self, *, data: bytes = b'{"_":"aaaaaaaa"}', kind: str = "x.other", **changed: object) -> bytes:
        """The line that rightly follows, but for what was CHANGED: `n`, `lamport`, `p`, `dh`, `writer`, `by`."""
        link = self.link
        n, lamport = changed.get("n", link.n + 1), changed.get("lamport", link.lamport + 1)
        p, dh = changed.get("p", link.head_digest), changed.get("dh", lines.digest(data))
        head = (
            f'{{"v":1,"id":"{changed.get("writer", self.writer)}.{n}","l":{lamport},"ts":"2026-01-05T12:00:00.000Z",'
            f'"kind":"{kind}","group_id":"g_x","scope_key":"","by":"{changed.get("by", "user")}","p":"{p}","dh":"{dh}"'
        )
        return head.encode() + b',"data":' + data + b"}"

    def and_then(self, *raws: bytes) -> Chain:
        return replace(self, raws=self.raws + raws)


def chains(files: Mapping[Name, File]) -> list[Chain]:
    """The writers of a published ledger whose lines fit into one file each."""
    found = []
    for path, file in files.items():
        if isinstance(path, str) and path.startswith("w/"):
            found.append(Chain(path.split("/")[2], tuple(file.octets.split(b"\n")[:-1])))
    return found
