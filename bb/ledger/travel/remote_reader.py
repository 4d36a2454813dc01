"""Reads the published ledger of a remote without importing it: fetch, verify, read, delete. CI uses this.

The fetch goes into a temporary repository, so the current repository gets no objects and no refs, and does not become
shallow. The transport settings of the current repository are passed through the environment, because CI checkouts keep
their credentials there.

The last commit is enough if it has every line, or a snapshot for archived lines. Every commit is fetched if it has not,
if there were global reservations or names with rivals (both depend on the order of publication), or if a line has lost
its payload without a valid withdrawal (earlier commits still have the payload). So it is if the last commit is not one
that bb makes, or is invalid: then the state is read up to the last commit that counts (`quarantine.py`).

Anyone who may push to the branch can put anything there. Only regular files at valid paths and of valid size are read.
A line that does not follow from the one before it is a refusal, because part of a ledger is not enough for a verdict.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from bb.coordination.agents import roster
from bb.kernel import clock
from bb.kernel.errors import NotFound, Refused
from bb.kernel.escaping import harmless
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.git import git
from bb.ledger.git.place import Place
from bb.ledger.index import counting
from bb.ledger.index.index import Index
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.line import Link
from bb.ledger.published import bounds, layout
from bb.ledger.published.arbiter import Arbiter, address_of
from bb.ledger.published.charter import CHARTER, Charter, LedgerRewritten, NotALedger, charter_of, must_be_ours
from bb.ledger.published.layout import charter_at
from bb.ledger.records import payload_removal
from bb.ledger.signing.verdicts import SigningLaw
from bb.ledger.travel import arbitration, archive, snapshot, transport
from bb.ledger.travel.remote import RemoteNotFound
from bb.ledger.travel.snapshot import Snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bb.ledger.travel.quarantine import Sound, Stray

PATIENCE = 60.0
MOST_BYTES = 1 << 30
MOST_ABOUT = 1 << 20  # bytes of a commit, its message included
FETCHED = "refs/heads/ledger"
ABSENT = "couldn't find remote ref"  # in English, because bb sets the locale
PLAIN = ("100644", "blob")
GLOBAL = b'"base":"'  # in the line of a global reservation

LedgerUnreachable = Refused.declare(
    "LEDGER_UNREACHABLE",
    "The published ledger cannot be fetched",
    hint="try again, or check the credentials; with `--unreachable pass` a change passes in this case",
)

LedgerUnpublished = NotFound.declare(
    "LEDGER_UNPUBLISHED", "The remote has no ledger", hint="publish one with `bb sync --publish`"
)


class Peek(Record):
    """The state of a published ledger."""

    remote: str
    commit: str
    committed_at: int
    generation: int | None  # verified if all commits were fetched, otherwise as the last commit claims
    index: Index
    store: str  # a folder with journals only
    lost: tuple[str, ...] = ()  # events that have lost their payload without a valid withdrawal
    quarantined: tuple[Stray, ...] = ()  # commits on the branch that do not count, if all commits were fetched
    elsewhere: Arbiter | None = None  # the arbiter, if it is another remote and there were global reservations


@contextmanager
def published_ledger(
    place: Place, named: str | None, law: SigningLaw | None = None, *, in_order: bool = False
) -> Iterator[Peek]:
    """The published ledger of a remote: the NAMED one (name, URL or path), else origin, or the only remote.

    The fetched data is deleted at the end. If a LAW says which lines count, no snapshot is used, because a snapshot
    contains the effects of all lines, whatever key signed them. IN_ORDER: also the order in which the reservations were
    published, which only all commits show.
    """
    settings = transport.settings(place)
    remote = _remote(transport.remotes(settings), named)
    folder = disk.temporary_folder("bb-peek-")
    try:
        repository = os.path.join(folder, "ledger.git")
        transport.make_repository(repository, settings)
        _fetch(place, repository, remote, settings, transport.THE_TIP)
        commit, committed_at, generation = _tip(repository)
        store = os.path.join(folder, "bb")
        is_enough = generation is not None and not in_order
        index, lost = _index_of_tip(repository, commit, store, law) if is_enough else (None, [])
        strays: Sequence[Stray] = ()
        elsewhere: Arbiter | None = None
        if index is None or lost or index.count(roster.NAME, roster.RIVALS):
            if index:
                index.close()
            _fetch(place, repository, remote, settings, transport.EVERYTHING)
            index, lost, found = _index_of_everything(repository, commit, store, law)
            elsewhere = _settle(store, index, found, _address(place, remote))
            commit, committed_at, generation = found.tip.commit, _time(repository, found), found.tip.generation
            strays = found.strays
        try:
            about = (commit, committed_at, generation)
            yield Peek(_shown(remote), *about, index, store, tuple(lost), tuple(strays), elsewhere)
        finally:
            index.close()
    finally:
        disk.remove_folder(folder)


def _index_of_tip(repository: str, commit: str, store: str, law: SigningLaw | None) -> tuple[Index | None, list[str]]:
    """An index of the last commit, and the lost events. None if every commit is needed, also because the last commit is
    not a valid one."""
    try:
        index = _read_tip(repository, commit, store, is_read_whole=law is not None)
        law = _in_force(law, charter_at(repository, commit))
        return index, _caught_up(index, store, law) if index else []
    except NotALedger as refusal:
        if isinstance(refusal, bounds.LedgerTooLarge.error):
            raise
        return None, []


def _in_force(law: SigningLaw | None, charter: Charter | None) -> SigningLaw | None:
    """The LAW, applied to the ledger with this charter."""
    if law is None or charter is None:
        return law
    must_be_ours(charter.repo, law.policy.repo)
    return law.replace(repo=charter.repo)


def _index_of_everything(
    repository: str, commit: str, store: str, law: SigningLaw | None
) -> tuple[Index, list[str], Sound]:
    """An index of all commits that count, the lost events, and the commits."""
    from bb.ledger.travel import quarantine  # noqa: PLC0415  (the last commit is enough for most)

    if disk.read_small(os.path.join(repository, "shallow")):
        raise LedgerUnreachable("the published ledger was replaced while it was fetched", hint="try again")
    found = quarantine.read(store, repository, None, commit)
    try:
        return *_indexed(store, found, law), found
    except (NotALedger, LedgerRewritten.error) as refusal:
        if found.strays:
            raise
        found = quarantine.sift(store, repository, None, commit, refusal)
        if not found.strays:
            raise
    return *_indexed(store, found, law), found


def _indexed(store: str, found: Sound, law: SigningLaw | None) -> tuple[Index, list[str]]:
    law = _in_force(law, found.tip.charter)
    _save(store, found)
    index = Index(":memory:", None)
    return index, _caught_up(index, store, law)


def _caught_up(index: Index, store: str, law: SigningLaw | None) -> list[str]:
    """Let INDEX read the journals. Returns the lost events. If this fails, INDEX is closed."""
    try:
        index.law = law
        index.catch_up([Journal(store, writer) for writer in {*index.heads(), *disk.names(_journals(store))}])
        _refuse_damage(index)
        return payload_removal.unexplained_blanks(index, _blank_lines(store))
    except BaseException:
        index.close()
        raise


def _refuse_damage(index: Index) -> None:
    if damages := index.damages():
        first = damages[0]
        raise NotALedger(f"line {first.n} of writer {first.writer} is invalid: {first.reason}")


def _blank_lines(store: str) -> Iterator[bytes]:
    """The lines in the journals that have no payload."""
    for writer in disk.names(_journals(store)):
        folder = os.path.join(_journals(store), writer)
        for name in disk.names(folder):
            with disk.reader(os.path.join(folder, name)) as file:
                octets = file.read()
            if lines.may_hold_blanks(octets):
                yield from filter(lines.is_blank, octets.split(b"\n")[:-1])


def _remote(known: list[str], named: str | None) -> str:
    if named is None:
        if not known:
            raise LedgerUnpublished("no remote is configured")
        if "origin" not in known and len(known) > 1:  # one of them may have a ledger, so this is no reason to pass
            raise RemoteNotFound(
                f"several remotes are configured, and none is origin: {harmless(', '.join(known)[:200])}"
            )
        return "origin" if "origin" in known else known[0]
    if named not in known and not transport.may_be_url(named):
        raise RemoteNotFound(f"there is no remote {harmless(named[:60])!r}")
    return named


def _address(place: Place, remote: str) -> str:
    """The address that the remote is known by."""
    if not transport.may_be_url(remote) or remote in git.run(["remote"], git_dir=place.common).split():
        return arbitration.address(place, remote)
    url = git.ask(["ls-remote", "--get-url", remote], git_dir=place.common).out.decode("utf-8", "replace").strip()
    return address_of(url, place.work_tree or place.common)


def _fetch(place: Place, repository: str, remote: str, settings: list[tuple[str, str]], how_far: str) -> None:
    """Fetch the branch to the depth HOW_FAR. A relative path is resolved from the top of the work tree."""
    root = place.work_tree or place.common
    words = ["fetch", "--quiet", how_far, "--no-tags", "--no-recurse-submodules", "--refmap="]
    done = git.ask(
        [*git.IN_PIECES, "-c", "fetch.fsckObjects=true", *words, remote, f"+{layout.BRANCH}:{FETCHED}"],
        git_dir=repository,
        at=root,
        env=transport.environment(settings, remote),
        patience=PATIENCE,
    )
    if done.status == 0:
        return
    if done.status is None:
        raise LedgerUnreachable(f"the ledger could not be fetched within {PATIENCE:.0f} s", remote=_shown(remote))
    if git.TOO_LARGE in done.err:
        raise bounds.LedgerTooLarge("an object on that branch is larger than a ledger can have")
    if ABSENT in done.err:
        raise LedgerUnpublished(f"{_shown(remote)} has no branch {layout.BRANCH.removeprefix('refs/heads/')}")
    errors = [line for line in done.err.splitlines() if line.startswith(("fatal:", "error:"))]
    reason = harmless(transport.without_password((errors or ["git gave no reason"])[0])[:300])
    if "fsck" in done.err:
        raise NotALedger(f"git refuses the objects of that branch: {reason}")
    raise LedgerUnreachable(f"the ledger could not be fetched: {reason}", remote=_shown(remote))


def _shown(remote: str) -> str:
    return harmless(transport.without_password(remote))


def _tip(repository: str) -> tuple[str, int, int | None]:
    """The last commit, its time, and its generation; None if it is not one that bb makes. Then only the commits before
    it show whether it deleted something."""
    form = "--format=%H %ct %(trailers:key=Bb-Generation,valueonly=true,separator=%x20)%n%s"
    if int(git.run(["cat-file", "-s", FETCHED], git_dir=repository)) > MOST_ABOUT:
        raise bounds.LedgerTooLarge("the message of the last commit is longer than a ledger can have")
    about, _, subject = git.run(["log", "-1", "--no-show-signature", form, FETCHED], git_dir=repository).partition("\n")
    commit, moment, generation = (*about.split(), "", "")[:3]
    is_ours = subject.startswith("bb: ")
    return commit, (_number(moment) or 0) * clock.SECOND, _number(generation) if is_ours else None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None


def _settle(store: str, index: Index, found: Sound, at: str) -> Arbiter | None:
    """Save the results of publication order on the remote AT an address, of the lines that count. If another remote is
    the arbiter, its order decides nothing. Returns that arbiter."""
    from bb.ledger.published import pins  # noqa: PLC0415  (the last commit is enough for most)
    from bb.ledger.travel import admitted  # noqa: PLC0415  (the last commit is enough for most)

    named, address = found.tip.charter.arbiter, ""
    if named:
        if named.address != at:
            pins.write(store, pins.Pins({}, named=named))
            return named
        address = at
    known = pins.Pins({}, admitted=admitted.admit_commits(found.settled, found.commits, address))
    if law := index.law:
        counts = law.counting(counting.signatures(index, law.repo))
        before = admitted.without_lines_that_do_not_count(found.settled, found.commits, counts)
        lawful = admitted.admit_commits(before, found.commits, address, counts)
        known = known.replace(counted=lawful, law=law.basis)
    pins.write(store, known)
    return None


def _save(store: str, found: Sound) -> None:
    """Save all lines as journals."""
    from bb.ledger.travel import importing  # noqa: PLC0415  (the last commit is enough for most)

    disk.remove_folder(_journals(store))
    importing.refuse_wrong_blanks(store, found.commits, {})
    for writer, first, octets in (added for one in found.commits for added in one.added):
        _write_lines(store, writer, first, octets)


def _time(repository: str, found: Sound) -> int:
    """The time of the last commit that counts."""
    words = ["log", "-1", "--no-show-signature", "--format=%ct", found.tip.commit]
    return (_number(git.run(words, git_dir=repository).strip()) or 0) * clock.SECOND


def _read_tip(repository: str, commit: str, store: str, *, is_read_whole: bool) -> Index | None:
    """Save the lines of the last commit that the newest snapshot does not cover as journals. Returns an index that
    starts with the snapshot. None if every commit is needed."""
    files = _listed(repository, commit)
    with git.Conversation(["cat-file", "--batch"], git_dir=repository) as objects:
        charter = files.pop(CHARTER, None)
        if charter is None:
            raise NotALedger(f"commit {commit[:12]} has no {CHARTER}")
        charter_of(layout.blob(objects, charter, layout.SMALL))
        allowance = bounds.Allowance()
        segments = {layout.segment_of(path): blob for path, blob in files.items() if _holds_lines(path)}
        is_archived = any(path.startswith(archive.FOLDER) for path in files)
        newest = _snapshot(repository, files) if is_archived and not is_read_whole else None
        if is_archived and newest is None:
            return None
        heads = newest.heads if newest else {}
        has_global = False
        for (writer, first), blob in segments.items():
            last = heads[writer].n if writer in heads else 0
            octets = _whole(layout.path_of(writer, first), layout.blob(objects, blob, layout.LARGEST))
            allowance.take(octets)
            has_global = has_global or GLOBAL in octets
            raws = octets.split(b"\n")[max(last - first + 1, 0) :]
            if len(raws) > 1:
                _write_lines(store, writer, max(first, last + 1), b"\n".join(raws))
    return None if has_global or _lacks_lines(segments, heads) else _begun(newest)


def _begun(newest: Snapshot | None) -> Index | None:
    """An index that starts with a snapshot; None if the snapshot has global reservations or is invalid."""
    index = Index(":memory:", None)
    if newest is None:
        return index
    try:
        snapshot.fill(index, newest.heads, newest.rows)
        if not newest.has_global:
            return index
    except Exception:  # noqa: S110  (folds may fail in any way on forged states)
        pass
    index.close()
    return None


def _holds_lines(path: str) -> bool:
    """Whether the file at PATH is a file of lines."""
    if path in (layout.README, layout.SETTLED) or path.startswith(archive.FOLDER):
        return False
    return not (path.startswith("snap/") and snapshot.name_in(path))


def _lacks_lines(segments: Mapping[tuple[str, int], str], heads: Mapping[str, Link]) -> bool:
    """Whether lines are missing between the snapshot and a writer's first file."""
    firsts: dict[str, int] = {}
    for writer, first in segments:
        firsts[writer] = min(first, firsts.get(writer, first))
    return any(first > (heads[writer].n if writer in heads else 0) + 1 for writer, first in firsts.items())


def _snapshot(repository: str, files: Mapping[str, str]) -> Snapshot | None:
    """The newest snapshot in a commit; None unless every snapshot is usable, because the newest one is needed."""
    blobs: dict[str, list[str]] = {}
    for path, blob in files.items():
        if path.startswith("snap/") and (name := snapshot.name_in(path)):
            blobs.setdefault(name, []).append(blob)
    if len(blobs) > snapshot.KEPT:
        raise NotALedger("there are more snapshots than a ledger can have")
    snapshots = []
    for name, names in blobs.items():
        parts = snapshot.load(repository, names)
        read = snapshot.read(b"".join(parts)) if parts else None
        if read is None or snapshot.name_of({writer: link.n for writer, link in read.heads.items()}) != name:
            return None
        snapshots.append(read)
    return max(snapshots, key=lambda read: sum(link.n for link in read.heads.values()), default=None)


def _journals(store: str) -> str:
    return os.path.join(store, "j")


def _write_lines(store: str, writer: str, first: int, octets: bytes) -> None:
    folder = os.path.join(_journals(store), writer)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{first:012}.jsonl"), "wb") as file:
        file.write(octets)


def _whole(path: str, octets: bytes) -> bytes:
    """OCTETS, which must be complete lines. Unlike a journal in use, a published file may not end in a partial line."""
    if not octets.endswith(b"\n"):
        raise NotALedger(f"{harmless(path)} does not end with a complete line")
    bounds.must_be_lines(octets, harmless(path))
    return octets


def _listed(repository: str, commit: str) -> dict[str, str]:
    """The files of a commit, each with its blob. Refused if there is anything but regular files, or too much."""
    blobs: dict[str, str] = {}
    total = 0
    try:
        words = ["ls-tree", "-r", "-l", "-z", "--full-tree", commit]
        listed = git.output(words, git_dir=repository, most=bounds.MAX_GIT_OUTPUT)
    except git.TooMuchOutput.error as error:
        raise bounds.LedgerTooLarge() from error
    if listed.count(b"\0") > bounds.MOST_FILES:
        raise bounds.LedgerTooLarge()
    for entry in listed.split(b"\0"):
        if not entry:
            continue
        about, _, path = entry.decode("utf-8", "backslashreplace").partition("\t")
        mode, kind, blob, size = about.split()
        if (mode, kind) != PLAIN:
            raise NotALedger(f"{harmless(path[:200])} is not a regular file")
        total += int(size)
        blobs[path] = blob
        if total > MOST_BYTES:
            raise bounds.LedgerTooLarge()
    return blobs
