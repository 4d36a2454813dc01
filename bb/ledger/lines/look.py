"""One look at a file: what is in the work tree and in HEAD now, compared with what bb knew, and who changed it."""

from __future__ import annotations

import os
import time

from bb.coordination.lines import authorship, line_diff, weave
from bb.coordination.lines.authorship import Going
from bb.coordination.lines.edits import edited
from bb.coordination.lines.file_state import (
    ABSENT,
    BEGUN,
    CLAIMED,
    CONVERTED,
    EDIT_ACTS,
    ENDED,
    FOUND,
    PLAIN,
    FileState,
    Version,
)
from bb.coordination.lines.splices import changes
from bb.ledger.lines import going_commands, work_files
from bb.ledger.lines.act import Act
from bb.ledger.lines.lines_store import ContentLost
from bb.ledger.lines.open_edits import Explanation, OpenEdits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.coordination.lines.weave import Weave
    from bb.ledger.lines.lines_store import LinesStore
    from bb.ledger.lines.work_files import Found


WRITING = 0.2  # seconds for which a look waits until a tool has written the file to its end
PAUSE = 0.002


class Look:
    """A look at PATH. The caller holds the lock of STORE."""

    def __init__(self, store: LinesStore, path: str, act: Act, now: int) -> None:
        self._store = store
        self._path = path
        self._act = act
        self._time = now
        before = store.state(path)
        self.before = before
        self._number = before.n + 1 if before else 1
        self._nobody = weave.unattributed(self._number)
        self._base = before.base if before and before.head == store.head else store.base(path)
        self._open = OpenEdits(store, before, act, now)
        self._stamp = work_files.stamp(store.place, path)
        if before and self._stamp and (before.stamp, before.base) == (self._stamp, self._base):
            self._form, self._now, self._is_whole = before.form, before.now, before.is_whole
        else:
            self._form, self._now, self._is_whole = self._stored(self._written())
        self._known = before or self._as_committed()
        known, is_text = self._known, not (self._is_whole or self._known.is_whole)
        self._tools = self._open.tools if is_text and (self._form, known.form) == (PLAIN, PLAIN) else {}
        self._explanation = self._open.explanation(known, self._now) if self._tools else None

    def _as_committed(self) -> FileState:
        """What a file of which nothing is known was before it changed: as HEAD has it."""
        lines = self._store.lines(self._base, is_whole=self._is_whole) if self._base != self._now else []
        return FileState(
            path=self._path,
            head=self._store.head,
            base=self._base,
            now=self._base,
            weave=weave.unchanged(len(lines)),
            form=self._form,
            is_whole=self._is_whole,
        )

    def state(self) -> FileState:
        """The state of the file after this look."""
        by, act = self._act.by, self._act.kind
        made_by = self._explanation.agents if self._explanation else ()
        author = next(iter(made_by), None) or self._author(self._going().author()) or self._nobody
        author = self._nobody if self._is_as_before(author) else author
        woven = self._weave(author)
        if act == CLAIMED:
            woven = weave.claimed(woven, by, self._known.looked.get(by, 0))
        is_over = act in EDIT_ACTS  # an edit of the agent that began earlier
        editing = {who: at for who, at in self._known.editing.items() if who != by or not is_over}
        tools = {who: call for who, call in self._known.tools.items() if who in editing}
        tools |= {who: FOUND for who in made_by if who in editing}
        return FileState(
            path=self._path,
            n=self._number,
            at=self._time,
            act=act,
            by=by,
            head=self._store.head,
            base=self._base,
            now=self._now,
            weave=woven,
            mode_owner=self._mode_owner(author),
            form=self._form,
            stamp=self._stamp,
            is_whole=self._is_whole,
            editing=editing | ({by: self._time} if act == BEGUN else {}),
            tools=tools | (self._call() if act == BEGUN else {}),
            looked={**self._known.looked, by: self._number} if by else self._known.looked,
        )

    def is_news(self, after: FileState) -> bool:
        """Whether AFTER says more than what was known before."""
        before = self.before
        if before is None:
            return after.is_changed
        same = {name: getattr(before, name) for name in ("n", "at", "act", "by", "looked", "stamp")}
        return before != after.replace(**same)

    # -- who changed it

    def _going(self) -> Going:
        rewriting, others = going_commands.going(self._store.folder, self._time)
        return Going(self._known.editors(self._time), rewriting, others)

    def _author(self, candidate: str | None) -> str | None:
        """CANDIDATE, unless it may not have changed the file: it has begun to, and nothing says that it did."""
        act, known = self._act, self._known
        if candidate is None or (candidate == act.by and act.kind == ENDED):
            return candidate
        if candidate not in self._going().editors:
            return candidate if candidate == act.command_of else None
        return None if candidate in self._tools or known.tools.get(candidate) == FOUND else candidate

    def _call(self) -> dict[str, str]:
        """The call of the acting agent's tool, for those who look later."""
        edit = self._act.edit
        return {self._act.by: self._store.keep(edit.as_octets())} if edit else {}

    def _is_as_before(self, author: str) -> bool:
        """Whether a file of which nothing is known is as it was when the command of its AUTHOR began. Then HEAD has
        moved since, and the file only seems to be changed."""
        if self.before or self._base == self._now or weave.is_unattributed(author):
            return False
        command = going_commands.read(self._store.folder, author)
        if command is None or command.head in ("", self._store.head):
            return False
        entry = work_files.entries(self._store.place, command.head, [self._path]).get(self._path)
        return (Version(entry.blob, entry.mode) if entry else ABSENT) == self._now

    def _weave(self, author: str) -> Weave:
        try:
            return self._known_weave(author)
        except ContentLost.error:  # what was there before is not known, so neither is who changed it
            if self._is_whole:
                return authorship.as_whole(self._lost(), self._base, self._now, self._nobody, self._nobody)
            base, now = self._store.lines(self._base), self._store.lines(self._now)
            return edited(weave.unchanged(len(base)), base, base, now, self._nobody)

    def _lost(self) -> FileState:
        return self._known.replace(weave=(), mode_owner="", now=self._base)

    def _known_weave(self, author: str) -> Weave:
        if self._is_whole != self._known.is_whole:
            if self._is_whole:
                return authorship.as_whole(self._known, self._base, self._now, author, self._nobody)
            lines = self._store.lines(self._base)
            return edited(weave.unchanged(len(lines)), lines, lines, self._store.lines(self._now), author)
        if self._base.blob == self._now.blob:
            return weave.unchanged(len(self._store.lines(self._base)))
        apart = None if self._explanation else self._apart_from_others(author)
        if found := self._explanation or apart:
            return self._carried_over(self._explained(found, has_rest=apart is not None))
        return self._carried_over(self._after(self._known, self._now, author))

    def _explained(self, found: Explanation, *, has_rest: bool) -> Weave:
        """The weave after the edits of known tools, one after the other, and after the REST if there is one."""
        start, base = found.start, self._store.lines(self._base)
        woven = self._after(start, start.now, self._nobody)
        content, lines = self._store.content(start.now.blob), self._store.lines(start.now)
        for agent in found.agents:
            for splices, following in self._tools[agent].steps(content) or ():
                after = line_diff.split(following)
                woven = edited(woven, base, lines, after, agent, changes(content, splices, following))
                content, lines = following, after
        if has_rest:
            rest = self._author(self._going().author_besides(self._act.by)) or self._nobody
            woven = edited(woven, base, lines, self._store.lines(self._now), rest)
        return woven

    def _apart_from_others(self, author: str) -> Explanation | None:
        """The edit of the acting agent, if it has changed the file, and something else has too."""
        by, known = self._act.by, self._known
        if self._act.kind != ENDED or by == author or by not in self._tools or self._now.blob == known.now.blob:
            return None
        fits = self._tools[by].result(self._store.content(known.now.blob)) is not None
        return Explanation(known, (by,)) if fits else None

    def _after(self, known: FileState, now: Version, author: str) -> Weave:
        def lines(version: Version) -> list[bytes]:
            return self._store.lines(version, is_whole=self._is_whole)

        earlier: Sequence[FileState] = ()
        if self.before and now.blob not in (self._base.blob, known.now.blob):
            earlier = [one for one in self._store.log(self._path).recent() if one.is_whole == self._is_whole]
        return authorship.after_look(known, self._base, now, lines, author, self._nobody, earlier)

    def _carried_over(self, woven: Weave) -> Weave:
        """The weave of a moved file: uncommitted lines of others keep their owners."""
        if self._act.from_path is None or self._is_whole or self._base.blob or self._known.now.blob:
            return woven
        states = self._store.log(self._act.from_path).recent()
        there = next((one for one in states if one.now.blob and not one.is_whole), None)
        if there is None:
            return woven
        lines = self._store.lines
        return authorship.carried_over(woven, lines(self._now), there.weave, lines(there.now))

    def _mode_owner(self, author: str) -> str:
        """Who made or deleted the file, or changed its mode. Of a new file it is always the agent that made it."""
        known, base, now = self._known, self._base, self._now
        if base.mode == now.mode:
            return ""
        is_kept = known.now.mode == now.mode or (not base.mode and now.mode)
        changed_by = self._nobody if known.now.mode == now.mode else author  # or else only the base has changed
        owner = known.mode_owner if known.mode_owner and is_kept else changed_by
        is_claimed = self._act.kind == CLAIMED and weave.is_after(owner, known.looked.get(self._act.by, 0))
        return self._act.by if is_claimed else owner

    # -- what is there

    def _written(self) -> Found:
        """The file, when no tool is in the middle of writing it."""
        deadline = time.monotonic() + WRITING
        while self._open.is_half_written((found := self._found()).octets) and time.monotonic() < deadline:
            time.sleep(PAUSE)
            self._stamp = work_files.stamp(self._store.place, self._path)
        return found

    def _found(self) -> Found:
        found = work_files.read(self._store.place, self._path)
        both = {found.mode, self._base.mode}
        if both == {work_files.FILE, work_files.PROGRAM}:
            is_ignored = os.name == "nt" or work_files.ignores_modes(self._store.place)
            return found.replace(mode=self._base.mode) if is_ignored else found
        return found

    def _stored(self, found: Found) -> tuple[str, Version, bool]:
        """How git stores the file as it is now: the form, the version, and whether it is one unit."""
        before, store = self.before, self._store
        if not found.mode:
            return before.form if before else PLAIN, ABSENT, before.is_whole if before else self._is_whole_base()
        if found.octets is None:
            return PLAIN, Version(work_files.blob_of_large(store.place, self._path), found.mode), True
        blob = store.contents.id_of(found.octets)
        store.offer(blob, found.octets)
        is_plain = before is None or before.form == PLAIN
        if is_plain and before and blob == before.now.blob and self._base == before.base:
            return PLAIN, Version(blob, found.mode), before.is_whole
        if is_plain and blob == self._base.blob:
            return PLAIN, Version(blob, found.mode), found.is_whole
        form = self._form_of(found)
        if form == CONVERTED:
            blob = store.keep(work_files.converted(store.place, self._path, found.octets))
        else:
            store.contents.keep(blob, found.octets)
        return form, Version(blob, found.mode), found.is_whole or self._is_whole_base()

    def _form_of(self, found: Found) -> str:
        before = self.before
        is_known = before is not None and before.base == self._base and bool(before.now.blob)
        has_new_ends = b"\r" in (found.octets or b"")
        if found.mode == work_files.LINK or (before and is_known and (before.form == CONVERTED or not has_new_ends)):
            return before.form if before and found.mode != work_files.LINK else PLAIN
        return CONVERTED if work_files.is_converted(self._store.place, self._path) else PLAIN

    def _is_whole_base(self) -> bool:
        base = self._base
        if not base.blob:
            return False
        if self.before and self.before.base == base and not self.before.is_whole:
            return False
        return base.mode == work_files.LINK or authorship.is_binary(self._store.content(base.blob))
