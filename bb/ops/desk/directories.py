"""The directories of a group, and the ledger that a directory leads to."""

from __future__ import annotations

import os
from typing import Any

from bb.coordination.agents import roster
from bb.groups.facts import Changed, ScopeAttached
from bb.kernel.errors import BbError, Conflict, NotFound, Usage
from bb.kernel.record import Record
from bb.ledger.git import place
from bb.ledger.git.place import Place
from bb.ledger.local import bare_repositories
from bb.ledger.local import machine_registry as knowns
from bb.ledger.local.machine_registry import RegisteredGroup
from bb.ledger.records import creation
from bb.ledger.records.store import Store
from bb.ledger.travel import ledger_merge
from bb.ops.desk import group_desk
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import GroupDesk

MissingPath = Usage.declare("MISSING_PATH", "The request names no directory", hint="pass `path`")
InvalidPath = Usage.declare(
    "INVALID_PATH", "The path is not a directory", hint="pass the absolute path of an existing directory"
)
ScopeNotAttached = NotFound.declare(
    "SCOPE_NOT_ATTACHED", "That directory does not belong to the group", hint="`bb group attach PATH` adds it"
)

ScopeAlreadyAttached = Conflict.declare(
    "SCOPE_ALREADY_ATTACHED",
    "That directory belongs to another group",
    hint="use that group, or detach the directory from it",
)


class Directory(Record):
    """A directory that a group can have: its root, its scope key, and its repository, if any."""

    root: str
    key: str
    title: str
    place: Place | None


def root_of(desk: Desk, path: Any) -> str:
    """The absolute path of the directory that PATH names."""
    if path in (None, ""):
        raise MissingPath()
    if not isinstance(path, str) or "\0" in path:
        raise InvalidPath(path="$.path")
    root = os.path.realpath(os.path.join(desk.cwd, os.path.expanduser(path)))
    if not os.path.isdir(root):
        raise InvalidPath(f"{path[:200]} is not a directory", path="$.path")
    return root


def directory(desk: Desk, path: Any) -> Directory:
    """The directory that PATH names, or the repository that contains it. A ledger is made for a repository without."""
    root = root_of(desk, path)
    try:
        repository = place.find(root, {})
    except place.NotARepository.error:
        return Directory(root, knowns.scope_key(None, root), os.path.basename(root) or root, None)
    root = os.path.realpath(repository.work_tree or repository.common)
    return Directory(
        root, _key(desk, repository), repository.title, repository.replace(common=os.path.realpath(repository.common))
    )


def _key(desk: Desk, found: Place) -> str:
    """The scope key of a repository. A ledger is made if the repository has none."""
    store = desk.store_at(found)
    try:
        creation.make(store, found.title, desk.principal(), desk.now())
        return knowns.scope_key(store.clone.repo, "")
    finally:
        store.close()


def scope_of(group: GroupDesk, path: Any) -> str:
    """The key of the scope that contains PATH; without a path, the active scope."""
    return key_of(group, path) if path else group.group().active_scope


def key_of(group: GroupDesk, path: Any) -> str:
    """The key of the group's scope that contains PATH."""
    if not isinstance(path, str) or "\0" in path:
        raise InvalidPath(path="$.path")
    full = os.path.realpath(os.path.join(group.desk.cwd, os.path.expanduser(path)))
    inside = {
        key: root for key, root in group.known.scopes.items() if os.path.join(full, "").startswith(_with_end(root))
    }
    scope_keys = {scope.key for scope in group.group().scopes} | set(inside if not group.desk.is_served else ())
    inside = {key: root for key, root in inside.items() if key in scope_keys}
    if not inside and os.path.isdir(full) and (common := _common(full)):  # another work tree of a group's repository
        inside = {
            key: root for key, root in group.known.scopes.items() if key in scope_keys and _common(root) == common
        }
    if not inside:
        raise ScopeNotAttached(f"{path[:200]} is not in a directory of the group", path="$.path")
    return max(inside, key=lambda key: len(inside[key]))


def _with_end(root: str) -> str:
    return os.path.join(os.path.realpath(root), "")


def attach(desk: Desk, path: Any, group_id: str | None, by: Any) -> tuple[GroupDesk, str]:
    """Add the directory at PATH to the group, or to the group that it leads to. Returns the group and the scope key."""
    target = directory(desk, path)
    home = knowns.home(desk.env)
    with knowns.lock(home):
        owner = _owner(home, target)
        if group_id:
            group = group_desk.open_group(desk, group_id)
            if owner and owner.group_id != group.id:
                raise _taken(target, owner.group_id)
        else:
            group = group_desk.open_group(desk, owner.group_id) if owner else _begun(desk, home, target, by)
        return _joined(desk, home, group, target, by), target.key


def new_group_for(desk: Desk, path: Any, by: str) -> tuple[GroupDesk, list[ScopeAttached]]:
    """A new group for the directory at PATH, and the facts to record in its ledger. Refused if a group has it."""
    target = directory(desk, path)
    home = knowns.home(desk.env)
    with knowns.lock(home):
        if owner := _owner(home, target):
            raise _taken(target, owner.group_id)
        if target.place and _is_populated(desk, target.place):
            raise _taken(target, _group_of(desk, home, target.place))
        group = _begun(desk, home, target, by)
        group.update_registry(group.known.replace(scopes={target.key: target.root}))
    is_new = target.key not in {scope.key for scope in group.group().scopes}
    return group, [ScopeAttached(by, target.key, target.title)] if is_new else []


def forget(desk: Desk, group: GroupDesk) -> None:
    """Forget a group on this machine. A repository's ledger is kept; a ledger that only the group had is deleted."""
    group.store.close()
    desk.groups.pop(group.id, None)
    knowns.remove(knowns.home(desk.env), group.id)


def _taken(found: Directory, group_id: str) -> BbError:
    return ScopeAlreadyAttached(f"{found.root} belongs to group {group_id}", group_id=group_id)


def _is_populated(desk: Desk, at: Place) -> bool:
    """Whether agents are in service in a repository."""
    store = desk.store_at(at)
    try:
        return store.caught_up().count(roster.NAME, roster.HEARD) > 0
    finally:
        store.close()


def _group_of(desk: Desk, home: str, at: Place) -> str:
    """The group id for a repository that the daemon does not know yet."""
    store = desk.store_at(at)
    group_id = store.clone.group_id
    store.close()
    if knowns.read(home, group_id):  # another clone of the same repository
        return f"{group_id}_{knowns.scope_key(None, at.common)[2:8]}"
    return group_id


def _owner(home: str, found: Directory) -> RegisteredGroup | None:
    """The group that the directory belongs to."""
    for group in knowns.all_groups(home):
        if found.place and group.common == found.place.common:
            return group
        if group.scopes.get(found.key) == found.root:
            return group
    # The directory may have become a repository after it was attached.
    earlier = knowns.group_of_directory(home, found.root) if found.place else None
    return earlier if earlier and found.root in earlier.scopes.values() else None


def _begun(desk: Desk, home: str, found: Directory, by: Any) -> GroupDesk:
    """A new group for a directory that belongs to none."""
    if found.place is None:
        return create(desk, home, found.title, "", group_desk.group_author(desk, by))
    group_id = _group_of(desk, home, found.place)
    knowns.write(home, knowns.RegisteredGroup(group_id, found.place.common))
    return group_desk.open_group(desk, group_id)


def create(desk: Desk, home: str, title: str, topic: str, by: Any) -> GroupDesk:
    """A new group with its own ledger."""
    repo = knowns.fresh_id(os.urandom(6))
    group_id = f"g_{repo}"
    common = knowns.own_ledger(home, group_id)
    bare_repositories.make(common)
    store = desk.store_at(place.Place(common, None))
    try:
        creation.make(store, title, by, desk.now(), repo=repo, topic=topic)
    finally:
        store.close()
    knowns.write(home, knowns.RegisteredGroup(group_id, common))
    return group_desk.open_group(desk, group_id)


def _joined(desk: Desk, home: str, group: GroupDesk, found: Directory, by: Any) -> GroupDesk:
    """The group with the directory added."""
    before, registered = group.group(), group.known
    is_new = found.key not in {scope.key for scope in before.scopes}
    who = group.by(by)
    if is_new:
        group.check("group.attach", who)
    registered = registered.replace(scopes={**registered.scopes, found.key: _root(group, found)})
    facts: list[Any] = [ScopeAttached(who, found.key, found.title)] if is_new else []
    if found.place and registered.common == knowns.own_ledger(home, group.id):
        return _moved(desk, group, registered, found.place, who, facts)
    if registered != group.known:
        knowns.write(home, registered)
        group.known = registered
    if facts:
        group.record(facts, who)
    return group


def _root(group: GroupDesk, found: Directory) -> str:
    """The root of the directory in the group. If the group has another work tree of the repository, that one stays."""
    before = group.known.scopes.get(found.key, found.root)
    if before == found.root or not os.path.isdir(before):
        return found.root
    if found.place is None or _common(before) != found.place.common:
        text = f"the group has that repository in {before}"
        raise ScopeAlreadyAttached(
            text, group_id=group.id, hint="detach that directory first, or create another group for this one"
        )
    return before


def _common(path: str) -> str | None:
    """The git directory of the repository that contains PATH."""
    try:
        return os.path.realpath(place.find(path, {}).common)
    except place.NotARepository.error:
        return None


def _moved(desk: Desk, group: GroupDesk, known: RegisteredGroup, to: Place, who: str, facts: list[Any]) -> GroupDesk:
    """Move the group into the ledger of its first repository, so that commands there and the daemon share one ledger.
    An interrupted move is repeated by attaching the directory again."""
    home, state = knowns.home(desk.env), group.group()
    target: Store = desk.store_at(to)
    ledger_merge.merge_into(group.store, target)
    named = Changed(who, state.title, state.topic or None)
    target.record(lambda _: [named, *facts], by=who, now=desk.now())
    target.close()
    group.store.close()
    desk.groups.pop(group.id, None)
    knowns.write(home, known.replace(common=to.common))
    bare_repositories.remove(knowns.own_ledger(home, group.id))
    return group_desk.open_group(desk, group.id)
