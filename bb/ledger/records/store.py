"""The ledger of one repository: records facts and reads state.

Recording decides and appends under one lock: it folds the new lines, calls the rule, and has the rule's lines on the
disk before it releases the lock. So a rule such as "no other agent holds this scope" is decided on current state.
"""

from __future__ import annotations

import os

from bb.kernel import clock, ids
from bb.kernel.errors import BbError, Conflict, NotFound
from bb.kernel.event import MERGED, REQUEST, SIGNED, Event
from bb.ledger.files.sqlite import sqlite3
from bb.ledger.git import ownership
from bb.ledger.index.index import Index
from bb.ledger.journal import clone, received, writers
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal, LedgerDamaged
from bb.ledger.records.journals import Journals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bb.ledger.git.place import Place
    from bb.ledger.git.session import GitSession
    from bb.ledger.index.reader import Progress
    from bb.ledger.journal.clone import Clone
    from bb.ledger.journal.cursors import Damage
    from bb.ledger.journal.kinds import Fact
    from bb.ledger.journal.line import Link
    from bb.ledger.journal.sources import Sources
    from bb.ledger.records.batch import Batch
    from bb.ledger.records.drafts import Draft, KeyedCall
    from bb.ledger.signing.keys import Key
    from bb.ledger.signing.verdicts import SigningLaw

FAR_BEHIND = 1 << 20  # bytes of journal
MOST_SIGNED = 5  # attempts to sign while other processes keep recording
INDEX = "index.sqlite"
SIGNERS = "signers.json"  # if this file exists, some lines may not count (`ledger/records/policy.py`)

NotInitialized = NotFound.declare(
    "NOT_INITIALIZED", "This repository has no ledger yet", hint="run `bb init` to make one"
)
KeyReused = Conflict.declare(
    "KEY_REUSED", "That idempotency key was used for another request", hint="use a new key for a new request"
)


class Store:
    """The ledger in one place. If it does not exist, it is read as empty."""

    def __init__(self, place: Place, progress: Progress | None = None, patience: float | None = None) -> None:
        self.place = place
        self._patience = patience  # seconds to wait while another process rebuilds the index
        self.path = place.store
        self._git: GitSession | None = None
        self.progress = progress
        self._journals = Journals(self.path)
        self._clone: Clone | None = None
        self._index: Index | None = None
        self._law: SigningLaw | None = None
        self._law_of: tuple[int, int, int] | None = None  # the state of the file that it was read from
        self._batch: Batch | None = None
        self.records = 0  # how often something was recorded
        self._is_ours = False  # whether the repository's owner was checked
        self._read_clone()

    def _read_clone(self) -> None:
        """Read the identity of the store and find our writer."""
        self._clone = clone.read(self.path) or clone.from_journals(self.path)
        if self._clone:
            self._clone.may_read()
            self._journals.find_writer(self._clone.writer)

    def reopen(self) -> None:
        """Read the identity of the store again, after it has changed."""
        self.close()
        self._law_of = None
        self._read_clone()

    @property
    def writer(self) -> str | None:
        """Our own writer; None if there is none yet."""
        return self._journals.writer

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
            raise NotInitialized()
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

    @property
    def git(self) -> GitSession:
        """The git processes that a sync of this store shares. `with store.git:` stops them at the end."""
        if self._git is None:
            from bb.ledger.git.session import GitSession  # noqa: PLC0415  (only a sync needs it)

            self._git = GitSession(self.place)
        return self._git

    def journals(self) -> list[Journal]:
        """The journals of all writers, including ours. There may be thousands."""
        return self.sources().everything()

    def local_journals(self) -> list[Journal]:
        """The journals that processes with access to this store write, including ours."""
        return self._journals.local()

    def sources(self) -> Sources:
        """All journals, as an index reads them."""
        return self._journals.sources()

    def caught_up(self) -> Index:
        """The index, after it has read all lines; within a batch, all lines at the batch's last look."""
        if self._batch is None or not self._batch.is_current:
            self.index.return_if_possible()
            self.index.cursors.is_still = False
            self.index.law = self.law
            self.index.catch_up(self.sources(), self.progress)
            if self._batch:
                self._batch.is_current, self._batch.is_behind = True, False
                self.index.cursors.is_still = True
        elif self._batch.journal and self._batch.must_fold():
            self._fold(self._batch.journal)
        return self.index

    def look_at_everything(self) -> None:
        """Look at every received journal, as every command does at ours. Files may have been changed by hand or by a
        failing disk, and the log of received lines does not tell that."""
        self.index.catch_up(self._journals.sources(is_thorough=True), self.progress)

    def caught_up_on_disk(self) -> Index:
        """The index, caught up, with its cursors stored on the disk too."""
        if self.index.cursors.is_ahead:
            self.index.cursors.forget()
            if self._batch:
                self._batch.is_current = False
        return self.caught_up()

    def index_with_markers(self) -> Index:
        """The index with every marker. It may lack the latest lines of a batch."""
        return self.index if self._batch and self._batch.is_current else self.caught_up()

    def last_files(self) -> list[tuple[str, int]]:
        """Files and their sizes, which change with every record and every import: the last file of each journal that is
        written here, and the log of received lines. There are none if the ledger is gone."""
        last = [segments[-1] for journal in self.local_journals() if (segments := journal.segments())]
        files = [(segment.path, segment.size()) for segment in last]
        log = received.mark_of(self.path).size
        return [*files, *([(received.FOLDER, log)] if log else [])]

    def has_read(self, journal: Journal) -> bool:
        """Whether the index has read our JOURNAL to its end."""
        (segment, size), position = journal.end(), self.index.position(journal.writer)
        return segment is not None and (segment.first, size) == (position.segment, position.offset)

    def damages(self) -> list[Damage]:
        """The damages in the journals, except for journals that were retired because of their damage."""
        return [
            damage
            for damage in self.caught_up().damages()
            if not writers.is_retired(self._journals.folder, damage.writer)
        ]

    def close(self, *, at_exit: bool = False) -> None:
        """Close the index and our own journal. AT_EXIT means that the process ends at once."""
        if self._index is not None:
            self._index.close(at_exit=at_exit)
            self._index = None
        if self._batch is not None:
            self._batch.is_current = False  # the next index may lack lines that this one has passed over
        self._journals.close()
        if self._git is not None:
            self._git.close()

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
        # A command that only reads loads none of this.
        from bb.ledger.records.drafts import Decision, KeyedCall, draft_of, refuse_secret_names, with_key  # noqa: PLC0415

        refuse_secret_names([key] if key else [])
        law = self.law
        if law:
            from bb.ledger.records import policy  # noqa: PLC0415  (needed only with a list of signers)

            law = policy.require_own_lines_to_count(self, now)
        decision = Decision(decide)

        def drafts(index: Index) -> list[Draft]:
            facts = decision.facts(index)
            if decision.refusal:
                return [draft_of(fact, by) for fact in facts]
            decided = [draft_of(fact, author(fact) if author else by, allow_secret) for fact in facts]
            if law:
                policy.refuse_orders(law, [(draft.kind, draft.by) for draft in decided])
            refuse_secret_names({draft.by for draft in decided})
            return with_key(decided, by, key, request) if key else decided

        recorded = self.append(drafts, now, KeyedCall(by, key, request, window) if key else None)
        if decision.refusal:
            raise decision.refusal
        return recorded

    def append(
        self,
        drafts: Callable[[Index], Sequence[Draft]],
        now: int,
        call: KeyedCall | None = None,
        *,
        is_account: bool = False,
    ) -> list[Event]:
        """Record the drafts that DRAFTS returns for the current state, as the next lines of our journal. A marker for
        new lines of other writers goes before them; with IS_ACCOUNT, such a marker may be recorded by itself."""
        from bb.ledger.records.batch import WriterRetired  # noqa: PLC0415

        self.clone.may_write()
        self._refuse_foreign()
        while True:
            self.ensure_writer()
            try:
                return self._append(drafts, now, call, is_account=is_account)
            except WriterRetired:
                continue  # under another writer

    def _append(
        self,
        drafts: Callable[[Index], Sequence[Draft]],
        now: int,
        call: KeyedCall | None,
        *,
        is_account: bool,
    ) -> list[Event]:
        from bb.ledger.records.batch import RecordInBatch, SingleRecord  # noqa: PLC0415
        from bb.ledger.records.drafts import marker_drafts  # noqa: PLC0415

        # New lines are folded under the lock, one process at a time. Many new lines are folded before taking it.
        if (self._batch is None or not self._batch.is_current) and self.index.behind(self.sources()) > FAR_BEHIND:
            self.caught_up()
        own = self._own()
        with RecordInBatch(self._batch, own) if self._batch else SingleRecord(own, self.may_still_write) as journal:
            index = self.caught_up()
            self.refuse_damage()
            if call and (earlier := self._earlier(index, call, now)):
                return earlier
            new_drafts = list(drafts(index))
            heads = index.unmerged()
            if not new_drafts and not (heads and is_account):
                return []
            new_drafts[:0] = marker_drafts(self.path, heads)
            recorded = self._write(journal, new_drafts, index, now)
            if self._batch:
                self._batch.has_recorded = True
                # Only the next decision of the batch needs these lines folded, so the answer does not wait for that.
                self._batch.is_behind |= not index.skip_written(journal)
            if self._batch is None or heads:
                self._fold(journal)
        return [event for event in recorded if event.kind != MERGED]

    def _write(self, journal: Journal, drafts: Sequence[Draft], index: Index, now: int) -> list[Event]:
        """Write DRAFTS as the next lines of JOURNAL. Its lock must be held."""
        from bb.ledger.records.drafts import ORIGIN  # noqa: PLC0415

        def events(last: Link) -> list[Event]:
            if last != index.position(journal.writer).link:
                raise LedgerDamaged("the last line has changed since it was read", writer=journal.writer)
            latest = max(last.lamport, index.lamport(), *(draft.data.get(ORIGIN, 0) for draft in drafts))
            # A forged clock far ahead is followed only as far as a line may leap; else our line would be invalid.
            lamport, ts = min(latest, last.lamport + lines.LEAP - 1), clock.text(now)
            return [
                Event(
                    id=ids.event_id(journal.writer, last.n + place),
                    lamport=lamport + place,
                    ts=ts,
                    kind=draft.kind,
                    by=draft.by,
                    data=draft.data,
                    group_id=self.clone.group_id,
                    scope_key=draft.scope_key,
                    key=draft.key,
                )
                for place, draft in enumerate(drafts, 1)
            ]

        recorded = journal.append(events, lambda: lines.salt(os.urandom(5)), is_synced=False)
        self.records += 1
        return recorded

    def sign(self, key: Key, now: int) -> None:
        """Record a signature by KEY over all of our own lines.

        No lock is held while the signature is made, because a key agent may be slow. If another line was recorded
        meanwhile, the signature is made again.
        """
        from contextlib import suppress  # noqa: PLC0415

        from bb.ledger.records.batch import SingleRecord, WriterRetired  # noqa: PLC0415
        from bb.ledger.records.drafts import SYSTEM, Draft  # noqa: PLC0415
        from bb.ledger.signing import verdicts  # noqa: PLC0415  (lines are signed when they are published)

        self.clone.may_write()
        for _ in range(MOST_SIGNED):
            self.ensure_writer()
            own, before = self._own(), self.caught_up().position(self.writer or "").link
            signature = verdicts.signature(key, self.clone.repo, own.writer, before)
            with suppress(WriterRetired), SingleRecord(own, self.may_still_write) as journal:
                index = self.caught_up()
                self.refuse_damage()
                if index.position(journal.writer).link == before:
                    self._write(journal, [Draft(SYSTEM, SIGNED, {"signature": signature})], index, now)
                    self._fold(journal)
                    return

    def record_marker(self, now: int) -> None:
        """Record a marker for the other writers' new lines, so that they get sequence numbers here.

        Every record does this as well. Markers of other clones alone are no reason for a marker, or two clones would
        record markers for each other for ever.
        """
        self.append(lambda _: [], now, is_account=True)

    def _earlier(self, index: Index, call: KeyedCall, now: int) -> list[Event]:
        """The events that an earlier CALL with the same key recorded. KeyReused if that was another request."""
        names = index.recorded_under(call.by, call.key)
        if not names:
            return []
        places = [ids.split_event_id(name) for name in names]
        recorded = [lines.event(Journal(self.path, writer).line(n) or b"") for writer, n in places]
        if call.window is not None:
            recorded = [event for event in recorded if clock.parse_or(event.ts, now) >= now - call.window]
        if recorded and recorded[0].data.get(REQUEST, "") != call.request:
            raise KeyReused(event_id=recorded[0].id)
        return recorded

    def batch(self) -> Batch:
        """`with store.batch():` syncs everything that is recorded within it to the disk together, at its end.

        The caller must not acknowledge any of it before the end. If the sync fails, all of it is removed.
        """
        from bb.ledger.records.batch import Batch  # noqa: PLC0415

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
        own = self._journals.own()
        if own is None:
            raise NotInitialized()
        return own

    def ensure_writer(self) -> None:
        """Make sure that we have a writer before anything is written. A copied store gets a new one."""
        if self._journals.ensure_writer(self.clone.writer):
            self.close()

    def may_still_write(self) -> bool:
        """Whether our writer was not retired since `ensure_writer`. The lock of its journal is held: who retires a
        writer moves its last lines under that lock."""
        return self._journals.is_unchanged()

    def _refuse_foreign(self) -> None:
        """Refuse to write into the ledger of another user. This is checked once."""
        if not self._is_ours:
            ownership.refuse_foreign(self.place)
            self._is_ours = True

    def refuse_damage(self) -> None:
        """Refuse if our own journal is damaged."""
        if damage := self.index.damage_of(self.writer or ""):
            raise LedgerDamaged(
                f"line {damage.n} of {os.path.relpath(damage.path, self.path)} is damaged: {damage.reason}",
                **damage.as_dict(),
            )
