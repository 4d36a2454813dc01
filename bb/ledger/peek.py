"""A look at the ledger that a remote publishes, by somebody who has none: fetched, checked, read, thrown away.

It is fetched into a repository of its own in a temporary folder, so the one we are in gains no object, no ref, and is
not made shallow. That folder knows nothing, so what the repository's own configuration says about transport goes along
through the environment: checkouts in CI keep their credentials there.

Who may push to the branch can put anything there. Only plain files where a ledger has some are read, none larger than
such a file is, and a line that does not follow from the one before it is a refusal: half a ledger is no verdict.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from bb.kernel import clock
from bb.kernel.errors import NotFound, Refused
from bb.kernel.record import Record
from bb.kernel.show import harmless
from bb.ledger import disk, git, published
from bb.ledger.index import Index
from bb.ledger.journal import Journal
from bb.ledger.published import NotALedger
from bb.ledger.remote import RemoteNotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bb.ledger.place import Place

PATIENCE = 60.0
MOST_FILES, MOST_BYTES = 200_000, 1 << 30
FETCHED = "refs/heads/ledger"
ABSENT = "couldn't find remote ref"  # git says so in English, since we ask it to
# What a configuration says about reaching a remote; everything else in it is about the repository itself.
TRANSPORT = ("http.", "https.", "url.", "credential.", "protocol.", "ssh.")
TRANSPORT_KEYS = ("core.sshcommand", "core.gitproxy")
OF_REMOTE = ("url", "proxy", "proxyauthmethod", "uploadpack", "vcs")
THE_TIP, EVERYTHING = "--depth=1", "--depth=2147483647"  # which git takes for no limit, be it cut off now or not
PLAIN = ("100644", "blob")
GLOBAL = b'"base":"'  # in a line that makes a global reservation


class LedgerUnreachable(Refused):
    """The published ledger cannot be fetched."""

    code = "LEDGER_UNREACHABLE"
    hint = "try again, or check the credentials; `--unreachable pass` lets a change pass when this happens"


class LedgerUnpublished(NotFound):
    """That remote has no ledger."""

    code = "LEDGER_UNPUBLISHED"
    hint = "publish one with `bb sync --publish`"


class Peek(Record):
    """A published ledger as it was found."""

    remote: str
    commit: str
    committed_at: int
    generation: int | None  # as the commit claims, unless all before it was fetched, too
    index: Index
    store: str  # as far as it is one: journals and nothing else


@contextmanager
def at(place: Place, named: str | None) -> Iterator[Peek]:
    """The ledger that a remote publishes: the NAMED one, by its name, a URL or a path; else origin, or the only one.

    What was fetched is gone at the end.
    """
    settings = _settings(place)
    remote = _remote(_remotes(settings), named)
    folder = disk.temporary_folder("bb-peek-")
    try:
        repository = os.path.join(folder, "ledger.git")
        _make(repository, dict(settings).get("extensions.objectformat", "sha1"))
        _fetch(place, repository, remote, settings, THE_TIP)
        commit, committed_at, generation = _tip(repository)
        store = os.path.join(folder, "bb")
        writers, has_global = _unpack(repository, commit, store)
        if has_global:
            _fetch(place, repository, remote, settings, EVERYTHING)
            generation = _settle(repository, commit, store)
        index = Index(":memory:", None)
        try:
            index.catch_up([Journal(store, writer) for writer in writers])
            if damages := index.damages():
                first = damages[0]
                raise NotALedger(f"line {first.n} of writer {first.writer} cannot be right: {first.reason}")
            yield Peek(_shown(remote), commit, committed_at, generation, index, store)
        finally:
            index.close()
    finally:
        disk.remove_folder(folder)


def _remote(known: list[str], named: str | None) -> str:
    if named is None:
        if "origin" not in known and len(known) != 1:
            raise LedgerUnpublished(
                "several remotes are configured, and none is origin" if known else "there is no remote"
            )
        return "origin" if "origin" in known else known[0]
    if named not in known and not _may_be_url(named):
        raise RemoteNotFound(f"there is no remote {harmless(named[:60])!r}")
    return named


def _settings(place: Place) -> list[tuple[str, str]]:
    """The repository's own configuration, included files too; what is set for the user or the system applies anyway."""
    asked = ["-C", place.work_tree or place.common, "config", "--local", "--includes", "--null", "--list"]
    pairs = (each.partition("\n") for each in git.run(asked).split("\0") if each)
    return [(name, value) for name, _, value in pairs]


def _remotes(settings: list[tuple[str, str]]) -> list[str]:
    names = (
        name[len("remote.") : -len(".url")]
        for name, _ in settings
        if name.startswith("remote.") and name.endswith(".url")
    )
    return list(dict.fromkeys(names))


def _may_be_url(remote: str) -> bool:
    """Whether REMOTE may be a URL or a path, and surely is no option."""
    return remote.isprintable() and not remote.startswith("-") and any(mark in remote for mark in "/:\\")


def _environment(settings: list[tuple[str, str]], remote: str) -> Mapping[str, str]:
    """The environment that tells git how this repository reaches REMOTE. On a command line others could read it."""
    keys = {*TRANSPORT_KEYS, *(f"remote.{remote}.{name}" for name in OF_REMOTE)}
    told = [(name, value) for name, value in settings if name in keys or name.startswith(TRANSPORT)]
    known = os.environ.get("GIT_CONFIG_COUNT", "")
    start = int(known) if known.isascii() and known.isdigit() else 0
    env = dict(os.environ)
    for place, (name, value) in enumerate(told, start):
        env |= {f"GIT_CONFIG_KEY_{place}": name, f"GIT_CONFIG_VALUE_{place}": value}
    return env | {"GIT_CONFIG_COUNT": str(start + len(told))}


def _make(repository: str, form: str) -> None:
    """An empty repository whose objects are named in the same FORM as in the one we are in."""
    git.run(["init", "--quiet", "--bare", "--template=", f"--object-format={form}", repository])


def _fetch(place: Place, repository: str, remote: str, settings: list[tuple[str, str]], how_far: str) -> None:
    """Get the tip of the branch, and HOW FAR back what is before it. A path is meant as seen from the work tree."""
    root = place.work_tree or place.common
    words = ["fetch", "--quiet", how_far, "--no-tags", "--no-recurse-submodules", "--refmap="]
    done = git.ask(
        ["-C", root, "-c", "fetch.fsckObjects=true", *words, remote, f"+{published.BRANCH}:{FETCHED}"],
        git_dir=repository,
        env=_environment(settings, remote),
        patience=PATIENCE,
    )
    if done.status == 0:
        return
    if done.status is None:
        raise LedgerUnreachable(f"the ledger could not be fetched within {PATIENCE:.0f} s", remote=_shown(remote))
    if ABSENT in done.err:
        raise LedgerUnpublished(f"{_shown(remote)} has no branch {published.BRANCH.removeprefix('refs/heads/')}")
    said = [line for line in done.err.splitlines() if line.startswith(("fatal:", "error:"))]
    what = harmless(_without_password((said or ["git gave no reason"])[0])[:300])
    if "fsck" in done.err:
        raise NotALedger(f"git refuses what is on that branch: {what}")
    raise LedgerUnreachable(f"the ledger could not be fetched: {what}", remote=_shown(remote))


def _shown(remote: str) -> str:
    return harmless(_without_password(remote))


def _without_password(text: str) -> str:
    """TEXT without what stands before the @ of a URL."""
    head, mark, rest = text.partition("://")
    if not mark:
        return text
    authority, slash, path = rest.partition("/")
    return head + mark + authority.rpartition("@")[2] + slash + _without_password(path)


def _tip(repository: str) -> tuple[str, int, int | None]:
    """The commit, when it was made, and its place in the line of commits."""
    form = "--format=%H %ct %(trailers:key=Bb-Generation,valueonly=true,separator=%x20)"
    said = git.run(["log", "-1", "--no-show-signature", form, FETCHED], git_dir=repository).split()
    commit, moment, generation = (*said, "", "")[:3]
    return commit, (_number(moment) or 0) * clock.SECOND, _number(generation)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None


def _settle(repository: str, commit: str, store: str) -> int:
    """Find out which global reservations were admitted: that is in the order of publication, so every commit is gone
    through and verified. How many there are."""
    from bb.coordination.admission import Admitted  # noqa: PLC0415  (most reservations are local)
    from bb.ledger import pins, sync  # noqa: PLC0415

    if disk.read_small(os.path.join(repository, "shallow")):
        raise LedgerUnreachable("the published ledger was replaced while it was fetched", hint="try again")
    history = published.History(repository, None)
    admitted = sync.settled(Admitted(), history.upto(commit))
    pins.write(store, pins.Pins({}, admitted=admitted))
    return history.tip.generation


def _unpack(repository: str, commit: str, store: str) -> tuple[list[str], bool]:
    """Write the lines of every writer as its journal; who they are, and whether there may be a global reservation."""
    has_global = False
    segments = _listed(repository, commit)
    with git.Conversation(["cat-file", "--batch"], git_dir=repository) as objects:
        charter = segments.pop(published.CHARTER, None)
        if charter is None:
            raise NotALedger(f"commit {commit[:12]} has no {published.CHARTER}")
        published.charter_of(published.blob(objects, charter, published.SMALL))
        writers = set()
        for path, blob in segments.items():
            if path == published.README:
                continue
            writer, first = published.segment_of(path)
            folder = os.path.join(store, "j", writer)
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, f"{first:012}.jsonl"), "wb") as file:
                octets = _whole(path, published.blob(objects, blob, published.LARGEST))
                file.write(octets)
            has_global = has_global or GLOBAL in octets
            writers.add(writer)
    return sorted(writers), has_global


def _whole(path: str, octets: bytes) -> bytes:
    """OCTETS, which must be whole lines. A journal being written may end in half of one, a published file not."""
    if not octets.endswith(b"\n"):
        raise NotALedger(f"{harmless(path)} does not end with a whole line")
    return octets


def _listed(repository: str, commit: str) -> dict[str, str]:
    """The files of a commit, each with its blob; refused when there is anything but plain files, or too much."""
    found: dict[str, str] = {}
    total = 0
    for entry in git.output(["ls-tree", "-r", "-l", "-z", "--full-tree", commit], git_dir=repository).split(b"\0"):
        if not entry:
            continue
        about, _, path = entry.decode("utf-8", "backslashreplace").partition("\t")
        mode, kind, blob, size = about.split()
        if (mode, kind) != PLAIN:
            raise NotALedger(f"{harmless(path[:200])} is no plain file")
        total += int(size)
        found[path] = blob
        if total > MOST_BYTES or len(found) > MOST_FILES:
            raise NotALedger("there is more on that branch than a ledger has")
    return found
