"""The edits of a file that are going on: what their tools do to it, and whether that explains what a look finds."""

from __future__ import annotations

from bb.coordination.lines import authorship
from bb.coordination.lines.file_state import BEGUN, ENDED, FOUND, PLAIN
from bb.coordination.wiring.tool_edits import ToolEdit
from bb.kernel.record import Record
from bb.ledger.lines import going_commands
from bb.ledger.lines.lines_store import ContentLost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.coordination.lines.file_state import FileState, Version
    from bb.ledger.lines.act import Act
    from bb.ledger.lines.lines_store import LinesStore


class Explanation(Record):
    """The tools of AGENTS, one after the other, have made the file of what it was in the state START."""

    start: FileState
    agents: tuple[str, ...]


class OpenEdits:
    """The edits that are going on in a file of which the state BEFORE is known, when ACT happens at NOW."""

    def __init__(self, store: LinesStore, before: FileState | None, act: Act, now: int) -> None:
        self._store = store
        self._before = before
        self._act = act
        self._time = now
        self._ended = act.by if act.kind == ENDED else ""
        self.tools: dict[str, ToolEdit] = {}  # those that are known, and whose changes were not found yet
        calls = before.tools if before else {}
        if self._ended and act.edit and calls.get(act.by) != FOUND:
            self.tools[act.by] = act.edit
        for agent in before.editors(now) if before else ():
            call = calls.get(agent) if agent not in self.tools else None
            octets = store.contents.read(call) if call else None
            if octets is not None and (edit := ToolEdit.from_octets(octets)):
                self.tools[agent] = edit

    def explanation(self, known: FileState, now: Version) -> Explanation | None:
        """How the tools have made the version NOW; None if that is not clear."""
        if not self.tools or now.blob in ("", known.now.blob):
            return None
        results = {agent: edit.result for agent, edit in self.tools.items()}
        try:
            after = self._store.content(now.blob)
            for start in self._starts(known):
                before = self._store.content(start.now.blob)
                if agents := authorship.in_turn(before, after, results, self._ended):
                    return Explanation(start, agents)
        except ContentLost.error:
            pass
        return None

    def _starts(self, known: FileState) -> Iterator[FileState]:
        """The states that the tools may have found: the one that is KNOWN, and those since the first of them began.

        A look may have found a file that a tool had not yet written to its end.
        """
        yield known
        waiting = set(self.tools)
        tried = {known.now.blob}
        for state in self._store.log(known.path).recent() if self._before else ():
            if state.now.blob not in tried and state.form == PLAIN and not state.is_whole:
                yield state
            tried.add(state.now.blob)
            waiting -= {state.by} if state.act == BEGUN else set()
            if not waiting:
                return

    def is_half_written(self, octets: bytes | None) -> bool:
        """Whether OCTETS are probably the beginning of what a tool is writing at this moment."""
        before = self._before
        if octets is None or before is None or before.is_whole or before.form != PLAIN:
            return False
        others = {agent: edit for agent, edit in self.tools.items() if agent != self._ended}
        if not others and (octets or not before.now.blob):
            return False
        try:
            known = self._store.content(before.now.blob)
        except ContentLost.error:
            return False
        if octets == known:
            return False
        results = [edit.result(known) for edit in others.values()]
        if any(made is not None and made != octets and made.startswith(octets) for made in results):
            return True
        return not octets and self._is_somebody_writing()

    def _is_somebody_writing(self) -> bool:
        """Whether an edit or a command of somebody else may be writing the file."""
        rewriting, others = going_commands.going(self._store.folder, self._time)
        editors = self._before.editors(self._time) if self._before else ()
        return not {*editors, *rewriting, *others} <= {self._ended, self._act.command_of}
