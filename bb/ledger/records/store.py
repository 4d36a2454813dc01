"""The ledger of one repository: records facts, reads state, iterates over events.

Recording decides and appends under one lock: it folds the new lines, calls the rule, and has the rule's lines on the
disk before it releases the lock. So a rule such as "no other agent holds this scope" is decided on current state.
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
from bb.ledger.journal.sequence import SequenceNumbers
from bb.ledger.records.batch import Batch, RecordInBatch, SingleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, TypeAlias

    from bb.ledger.git.place import Place
    from bb.ledger.index.reader import Progress
    from bb.ledger.journal.clone import Clone
    from bb.ledger.journal.cursors import Damage
    from bb.ledger.journal.kinds import Fact
    from bb.ledger.journal.line import Link
    from bb.ledger.signing.verdicts import SigningLaw

    # author, kind, data, idempotency key, and the key of the group's directory

Draft: TypeAlias = "tuple[str, str, dict[str, Any], str | None, str]"

FAR_BEHIND = 1 << 20  # bytes of journal
MOST_SIGNED = 5  # attempts to sign while other processes keep recording
ORIGIN = "salvaged_lamport"  # the original Lamport time of an event recorded again; new lines get a higher one
SHORTEST_SECRET = 15  # characters of the shortest known token
LONGEST_HEAD = 4096  # bytes of a line without its data
INDEX, JOURNALS, STORE_LOCK = "index.sqlite", "j", "lock"
SIGNERS = "signers.json"  # if this file exists, some lines may not count (`ledger/records/policy.py`)


class NotInitialized(NotFound):
    """This repository has no ledger yet."""

    code = "NOT_INITIALIZED"
    hint = "run `bb init` to make one"


class EventNotFound(NotFound):
    """The ledger has no event with that id."""

    code = "EVENT_NOT_FOUND"
    hint = "run `bb ledger log` to list the events"


class EventUnreadable(Refused):
    """This version of bb cannot read that event."""

    code = "EVENT_UNREADABLE"
    hint = "upgrade bb, if a newer version wrote the event; `bb ledger export --raw` prints the line unchanged"


class KeyReused(Conflict):
    """That idempotency key was used for another request."""

    code = "KEY_REUSED"
    hint = "use a new key for a new request"


class WriterNotAllowed(Forbidden):
    """The key of this clone is not listed, so lines recorded here would not count."""

    code = "WRITER_NOT_ALLOWED"
    hint = (
        "add the line that `bb ledger key` prints to .bb/allowed_signers; after review and merge, run `bb sync`; "
        "if the key was revoked, run `bb ledger key --rotate` first"
    )


class OrderNotAllowed(Forbidden):
    """The person's orders need a signature of a key listed for `user`, and the key of this clone is not listed so."""

    code = "ORDER_NOT_ALLOWED"
    hint = (
        "give the order in a clone that has the person's key; or add the line that `bb ledger key --for user` prints "
        "to .bb/allowed_signers, and after review and merge run `bb sync`"
    )


class Store:
    """The ledger in one place. If it does not exist, it is read as empty."""

    def __init__(self, place: Place, progress: Progress | None = None, patience: float | None = None) -> None:
        self.place = place
        self._patience = patience  # seconds to wait while another process rebuilds the index
        self.path = place.store
        self.progress = progress
        self._journals_path = os.path.join(self.path, JOURNALS)
        self._clone = clone.read(self.path) or origin.from_journals(self.path)
        if self._clone:
            self._clone.may_read()
        self.writer = writers.own_writer(self._journals_path, self._clone.writer) if self._clone else None
        self._index: Index | None = None
        self._law: SigningLaw | None = None
        self._law_of: tuple[int, int, int] | None = None  # the state of the file that it was read from
        self._batch: Batch | None = None
        self._own_journal: Journal | None = None
        self._names = disk.FolderListing(self._journals_path)
        self._listed: list[str] = []
        self._read_journals: dict[str, Journal] = {}
        self._is_sure: str | None = None  # the state of the files by which our writer was last checked
        self.has_recorded = False
        self._is_ours = False  # whether the repository's owner was checked

    @property
    def exists(self) -> bool:
        return self._clone is not None

    def require_ledger(self) -> None:
        """Refuse if there is no ledger. The hint names the command that makes one here."""
        if self._clone is None:
            is_home = self.place.work_tree is None and not os.path.isdir(self.place.common)
            hint = "change to a git repository, or run `bb init --home` to make a ledger outside of any repository"
            raise NotInitialized("there is no ledger here", hint=hint if is_home else None, store=self.path)

    @property
    def clone(self) -> Clone:
        if self._clone is None:
            raise NotInitialized
        return self._clone

    @property
    def index(self) -> Index:
        if self._index is None:
            # bb never opens a database of another user; it folds that ledger in memory.
            is_file = self.exists and ownership.is_ours(self.place)
            path = os.path.join(self.path, INDEX) if is_file else ":memory:"
            how = {} if self._patience is None else {"patience": self._patience}
            self._index = Index(path, self.writer, **how)
        return self._index

    @property
    def law(self) -> SigningLaw | None:
        """The law that decides which lines count here; None if all lines count, as without a list of signers."""
        try:
            status = os.stat(os.path.join(self.path, SIGNERS))
        except OSError:
            self._law = self._law_of = None
            return None
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        if stamp != self._law_of and self._clone:
            from bb.ledger.records import policy  # noqa: PLC0415  (needed only with a list of signers)

            self._law, self._law_of = policy.law(self.path, self._clone.repo), stamp
        return self._law

    def journals(self) -> list[Journal]:
        """The journals of all writers, including ours."""
        names, known = self._names.now(), self._read_journals
        if names is not self._listed:
            self._listed = names
            self._read_journals = {
                writer: known.get(writer) or Journal(self.path, writer) for writer in writers.writer_ids_in(names)
            }
        return list(self._read_journals.values())

    def caught_up(self) -> Index:
        """The index, after it has read all lines; within a batch, all lines at the batch's last look."""
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

    def caught_up_on_disk(self) -> Index:
        """The index, caught up, with its cursors stored on the disk too."""
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
        """The damages in the journals, except for journals that were retired because of their damage."""
        retired = writers.retired(self._journals_path)
        return [damage for damage in self.caught_up().damages() if damage.writer not in retired]

    def close(self) -> None:
        """Close the index and our own journal."""
        if self._index is not None:
            self._index.close()
            self._index = None
        if self._batch is not None:
            self._batch.is_current = False  # the next index may lack lines that this one has passed over
        self._close_own_journal()

    # -- making it

    def make(self, title: str, by: str, now: int, *, repo: str | None = None, topic: str = "") -> bool:
        """Make the ledger if it does not exist; return whether it was made. Safe to repeat and to run concurrently."""
        if self.exists and self.caught_up().heads():
            return False
        # git runs before the lock is taken.
        fresh = self._clone or clone.Clone(repo or _repo_id(self.place), writers.new_id())
        self._make_folders()
        with self._store_lock():
            self._establish(fresh)
            if self.caught_up().heads():
                return False  # another process has made it
            # Secrets in a title are masked, not refused: most titles are directory names, which the user cannot omit.
            about = {
                "title": secret_patterns.masked(title),
                **({"topic": secret_patterns.masked(topic)} if topic else {}),
            }
            genesis = (GENESIS, {**about, "repo": self.clone.repo, "format": clone.FORMAT})
            self._append(lambda: [(by, *genesis, None, "")], now)
            return True

    def join(self, repo: str) -> None:
        """Make this the ledger of REPO: create it empty if it does not exist, else keep its lines."""
        self._make_folders()
        with self._store_lock():
            self._establish(clone.Clone(repo, writers.new_id()))
            if self.clone.repo != repo:
                former = tuple(name for name in (*self.clone.former, self.clone.repo) if name != repo)
                self._clone = self.clone.replace(repo=repo, former=former[-clone.MOST_FORMER :])
                clone.write(self.path, self._clone)
        self._law_of = None

    def make_folder(self) -> None:
        """Make the folder of the ledger, if it does not exist."""
        ownership.refuse_foreign(self.place)
        if not os.path.isdir(self.path):
            from bb.ledger.git import sharing  # noqa: PLC0415  (needed only to make a ledger)

            sharing.make_store(self.place)

    def _make_folders(self) -> None:
        self.make_folder()
        disk.make_folder(self._journals_path)
        disk.make_folder(os.path.join(self.path, "presence"))

    def _establish(self, fresh: Clone) -> None:
        """Make sure that there are a clone.json (else FRESH) and a writer of our own. The store's lock must be held."""
        self.close()
        self._clone = clone.read(self.path)
        if self._clone is None:
            self._clone = origin.from_journals(self.path) or fresh
            clone.write(self.path, self._clone)
        self.writer = writers.own_writer(self._journals_path, self._clone.writer)
        if self.writer is None:
            is_taken = self._clone.writer in writers.all_in(self._journals_path)
            self.writer = writers.mint(self._journals_path, writers.new_id() if is_taken else self._clone.writer)

    def _store_lock(self) -> Lock:
        """The lock for changes of the store itself: creating it, or giving it another writer."""
        path = os.path.join(self.path, STORE_LOCK)
        try:
            os.close(disk.create(path, os.O_WRONLY))
        except OSError as error:
            raise disk.refusal(error) from error
        return Lock(path)

    def salvage(self, drafts: Callable[[int], Sequence[Draft]], now: int) -> int:
        """Record events of a retired journal again, under our own writer; return their number.

        DRAFTS is called with the line number that the first event will have.
        """

        def numbered() -> Sequence[Draft]:
            head = self.index.position(self.writer or "").link.n
            return drafts(head + (2 if self.index.unmerged() else 1))  # a marker precedes them

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
        """Record the facts that DECIDE returns for the current state. The facts that a refusal leaves are recorded too.
        The author of each fact is BY, or the result of AUTHOR.

        KEY makes a call idempotent: a repeated call records nothing and returns the events of the first call. It is
        refused if REQUEST, a digest of the request, differs from the first call's. With WINDOW, only a call in the last
        WINDOW milliseconds counts as the first call.
        """
        secret_patterns.refuse_secrets(key or "")
        refusals: list[BbError] = []
        law = self._law_for_us(now)
        if law and law.excludes_own_lines:
            raise WriterNotAllowed

        def drafts() -> list[Draft]:
            try:
                facts = decide(self.index)
                rows = [(author(fact) if author else by, _written(fact, allow_secret)) for fact in facts]
                if law:
                    _refuse_orders(law, rows)
                for name in {name for name, _ in rows if len(name) >= SHORTEST_SECRET}:
                    secret_patterns.refuse_secrets(name)
            except BbError as refusal:
                if not refusal.leaving:
                    raise
                refusals[:] = [refusal]
                return [
                    (by, kind, data, None, "") for kind, data, _ in (_written(fact, None) for fact in refusal.leaving)
                ]
            noted = {REQUEST: request} if key and request else {}
            return [(name, kind, {**data, **noted}, key, scope) for name, (kind, data, scope) in rows]

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
        # New lines are folded under the lock, one process at a time. Many new lines are folded before taking it.
        if (self._batch is None or not self._batch.is_current) and self.index.behind(self.journals()) > FAR_BEHIND:
            self.caught_up()
        own = self._own()
        with RecordInBatch(self._batch, own) if self._batch else SingleRecord(own) as journal:
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
                    raise LedgerDamaged("the last line has changed since it was read", writer=journal.writer)
                known = max(link.lamport, index.lamport(), *(data.get(ORIGIN, 0) for _, _, data, *_ in wanted))
                # A forged clock far ahead is followed only as far as a line may leap; else our line would be invalid.
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
                # Only the next decision of the batch needs these lines folded, so the answer does not wait for that.
                self._batch.is_behind |= not index.skip_written(journal)
            if self._batch is None or heads:
                self._fold(journal)
        return [event for event in recorded if event.kind != MERGED]

    def _law_for_us(self, now: int) -> SigningLaw | None:
        """The law, updated first if it may not match our key: a copied store has another writer and key."""
        law = self.law
        if law and self._clone:
            self._ensure_writer()
            if law.own != self.writer or law.excludes_own_lines:  # our key may have been listed since
                from bb.ledger.records import policy  # noqa: PLC0415

                policy.refresh(self, now)
                law = self.law
        return law

    def sign(self, signed: Callable[[str, Link], str], now: int) -> None:
        """Record a signature over all of our own lines. SIGNED makes it from the writer and the link of the last line.

        No lock is held while SIGNED runs, because a key agent may be slow. If another line was recorded meanwhile, the
        signature is made again.
        """
        self.clone.may_write()
        self._ensure_writer()
        for _ in range(MOST_SIGNED):
            own, before = self._own(), self.caught_up().position(self.writer or "").link
            data = {"signature": signed(own.writer, before)}
            with SingleRecord(own) as journal:
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

    def record_marker(self, now: int) -> None:
        """Record a marker for the other writers' new lines, so that they get sequence numbers here.

        Every record does this as well. Markers of other clones alone are no reason for a marker, or two clones would
        record markers for each other for ever.
        """
        self._append(list, now, is_account=True)

    def _earlier(self, index: Index, key: tuple[str, str], now: int, window: int | None) -> list[Event]:
        """The events that were recorded under KEY, within WINDOW if given."""
        events = [self.event(event) for event in index.recorded_under(*key)]
        return [event for event in events if window is None or clock.parse_or(event.ts, now) >= now - window]

    def batch(self) -> Batch:
        """`with store.batch():` syncs everything that is recorded within it to the disk together, at its end.

        The caller must not acknowledge any of it before the end. If the sync fails, all of it is removed.
        """
        self._batch = Batch(self)
        return self._batch

    def end_batch(self) -> None:
        """End the batch: from now on, every record is synced by itself."""
        self._batch = None
        if self._index is not None:
            self._index.cursors.is_still = False

    def _fold(self, journal: Journal) -> None:
        """Fold the lines just recorded into the index, while the lock is held.

        The lines are recorded even if this fails. The next reader will meet the same failure and report it.
        """
        try:
            self.index.read_on(journal)
        except (BbError, sqlite3.Error):
            return

    def _own(self) -> Journal:
        """Our own journal. The object is kept, because it remembers its last write."""
        if self.writer is None:
            raise NotInitialized
        if self._own_journal is None:
            self._own_journal = Journal(self.path, self.writer)
        return self._own_journal

    def _close_own_journal(self) -> None:
        if self._own_journal is not None:
            self._own_journal.close()
            self._own_journal = None

    def _ensure_writer(self) -> None:
        """Give a copied store, or a store shared with another kernel, a writer of its own before it is written to."""
        before = self.writer
        if before is not None and self._is_sure == writers.owner_fingerprint(self._journals_path, before):
            return  # nothing has changed since the last check
        self.writer = writers.own_writer(self._journals_path, before or self.clone.writer)
        if self.writer is None:
            with self._store_lock():  # two processes in the same copy must not both make a writer
                self.writer = writers.own_writer(self._journals_path)
                self.writer = self.writer or writers.mint(self._journals_path, writers.new_id())
        self._is_sure = writers.owner_fingerprint(self._journals_path, self.writer)
        self._close_own_journal()
        if self.writer != before:
            self.close()

    def _refuse_foreign(self) -> None:
        """Refuse to write into the ledger of another user. This is checked once."""
        if not self._is_ours:
            ownership.refuse_foreign(self.place)
            self._is_ours = True

    def refuse_damage(self) -> None:
        """Refuse if our own journal is damaged."""
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
        """The raw line that records one event."""
        writer, n = ids.split_event_id(event_id)
        is_sound = n <= self.caught_up().heads().get(writer, 0)
        raw = Journal(self.path, writer).line(n) if is_sound else None
        if raw is None:
            raise EventNotFound(f"there is no event {event_id}", event_id=event_id)
        return raw

    def octets(self, writer: str, first: int, last: int) -> bytes:
        """The raw lines of a writer from number FIRST to LAST."""
        return b"".join(raw + b"\n" for raw in islice(Journal(self.path, writer).lines_from(first), last - first + 1))

    def newest_first(
        self, decode: Callable[[bytes], Any] | None, wanted: Callable[[bytes], bool], *, with_unreadable: bool = False
    ) -> Iterator[Event]:
        """Every event whose line is WANTED, in the total order, newest first, without lines after a damage."""
        import heapq  # noqa: PLC0415  (not needed for recording)

        read = events_with_unreadable if with_unreadable else readable

        index = self.caught_up()
        heads = index.heads()
        return heapq.merge(
            *(_backwards(journal, heads.get(journal.writer, 0), decode, wanted, read) for journal in self.journals()),
            key=lambda event: event.order,
            reverse=True,
        )

    def numbered(self, events: Sequence[Event]) -> list[Event]:
        """The events with their sequence numbers."""
        places = self.places()
        return [event.replace(seq=places.of(event)) for event in events]

    def last_files(self) -> list[tuple[str, int]]:
        """The last file of each journal and its size, which change with every record."""
        last = [segments[-1] for journal in self.journals() if (segments := journal.segments())]
        return [(segment.path, segment.size()) for segment in last]

    def last_recorded_at(self) -> str:
        """The time of the newest line of all journals, by its writer's clock; empty if there are no lines."""
        newest = (next(readable(journal.backwards()), None) for journal in self.journals())
        return max((event.ts for event in newest if event), default="")

    def places(self) -> SequenceNumbers:
        """The sequence numbers of events in this clone's own order."""
        # The index may lack the latest lines of a batch, but it has every marker.
        index = self.index if self._batch and self._batch.is_current else self.caught_up()
        return SequenceNumbers(self.path, self.writer, index.markers())


def _backwards(
    journal: Journal,
    head: int,
    decode: Callable[[bytes], Any] | None,
    wanted: Callable[[bytes], bool],
    read: Callable[[Iterable[bytes], Callable[[bytes], Any] | None], Iterator[Event]],
) -> Iterator[Event]:
    for event in read((raw for raw in journal.backwards() if wanted(raw)), decode):
        if ids.split_event_id(event.id)[1] <= head:
            yield event


def readable(raws: Iterable[bytes], decode: Callable[[bytes], Any] | None = None) -> Iterator[Event]:
    """The events that lines record, without unreadable ones."""
    return (event for event in events_with_unreadable(raws, decode) if not event.unreadable)


def events_with_unreadable(raws: Iterable[bytes], decode: Callable[[bytes], Any] | None = None) -> Iterator[Event]:
    """The events that lines record; for an unreadable line, a stand-in with its place and the reason."""
    for raw in raws:
        try:
            event = lines.event(raw, decode)
            ids.split_event_id(event.id)
        except lines.Unreadable as error:
            event = lines.unreadable_event(raw, str(error))
        except ids.InvalidEventId:
            continue
        yield event


def _written(fact: Fact, allow_secret: str | None) -> tuple[str, dict[str, Any], str]:
    """The kind and data that record a fact, and the directory it is about. Refuses secrets that are not allowed."""
    from bb.ledger.journal import kinds  # noqa: PLC0415  (it knows every fact; reading does not need it)

    kind, data = kinds.kind_and_data(fact)
    if refuse_secrets_in(data, allow_secret):
        data["secret_allowed"] = allow_secret
    return kind, data, kinds.scope_of(fact)


def _only(event: Event, behind: Link) -> Callable[[Link], list[Event]]:
    """EVENT alone, if the last line is still the one that it was made for."""
    return lambda link: [event] if link == behind else []


def _refuse_orders(law: SigningLaw, rows: Sequence[tuple[str, tuple[str, dict[str, Any], str]]]) -> None:
    """Refuse the person's orders if they would not count."""
    if law.needs_persons_key and not law.is_persons:
        from bb.coordination.records import vouching  # noqa: PLC0415  (needed only if orders must be signed)

        if any(vouching.is_order(kind, by) for by, (kind, _, _) in rows):
            raise OrderNotAllowed


def refuse_secrets_in(data: Any, allow_secret: str | None = None) -> bool:
    """Refuse DATA if one of its texts contains a secret, unless OVERRIDE gives a reason; whether it has one.

    A quick search of the whole data comes first. The patterns are then applied to each text by itself, because two
    adjacent texts do not make a secret.
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
    """Refuse a fact that recording would refuse, so that a caller can leave it out before it records many."""
    secret_patterns.refuse_secrets(str(getattr(fact, "by", "")))
    try:
        octets = len(json_text.dumps(_written(fact, None)[1]).encode())
    except UnicodeEncodeError as error:
        raise json_text.InvalidText from error
    if octets + LONGEST_HEAD > lines.MAX_LINE:
        raise lines.LineTooLong(
            f"the event takes {octets:,} bytes; at most {lines.MAX_LINE:,} are allowed", bytes=octets
        )


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value, including the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for name, member in value.items() for text in (name, *_texts(member)))
    elif isinstance(value, list | tuple):
        yield from (text for item in value for text in _texts(item))


def _repo_id(place: Place) -> str:
    """An id that is the same in every clone of a history; random if there is no history yet."""
    from bb.ledger.git import git  # noqa: PLC0415  (needed only to make a ledger)

    root = git.root_commit(place.common)
    return root[:12] if root else digest(os.urandom(16))[:12]
