"""To whom a message goes (CCCS §5): what may stand in `to`, and whom it reaches.

Stored are an actor's id, `user`, and the selectors @all, @peers and @foreman; nothing is a broadcast, and the same as
@all. Whoever the selectors mean is decided when somebody looks, not when the message is sent, so that a message to
@foreman waits for whoever is the foreman then.

The person is no actor, and yet finds what goes to everybody: a broadcast is said to the room, and the person is in it.
@peers and @foreman are roles of actors alone.
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
EVERYBODY = ("", ALL)  # "" stands for a broadcast, where there is no token at all
OF_EVERY_GROUP = {token: token for token in (ALL, *SELECTORS.values(), USER)} | {"@user": USER}
NOBODY = ("@nobody",)


class InvalidRecipient(NotFound):
    """There is nobody to send that to."""

    code = "INVALID_RECIPIENT"
    hint = "an actor's id or title, user, @all, @peers or @foreman; leave `to` out to tell everybody"


class NoEnabledRecipients(Refused):
    """Nobody whom that is meant for is enabled."""

    code = "NO_ENABLED_RECIPIENTS"
    hint = "start one of them with `bb actor start`, or send to @all or user"


class Member(Record):
    """An actor of the group, as far as messages are concerned."""

    id: str
    title: str = ""
    role: str = PEER
    enabled: bool = True


def resolve(tokens: Any, members: Sequence[Member], path: str = "$.to") -> tuple[str, ...]:
    """The recipients that TOKENS name, each once, in the order given. Nothing is a broadcast."""
    if tokens is None:
        return ()
    if not isinstance(tokens, list | tuple):
        raise InvalidRecipient(f"{path} is a list of recipients", path=path)
    exact = _exact(members)
    return tuple(dict.fromkeys(_one(token, exact, members, f"{path}[{at}]") for at, token in enumerate(tokens)))


def recipient(token: Any, members: Sequence[Member], path: str) -> str:
    """The one recipient that TOKEN names."""
    return _one(token, _exact(members), members, path)


def _exact(members: Sequence[Member]) -> dict[str, str]:
    """What means exactly one recipient, whatever others are called."""
    exact = {**OF_EVERY_GROUP}
    for member in members:
        exact[member.id] = exact["@" + member.id] = member.id
    return exact


def _one(token: Any, exact: Mapping[str, str], members: Sequence[Member], path: str) -> str:
    # A blank is refused: were it dropped, a message meant for somebody would become a broadcast.
    if not isinstance(token, str) or not (name := token.strip().removeprefix("@")):
        raise InvalidRecipient(f"{path} names nobody", path=path)
    if found := exact.get(token.strip()):
        return found
    called = {member.id for member in members if name.casefold() in _names(member)}
    if len(called) == 1:
        return next(iter(called))
    reason = f"{', '.join(sorted(called))} are all called" if called else "there is nobody called"
    raise InvalidRecipient(f"{reason} {token[:60]!r}", path=path, to=token[:60])


def _names(member: Member) -> tuple[str, str]:
    """What a member is called, in any case of letters."""
    return member.id.casefold(), member.title.strip().casefold()


def must_reach(to: Sequence[str], members: Sequence[Member], by: str = "") -> None:
    """Refuse what is meant for actors and finds none enabled but its own sender.

    What is said to everybody, or to the person too, is never refused: it stands in the ledger for whoever comes.
    """
    if not to or ALL in to or USER in to:
        return
    awake = {member.id for member in members if member.enabled}
    if awake.isdisjoint(concrete(to, members, by)):
        raise NoEnabledRecipients(f"no actor that {' '.join(to)[:200]} means is enabled", path="$.to", to=list(to))


def concrete(to: Sequence[str], members: Sequence[Member], by: str = "") -> tuple[str, ...]:
    """Who of those whom TO means is to do something about the message: acknowledge it, or answer.

    Never its sender; the person only when named; who is disabled only when named.
    """
    named = [member.id for member in members if member.id in to or (member.enabled and _is_meant(member, to))]
    return tuple(who for who in (*named, *([USER] if USER in to else [])) if who != by)


def _is_meant(member: Member, to: Sequence[str]) -> bool:
    return not to or ALL in to or SELECTORS.get(member.role) in to


def is_addressed(who: str, to: Sequence[str], roles: Mapping[str, str]) -> bool:
    """Whether what goes TO these stands in WHO's inbox, given everybody's role."""
    return not to or not set(tokens_for(who, roles.get(who, ""))).isdisjoint(to)


def tokens_for(who: str, role: str) -> tuple[str, ...]:
    """Under which tokens an index finds what is addressed to WHO; "" stands for a broadcast."""
    if who == USER:
        return (*EVERYBODY, USER, "@user")
    return (*EVERYBODY, who, *([SELECTORS[role]] if role in SELECTORS else []))


def stored(data: Any) -> tuple[str, ...]:
    """The recipients on a line of history. What cannot be read goes to nobody rather than to everybody."""
    to = data.get("to") if isinstance(data, dict) else None
    if to is None or to == []:
        return ()
    return (tuple(token for token in to if isinstance(token, str) and token) if isinstance(to, list) else ()) or NOBODY
