"""What bb knows of one file with uncommitted changes, as one line of the file's log.

Each line says what happened (an edit began or ended, changes were claimed or committed, the file was looked at), and
the state after it: the weave, the contents it is about as blob ids, and the edits that are going on. So the last whole
line of a log is the state, and the earlier ones are the versions that the file had before.
"""

from __future__ import annotations

from bb.coordination.lines import weave as weaves
from bb.coordination.lines.weave import ADDED, DELETED, KEPT, Run, Weave
from bb.kernel import ids
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

BEGUN, ENDED, CANCELLED, CLAIMED, SEEN = "begun", "ended", "cancelled", "claimed", "seen"
TAKEN, COMMITTED = "taken", "committed"
EDIT_ACTS = frozenset([BEGUN, ENDED, CANCELLED])  # after each of them, an earlier edit of the agent has ended
PLAIN, CONVERTED = "plain", "converted"  # git stores the file as it is, or what a filter makes of it
LONGEST_EDIT = 10 * 60_000  # milliseconds; an edit that was begun earlier is no longer going on
MODES = frozenset(["", "100644", "100755", "120000"])
HEX = frozenset("0123456789abcdef")
FOUND = ""  # in the place of a tool's call: a look has found its change already


class Version(Record):
    """A content of the file: its blob id, and its mode as git writes it. Both are empty if the file does not exist."""

    blob: str = ""
    mode: str = ""


ABSENT = Version()


class FileState(Record):
    """The state of a file after the event number N in its log."""

    path: str
    n: int = 0
    at: int = 0
    act: str = SEEN
    by: str = ""  # the agent whose act it was; empty if bb only looked
    head: str = ""  # the commit that BASE is from
    base: Version = ABSENT  # as HEAD has it
    now: Version = ABSENT  # as the work tree has it
    weave: Weave = ()
    mode_owner: str = ""  # who changed the mode, made or deleted the file; empty if no one did
    form: str = PLAIN
    stamp: str = ""  # of the file on the disk, if it tells whether the file has changed since; empty if it cannot
    is_whole: bool = False  # a binary or very large file: all of its content counts as one line
    editing: Mapping[str, int] = {}  # the agents whose edits are going on, with the time at which they began
    tools: Mapping[str, str] = {}  # for each of them whose tool is known: the id of its call, or FOUND
    looked: Mapping[str, int] = {}  # for each agent, the number of its last event here

    @property
    def is_changed(self) -> bool:
        return weaves.changed(self.weave) or self.base.mode != self.now.mode

    @property
    def owners(self) -> frozenset[str]:
        """Everybody who has uncommitted changes in the file."""
        return weaves.owners(self.weave) | ({self.mode_owner} if self.mode_owner else set())

    def editors(self, now: int) -> tuple[str, ...]:
        """The agents whose edits of this file are going on."""
        return tuple(agent for agent, began in self.editing.items() if is_going(began, now))


def is_going(began: int, now: int) -> bool:
    """Whether an edit or a command that BEGAN then may still be going on.

    It may have begun after NOW: whoever looks has read the clock, and then waited for the lock.
    """
    return abs(now - began) < LONGEST_EDIT


# -- as a line of the log

_RUN_LENGTH = 3


def as_json(state: FileState) -> dict[str, Any]:
    members = state.as_dict()
    members["base"], members["now"] = [*_values(state.base)], [*_values(state.now)]
    members["weave"] = [[run.kind, run.count, *run.owners] for run in state.weave]
    for name in ("editing", "tools", "looked"):
        members[name] = dict(members[name])
    return members


def from_json(found: Any) -> FileState:
    """The state in a line of the log. Raises ValueError, TypeError or KeyError if it is damaged."""
    if not isinstance(found, dict):
        raise TypeError("a line is no object")
    state = FileState(
        path=_path(found["path"]),
        n=_number(found["n"]),
        at=_time(found["at"]),
        act=_text(found["act"]),
        by=_owner(found["by"]) if found["by"] else "",
        head=_hex(found["head"]),
        base=_version(found["base"]),
        now=_version(found["now"]),
        weave=weaves.woven(_run(*run) for run in found["weave"]),
        mode_owner=_owner(found["mode_owner"]) if found["mode_owner"] else "",
        form=CONVERTED if found["form"] == CONVERTED else PLAIN,
        stamp=_text(found["stamp"]),
        is_whole=found["is_whole"] is True,
        editing={_owner(agent): _time(at) for agent, at in found["editing"].items()},
        tools={_owner(agent): _hex(call) for agent, call in found["tools"].items()},
        looked={_owner(agent): _number(n) for agent, n in found["looked"].items()},
    )
    if weaves.changed(state.weave) and (state.base.blob == state.now.blob):
        raise ValueError("equal versions have changes")
    return state


def _values(version: Version) -> tuple[str, str]:
    return version.blob, version.mode


def _version(found: Any) -> Version:
    blob, mode = found
    if mode not in MODES or bool(blob) != bool(mode):
        raise ValueError("a version has an unknown mode")
    return Version(_hex(blob), mode)


def _run(kind: Any, count: Any, *owners: Any) -> Run:
    if kind not in (KEPT, DELETED, ADDED) or (kind == KEPT) == bool(owners):
        raise ValueError("a run has no owner, or a kept one has")
    return Run(kind, _number(count), tuple(map(_owner, owners)))


def _owner(found: Any) -> str:
    is_mark = isinstance(found, str) and weaves.is_unattributed(found) and (found[1:].isdecimal() or found == "?")
    if not (is_mark or ids.is_actor_id(found)):
        raise ValueError("an owner is no agent")
    return str(found)


def _hex(found: Any) -> str:
    if not isinstance(found, str) or not HEX.issuperset(found) or len(found) not in (0, 40, 64):
        raise ValueError("an id is no id of an object")
    return found


def _path(found: Any) -> str:
    """A path in the work tree. Bytes that are not UTF-8 stand in it as lone surrogates."""
    octets = _text(found).encode("utf-8", "surrogateescape")
    if b"\0" in octets or not {b"", b".", b".."}.isdisjoint(octets.split(b"/")):
        raise ValueError("a path leads out of the work tree")
    return str(found)


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise TypeError("a member is no text")
    return found


def _number(found: Any) -> int:
    if type(found) is not int or found < 0:
        raise ValueError("a number is none")
    return found


def _time(found: Any) -> int:
    """Milliseconds since 1970. A clock that is set earlier has negative ones."""
    if type(found) is not int:
        raise ValueError("a time is none")
    return found
