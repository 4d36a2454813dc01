"""What the stories of a travelling ledger share: a hub, clones of it, and ops called without a process for each."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bb.kernel.errors import BbError
from bb.ledger.journal import writers
from bb.ledger.travel import arbitration
from bb.ops import catalogue
from bb.ops.desk.desk import Desk
from tests.near import Near
from tests.support import NOON, Scratch, copied, environment, made_for_all, made_once, scratch

AMBER, COBALT = "amber-otter", "cobalt-harbor"
SILENT = "2026-01-05T13:00:00.000Z"  # an hour after noon, when everybody was last heard of


@dataclass
class Clone(Near):
    """A clone of the hub, and short ways to ask things of it."""

    def ask(self, name: str, /, now: str = NOON, **given: Any) -> Any:
        """What the op called NAME answers here; its refusal is raised."""
        op = catalogue.find(name)
        desk = Desk(str(self.path), environment(BB_NOW=now) | self.settings)
        try:
            answer = op.run(desk, catalogue.bind(op, given, is_typed=True))
            return answer if isinstance(answer, dict | list) else list(answer)
        finally:
            desk.close()

    def refused(self, name: str, /, **given: Any) -> BbError:
        """How the op called NAME is refused."""
        try:
            answer = self.ask(name, **given)
        except BbError as refusal:
            return refusal
        raise AssertionError(f"not refused: {answer}")

    def refused_or(self, name: str, /, **given: Any) -> str:
        """The code that the op called NAME is refused with, or nothing."""
        try:
            self.ask(name, **given)
        except BbError as refusal:
            return refusal.code
        return ""

    def sync(self, **given: Any) -> Any:
        return self.ask("sync", **given)

    def holds(self) -> set[tuple[str, str, str]]:
        """Who holds what, and what that is worth, as this clone sees it."""
        found = self.ask("agent.status")["reservations"]
        return {(each["agent_id"], each["scope"], each["state"]) for each in found}

    def states_of(self, agent: str) -> dict[str, str]:
        """What an agent holds, and what that is worth."""
        return {scope: state for holder, scope, state in self.holds() if holder == agent}

    @property
    def digest(self) -> str:
        return str(self.ask("ledger.digest")["digest"])

    @property
    def lines(self) -> str:
        """The digest of the lines alone. It is equal although a clone does not read the arbiter."""
        return str(self.ask("ledger.digest")["lines"])

    @property
    def tip(self) -> str:
        """The commit that the ledger's branch on the hub is at, as git in this clone sees it."""
        return self.git("ls-remote", "origin", "refs/heads/bb-ledger").split("\t")[0]


def hub(path: Path) -> Path:
    """A bare repository that everybody may push to."""
    copied(_empty_hub(), path)
    return path


@functools.cache
def _empty_hub() -> Path:
    """The hub that every other is a copy of."""
    made = made_once("hub.git")
    Scratch(made.parent).git("init", "--quiet", "--bare", str(made))
    Scratch(made).git("config", "receive.autogc", "false")  # else each push looks whether there is garbage
    shutil.rmtree(made / "hooks")  # samples
    (made / "hooks").mkdir()
    return made


def clone(at: Path, name: str) -> Clone:
    """A clone of the hub AT a path, with one commit and no ledger yet."""
    folder = at.parent / name
    made = Clone(scratch(folder).path)
    with (folder / ".git" / "config").open("a") as config:  # what `git remote add` writes
        config.write(f'[remote "origin"]\n\turl = {at}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n')
    return made


def agents_at_work(at: Path, *names: str, after: Callable[[list[Clone]], object] | None = None) -> list[Clone]:
    """A clone for each of the agents called NAMES, every one registered and publishing, and all of them brought up to
    date. The hub AT a path is theirs alone so far. What happens AFTER that happens once, however many tests begin
    there."""
    made = _at_work(names, after) if after else _registered(names)
    for part in ("objects", "refs"):
        copied(made / "hub.git" / part, at / part)
    return [_moved(made / f"clone-{place}", at) for place in range(len(names))]


@functools.cache
def _at_work(names: tuple[str, ...], after: Callable[[list[Clone]], object]) -> Path:
    """The folder of a hub and its clones, once what is AFTER their registration has happened."""
    folder = made_once("at-work")
    with _without_an_arbiter():
        after(agents_at_work(hub(folder / "hub.git"), *names))
    return folder


@functools.cache
def _registered(names: tuple[str, ...]) -> Path:
    """The folder of a hub and its clones, that every other is a copy of: it takes dozens of commands to make one."""

    def make(folder: Path) -> None:
        at = hub(folder / "hub.git")
        found = []
        for place, name in enumerate(names):
            made = clone(at, f"clone-{place}")
            made.ask("agent.register", name=name, role="builder")
            with _without_an_arbiter():
                made.sync(publish=True)
            found.append(made)
        for each in found:
            each.sync(pull=True)

    return made_for_all("-".join(["registered", *names]), make)


@contextmanager
def _without_an_arbiter() -> Iterator[None]:
    """Publish as earlier versions did. The hub is copied to another path; the next publication names it there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arbitration, "first", lambda *_: None)
        yield


def _moved(original: Path, at: Path) -> Clone:
    """A copy of a clone, beside the hub AT a path and of that hub, that writes on under the id of the original as if
    that had been moved here."""
    made = Clone(at.parent / original.name)
    copied(original, made.path)
    config = made.path / ".git" / "config"
    before, url, after = config.read_text().partition(f"\turl = {original.parent / 'hub.git'}\n")
    assert url, "a clone of another hub"
    config.write_text(f"{before}\turl = {at}\n{after}")
    (owner,) = made.store.glob("j/*/owner.json")
    writers.mint(str(made.store / "j"), owner.parent.name)
    return made


def settle(clones: list[Clone], now: str = NOON) -> None:
    """Sync until nobody has anything to say."""
    for _ in range(2):
        for each in clones:
            each.sync(now=now)


def every_file(folder: Path) -> dict[str, bytes]:
    """Every file beneath a folder, but for what git itself keeps about its objects."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and os.sep + "objects" + os.sep not in str(path)
    }
