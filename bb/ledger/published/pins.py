"""`pins.json`: what this clone knows about each remote's ledger: the verified tip, whether our lines may be published
there, and the results of publication order (admitted global grants, and the order of reservations).

The first line of the file has everything but mappings with very many entries. Each of those has a line of its own,
which is read when it is needed; the first line has its number. Each write replaces the whole file. If it is lost, the
next sync verifies the remote's history from its beginning.
"""

from __future__ import annotations

import os

from bb.coordination.holdings import admission
from bb.coordination.holdings.admission import Admitted
from bb.kernel import json_text
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.published import fleet_mark
from bb.ledger.published.arbiter import Arbiter
from bb.ledger.published.charter import Charter
from bb.ledger.published.layout import BRANCH, PLACES
from bb.ledger.published.saved_mapping import SavedMapping, is_large
from bb.ledger.published.tip import Compacted, SavedHeads, Tip, heads_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from bb.ledger.published.fleet_results import FleetResults
    from bb.ledger.published.fleet_terms import FleetTerms
    from bb.ledger.published.tip import Head

NAME = "pins.json"
LARGEST = 1 << 28  # a million grants are 100 MiB


class SnapshotVerdict(Record):
    """Whether the snapshot in a commit matches our lines, as of a number of withdrawn events, for folds of version
    STATE."""

    commit: str
    taken_back: int
    is_right: bool
    is_outdated: bool = False  # only earlier versions of bb can use it
    state: int = 0


class Pin(Record):
    """One remote, as far as it is verified. PUBLISHES is true once a user has allowed publishing our lines there."""

    tip: Tip | None = None
    publishes: bool = False
    judged: SnapshotVerdict | None = None  # the newest snapshot there
    put_off: int = 0  # number of events when making a snapshot last failed
    ref: str = BRANCH  # the place of the ledger there
    address: str = ""  # the address of the remote (`travel/renamed_remotes.py`)


class Pins(Record):
    """Every remote, the arbiter as the charters name it, and the results of its history."""

    remotes: dict[str, Pin]
    home: str | None = None  # the remote of `bb sync`: the first that was synced with
    local: Tip | None = None  # our last commit, at `refs/bb/ledger`
    admitted: Admitted = Admitted()
    counted: Admitted | None = None  # the same, computed only from the lines that count; None if all lines count
    law: str = ""  # the rules that `counted` was computed with
    named: Arbiter | None = None  # the arbiter, by the latest charter of any remote
    arbiter: str | None = None  # the remote here that is the arbiter; None if none is, as far as known
    basis: str = ""  # the history that `admitted` was computed from
    compared: str = ""  # the state of git's configuration when the addresses were last compared
    at_snapshot: tuple[str, Admitted] | None = None  # a snapshot's commit, and the results there; not saved
    fleet: FleetResults | None = None  # what the relay has computed, while the home remote's ledger has a fleet
    is_unread: bool = False  # whether this clone is in that fleet, and its relay has never read the whole log

    @property
    def in_force(self) -> Admitted:
        """The results of the order that decides, from the lines that count here: the engine's in a fleet, otherwise
        that of publication."""
        tip = self.remote(self.home).tip if self.fleet and self.home else None
        if self.fleet is None or (tip and tip.place > self.fleet.place):  # the relay rests, and the archive was read
            return self.published
        return self.fleet.in_force

    @property
    def published(self) -> Admitted:
        """The results of publication order as of the verified tip, from the lines that count here."""
        return self.admitted if self.counted is None else self.counted

    @property
    def terms(self) -> FleetTerms | None:
        """The terms of the fleet, by the charter of the home remote; None if it has no fleet."""
        tip = self.remote(self.home).tip if self.home else None
        return tip.charter.fleet if tip else None

    @property
    def is_elsewhere(self) -> bool:
        """Whether the arbiter is another remote than those that this clone has read."""
        return self.named is not None and self.arbiter is None

    @property
    def lacks_order(self) -> bool:
        """Whether the order that decides about global reservations is not known here, or only an old part of it."""
        return self.is_elsewhere or self.is_unread

    def remote(self, name: str) -> Pin:
        return self.remotes.get(name, Pin())

    def with_remote(self, name: str, pin: Pin) -> Pins:
        return self.replace(remotes=self.remotes | {name: pin}, home=self.home or name)

    @property
    def publishes_to(self) -> str | None:
        """The remote of `bb sync`, if our lines may be published there."""
        return self.home if self.home and self.remote(self.home).publishes else None


# What was last read, and the state of its file. One command reads the pins up to six times, and validating hundreds of
# reservations takes longer than looking whether the file is still the same. Pins are never changed, only replaced.
_last: dict[str, tuple[tuple[int, ...], Pins]] = {}


def read(store: str) -> Pins:
    """The saved pins; empty if the file is missing or cannot be read."""
    path = os.path.join(store, NAME)
    try:
        found = os.stat(path)
    except OSError:
        return Pins({})
    state = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    last = _last.get(path)  # other threads may read pins too
    if last is None or last[0] != state:
        last = state, _read(path)  # perhaps newer than STATE: then the next call reads it again
        _last.clear()
        _last[path] = last
    return _with_fleet(store, last[1])


def _with_fleet(store: str, saved: Pins) -> Pins:
    """The pins with the results of the relay, if they are of the fleet that the charter names."""
    terms = saved.terms
    if terms is None:
        return saved
    from bb.ledger.published import fleet_results  # noqa: PLC0415  (needed only in a fleet)

    found = fleet_results.read(store)
    if found and found.incarnation == terms.incarnation:
        return saved.replace(fleet=found, is_unread=not found.current_at)
    return saved.replace(is_unread=True) if fleet_results.has_joined(store) else saved


def _read(path: str) -> Pins:
    first, *rows = (disk.read_small(path, LARGEST) or b"").split(b"\n")
    try:
        return _Reading(rows).pins(json_text.read(first))
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        return Pins({})


def write(store: str, pins: Pins, *, may_be_undone: bool = False) -> None:
    """Save the pins. It MAY BE UNDONE by a power failure if the next sync finds the same on the remote."""
    octets = b"\n".join([*_Writing().lines(pins), b""])
    disk.replace(os.path.join(store, NAME), octets, durable=True, may_be_undone=may_be_undone)
    fleet_mark.note(store, has_fleet=pins.terms is not None)


class _Reading:
    """Reads pins whose large mappings are in these ROWS."""

    def __init__(self, rows: Sequence[bytes]) -> None:
        self._rows = rows

    def pins(self, members: Any) -> Pins:
        remotes = {name: self._pin(pin) for name, pin in members["remotes"].items()}
        home, lawful = members.get("home", members["arbiter"]), members.get("lawful")
        return Pins(
            *(remotes, home if home in remotes else None, self._tip(members["local"])),
            *(self._admitted(members["admitted"]), self._admitted(lawful) if lawful else None),
            str(members.get("law", "")),
            Arbiter.from_json(members["named"]) if members.get("named") else None,
            members["arbiter"] if members["arbiter"] in remotes else None,
            str(members.get("basis", "")),
            str(members.get("compared", "")),
        )

    def _pin(self, written: Any) -> Pin:
        judged = SnapshotVerdict(**written["judged"]) if "judged" in written else None
        ref, put_off = written.get("ref", BRANCH), int(written.get("put_off", 0))
        about = (judged, put_off, ref if ref in PLACES else BRANCH, str(written.get("address", "")))
        return Pin(self._tip(written["tip"]), written["publishes"] is True, *about)

    def _tip(self, written: Any) -> Tip | None:
        if written is None:
            return None
        heads = written["heads"]
        heads = SavedHeads(self._rows[heads], int(written["events"])) if type(heads) is int else heads_from(heads)
        blanked, charter = frozenset(written.get("blanked", ())), Charter.from_json(written["charter"])
        compacted = Compacted()
        if found := written.get("compacted"):
            archived = self._mapping(found["archived"], dict)
            compacted = Compacted(**{**found, "archived": archived, "snapshots": tuple(found["snapshots"])})
        # Earlier versions did not count commits, but then there was no fleet, and generations were numbers of commits.
        commits = int(written.get("commits", written["generation"] - compacted.generation))
        about = (heads, blanked, compacted, commits, str(written.get("digest", "")))
        return Tip(written["commit"], written["generation"], charter, *about)

    def _admitted(self, written: Any) -> Admitted:
        return Admitted(
            self._mapping(written["grants"], admission.grants_from),
            self._mapping(written["generations"], admission.generations_from),
            self._mapping(written.get("names", {}), admission.names_from),
            admission.floor_from(written.get("floor", 0)),
        )

    def _mapping(self, written: Any, read: Callable[[Any], dict[str, Any]]) -> Mapping[str, Any]:
        return SavedMapping(self._rows[written], read) if type(written) is int else read(written)


class _Writing:
    """Writes pins, and collects the rows of their large mappings."""

    def __init__(self) -> None:
        self._rows: list[bytes] = []

    def lines(self, pins: Pins) -> list[bytes]:
        """The lines of the file."""
        members = {
            "remotes": {name: self._pin(pin) for name, pin in pins.remotes.items()},
            "home": pins.home,
            "arbiter": pins.arbiter,
            "named": pins.named and pins.named.as_dict(),
            "basis": pins.basis,
            "compared": pins.compared,
            "local": self._tip(pins.local),
            "admitted": self._admitted(pins.admitted),
            **({"lawful": self._admitted(pins.counted), "law": pins.law} if pins.counted is not None else {}),
        }
        return [json_text.dumps(members).encode(), *self._rows]

    def _pin(self, pin: Pin) -> dict[str, Any]:
        judged = {"judged": pin.judged.as_dict()} if pin.judged else {}
        put_off = {"put_off": pin.put_off} if pin.put_off else {}
        ref = {"ref": pin.ref} if pin.ref != BRANCH else {}
        address = {"address": pin.address} if pin.address else {}
        return {"tip": self._tip(pin.tip), "publishes": pin.publishes} | judged | put_off | ref | address

    def _tip(self, tip: Tip | None) -> dict[str, Any] | None:
        if tip is None:
            return None
        about = tip.compacted
        compacted = {**about.as_dict(), "archived": self._mapping(about.archived, dict)}
        return {
            "commit": tip.commit,
            "generation": tip.generation,
            "charter": tip.charter.as_json(),
            "events": tip.events,
            "heads": self._mapping(tip.heads, _heads),
            **({"blanked": sorted(tip.blanked)} if tip.blanked else {}),
            **({"compacted": compacted} if about.snapshots else {}),
            "commits": tip.commits,
            **({"digest": tip.digest} if tip.digest else {}),
        }

    def _admitted(self, admitted: Admitted) -> dict[str, Any]:
        return {
            "grants": self._mapping(admitted.grants, admission.grants_as_json),
            "generations": self._mapping(admitted.generations, dict),
            "names": self._mapping(admitted.names, admission.names_as_json),
            **({"floor": admitted.floor} if admitted.floor else {}),
        }

    def _mapping(self, mapping: Mapping[str, Any], as_json: Callable[[Any], dict[str, Any]]) -> int | dict[str, Any]:
        """The mapping in its JSON form, or the number of its row."""
        if not is_large(mapping):
            return as_json(mapping)
        as_saved = mapping.text if isinstance(mapping, SavedMapping) else json_text.dumps(as_json(mapping)).encode()
        self._rows.append(as_saved)
        return len(self._rows) - 1


def _heads(heads: Mapping[str, Head]) -> dict[str, Any]:
    return {writer: [head.n, head.first] for writer, head in heads.items()}
