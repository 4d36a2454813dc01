"""The tracked mirror: ledger lines as files in the work tree, for teams that want them in pull requests.

    .bb/ledger/<writer>/<first n>-<last n>.jsonl

A file never changes after it is written. So two branches that mirror the same lines have equal files, or files with
different names, and merges cannot conflict. Lines that a branch brings are checked like those of any remote, and known
lines are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from bb.kernel import ids
from bb.kernel.record import Record
from bb.ledger.files import disk, work_tree_files
from bb.ledger.published import bounds
from bb.ledger.published.charter import NotALedger
from bb.ledger.published.tip import Commit
from bb.ledger.records import events, payload_removal
from bb.ledger.records.store import Store
from bb.ledger.travel import importing

NAME = ".bb/ledger"
FOLDER = os.path.join(*NAME.split("/"))
ATTRIBUTES = b"* -text linguist-generated\n"
LARGEST = 1 << 26
SUFFIX = ".jsonl"


class Sealed(Record):
    """One mirrored file: lines FIRST to LAST of a writer."""

    writer: str
    first: int
    last: int
    path: str


def files(root: str) -> list[Sealed]:
    """The mirrored files in a work tree, by writer and number."""
    return sorted(_files(os.path.join(root, FOLDER)), key=lambda file: (file.writer, file.first, file.last))


def _files(folder: str) -> Iterator[Sealed]:
    for writer in disk.names(folder):
        for name in disk.names(os.path.join(folder, writer)) if ids.is_writer_id(writer) else ():
            first, dash, last = name.removesuffix(SUFFIX).partition("-")
            path = os.path.join(folder, writer, name)
            is_right = name.endswith(SUFFIX) and dash and _is_number(first) and _is_number(last)
            if is_right and not os.path.islink(path):
                yield Sealed(writer, int(first), int(last), path)


def import_lines(store: Store, root: str) -> int:
    """Import the mirrored lines that this clone does not have yet. Returns their number."""
    before = sum(store.caught_up().heads().values())
    for file in files(root):
        octets = disk.read_small(file.path, LARGEST) or b""
        if octets.count(b"\n") != file.last - file.first + 1 or not octets.endswith(b"\n"):
            raise NotALedger(f"{os.path.relpath(file.path, root)} does not contain the lines that its name gives")
        bounds.must_be_lines(octets, os.path.relpath(file.path, root))
        head = store.caught_up().heads().get(file.writer, 0)
        if file.writer == store.writer and file.last > head:
            continue  # we did not record these lines, and must not sign them as ours
        if head < file.first - 1 or file.last <= head:
            continue  # lines before these are missing and may come with another branch; or all lines are known
        added = Commit("", None, 0, ((file.writer, file.first, octets),), ())
        # All local lines count as published, so none is replaced by a line from a work tree.
        importing.write(store, importing.check(store, [added], {file.writer: head}))
        payload_removal.blank(store)
    return sum(store.caught_up().heads().values()) - before


def write(store: Store, root: str, writers: list[str]) -> list[Sealed]:
    """Write the lines of these WRITERS since the last mirrored file of this branch, one file for each writer."""
    mirrored: dict[str, int] = {}
    for file in files(root):
        mirrored[file.writer] = max(mirrored.get(file.writer, 0), file.last)
    heads = store.caught_up().heads()
    written = []
    for writer in writers:
        first, last = mirrored.get(writer, 0) + 1, heads.get(writer, 0)
        if first > last:
            continue
        name = f"{first:012}-{last:012}{SUFFIX}"
        work_tree_files.write(root, f"{NAME}/{writer}/{name}", events.octets(store, writer, first, last))
        written.append(Sealed(writer, first, last, os.path.join(root, FOLDER, writer, name)))
    if written and not os.path.lexists(os.path.join(root, FOLDER, ".gitattributes")):
        work_tree_files.write(root, f"{NAME}/.gitattributes", ATTRIBUTES)
    return written


def _is_number(text: str) -> bool:
    return len(text) == 12 and text.isascii() and text.isdigit() and int(text) > 0
