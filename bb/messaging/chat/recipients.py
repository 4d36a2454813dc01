"""Recipients of a message (CCCS §5): the tokens in `to`, and the members that they select.

The ledger stores an actor's id, `user`, and the selectors @all, @peers and @foreman. An empty `to` is a broadcast, the
same as @all. Selectors are resolved when a message is read, not when it is sent, so a message to @foreman is for the
actor that is foreman at that time.

The person is not an actor but receives broadcasts. @peers and @foreman select actors only.
"""

from __future__ import annotations

from bb.kernel.errors import NotFound, Refused
from bb.kernel.record import Record
from bb.messaging.chat.principals import USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

ALL, PEERS, PEER, FOREMAN = "@all", "@peers", "peer", "foreman"
SELECTORS = {FOREMAN: "@foreman", PEER: PEERS}  # by role
EVERYBODY = ("", ALL)  # "" stands for a broadcast without any token
OF_EVERY_GROUP = {token: token for token in (ALL, *SELECTORS.values(), USER)} | {"@user": USER}
NOBODY = ("@nobody",)

InvalidRecipient = NotFound.declare(
    "INVALID_RECIPIENT",
    "The group has no such recipient",
    hint="pass an actor's id or title, user, @all, @peers or @foreman; omit `to` to send to all",
)

NoEnabledRecipients = Refused.declare(
    "NO_ENABLED_RECIPIENTS",
    "None of the recipients is enabled",
    hint="start a recipient with `bb actor start`, or send to @all or user",
)


class Member(Record):
    """The attributes of an actor that matter for messages."""

    id: str
    title: str = ""
    role: str = PEER
    enabled: bool = True


def resolve(tokens: Any, members: Sequence[Member], path: str = "$.to") -> tuple[str, ...]:
    """The recipients that TOKENS name, without duplicates, in the given order. No tokens mean a broadcast."""
    if tokens is None:
        return ()
    if not isinstance(tokens, list | tuple):
        raise InvalidRecipient(f"{path} must be a list of recipients", path=path)
    exact = _exact(members)
    return tuple(dict.fromkeys(_one(token, exact, members, f"{path}[{at}]") for at, token in enumerate(tokens)))


def recipient(token: Any, members: Sequence[Member], path: str) -> str:
    """The one recipient that TOKEN names."""
    return _one(token, _exact(members), members, path)


def _exact(members: Sequence[Member]) -> dict[str, str]:
    """The tokens that name exactly one recipient: selectors and ids. They take precedence over titles."""
    exact = {**OF_EVERY_GROUP}
    for member in members:
        exact[member.id] = exact["@" + member.id] = member.id
    return exact


def _one(token: Any, exact: Mapping[str, str], members: Sequence[Member], path: str) -> str:
    # A blank token is refused: if it were dropped, a message to one recipient could become a broadcast.
    if not isinstance(token, str) or not (name := token.strip().removeprefix("@")):
        raise InvalidRecipient(f"{path} names no recipient", path=path)
    if recipient := exact.get(token.strip()):
        return recipient
    called = {member.id for member in members if name.casefold() in _names(member)}
    if len(called) == 1:
        return next(iter(called))
    reason = f"is ambiguous: {', '.join(sorted(called))}" if called else "is not in the group"
    raise InvalidRecipient(f"the recipient {token[:60]!r} {reason}", path=path, to=token[:60])


def _names(member: Member) -> tuple[str, str]:
    """The names of a member, for comparison without case."""
    return member.id.casefold(), member.title.strip().casefold()


def must_reach(to: Sequence[str], members: Sequence[Member], by: str = "") -> None:
    """Refuse a message to actors if none of them, except the sender, is enabled.

    A message to all, or to the person, is never refused: it stays in the ledger for later readers.
    """
    if not to or ALL in to or USER in to:
        return
    awake = {member.id for member in members if member.enabled}
    if awake.isdisjoint(concrete(to, members, by)):
        raise NoEnabledRecipients(f"no actor in {' '.join(to)[:200]} is enabled", path="$.to", to=list(to))


def concrete(to: Sequence[str], members: Sequence[Member], by: str = "") -> tuple[str, ...]:
    """The recipients in TO that must act on the message: acknowledge it, or answer.

    The sender is excluded. The person and disabled actors are included only if named.
    """
    named = [member.id for member in members if member.id in to or (member.enabled and _is_meant(member, to))]
    return tuple(who for who in (*named, *([USER] if USER in to else [])) if who != by)


def _is_meant(member: Member, to: Sequence[str]) -> bool:
    return not to or ALL in to or SELECTORS.get(member.role) in to


def is_addressed(who: str, to: Sequence[str], roles: Mapping[str, str]) -> bool:
    """Whether a message to TO is in WHO's inbox, given the actors' ROLES."""
    return not to or not set(tokens_for(who, roles.get(who, ""))).isdisjoint(to)


def tokens_for(who: str, role: str) -> tuple[str, ...]:
    """The tokens that address WHO, for lookups in an index; "" stands for a broadcast."""
    if who == USER:
        return (*EVERYBODY, USER, "@user")
    return (*EVERYBODY, who, *([SELECTORS[role]] if role in SELECTORS else []))


def stored(data: Any) -> tuple[str, ...]:
    """The recipients of a recorded message. If they cannot be read, the message is for nobody rather than for all."""
    to = data.get("to") if isinstance(data, dict) else None
    if to is None or to == []:
        return ()
    return (tuple(token for token in to if isinstance(token, str) and token) if isinstance(to, list) else ()) or NOBODY
