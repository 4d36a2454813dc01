"""Reads the published ledger of a remote without importing it: fetch, verify, read, delete. CI uses this.

The fetch goes into a temporary repository, so the current repository gets no objects and no refs, and does not become
shallow. The transport settings of the current repository are passed through the environment, because CI checkouts keep
their credentials there.

The commits since the newest snapshot are enough (`tip_reader.py`). Every commit is fetched if no snapshot can be used
(the ledger is young, another version of bb made the snapshot, or a signing law decides which lines count), if an order
of publication matters that the snapshot does not have, or if a line has lost its payload without a valid withdrawal
(earlier commits still have the payload). So it is if the last commit is not one that bb makes, or is invalid: then the
state is read up to the last commit that counts (`quarantine.py`).

Anyone who may push to the branch can put anything there. Only regular files at valid paths and of valid size are read.
A line that does not follow from the one before it is a refusal, because part of a ledger is not enough for a verdict.
That a commit deleted or changed lines shows in comparison with its parent, so no commit after the snapshot is skipped.
The snapshot itself is believed: only a clone with all lines can compare it, and `bb sync` does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from bb.coordination.holdings.admission import Admitted
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
from bb.ledger.published import bounds, layout
from bb.ledger.published.arbiter import Arbiter, address_of
from bb.ledger.published.charter import Charter, LedgerRewritten, NotALedger, must_be_ours
from bb.ledger.records import payload_removal
from bb.ledger.signing.verdicts import SigningLaw
from bb.ledger.travel import arbitration, numbering, tip_reader, transport
from bb.ledger.travel.remote import MOST_REFS, RemoteNotFound, only_place
from bb.ledger.travel.tip_reader import Latest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ledger.travel.quarantine import Sound, Stray

PATIENCE = 60.0
MOST_LOOKS = 3  # at the last commit, if the branch moves meanwhile
MORE = 8  # commits that another look fetches
MOST_JOINED = 1 << 20  # bytes of lines in one file
FETCHED = "refs/heads/ledger"
ABSENT = "couldn't find remote ref"  # in English, because bb sets the locale

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
    generation: int
    index: Index
    store: str  # a folder with journals only
    lost: tuple[str, ...] = ()  # events that have lost their payload without a valid withdrawal
    elsewhere: Arbiter | None = None  # the arbiter, if it is another remote
    is_whole: bool = False  # whether every commit was read, so that the order of all publications is known
    quarantined: tuple[Stray, ...] = ()  # commits on the branch that do not count, if all commits were read


class Found(Record):
    """The lines of a ledger in an index, which may start with a snapshot, and the last commit."""

    index: Index
    commit: str
    committed_at: int
    generation: int
    elsewhere: Arbiter | None
    is_whole: bool = False  # whether every commit was read
    quarantined: tuple[Stray, ...] = ()


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
        source = _Source(place, repository, remote, settings)
        store, at = os.path.join(folder, "bb"), _address(place, remote)
        found, lost = (None, []) if law or in_order else _latest(source, repository, store, at)
        if found is None or lost:
            if found:
                found.index.close()
            source.fetch(transport.EVERYTHING)
            commit = _tip(repository)[0]
            found, lost = _everything(repository, commit, store, at, law)
        try:
            yield _peek(found, remote, store, lost)
        finally:
            found.index.close()
    finally:
        disk.remove_folder(folder)


def _peek(found: Found, remote: str, store: str, lost: list[str]) -> Peek:
    about = (found.commit, found.committed_at, found.generation, found.index, store, tuple(lost), found.elsewhere)
    return Peek(_shown(remote), *about, found.is_whole, found.quarantined)


def _latest(source: _Source, repository: str, store: str, at: str) -> tuple[Found | None, list[str]]:
    """The ledger by its newest snapshot and the commits since then, and the lost events. None if every commit is
    needed, also because the last commit is not a valid one."""
    source.fetch(transport.THE_TIP)
    try:
        found = _read_latest(source, repository, store, at)
        return (None, []) if found is None else (found, _caught_up(found.index, store, None))
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


def _everything(repository: str, commit: str, store: str, at: str, law: SigningLaw | None) -> tuple[Found, list[str]]:
    """The ledger by all commits that count, and the lost events."""
    index, lost, sound = _index_of_everything(repository, commit, store, law)
    elsewhere = _settle(store, index, sound, at)
    about = (index, sound.tip.commit, _time(repository, sound), sound.tip.generation, elsewhere)
    return Found(*about, is_whole=True, quarantined=tuple(sound.strays)), lost


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


def _read_latest(source: _Source, repository: str, store: str, at: str) -> Found | None:
    """Read the last commit, and verify the commits since its snapshot. None if every commit is needed."""
    latest: Latest | None = None
    for look in range(MOST_LOOKS):
        commit, committed_at, generation, since_snapshot = _tip(repository)
        if generation is None:
            break
        if latest is None or latest.commit != commit:
            if latest:
                latest.index.close()
            disk.remove_folder(tip_reader.journals(store))
            latest = tip_reader.read(repository, commit, store)
        if latest is None:
            return None
        try:
            verified = tip_reader.since_snapshot(repository, latest)
        except (NotALedger, LedgerRewritten.error):
            break
        if verified:
            order = _save_order(store, verified[0], latest.arbiter, at)
            return Found(latest.index, commit, committed_at, verified[1], order)
        behind = generation - latest.newest.at.generation if since_snapshot is None else since_snapshot
        if behind <= 0:
            break
        # Back to the commit of the snapshot, and not much further, because the commits before it have many files. The
        # branch may move meanwhile, and stray commits have no number.
        source.fetch(f"--depth={behind + 1 + look * MORE}")
    if latest:
        latest.index.close()
    return None


def _save_order(store: str, results: Admitted, named: Arbiter | None, at: str) -> Arbiter | None:
    """Save the RESULTS of publication order on the remote AT an address. If another remote is the arbiter that is
    NAMED, its order decides nothing. Returns that arbiter."""
    from bb.ledger.published import pins  # noqa: PLC0415

    os.makedirs(store, exist_ok=True)
    is_elsewhere = named is not None and named.address != at
    pins.write(store, pins.Pins({}, named=named) if is_elsewhere else pins.Pins({}, admitted=results))
    return named if is_elsewhere else None


def _caught_up(index: Index, store: str, law: SigningLaw | None) -> list[str]:
    """Let INDEX read the journals. Returns the lost events. If this fails, INDEX is closed."""
    try:
        index.law = law
        index.catch_up([Journal(store, writer) for writer in {*index.heads(), *disk.names(tip_reader.journals(store))}])
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
    for writer in disk.names(tip_reader.journals(store)):
        folder = os.path.join(tip_reader.journals(store), writer)
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


class _Source:
    """The ledger of a remote, and the temporary repository that it is fetched into."""

    def __init__(self, place: Place, repository: str, remote: str, settings: list[tuple[str, str]]) -> None:
        self._root = place.work_tree or place.common  # a relative path is resolved from the top of the work tree
        self._repository = repository
        self._remote = remote
        self._env = transport.environment(settings, remote)
        self._ref: str | None = None

    def fetch(self, how_far: str) -> None:
        """Fetch the ledger to the depth HOW_FAR."""
        self._ref = self._ref or self._find()
        words = ["fetch", "--quiet", how_far, "--no-tags", "--no-recurse-submodules", "--refmap="]
        words = [*git.IN_PIECES, "-c", "fetch.fsckObjects=true", *words]
        self._ask([*words, self._remote, f"+{self._ref}:{FETCHED}"])

    def _find(self) -> str:
        shown = _shown(self._remote)
        found = only_place(self._ask(["ls-remote", "--", self._remote, *layout.PLACES]), shown)
        if found is None:
            raise LedgerUnpublished(f"{shown} has no branch {layout.BRANCH.removeprefix('refs/heads/')}")
        return found

    def _ask(self, words: list[str]) -> bytes:
        done = git.ask(words, git_dir=self._repository, at=self._root, env=self._env, patience=PATIENCE, most=MOST_REFS)
        if done.status == 0:
            return done.out
        shown = _shown(self._remote)
        if done.status is None:
            raise LedgerUnreachable(f"the ledger could not be fetched within {PATIENCE:.0f} s", remote=shown)
        if git.TOO_LARGE in done.err:
            raise bounds.LedgerTooLarge("an object on that branch is larger than a ledger can have")
        if ABSENT in done.err:
            raise LedgerUnpublished(f"{shown} has no ledger any more")
        errors = [line for line in done.err.splitlines() if line.startswith(("fatal:", "error:"))]
        reason = harmless(transport.without_password((errors or ["git gave no reason"])[0])[:300])
        if "fsck" in done.err:
            raise NotALedger(f"git refuses the objects of that branch: {reason}")
        raise LedgerUnreachable(f"the ledger could not be fetched: {reason}", remote=shown)


def _shown(remote: str) -> str:
    return harmless(transport.without_password(remote))


def _tip(repository: str) -> tuple[str, int, int | None, int | None]:
    """The last commit, its time, and its generation; None if it is not one that bb makes. Then only the commits before
    it show whether it deleted something. And the number of commits since the newest snapshot, if it has that number:
    in a ledger that has, or had, a fleet, generations do not tell it."""
    trailers = (
        f"%(trailers:key={key},valueonly=true,separator=%x20)%n" for key in ("Bb-Generation", numbering.COMMITS)
    )
    form = f"--format=%H%n%ct%n{''.join(trailers)}%s"
    if int(git.run(["cat-file", "-s", FETCHED], git_dir=repository)) > tip_reader.MOST_ABOUT:
        raise bounds.LedgerTooLarge("the message of the last commit is longer than a ledger can have")
    about = git.run(["log", "-1", "--no-show-signature", form, FETCHED], git_dir=repository)
    commit, moment, generation, commits, subject = about.split("\n", 4)
    is_ours = subject.startswith("bb: ")
    return commit, (_number(moment) or 0) * clock.SECOND, _number(generation) if is_ours else None, _number(commits)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None


def _settle(store: str, index: Index, found: Sound, at: str) -> Arbiter | None:
    """Save the results of publication order on the remote AT an address, of the lines that count. If another remote is
    the arbiter, its order decides nothing. Returns that arbiter.

    They judge the past, so what a fleet forgets since the epoch began is among them."""
    from bb.ledger.published import pins  # noqa: PLC0415  (the last commit is enough for most)
    from bb.ledger.travel import admitted  # noqa: PLC0415  (the last commit is enough for most)

    named, address = found.tip.charter.arbiter, ""
    if named:
        if named.address != at:
            pins.write(store, pins.Pins({}, named=named))
            return named
        address = at
    known = pins.Pins({}, admitted=admitted.admit_commits(found.settled, found.commits, address, forgets=False))
    if law := index.law:
        counts = law.counting(counting.signatures(index, law.repo))
        before = admitted.without_lines_that_do_not_count(found.settled, found.commits, counts)
        lawful = admitted.admit_commits(before, found.commits, address, counts, forgets=False)
        known = known.replace(counted=lawful, law=law.basis)
    pins.write(store, known)
    return None


def _save(store: str, found: Sound) -> None:
    """Save all lines as journals."""
    from bb.ledger.travel import importing  # noqa: PLC0415  (the last commit is enough for most)

    disk.remove_folder(tip_reader.journals(store))
    importing.refuse_wrong_blanks(store, found.commits, {})
    runs: dict[str, tuple[int, bytearray]] = {}  # the first line of each writer's next file, and the lines
    for writer, first, octets in (added for one in found.commits for added in one.added):
        begin, run = runs.setdefault(writer, (first, bytearray()))
        run += octets
        if len(run) >= MOST_JOINED:
            tip_reader.write_lines(store, writer, begin, bytes(run))
            del runs[writer]
    for writer, (begin, run) in runs.items():
        tip_reader.write_lines(store, writer, begin, bytes(run))


def _time(repository: str, found: Sound) -> int:
    """The time of the last commit that counts."""
    words = ["log", "-1", "--no-show-signature", "--format=%ct", found.tip.commit]
    return (_number(git.run(words, git_dir=repository).strip()) or 0) * clock.SECOND
