"""The map: the repository's folders, and how many files of each folder each agent holds.

A folder is expanded if a reservation covers only part of it. A reservation of a whole folder covers all its files, so
such a folder stays collapsed.
"""

from __future__ import annotations

import functools
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bb.coordination.holdings import scopes
from bb.coordination.holdings.scopes import Scope
from bb.kernel.record import Record
from bb.ledger.git import git, ownership
from bb.ledger.git import work_tree as git_work_tree
from bb.ops.desk import agent_rows
from bb.ops.desk.desk import Desk
from bb.ops.holdings.recording import shown as shown_reservation

ROOT = ""
MOST = 500  # folders and files on a map
MOST_HOLDS = 300  # reservations on a map: freezes, those of agents that are not evicted, and the latest
WIDTH = 100  # of the bar that shows the shares


class Hold(Record):
    """A reservation: its scope, its agent, whether it has not expired, and its data for the page."""

    scope: Scope
    agent: str
    is_live: bool
    about: dict[str, Any]


def folder_map(desk: Desk, under: str) -> dict[str, Any]:
    """The map of the repository below the folder UNDER."""
    index, now = desk.store.caught_up(), desk.now()
    held = desk.holdings(index, now)
    latest, left_out = held.latest(MOST_HOLDS, agent_rows.latest(desk, index).live)
    holds = [
        Hold(hold.scope, hold.reservation.agent, not hold.is_over, shown_reservation(held, hold.reservation))
        for hold in latest
        if held.counts(hold.reservation)
    ]
    work_tree = desk.place.work_tree
    is_ours = work_tree is not None and ownership.is_ours(
        desk.place, desk.env
    )  # bb does not run git in a repository of another user
    files = _files(work_tree, _mark(desk.place.git_dir)) if work_tree and is_ours else ()
    drawn = layout(files, holds, under.strip("/"), ignore_case=git_work_tree.is_case_insensitive(desk.place))
    return drawn | {"left_out": left_out}


def _mark(git_dir: str) -> tuple[int, int]:
    """A value that changes when git's list of tracked files changes."""
    try:
        file_stat = os.stat(os.path.join(git_dir, "index"))
    except OSError:
        return (0, 0)
    return (file_stat.st_mtime_ns, file_stat.st_size)


@functools.lru_cache(maxsize=1)
def _files(work_tree: str, _: tuple[int, int]) -> tuple[str, ...]:
    return tuple(git.tracked(work_tree))


def layout(files: Sequence[str], holds: Sequence[Hold], under: str = ROOT, *, ignore_case: bool) -> dict[str, Any]:
    """The folder UNDER with its expanded contents. FILES are sorted."""
    holders: dict[str, set[str]] = {}
    anchored: dict[str, list[Hold]] = {}
    for hold in holds:
        anchored.setdefault(_anchor(hold.scope), []).append(hold)
        for path in _covered(files, hold.scope, ignore_case=ignore_case) if hold.is_live else ():
            holders.setdefault(path, set()).add(hold.agent)
    within = files[slice(*_range(files, under))]
    totals: Counter[str] = Counter(folder for path in within for folder in _above(path))
    shares: dict[str, Counter[str]] = {}
    for path in within:
        for agent in holders.get(path, ()):
            for place in (*_above(path), path):
                shares.setdefault(place, Counter())[agent] += 1
    opened = {folder for place in anchored for folder in (*_above(place), place)}
    return _Drawing(totals, shares, anchored, opened).folder(under, within)


def _anchor(scope: Scope) -> str:
    """A scope's place on the map: its path, or the fixed leading folders of a pattern."""
    if scope.path is not None:
        return ROOT if scope.path == "." else scope.path
    names = []
    for part in scope.parts:
        if not isinstance(part, str):
            break
        names.append(part)
    return "/".join(names)


def _covered(files: Sequence[str], scope: Scope, *, ignore_case: bool) -> Iterator[str]:
    """The FILES that SCOPE covers."""
    anchor = _anchor(scope)
    near = files if ignore_case else files[slice(*_range(files, anchor))]
    if scope.path is not None and not ignore_case:
        return iter(near)
    return (path for path in near if scopes.covers(scope, scopes.existing(path), ignore_case=ignore_case))


def _range(files: Sequence[str], place: str) -> tuple[int, int]:
    """The index range of the FILES at or below PLACE."""
    if place == ROOT:
        return 0, len(files)
    here = bisect_left(files, place)
    if here < len(files) and files[here] == place:
        return here, here + 1
    return bisect_left(files, f"{place}/"), bisect_left(files, f"{place}0")  # 0 is what follows the slash


def _above(place: str) -> Iterator[str]:
    """The folders that contain a place, from the root down."""
    if place == ROOT:
        return
    yield ROOT
    for at, letter in enumerate(place):
        if letter == "/":
            yield place[:at]


class _Drawing:
    """Builds a map of at most MOST rows."""

    def __init__(
        self,
        totals: Mapping[str, int],
        shares: Mapping[str, Counter[str]],
        anchored: Mapping[str, list[Hold]],
        opened: set[str],
    ) -> None:
        self._totals, self._shares, self._anchored, self._opened = totals, shares, anchored, opened
        self._room = MOST

    def folder(self, path: str, files: Sequence[str]) -> dict[str, Any]:
        """A folder with its visible contents. FILES are the files below it."""
        below = self._below(path, files)
        there = sorted({*below, *self._not_there_yet(path)})
        visible_names = [name for name in there if self._is_shown(name, below)][: max(self._room, 0)]
        self._room -= len(visible_names)
        children = [self._place(name, below.get(name, [])) for name in visible_names]
        left_out = sum(self._totals.get(name, 1) for name in there if name not in visible_names)
        return self._row(path, len(files), is_folder=True) | {"children": children, "others": left_out}

    def _below(self, path: str, files: Sequence[str]) -> dict[str, list[str]]:
        """The direct entries of a folder, each with the files below it."""
        start = len(path) + 1 if path else 0
        entries: dict[str, list[str]] = {}
        for file in files:
            end = file.find("/", start)
            entries.setdefault(file if end < 0 else file[:end], []).append(file)
        return entries

    def _not_there_yet(self, path: str) -> Iterator[str]:
        """The reserved direct entries of a folder that contain no tracked file."""
        start = len(path) + 1 if path else 0
        for place in self._opened:
            if place.startswith(f"{path}/" if path else "") and place != path and "/" not in place[start:] and place:
                yield place

    def _is_shown(self, name: str, below: Mapping[str, list[str]]) -> bool:
        """Whether an entry is shown: every folder, and each file that an agent holds."""
        is_folder = below.get(name, [name]) != [name]
        return is_folder or name in self._opened or name in self._shares

    def _place(self, name: str, files: Sequence[str]) -> dict[str, Any]:
        if name in self._opened and list(files) != [name] and self._is_worth_opening(name):
            return self.folder(name, files)
        is_folder = list(files) != [name] and bool(files)
        return self._row(name, len(files), is_folder=is_folder) | {"children": [], "others": 0}

    def _is_worth_opening(self, name: str) -> bool:
        """Whether a reservation covers part of a folder."""
        own = self._anchored.get(name, [])
        is_beneath = any(place.startswith(f"{name}/") for place in self._anchored)
        return self._room > 0 and (is_beneath or any(hold.scope.path is None for hold in own))

    def _row(self, path: str, total: int, *, is_folder: bool) -> dict[str, Any]:
        return {
            "path": path,
            "name": path.rpartition("/")[2],
            "is_folder": is_folder,
            "files": total,
            "is_there": total > 0,
            "shares": list(_bar(self._shares.get(path, Counter()), total)),
            "holds": [hold.about for hold in self._anchored.get(path, [])],
        }


def _bar(shares: Counter[str], total: int) -> Iterator[dict[str, Any]]:
    """The parts of a bar, one for each holder. Shares of the same files are drawn side by side."""
    whole, at = max(total, sum(shares.values())), 0.0
    for agent, count in sorted(shares.items()):
        width = WIDTH * count / whole
        yield {"agent": agent, "files": count, "x": round(at, 2), "width": round(width, 2)}
        at += width
