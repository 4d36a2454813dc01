"""Permissions in a group: one table, which every op checks before it acts.

The caller states its own name (`by`), and nothing proves it. So the table prevents mistakes of honest clients; it is
not a security boundary (IPC §7.1, CCCS §12). Anything the table does not grant is refused, and so is any action of an
unknown principal.
"""

from __future__ import annotations

from bb.kernel import ids
from bb.kernel.errors import PermissionDenied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

USER, SYSTEM, SERVICE, FOREMAN, PEER = ids.PERSON, "system", "service", "foreman", "peer"
SERVICES = "svc:"  # CCCS: a program that is a participant, such as a bridge or a build

YES, NO = "yes", "no"
SELF = "self"  # only for itself
CLONE = "clone"  # only actors configured exactly like itself
VISIBLE = "visibility"  # for itself always, for others depending on the group's setting

# value of the setting -> the roles that may see the terminals of others
VISIBILITIES: dict[str, tuple[str, ...]] = {"off": (), "foreman": (FOREMAN,), "all": (FOREMAN, PEER)}

# The daemon may do everything except acknowledge for others; no principal may (CCCS §5, §6.2, §7). Services may send,
# notify and read; they have no administrative permissions and no inbox.
TABLE = """
what                user  system  service  foreman     peer

actor.list          yes   yes     yes      yes         yes
actor.add           yes   yes     no       clone       no
actor.start         yes   yes     no       yes         no
actor.stop          yes   yes     no       yes         self
actor.restart       yes   yes     no       yes         self
actor.remove        yes   yes     no       self        self
actor.update        yes   yes     no       no          no

group.show          yes   yes     yes      yes         yes
group.create        yes   yes     no       yes         no
group.attach        yes   yes     no       yes         no
group.use           yes   yes     no       yes         no
group.start         yes   yes     no       yes         no
group.stop          yes   yes     no       yes         no
group.update        yes   yes     no       yes         no
group.set_state     yes   yes     no       yes         no
group.detach_scope  yes   yes     no       yes         no
group.delete        yes   yes     no       yes         no
group.settings      yes   yes     no       yes         no
group.template      yes   yes     no       yes         no

inbox.list          yes   yes     no       yes         self
inbox.mark          yes   yes     no       yes         self
terminal.read       yes   yes     no       visibility  visibility
terminal.clear      yes   yes     no       visibility  visibility

chat.send           yes   yes     yes      yes         yes
chat.ack            self  self    self     self        self
notify.send         yes   yes     yes      yes         yes
notify.ack          self  self    self     self        self
events.read         yes   yes     yes      yes         yes

context.read        yes   yes     yes      yes         yes
context.sync        yes   yes     no       yes         yes
ledger.snapshot     yes   yes     no       yes         no
ledger.compact      yes   yes     no       yes         no
observability       yes   yes     no       no          no
"""
ROLES, *ROWS = [(row.split()[0], row.split()[1:]) for row in TABLE.splitlines() if row]
GRANTS = {action: dict(zip(ROLES[1], grants, strict=True)) for action, grants in ROWS}

HINTS = {
    NO: "ask the person, who may do it as `user`",
    SELF: "an actor may do this only for itself",
    CLONE: "a foreman may add only actors with its own runtime, runner, command and environment",
    VISIBLE: "the setting terminal_transcript_visibility decides who may see which terminals",
}


def role_of(by: str, actors: Mapping[str, str]) -> str | None:
    """The role of BY in a group, given the roles of its ACTORS; None if BY is unknown."""
    if by in actors:
        return actors[by]
    if by.startswith(SERVICES) and len(by) > len(SERVICES):
        return SERVICE
    return {"": USER, USER: USER, SYSTEM: SYSTEM}.get(by)


def check(
    action: str,
    *,
    by: str,
    role: str | None,
    target: str | None = None,
    visibility: str = "foreman",
    is_clone: bool = False,
) -> None:
    """Refuse ACTION on TARGET unless the principal BY, with this ROLE, may do it."""
    if may(action, by=by, role=role, target=target, visibility=visibility, is_clone=is_clone):
        return
    why = "it is unknown to the group" if role is None else f"its role in the group is {role}"
    raise PermissionDenied(
        f"{by[:60]!r} may not do {action}: {why}",
        hint=HINTS.get(grant(action, role)),
        action=action,
        by=by[:60],
        by_role=role,
    )


def may(
    action: str,
    *,
    by: str,
    role: str | None,
    target: str | None = None,
    visibility: str = "foreman",
    is_clone: bool = False,
) -> bool:
    """Whether BY, with this ROLE, may do ACTION on TARGET. IS_CLONE: the added actor is configured exactly like BY."""
    is_self = target == (by or USER)
    return {
        YES: True,
        SELF: is_self,
        CLONE: is_clone,
        VISIBLE: is_self or role in VISIBILITIES.get(visibility, ()),
    }.get(grant(action, role), False)


def grant(action: str, role: str | None) -> str:
    """The entry of the table."""
    return GRANTS[action].get(role, NO) if role else NO
