"""The author of a message or notification (CCCS §2, §5.5): the person, the system, an actor, or a service.

`by` is a claim without authentication, so it is no security boundary. It is checked anyway, so that a misspelt name is
refused, and no client writes as one of CCCC's own services.
"""

from __future__ import annotations

from bb.kernel import ids
from bb.kernel.errors import PermissionDenied
from bb.messaging.chat.fields import Fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

USER, SYSTEM, SERVICE, RESERVED = ids.PERSON, ids.SYSTEM, ids.SERVICE, "svc:cccc."


def principal(by: Any, actors: Collection[str], otherwise: str = USER) -> str:
    """The author that a client names, given the ids of the group's ACTORS; OTHERWISE is the default."""
    named = Fields({"by": by}).text("by") or otherwise
    if named in (USER, SYSTEM) or named in actors or is_service(named):
        return named
    if named.startswith(RESERVED):
        raise PermissionDenied(f"{RESERVED}* is reserved for CCCC's own services", path="$.by")
    hint = "pass an actor of this group, `user`, or `svc:NAME` for a program"
    raise PermissionDenied(f"the group has no actor {named[:60]!r}", path="$.by", hint=hint)


def is_service(named: str) -> bool:
    """Whether NAMED is a service that a client may use as author."""
    return ids.is_service(named) and not named.startswith(RESERVED)
