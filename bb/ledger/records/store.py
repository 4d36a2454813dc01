"""The ledger of one repository as its users see it: record facts, read state, walk through events.

To record is to decide and append under one lock: the lines that have appeared lately are folded under it, the rule
decides, and the lines it asks for are on the disk before the lock is let go. So a rule that says "nobody else has it"
is right about it.
"""

from __future__ import annotations

import os
from itertools import islice

from bb.kernel import clock, ids, json_text, secret_patterns
from bb.kernel.digest import digest
from bb.kernel.errors import BbError, Conflict, Forbidden, NotFound, Refused
from bb.kernel.event import GENESIS, MERGED, REQUEST, SIGNED, Event
from bb.ledger.files import disk
from bb.ledger.files.lock import Lock
from bb.ledger.git import ownership
from bb.ledger.index.index import Index
from bb.ledger.index.sqlite import sqlite3
from bb.ledger.journal import clone, origin, writers
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal, LedgerDamaged
from bb.ledger.journal.sequence import Places
from bb.ledger.records.batch import Alone, Batch, Within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from bb.ledger.git.place import Place
    from bb.ledger.index.reader import Progress
    from bb.ledger.journal.clone import Clone
    from bb.ledger.journal.cursors import Damage
    from bb.ledger.journal.kinds import Fact
    from bb.ledger.journal.line import Link
    from bb.ledger.signing.verdicts import Law

    # by whom, of what kind, with which data, under which key, and about which directory of the group
    Draft = tuple[str, str, dict[str, Any], str | None, str]

FAR_BEHIND = 1 << 20  # bytes of journal
MOST_SIGNED = 5  # times that a signature is made, while others go on recording
ORIGIN = "salvaged_lamport"  # where an event stood that is recorded again: what comes now stands behind that
SHORTEST_SECRET = 15  # characters of the shortest token there is
LONGEST_HEAD = 4096  # bytes of a line without its data
INDEX, JOURNALS, STORE_LOCK = "index.sqlite", "j", "lock"
SIGNERS = "signers.json"  # where there is such a file, not every line counts (`ledger/records/policy.py`)


class NotInitialized(NotFound):
    """This repository has no ledger yet."""

    code = "NOT_INITIALIZED"
    hint = "make one with `bb init`"


class EventNotFound(NotFound):
    """There is no such event in the ledger."""

    code = "EVENT_NOT_FOUND"
    hint = "`bb ledger log` shows the events there are"


class EventUnreadable(Refused):
    """That line says nothing that this version of bb understands."""

    code = "EVENT_UNREADABLE"
    hint = "upgrade bb if a newer one wrote it; the line is kept as it is: `bb ledger export --raw` has every byte"


class KeyReused(Conflict):
    """That idempotency key has been used for something else."""

    code = "KEY_REUSED"
    hint = "use a fresh key for a new request"


class WriterNotAllowed(Forbidden):
    """What is recorded here counts for nobody, because the key of this clone is not listed."""

    code = "WRITER_NOT_ALLOWED"
    hint = (
        "`bb ledger key` prints the line to add to .bb/allowed_signers (where the key has been revoked, "
        "`bb ledger key --rotate` that of another one); once that is reviewed and merged, `bb sync`"
    )


class OrderNotAllowed(Forbidden):
    """The person's orders count only from a key that is listed for `user`, and the key of this clone is not."""

    code = "ORDER_NOT_ALLOWED"
    hint = (
        "give it where the person's key is; or have this key listed for the person: `bb ledger key --for user` prints "
        "the line to add to .bb/allowed_signers; once that is reviewed and merged, `bb sync`"
    )


class Store:
    """The ledger in one place. It may not exist yet: then it reads as empty, and recording makes it."""

    def __init__(self, place: Place, progress: Progress | None = None, patience: float | None = None) -> None:
        self.place = place
        self._patience = patience  # seconds to wait for another process that makes the index anew
        self.path = place.store
        self.progress = progress
        self._journals_path = os.path.join(self.path, JOURNALS)
        self._clone = clone.read(self.path) or origin.from_journals(self.path)
        if self._clone:
            self._clone.may_read()
        self.writer = writers.ours(self._journals_path, self._clone.writer) if self._clone else None
        self._index: Index | None = None
        self._law: Law | None = None
        self._law_of: tuple[int, int, int] | None = None  # the file in which it stood
        self._batch: Batch | None = None
        self._own_journal: Journal | None = None
        self._names = disk.Names(self._journals_path)
        self._listed: list[str] = []
        self._read_journals: dict[str, Journal] = {}
        self._is_sure: str | None = None  # by which files we know that our writer is ours
        self.has_recorded = False
        self._is_ours = False  # whether that has been asked

    @property
    def exists(self) -> bool:
        return self._clone is not None

    def must_exist(self) -> None:
        """Refuse where there is no ledger, and say which command makes one here."""
        if self._clone is None:
            is_home = self.place.work_tree is None and not os.path.isdir(self.place.common)
            hint = "go into a git repository, or make a ledger for what belongs to none with `bb init --home`"
            raise NotInitialized("there is no ledger here", hint=hint if is_home else None, store=self.path)

    @property
    def clone(self) -> Clone:
        if self._clone is None:
            raise NotInitialized
        return self._clone

    @property
    def index(self) -> Index:
        if self._index is None:
            # A database that another user has made is not opened: its ledger is read into memory.
            is_file = self.exists and ownership.is_ours(self.place)
            path = os.path.join(self.path, INDEX) if is_file else ":memory:"
            how = {} if self._patience is None else {"patience": self._patience}
            self._index = Index(path, self.writer, **how)
        return self._index

    @property
    def law(self) -> Law | None:
        """By which lines count here; None where all do, as they do wherever nobody has said who may write."""
        try:
            status = os.stat(os.path.join(self.path, SIGNERS))
        except OSError:
            self._law = self._law_of = None
            return None
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        if stamp != self._law_of and self._clone:
            from bb.ledger.records import policy  # noqa: PLC0415  (only where somebody has said who may write)

            self._law, self._law_of = policy.law(self.path, self._clone.repo), stamp
        return self._law

    def journals(self) -> list[Journal]:
        """The journals of all writers, ours among them."""
        names, known = self._names.now(), self._read_journals
        if names is not self._listed:
            self._listed = names
            self._read_journals = {
                writer: known.get(writer) or Journal(self.path, writer) for writer in writers.among(names)
            }
        return list(self._read_journals.values())

    def caught_up(self) -> Index:
        """The index, having read all there is; within a batch, all there was when it was last looked."""
        if self._batch is None or not self._batch.is_current:
            self.index.return_if_possible()
            self.index.cursors.is_still = False
            self.index.law = self.law
            self.index.catch_up(self.journals(), self.progress)
            if self._batch:
                self._batch.is_current, self._batch.is_behind = True, False
                self.index.cursors.is_still = True
        elif self._batch.journal and self._batch.must_fold():
            self._fold(self._batch.journal)
        return self.index

    def settled(self) -> Index:
        """The same, with everything written down that it has only passed over so far."""
        if self.index.cursors.is_ahead:
            self.index.cursors.forget()
            if self._batch:
                self._batch.is_current = False
        return self.caught_up()

    def has_read(self, journal: Journal, end: tuple[int, int]) -> bool:
        """Whether the index has read our JOURNAL to its END."""
        segments, position = journal.segments(), self.index.position(journal.writer)
        return bool(segments) and (segments[-1].first, end[1]) == (position.segment, position.offset)

    def damages(self) -> list[Damage]:
        """What is broken in the journals, but for those that were retired because of it."""
        retired = writers.retired(self._journals_path)
        return [damage for damage in self.caught_up().damages() if damage.writer not in retired]

    def close(self) -> None:
        """Let go of the index, and of the journal we write."""
        if self._index is not None:
            self._index.close()
            self._index = None
        if self._batch is not None:
            self._batch.is_current = False  # the next index may lack what this one had passed over
        self._let_go_of_own()

    # -- making it

    def make(self, title: str, by: str, now: int, *, repo: str | None = None, topic: str = "") -> bool:
        """Make the ledger if there is none; whether it had to be made. Safe to run twice, or twice at once."""
        if self.exists and self.caught_up().heads():
            return False
        # No lock is held across git.
        fresh = self._clone or clone.Clone(repo or _repo_id(self.place), writers.new_id())
        self._make_folders()
        with self._store_lock():
            self._found(fresh)
            if self.caught_up().heads():
                return False  # another process was faster
            # Most titles are the names of directories, which nobody can leave out.
            about = {
                "title": secret_patterns.masked(title),
                **({"topic": secret_patterns.masked(topic)} if topic else {}),
            }
            genesis = (GENESIS, {**about, "repo": self.clone.repo, "format": clone.FORMAT})
            self._append(lambda: [(by, *genesis, None, "")], now)
            return True

    def join(self, repo: str) -> None:
        """Be a ledger of REPO from now on: make an empty one if there is none. What is here already stays as it is."""
        self._make_folders()
        with self._store_lock():
            self._found(clone.Clone(repo, writers.new_id()))
            if self.clone.repo != repo:
                former = tuple(each for each in (*self.clone.former, self.clone.repo) if each != repo)
                self._clone = self.clone.but(repo=repo, former=former[-clone.MOST_FORMER :])
                clone.write(self.path, self._clone)
        self._law_of = None

    def make_folder(self) -> None:
        """The folder that a ledger would be in."""
        ownership.refuse_foreign(self.place)
        if not os.path.isdir(self.path):
            from bb.ledger.git import sharing  # noqa: PLC0415  (once in the life of a ledger)

            sharing.make_store(self.place)

    def _make_folders(self) -> None:
        self.make_folder()
        disk.make_folder(self._journals_path)
        disk.make_folder(os.path.join(self.path, "presence"))

    def _found(self, fresh: Clone) -> None:
        """See that there is a clone.json, FRESH if need be, and a writer of our own. The store's lock must be held."""
        self.close()
        self._clone = clone.read(self.path)
        if self._clone is None:
            self._clone = origin.from_journals(self.path) or fresh
            clone.write(self.path, self._clone)
        self.writer = writers.ours(self._journals_path, self._clone.writer)
        if self.writer is None:
            is_taken = self._clone.writer in writers.all_in(self._journals_path)
            self.writer = writers.mint(self._journals_path, writers.new_id() if is_taken else self._clone.writer)

    def _store_lock(self) -> Lock:
        """Held while the store itself changes: it is made, or gets another writer."""
        path = os.path.join(self.path, STORE_LOCK)
        try:
            os.close(disk.create(path, os.O_WRONLY))
        except OSError as error:
            raise disk.refusal(error) from error
        return Lock(path)

    def salvage(self, drafts: Callable[[int], Sequence[Draft]], now: int) -> int:
        """Record events of a retired journal again, under a writer of our own; how many. DRAFTS is told the number that
        the first of them will have."""

        def numbered() -> Sequence[Draft]:
            head = self.index.position(self.writer or "").link.n
            return drafts(head + (2 if self.index.unmerged() else 1))  # a marker goes before them

        return len(self._append(numbered, now))

    # -- recording

    def record(
        self,
        decide: Callable[[Index], Sequence[Fact]],
        *,
        by: str,
        now: int,
        key: str | None = None,
        request: str = "",
        allow_secret: str | None = None,
        author: Callable[[Fact], str] | None = None,
        window: int | None = None,
    ) -> list[Event]:
        """Record the facts that DECIDE arrives at, knowing all there is to know. What a refusal leaves is recorded too.
        Each is recorded in the name of BY, or of the AUTHOR it has.

        KEY makes a repetition harmless: it decides and records nothing, and returns what the first call recorded. It
        is refused when something else was asked for then, which the digest of the REQUEST tells. With a WINDOW, only
        what was recorded so many milliseconds ago, or later, counts as the first call.
        """
        secret_patterns.refuse_secrets(key or "")
        refusals: list[BbError] = []
        law = self._law_for_us(now)
        if law and law.is_shut:
            raise WriterNotAllowed

        def drafts() -> list[Draft]:
            try:
                facts = decide(self.index)
                written = [(author(fact) if author else by, _written(fact, allow_secret)) for fact in facts]
                if law:
                    _refuse_orders(law, written)
                for name in {name for name, _ in written if len(name) >= SHORTEST_SECRET}:
                    secret_patterns.refuse_secrets(name)
            except BbError as refusal:
                if not refusal.leaving:
                    raise
                refusals[:] = [refusal]
                return [
                    (by, kind, data, None, "") for kind, data, _ in (_written(each, None) for each in refusal.leaving)
                ]
            noted = {REQUEST: request} if key and request else {}
            return [(name, kind, {**data, **noted}, key, scope) for name, (kind, data, scope) in written]

        recorded = self._append(drafts, now, (by, key) if key else None, request, window)
        if refusals:
            raise refusals[0]
        return recorded

    def _append(
        self,
        drafts: Callable[[], Sequence[Draft]],
        now: int,
        key: tuple[str, str] | None = None,
        request: str = "",
        window: int | None = None,
        *,
        is_account: bool = False,
    ) -> list[Event]:
        self.clone.may_write()
        self._refuse_foreign()
        self._ensure_writer()
        # What has come lately is folded under the lock, one process at a time; a long way is gone before it.
        if (self._batch is None or not self._batch.is_current) and self.index.behind(self.journals()) > FAR_BEHIND:
            self.caught_up()
        own = self._own()
        with Within(self._batch, own) if self._batch else Alone(own) as journal:
            index = self.caught_up()
            self.refuse_damage()
            if key and (earlier := self._earlier(index, key, now, window)):
                if earlier[0].data.get(REQUEST, "") != request:
                    raise KeyReused(event_id=earlier[0].id)
                return earlier
            wanted = list(drafts())
            heads = index.unmerged()
            if not wanted and not (heads and is_account):
                return []
            if heads:
                wanted.insert(0, ("system", MERGED, {"heads": heads}, None, ""))

            def events(link: Link) -> list[Event]:
                if link != index.position(journal.writer).link:
                    raise LedgerDamaged("the last line is not what it was when it was read", writer=journal.writer)
                known = max(link.lamport, index.lamport(), *(data.get(ORIGIN, 0) for _, _, data, *_ in wanted))
                # A forged clock far ahead is followed no further than a line may leap, or ours would not be sound.
                lamport, ts = min(known, link.lamport + lines.LEAP - 1), clock.text(now)
                return [
                    Event(
                        id=ids.event_id(journal.writer, link.n + place),
                        lamport=lamport + place,
                        ts=ts,
                        kind=kind,
                        by=by,
                        data=data,
                        group_id=self.clone.group_id,
                        scope_key=scope,
                        key=under,
                    )
                    for place, (by, kind, data, under, scope) in enumerate(wanted, 1)
                ]

            recorded = journal.append(events, lambda: lines.salt(os.urandom(5)), is_synced=self._batch is None)
            self.has_recorded = True
            if self._batch:
                self._batch.has_recorded = True
                # Whoever decides next needs to know it. Where nobody does, the answer need not wait for that.
                self._batch.is_behind |= not index.passes_over(journal)
            if self._batch is None or heads:
                self._fold(journal)
        return [event for event in recorded if event.kind != MERGED]

    def _law_for_us(self, now: int) -> Law | None:
        """By which lines count here, once it is known what our key may: a copied store has another writer and key."""
        law = self.law
        if law and self._clone:
            self._ensure_writer()
            if law.own != self.writer or law.is_shut:  # perhaps our key has been listed since
                from bb.ledger.records import policy  # noqa: PLC0415

                policy.look(self, now)
                law = self.law
        return law

    def sign(self, signed: Callable[[str, Link], str], now: int) -> None:
        """Record a signature over all lines of our own. SIGNED makes it, given the writer and the last line.

        No lock is held meanwhile, for a key may be elsewhere; if something was recorded in between it is done again.
        """
        self.clone.may_write()
        self._ensure_writer()
        for _ in range(MOST_SIGNED):
            own, before = self._own(), self.caught_up().position(self.writer or "").link
            data = {"signature": signed(own.writer, before)}
            with Alone(own) as journal:
                index = self.caught_up()
                self.refuse_damage()
                last = index.position(journal.writer).link
                if last != before:
                    continue
                lamport = min(max(last.lamport, index.lamport()), last.lamport + lines.LEAP - 1) + 1
                group, name = self.clone.group_id, ids.event_id(journal.writer, last.n + 1)
                event = Event(name, lamport, clock.text(now), SIGNED, "system", data, group)
                journal.append(_only(event, last), lambda: lines.salt(os.urandom(5)))
                self._fold(journal)
                return

    def account(self, now: int) -> None:
        """Account for what others have said, so that it has its place in this clone's order.

        Recording anything does that by the way. That others have accounted for something is nothing to account for, or
        two clones would go on telling each other for ever.
        """
        self._append(list, now, is_account=True)

    def _earlier(self, index: Index, key: tuple[str, str], now: int, window: int | None) -> list[Event]:
        """What was recorded under a KEY already, not too long ago."""
        found = [self.event(event) for event in index.recorded_under(*key)]
        return [event for event in found if window is None or clock.parse_or(event.ts, now) >= now - window]

    def batch(self) -> Batch:
        """`with store.batch():` lets everything that is recorded within it reach the disk together, at its end.

        Until then nobody may be told that anything was recorded. When it cannot be synced, all of it is taken back.
        """
        self._batch = Batch(self)
        return self._batch

    def end_batch(self) -> None:
        """From now on, every record is synced by itself."""
        self._batch = None
        if self._index is not None:
            self._index.cursors.is_still = False

    def _fold(self, journal: Journal) -> None:
        """Let the index know what was just recorded, while nobody else is at it.

        It is recorded whatever becomes of this, so a failure is left for the next reader to meet.
        """
        try:
            self.index.read_on(journal)
        except (BbError, sqlite3.Error):
            return

    def _own(self) -> Journal:
        """The journal that we write; one and the same, for it remembers what we left there."""
        if self.writer is None:
            raise NotInitialized
        if self._own_journal is None:
            self._own_journal = Journal(self.path, self.writer)
        return self._own_journal

    def _let_go_of_own(self) -> None:
        if self._own_journal is not None:
            self._own_journal.close()
            self._own_journal = None

    def _ensure_writer(self) -> None:
        """A copied store, or one shared with another kernel, gets a writer of its own before it is written to."""
        before = self.writer
        if before is not None and self._is_sure == writers.stamp(self._journals_path, before):
            return  # all is as it was when we knew that it is ours
        self.writer = writers.ours(self._journals_path, before or self.clone.writer)
        if self.writer is None:
            with self._store_lock():  # two processes must not find themselves in a copy at once
                self.writer = writers.ours(self._journals_path)
                self.writer = self.writer or writers.mint(self._journals_path, writers.new_id())
        self._is_sure = writers.stamp(self._journals_path, self.writer)
        self._let_go_of_own()
        if self.writer != before:
            self.close()

    def _refuse_foreign(self) -> None:
        """Refuse to write into the ledger of another user; asked once."""
        if not self._is_ours:
            ownership.refuse_foreign(self.place)
            self._is_ours = True

    def refuse_damage(self) -> None:
        """Refuse while the journal that we write is damaged."""
        for damage in self.index.damages():
            if damage.writer == self.writer:
                raise LedgerDamaged(
                    f"line {damage.n} of {os.path.relpath(damage.path, self.path)} is damaged: {damage.reason}",
                    **damage.as_dict(),
                )

    # -- reading

    def event(self, event_id: str) -> Event:
        """One event by its id."""
        try:
            return self.numbered([lines.event(self.line(event_id))])[0]
        except lines.Unreadable as error:
            raise EventUnreadable(f"{event_id} cannot be read: {error}", event_id=event_id) from None

    def line(self, event_id: str) -> bytes:
        """The line that records one event, as it stands."""
        writer, n = ids.split_event_id(event_id)
        is_sound = n <= self.caught_up().heads().get(writer, 0)
        raw = Journal(self.path, writer).line(n) if is_sound else None
        if raw is None:
            raise EventNotFound(f"there is no event {event_id}", event_id=event_id)
        return raw

    def octets(self, writer: str, first: int, last: int) -> bytes:
        """The lines of a writer from number FIRST to LAST, as they stand."""
        return b"".join(raw + b"\n" for raw in islice(Journal(self.path, writer).lines_from(first), last - first + 1))

    def newest_first(
        self, decode: Callable[[bytes], Any] | None, wanted: Callable[[bytes], bool], *, with_unreadable: bool = False
    ) -> Iterator[Event]:
        """Every event whose line is wanted, in the total order, newest first. Nothing behind a damage is shown."""
        said = shown if with_unreadable else readable
        import heapq  # noqa: PLC0415  (only those who look back need it)

        index = self.caught_up()
        heads = index.heads()
        return heapq.merge(
            *(_backwards(journal, heads.get(journal.writer, 0), decode, wanted, said) for journal in self.journals()),
            key=lambda event: event.order,
            reverse=True,
        )

    def numbered(self, events: Sequence[Event]) -> list[Event]:
        """The events with their `seq`: the position in this clone's own order."""
        places = self.places()
        return [event.but(seq=places.of(event)) for event in events]

    def ends(self) -> list[tuple[str, int]]:
        """What changes whenever somebody records something: the last file of each journal, and how long it is."""
        last = [segments[-1] for journal in self.journals() if (segments := journal.segments())]
        return [(segment.path, segment.size()) for segment in last]

    def last_recorded_at(self) -> str:
        """When the last line of any journal was recorded, by its writer's clock; empty when there is none."""
        newest = (next(readable(journal.backwards()), None) for journal in self.journals())
        return max((event.ts for event in newest if event), default="")

    def places(self) -> Places:
        """Where events stand in this clone's own order."""
        # What a batch has recorded last, the index may not know yet; but it knows every marker.
        index = self.index if self._batch and self._batch.is_current else self.caught_up()
        return Places(self.path, self.writer, index.markers())


def _backwards(
    journal: Journal,
    head: int,
    decode: Callable[[bytes], Any] | None,
    wanted: Callable[[bytes], bool],
    said: Callable[[Iterable[bytes], Callable[[bytes], Any] | None], Iterator[Event]],
) -> Iterator[Event]:
    for event in said((raw for raw in journal.backwards() if wanted(raw)), decode):
        if ids.split_event_id(event.id)[1] <= head:
            yield event


def readable(raws: Iterable[bytes], decode: Callable[[bytes], Any] | None = None) -> Iterator[Event]:
    """The events that lines say; a line that says none is passed over."""
    return (event for event in shown(raws, decode) if not event.unreadable)


def shown(raws: Iterable[bytes], decode: Callable[[bytes], Any] | None = None) -> Iterator[Event]:
    """The events that lines say; of a line that says none, where it stands and why it is unreadable."""
    for raw in raws:
        try:
            event = lines.event(raw, decode)
            ids.split_event_id(event.id)
        except lines.Unreadable as error:
            event = lines.place_of(raw, str(error))
        except ids.InvalidEventId:
            continue
        yield event


def _written(fact: Fact, allow_secret: str | None) -> tuple[str, dict[str, Any], str]:
    """A fact as kind and data, and the directory it is about, having made sure that no secret enters the ledger
    unnoticed."""
    from bb.ledger.journal import kinds  # noqa: PLC0415  (every fact there is: who only asks does without)

    kind, data = kinds.written(fact)
    if refuse_secrets_in(data, allow_secret):
        data["secret_allowed"] = allow_secret
    return kind, data, kinds.scope_of(fact)


def _only(event: Event, behind: Link) -> Callable[[Link], list[Event]]:
    """The one EVENT, if it is to follow the line it was made BEHIND."""
    return lambda link: [event] if link == behind else []


def _refuse_orders(law: Law, written: Sequence[tuple[str, tuple[str, dict[str, Any], str]]]) -> None:
    """Refuse the person's orders where they would count for nobody."""
    if law.needs_persons_key and not law.is_persons:
        from bb.coordination.records import vouching  # noqa: PLC0415  (only where orders are signed)

        if any(vouching.is_order(kind, by) for by, (kind, _, _) in written):
            raise OrderNotAllowed


def refuse_secrets_in(data: Any, allow_secret: str | None = None) -> bool:
    """Refuse DATA where one of its texts holds a secret that nobody has vouched for; whether one is allowed.

    Marks are looked for in the whole first, and patterns in each text by itself: two side by side are no secret.
    """
    if not secret_patterns.may_hold(json_text.dumps(data)):
        return False
    secret = next(filter(secret_patterns.found, _texts(data)), None)
    if secret is None:
        return False
    secret_patterns.refuse_secrets(secret, allow_secret)
    secret_patterns.refuse_secrets(allow_secret or "")
    return True


def must_be_recordable(fact: Fact) -> None:
    """Refuse a fact that recording would refuse, so that one among many can be set aside before any is recorded."""
    secret_patterns.refuse_secrets(str(getattr(fact, "by", "")))
    try:
        octets = len(json_text.dumps(_written(fact, None)[1]).encode())
    except UnicodeEncodeError as error:
        raise json_text.InvalidText from error
    if octets + LONGEST_HEAD > lines.MAX_LINE:
        raise lines.LineTooLong(f"the event takes {octets:,} bytes, and {lines.MAX_LINE:,} are allowed", bytes=octets)


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value, names of members included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for name, each in value.items() for text in (name, *_texts(each)))
    elif isinstance(value, list | tuple):
        yield from (text for each in value for text in _texts(each))


def _repo_id(place: Place) -> str:
    """The same in every clone of a history; made up where there is no history yet."""
    from bb.ledger.git import git  # noqa: PLC0415  (only making a ledger needs git)

    root = git.root_commit(place.common)
    return root[:12] if root else digest(os.urandom(16))[:12]
