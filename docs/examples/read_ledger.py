#!/usr/bin/env python3
"""Read a published ledger of bb with GitPython, and with nothing of bb.

    pip install gitpython
    python read_ledger.py REPOSITORY [REVISION]

REPOSITORY is a clone or a bare repository. REVISION is the ledger's branch: `bb-ledger` in the repository that clones
publish to (the default), `refs/bb/remote/origin` in a clone.

It checks the files and the chain of every writer by the rules of ledger-format.md, and then prints every event, one
JSON object a line, in the ledger's order. If anything is not as it must be, it says where, and prints no event.
It does not check signatures, and looks at the last commit and at what that has archived, not at each commit before it.
"""

import hashlib
import json
import re
import sys

import git

READER = 1  # the version of the format that this program knows
LONGEST_LINE, LEAP = 1 << 20, 1 << 32
FILE_OF_LINES = re.compile(r"w/(..)/(\1[a-z2-7]{10})/([0-9]{12})\.jsonl")
MANIFEST = re.compile(r"archive/[0-9]{6}\.jsonl")
COMMIT = re.compile(r"[0-9a-f]{40}")
HEAD = re.compile(rb'\{"v":1,"id":"([a-z2-7]{12})\.([0-9]+)","l":([0-9]+),.*"p":"([0-9a-f]{32})","dh":"([0-9a-f]{32})"')
START = b"0" * 32


def main():
    if len(sys.argv) not in (2, 3):
        return __doc__
    try:
        for event in events(*sys.argv[1:]):
            print(json.dumps(event, ensure_ascii=False))
    except (KeyError, ValueError, git.BadName) as wrong:
        return f"not a sound ledger: {wrong}"
    return 0


def events(path, revision="bb-ledger"):
    """Every event of the ledger, in its order: by Lamport time, then writer, then number."""
    with git.Repo(path) as repository:
        files = published(repository, revision)
    charter = json.loads(files["bb.json"])
    if charter["min_reader"] > READER:
        raise ValueError(f"it is for readers of version {charter['min_reader']} and later")
    chains = {}
    for name in sorted(files):  # a writer's files sort by the numbers of their first lines
        if found := FILE_OF_LINES.fullmatch(name):
            lines_of(name, files[name], found[2], int(found[3]), chains.setdefault(found[2], []))
    lines = sorted((line for chain in chains.values() for line in chain), key=lambda line: line["place"])
    return without_what_was_taken_back([event(line) for line in lines])


# -- the files


def published(repository, revision):
    """What each file of the ledger holds: those in the last commit, and those that have been archived."""
    blobs = [item for item in repository.commit(revision).tree.traverse() if item.type == "blob"]
    files = {blob.path: blob.data_stream.read() for blob in blobs if not blob.path.startswith("snap/")}
    for manifest in sorted(filter(MANIFEST.fullmatch, files)):
        for row in files[manifest].splitlines():
            entry = json.loads(row)
            files[entry["path"]] = archived(repository, entry)
    return files


def archived(repository, entry):
    """A file that has left the tree, as the last commit that has it holds it."""
    path = entry["path"]
    if not FILE_OF_LINES.fullmatch(path) or not COMMIT.fullmatch(entry["commit"]):
        raise ValueError(f"the archive names {path!r}")
    blob = repository.commit(entry["commit"]).tree / path
    octets = blob.data_stream.read()
    rows, first = octets[:-1].split(b"\n"), int(FILE_OF_LINES.fullmatch(path)[3])
    found = {"blob": blob.hexsha, "sha256": hashlib.sha256(octets).hexdigest(), "first": first}
    found |= {"last": first + len(rows) - 1, "end": digest(head_of(rows[-1])).decode()}
    if any(entry[name] != value for name, value in found.items()):
        raise ValueError(f"{path} is not what was archived")
    return octets


# -- the lines


def lines_of(name, octets, writer, first, chain):
    """Put the lines of one file behind those of its writer's CHAIN, if they rightly follow."""
    if first != len(chain) + 1:
        raise ValueError(f"{name} comes after line {len(chain)} of its writer")
    if not octets.endswith(b"\n"):
        raise ValueError(f"{name} ends in the middle of a line")
    for raw in octets[:-1].split(b"\n"):
        chain.append(link(raw, writer, chain))


def link(raw, writer, chain):
    """The line that RAW is, if it rightly follows the last one of its writer's CHAIN."""
    before = chain[-1] if chain else {"place": (0, writer, 0), "digest": START}
    lamport, _, last = before["place"]
    here = f"line {last + 1} of writer {writer}"
    head, data = head_of(raw), raw[len(head_of(raw)) + len(b',"data":') : -1]
    found = HEAD.fullmatch(head)
    if not found or not raw.endswith(b"}") or len(raw) >= LONGEST_LINE:
        raise ValueError(f"{here} is not a line")
    if (found[1].decode(), int(found[2])) != (writer, last + 1):
        raise ValueError(f"{here} is another line")
    if found[4] != before["digest"]:
        raise ValueError(f"{here} does not follow from the line before it")
    if found[5] != digest(data) and data.rstrip(b" ") != b"null":  # `null` and blanks: it was redacted
        raise ValueError(f"{here} has other data than it was written with")
    if not lamport < int(found[3]) <= lamport + LEAP:
        raise ValueError(f"{here} does not rise in Lamport time, or leaps")
    return {"place": (int(found[3]), writer, last + 1), "digest": digest(head), "raw": raw}


def head_of(raw):
    return raw.partition(b',"data":')[0]


def digest(octets):
    return hashlib.sha256(octets).hexdigest()[:32].encode()


# -- the events


def event(line):
    """What a sound line says. A line may say nothing that can be read, and keeps its place all the same."""
    _, writer, number = line["place"]
    try:
        said = json.loads(line["raw"])
        members = ("v", "id", "ts", "kind", "group_id", "scope_key", "by")
        data = {name: value for name, value in (said["data"] or {}).items() if name not in ("_", "_q")}
        return {name: said[name] for name in members} | {"data": data}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {"v": 1, "id": f"{writer}.{number}", "kind": "", "by": "", "data": {}, "unreadable": True}


def without_what_was_taken_back(found):
    """The same events, where what a redaction names has no data: an archived file may still hold it.

    Whoever recorded an event may take it back, and so may the person. This program only shows events. One that says
    how things stand needs another rule too: no release, no retirement and no order can be taken back.
    """
    by = {each["id"]: each["by"] for each in found}
    wishes = [(each["by"], each["data"].get("event_id")) for each in found if each["kind"] == "x.bb.redacted"]
    gone = {event for who, event in wishes if who in ("user", by.get(event))}
    return [each | {"data": {}} if each["id"] in gone else each for each in found]


if __name__ == "__main__":
    sys.exit(main())
