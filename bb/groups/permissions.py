"""Who may do what in a group: one table, read by every op before it acts.

Whoever calls says in whose name (`by`), and nothing proves it: this keeps honest clients from stepping on each other,
and is no boundary against dishonest ones (IPC §7.1, CCCS §12). What the table does not grant is refused, and somebody
whom nobody knows is refused everything.
"""

from __future__ import annotations

from bb.kernel import ids
from bb.kernel.errors import Forbidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

USER, SYSTEM, SERVICE, FOREMAN, PEER = ids.PERSON, "system", "service", "foreman", "peer"
SERVICES = "svc:"  # CCCS: a program that takes part, such as a bridge or a build

YES, NO = "yes", "no"
SELF = "self"  # on itself, or in its own name
CLONE = "clone"  # an actor that is exactly what it is itself
VISIBLE = "visibility"  # on itself always, on others as the group's setting says

# what the group shows of its terminals -> the roles that are shown the terminals of others
VISIBILITIES: dict[str, tuple[str, ...]] = {"off": (), "foreman": (FOREMAN,), "all": (FOREMAN, PEER)}

# The daemon itself may do everything but confirm in somebody's name: nobody may (CCCS §5, §6.2, §7). Services send,
# notify and look on; they administer nothing and have no inbox.
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
    NO: "the person who steers the group may, as `user`",
    SELF: "only in one's own name, or on oneself",
    CLONE: "only with its own runtime, runner, command and environment",
    VISIBLE: "the setting terminal_transcript_visibility says whose terminals are shown to whom",
}


class PermissionDenied(Forbidden):
    """That is for somebody else to do."""

    code = "PERMISSION_DENIED"


def role_of(by: str, actors: Mapping[str, str]) -> str | None:
    """What BY is in a group, given the roles of its ACTORS; None for somebody unknown."""
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
    """Refuse ACTION unless BY, who is a ROLE, may do it to TARGET."""
    if may(action, by=by, role=role, target=target, visibility=visibility, is_clone=is_clone):
        return
    who = "somebody unknown to the group" if role is None else f"as {role}"
    raise PermissionDenied(
        f"{by[:60]!r}, {who}, may not: {action}",
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
    """Whether BY, who is a ROLE, may do ACTION to TARGET. IS_CLONE: the actor it adds is exactly like itself."""
    is_self = target == (by or USER)
    return {
        YES: True,
        SELF: is_self,
        CLONE: is_clone,
        VISIBLE: is_self or role in VISIBILITIES.get(visibility, ()),
    }.get(grant(action, role), False)


def grant(action: str, role: str | None) -> str:
    """What the table says."""
    return GRANTS[action].get(role, NO) if role else NO
