"""Reads the published ledger of a remote without importing it: fetch, verify, read, delete. CI uses this.

The fetch goes into a temporary repository, so the current repository gets no objects and no refs, and does not become
shallow. The transport settings of the current repository are passed through the environment, because CI checkouts keep
their credentials there.

Most of the time the last commit is enough, or the commits since the newest snapshot (`tip_reader.py`). Every commit is
fetched if there is no snapshot that this version of bb can use, if a signing law decides which lines count, or if a
line has lost its payload without a valid withdrawal (earlier commits still have the payload).

Anyone who may push to the branch can put anything there. Only regular files at valid paths and of valid size are read.
A line that does not follow from the one before it is a refusal, because part of a ledger is not enough for a verdict.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
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
from bb.ledger.published.charter import NotALedger, must_be_ours
from bb.ledger.published.tip import Commit
from bb.ledger.records import payload_removal
from bb.ledger.signing.verdicts import SigningLaw
from bb.ledger.travel import branch, rotation, tip_reader
from bb.ledger.travel.remote import MOST_REFS, RemoteNotFound, only_place
from bb.ledger.travel.tip_reader import Latest

PATIENCE = 60.0
MOST_LOOKS = 3  # at the last commit, if the branch moves meanwhile
FETCHED = "refs/heads/ledger"
ABSENT = "couldn't find remote ref"  # in English, because bb sets the locale
# Settings about reaching a remote. Other settings are about the repository itself, and are not passed on.
TRANSPORT = ("http.", "https.", "url.", "credential.", "protocol.", "ssh.")
TRANSPORT_KEYS = ("core.sshcommand", "core.gitproxy")
OF_REMOTE = ("url", "proxy", "proxyauthmethod", "uploadpack", "vcs")
THE_TIP = "--depth=1"
EVERYTHING = "--depth=2147483647"  # git treats this depth as unlimited, also in a shallow clone

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


class Found(Record):
    """An index that starts with the newest snapshot, and the last commit."""

    index: Index
    commit: str
    committed_at: int
    generation: int | None


@contextmanager
def published_ledger(place: Place, named: str | None, law: SigningLaw | None = None) -> Iterator[Peek]:
    """The published ledger of a remote: the NAMED one (name, URL or path), else origin, or the only remote.

    The fetched data is deleted at the end. If a LAW says which lines count, no snapshot is used, because a snapshot
    contains the effects of all lines, whatever key signed them.
    """
    settings = _settings(place)
    remote = _remote(_remotes(settings), named)
    folder = disk.temporary_folder("bb-peek-")
    try:
        repository = os.path.join(folder, "ledger.git")
        _make(repository, dict(settings).get("extensions.objectformat", "sha1"))
        source = _Source(place, repository, remote, settings)
        source.fetch(THE_TIP)
        commit, committed_at, generation = _tip(repository)
        store = os.path.join(folder, "bb")
        if law and (charter := rotation.charter_at(repository, commit)):
            must_be_ours(charter.repo, law.policy.repo)
            law = law.replace(repo=charter.repo)
        found = _read_latest(source, repository, store, law)
        index, generation = (found.index, found.generation or generation) if found else (None, generation)
        commit, committed_at = (found.commit, found.committed_at) if found else (commit, committed_at)
        lost = _caught_up(index, store, law) if index else []
        if index is None or lost:
            if index:
                index.close()
            source.fetch(EVERYTHING)
            commit, committed_at, _ = _tip(repository)
            generation, commits, before = _read_everything(repository, commit, store)
            index = Index(":memory:", None)
            lost = _caught_up(index, store, law)
            if law:
                _settle(store, index, law, commits, before)
        try:
            yield Peek(_shown(remote), commit, committed_at, generation, index, store, tuple(lost))
        finally:
            index.close()
    finally:
        disk.remove_folder(folder)


def _read_latest(source: _Source, repository: str, store: str, law: SigningLaw | None) -> Found | None:
    """Read the last commit, and the order of publication since its snapshot. None if every commit is needed."""
    latest: Latest | None = None
    for _ in range(MOST_LOOKS):
        commit, committed_at, generation = _tip(repository)
        if latest is None or latest.commit != commit:
            if latest:
                latest.index.close()
            disk.remove_folder(tip_reader.journals(store))
            latest = tip_reader.read(repository, commit, store, is_read_whole=law is not None)
        if latest is None:
            return None
        if not latest.needs_order:
            _save_order(store, latest.newest.at.admitted if latest.newest else Admitted())
            return Found(latest.index, commit, committed_at, generation)
        if order := tip_reader.order_since(repository, latest):
            _save_order(store, order[0])
            return Found(latest.index, commit, committed_at, order[1])
        if latest.newest is None or generation is None or generation <= latest.newest.at.generation:
            break
        # Back to the commit of the snapshot. The commits before it have many files. The branch may move meanwhile.
        source.fetch(f"--depth={generation - latest.newest.at.generation + 1}")
    if latest:
        latest.index.close()
    return None


def _save_order(store: str, results: Admitted) -> None:
    from bb.ledger.published import pins  # noqa: PLC0415

    os.makedirs(store, exist_ok=True)
    pins.write(store, pins.Pins({}, admitted=results))


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
        if "origin" not in known and len(known) != 1:
            raise LedgerUnpublished(
                "several remotes are configured, and none is origin" if known else "no remote is configured"
            )
        return "origin" if "origin" in known else known[0]
    if named not in known and not _may_be_url(named):
        raise RemoteNotFound(f"there is no remote {harmless(named[:60])!r}")
    return named


def _settings(place: Place) -> list[tuple[str, str]]:
    """The repository's own settings, with included files. Settings of the user and the system apply anyway."""
    listed = git.run(["config", "--local", "--includes", "--null", "--list"], at=place.work_tree or place.common)
    pairs = (setting.partition("\n") for setting in listed.split("\0") if setting)
    return [(name, value) for name, _, value in pairs]


def _remotes(settings: list[tuple[str, str]]) -> list[str]:
    names = (
        name[len("remote.") : -len(".url")]
        for name, _ in settings
        if name.startswith("remote.") and name.endswith(".url")
    )
    return list(dict.fromkeys(names))


def _may_be_url(remote: str) -> bool:
    """Whether REMOTE may be a URL or a path, and cannot be an option."""
    return remote.isprintable() and not remote.startswith("-") and any(mark in remote for mark in "/:\\")


def _environment(settings: list[tuple[str, str]], remote: str) -> Mapping[str, str]:
    """An environment with the settings for reaching REMOTE. On a command line, other users could read them."""
    keys = {*TRANSPORT_KEYS, *(f"remote.{remote}.{name}" for name in OF_REMOTE)}
    passed = [(name, value) for name, value in settings if name in keys or name.startswith(TRANSPORT)]
    count = os.environ.get("GIT_CONFIG_COUNT", "")
    start = int(count) if count.isascii() and count.isdigit() else 0
    env = dict(os.environ)
    for number, (name, value) in enumerate(passed, start):
        env |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return env | {"GIT_CONFIG_COUNT": str(start + len(passed))} | git.WHEN_FETCHING


def _make(repository: str, form: str) -> None:
    """Create an empty repository with the object format FORM, that of the current repository."""
    git.run(["init", "--quiet", "--bare", "--template=", f"--object-format={form}", repository])


class _Source:
    """The ledger of a remote, and the temporary repository that it is fetched into."""

    def __init__(self, place: Place, repository: str, remote: str, settings: list[tuple[str, str]]) -> None:
        self._root = place.work_tree or place.common  # a relative path is resolved from the top of the work tree
        self._repository = repository
        self._remote = remote
        self._env = _environment(settings, remote)
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
        reason = harmless(_without_password((errors or ["git gave no reason"])[0])[:300])
        if "fsck" in done.err:
            raise NotALedger(f"git refuses the objects of that branch: {reason}")
        raise LedgerUnreachable(f"the ledger could not be fetched: {reason}", remote=shown)


def _shown(remote: str) -> str:
    return harmless(_without_password(remote))


def _without_password(text: str) -> str:
    """TEXT with the credentials before the @ of a URL removed."""
    head, mark, rest = text.partition("://")
    if not mark:
        return text
    authority, slash, path = rest.partition("/")
    return head + mark + authority.rpartition("@")[2] + slash + _without_password(path)


def _tip(repository: str) -> tuple[str, int, int | None]:
    """The last commit, its time, and its generation."""
    form = "--format=%H %ct %(trailers:key=Bb-Generation,valueonly=true,separator=%x20)"
    if int(git.run(["cat-file", "-s", FETCHED], git_dir=repository)) > tip_reader.MOST_ABOUT:
        raise bounds.LedgerTooLarge("the message of the last commit is longer than a ledger can have")
    fields = git.run(["log", "-1", "--no-show-signature", form, FETCHED], git_dir=repository).split()
    commit, moment, generation = (*fields, "", "")[:3]
    return commit, (_number(moment) or 0) * clock.SECOND, _number(generation)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None


def _settle(store: str, index: Index, law: SigningLaw, commits: list[Commit], before: Admitted) -> None:
    """Save the results of publication order of the lines that count."""
    from bb.ledger.published import pins  # noqa: PLC0415
    from bb.ledger.travel import admitted  # noqa: PLC0415

    counts = law.counting(counting.signatures(index, law.repo))
    lawful = admitted.admit_commits(admitted.without_lines_that_do_not_count(before, commits, counts), commits, counts)
    pins.write(store, pins.read(store).replace(counted=lawful, law=law.basis))


def _read_everything(repository: str, commit: str, store: str) -> tuple[int, list[Commit], Admitted]:
    """Verify every commit, and save all lines as journals and the results of publication order. Returns the generation,
    the commits, and the results of earlier epochs."""
    from bb.ledger.published import pins  # noqa: PLC0415  (the last commit is enough for most)
    from bb.ledger.travel import admitted, importing  # noqa: PLC0415  (the last commit is enough for most)

    if disk.read_small(os.path.join(repository, "shallow")):
        raise LedgerUnreachable("the published ledger was replaced while it was fetched", hint="try again")
    disk.remove_folder(tip_reader.journals(store))
    history = branch.History(repository, None)
    commits = list(history.upto(commit))
    importing.refuse_wrong_blanks(store, commits, {})
    for writer, first, octets in (added for one in commits for added in one.added):
        tip_reader.write_lines(store, writer, first, octets)
    pins.write(store, pins.Pins({}, admitted=admitted.admit_commits(history.settled, commits)))
    return history.tip.generation, commits, history.settled
