"""In whose name something is written (CCCS §2, §5.5): the person, the system, an actor, or a service.

`by` is a claim: where nobody proves who they are it is no security boundary. It is checked all the same, so that a
misspelt name does not become a speaker of its own, and nobody speaks as one of the services that belong to CCCC.
"""

from __future__ import annotations

from bb.groups.permissions import PermissionDenied
from bb.kernel import ids
from bb.messaging.chat import fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

USER, SYSTEM, SERVICE, RESERVED = ids.PERSON, ids.SYSTEM, ids.SERVICE, "svc:cccc."


def principal(by: Any, actors: Collection[str], otherwise: str = USER) -> str:
    """In whose name a client asks, given the ids of the group's ACTORS; OTHERWISE when it does not say."""
    named = fields.text(by, "$.by") or otherwise
    if named in (USER, SYSTEM) or named in actors or is_service(named):
        return named
    if named.startswith(RESERVED):
        raise PermissionDenied(f"{RESERVED}* is reserved for CCCC's own services", path="$.by")
    hint = "an actor of this group, `user`, or for a program `svc:NAME`"
    raise PermissionDenied(f"nobody here is called {named[:60]!r}", path="$.by", hint=hint)


def is_service(named: str) -> bool:
    """Whether NAMED is a service that a client may speak for."""
    return ids.is_service(named) and not named.startswith(RESERVED)
