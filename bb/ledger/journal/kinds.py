"""The event kinds that record facts. Reading is tolerant, writing is strict.

A line of a kind that is not listed is not a fact for this version: it stays in the ledger, is shown unchanged, and
every fold skips it. A line of a listed kind whose data no version of bb could have written is not a fact either: it
stays, folds skip it, and it is shown as unreadable (`unreadable.py`). Reading and writing apply the same rules to
members (`kernel/validation.py`).
"""

from __future__ import annotations

import sys

from bb.coordination.agents import liveness
from bb.coordination.facts import ACCEPTED, PLACE_ENDS, REVERTED, TRANSFERRED
from bb.kernel import ids, validation
from bb.kernel.event import GENESIS
from bb.ledger.journal import folds
from bb.ledger.journal import line as lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, TypeAlias

    from bb.attention.facts import AttentionFact
    from bb.cbcl.facts import Heard, Installed, Removed
    from bb.coordination.facts import (
        AgentFact,
        GuardFact,
        HoldingFact,
        NoticeFact,
        PauseFact,
        QueueFact,
        Redacted,
        ThresholdFact,
    )
    from bb.groups.facts import ContextChanged, GroupFact
    from bb.messaging.facts import MailFact, Said

    Fits = Callable[[object], bool]
    Maker = Callable[[str, str], "Fact | None"]  # of facts that differ only in their author and one text
    # fact, its members, a check for each, the default for each, how many are required, and the place of each in `data`
    Row = tuple[Any, tuple[str, ...], tuple[Fits, ...], tuple[Any, ...], int, dict[str, int]]

Fact: TypeAlias = (
    "AgentFact | PauseFact | ThresholdFact | HoldingFact | QueueFact | NoticeFact | GuardFact | "
    "MailFact | GroupFact | ContextChanged | Redacted | Said | AttentionFact | Heard | "
    "Installed | Removed"
)

# Module -> its facts: name, kind, and the members of `data` that contain the fact's fields, in order. `by` is the
# envelope's author. Facts are listed by name, so that a module is loaded only when one of its facts is read.
WRITTEN: dict[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "bb.coordination.facts": (
        ("Registered", "actor.add", ("actor_id", "role", "title", "actor", "session", "emails")),
        ("Updated", "actor.update", ("actor_id", "role", "title", "actor", "session", "emails")),
        ("Retired", "actor.remove", ("actor_id",)),
        ("NameSettled", "x.bb.name_settled", ("actor_id", "registration", "renamed_to")),
        ("Started", "actor.start", ("actor_id",)),
        ("Stopped", "actor.stop", ("actor_id",)),
        ("Seen", "x.bb.seen", ("actor_id", "after", "session")),
        ("Paused", "x.bb.paused", ("by", "target", "why")),
        ("Unpaused", "x.bb.unpaused", ("by", "target")),
        ("Pinned", "x.bb.pinned", ("by", "stale_minutes")),
        (
            "Reserved",
            "x.bb.reserved",
            (
                *("by", "scope", "bead_id", "ttl_minutes", "shared", "is_file"),
                *("base", "takes", "why", "region", "open", "order"),
            ),
        ),
        ("Renewed", "x.bb.renewed", ("by", "reservation_id", "ttl_minutes")),
        ("Released", "x.bb.released", ("by", "reservation_id")),
        ("Transferred", "x.bb.transferred", ("by", "reservation_id", "holder")),
        ("Expired", "x.bb.expired", ("by", "reservation_id")),
        (
            "Queued",
            "x.bb.queued",
            (
                *("by", "scopes", "bead_id", "ttl_minutes", "until", "number"),
                *("files", "shared", "takeover", "allow_overlap", "regions", "open"),
            ),
        ),
        ("LeftLine", "x.bb.left_line", ("by", "place_id", "how")),
        ("Redacted", "x.bb.redacted", ("by", "event_id", "reason")),
        ("TakenOver", "x.bb.taken_over", ("by", "reservation_id", "owner", "liveness", "archived")),
        ("Resolved", "x.bb.resolved", ("by", "event_id", "state", "note")),
    ),
    "bb.groups.facts": (
        ("Created", GENESIS, ("by", "title", "topic")),
        ("Changed", "group.update", ("by", "title", "topic")),
        ("ScopeAttached", "group.attach", ("by", "scope_key", "title")),
        ("ScopeDetached", "group.detach_scope", ("by", "scope_key")),
        ("ScopeChosen", "group.set_active_scope", ("by", "scope_key")),
        ("StateSet", "group.set_state", ("by", "group_state")),
        ("SettingsChanged", "group.settings_update", ("by", "patch")),
        ("GroupStarted", "group.start", ("by", "actors")),
        ("GroupStopped", "group.stop", ("by", "actors")),
    ),
    "bb.attention.facts": (
        ("Edited", "x.bb.c2a.edited", ("by", "event", "version", "c2a", "text")),
        ("Deleted", "x.bb.c2a.deleted", ("by", "event", "reason")),
        ("Moved", "x.bb.c2a.delivery", ("by", "event", "agent", "to", "about")),
        ("Claiming", "x.bb.c2a.claim", ("by", "subject", "action", "about")),
        ("Confirming", "x.bb.c2a.confirmation", ("by", "request", "action", "about")),
        ("Bound", "x.bb.c2a.binding", ("by", "agent", "names")),
        ("Arranged", "x.bb.c2a.conversation", ("by", "conversation", "about")),
        ("Tuned", "x.bb.c2a.settings", ("by", "settings")),
        ("Typing", "x.bb.c2a.typing", ("by", "window", "author", "is_typing")),
        ("Posting", "x.bb.c2a.posting", ("by", "event", "state", "about")),
        ("Progressed", "x.bb.c2a.progress", ("by", "token", "about")),
        ("Digested", "x.bb.c2a.digest", ("by", "upto")),
        ("Refusal", "x.bb.c2a.refused", ("by", "code", "about")),
    ),
    "bb.cbcl.facts": (("Heard", "x.bb.cbcl.heard", ("by", "event_id", "outcome", "about")),),
}
BY = "by"  # the author of the envelope, among the members of a fact
SAID = "Said"  # an event of a CCCS client: it may have any kind, and is stored unchanged
# Kinds with a format of their own, mostly from CCCS; `ledger/journal/cccs_forms.py` writes and reads them. Other
# clients write most lines of these kinds. Such lines are skipped without parsing, unless they contain one of MARKS.
WITH_OWN_FORMAT = {
    "Sent": "chat.message",
    "Read": "chat.reaction",
    "Acked": "chat.ack",
    "Agreed": "chat.reaction",
    "Incurred": "system.notify",
    "Resumed": "system.notify",
    "Overridden": "x.bb.override",
    "ContextChanged": "context.sync",
    "Posted": "chat.message",
    "Installed": "x.bb.cbcl.dialect",
    "Removed": "x.bb.cbcl.dialect",
}
MARKS = {  # one or two of each
    b"chat.message": (b'"mail":{', b'"c2a":{'),
    b"chat.reaction": (b'"signal":"',),
    b"system.notify": (b'"context":{', b'"c2a":{'),
}

FORMATS_OF_ANY_AUTHOR = (WITH_OWN_FORMAT["ContextChanged"], WITH_OWN_FORMAT["Posted"], WITH_OWN_FORMAT["Incurred"])
BY_FACT = {name: (kind, members) for rows in WRITTEN.values() for name, kind, members in rows}
NAMED = {kind: (room, name, members) for room, rows in WRITTEN.items() for name, kind, members in rows}
PLACE_DIGITS = 15  # at most, of a place in `takes`
KINDS = frozenset([*NAMED, *WITH_OWN_FORMAT.values()])

SAID_BY_ANYBODY = frozenset(fact for fold in ("group", *folds.ATTENTION) for fact in folds.FOLDED[fold][1])


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_agent(value: object) -> bool:
    return type(value) is str and ids.is_actor_id(value)


def _is_event(value: object) -> bool:
    return type(value) is str and ids.is_event_id(value)


def _is_flag(value: object) -> bool:
    return type(value) is bool


def _is_object(value: object) -> bool:
    return type(value) is dict


def _is_ttl(value: object) -> bool:
    return type(value) is int and 0 < value < 1 << 31


def _is_name(value: object) -> bool:
    """Whether VALUE is valid as a name given by another platform or by a group: one line."""
    return validation.is_line(value)


def _is_liveness(value: object) -> bool:
    return value in (liveness.ACTIVE, liveness.STALE, liveness.EVICTED)


def _are_addresses(value: object) -> bool:
    from bb.coordination.agents import addresses  # noqa: PLC0415  (few agents have some)

    return type(value) is list and len(value) <= addresses.MOST and all(map(addresses.is_address, value))


def _is_target(value: object) -> bool:
    from bb.coordination.agents import pauses  # noqa: PLC0415

    return value == pauses.EVERYBODY or _is_agent(value)


def _is_state_of_group(value: object) -> bool:
    from bb.groups.facts import STATES  # noqa: PLC0415

    return value in STATES


def _is_archived(value: object) -> bool:
    from bb.coordination.holdings import holdings  # noqa: PLC0415

    return value in (holdings.EXPIRED, holdings.TAKEN_OVER)


def _are_taken(value: object) -> bool:
    """Whether VALUE consists of event ids, separated by spaces. Each may have a place: `id@17`."""
    return type(value) is str and all(map(_is_taken, value.split(" ")))


def _is_taken(word: str) -> bool:
    name, mark, place = word.partition("@")
    return ids.is_event_id(name) and (not mark or (0 < len(place) <= PLACE_DIGITS and not place.strip(ids.DIGITS)))


def _is_commit(value: object) -> bool:
    return type(value) is str and len(value) <= 64 and not value.strip(ids.DIGITS + "abcdef")


def _is_sound_about(value: object) -> bool:
    """Whether an `about` object has members of the right types, and each name in it is one line."""
    if not _messages().is_sound_about(value):
        return False
    about: dict[str, Any] = value  # type: ignore[assignment]
    return all(validation.is_line_or_nothing(about[name]) for name in NAMED_IN_ABOUT if name in about)


def _is_sound_message(value: object) -> bool:
    return bool(_messages().is_sound(value))


def _messages() -> ModuleType:
    from bb.attention.messages import message  # noqa: PLC0415  (needed only for a C2A message)

    return message


# The members of an `about` object that are names.
NAMED_IN_ABOUT = ("signal", "by", "to", "as", "outcome", "platform_id", "type", "conversation", "agent")

FITS: dict[str, Fits] = {
    "actor_id": _is_agent,
    "registration": _is_event,
    "renamed_to": _is_agent,
    "actor": _is_object,
    "role": validation.is_role,
    "title": validation.is_title,
    "emails": _are_addresses,
    "after": _is_liveness,
    "liveness": _is_liveness,
    "why": validation.is_reason,
    "note": validation.is_reason,
    "scope": validation.is_unfolded,
    "bead_id": validation.is_bead,
    "base": _is_commit,
    "takes": _are_taken,
    "order": lambda value: type(value) is str and ids.is_incarnation(value),
    "scopes": validation.are_unfolded,
    "files": validation.are_unfolded,
    "place_id": _is_event,
    "how": lambda value: value in PLACE_ENDS,
    "until": lambda value: type(value) is str and validation.is_time(value),
    "number": lambda value: type(value) is int and 0 < value < 1 << 40,
    "takeover": _is_flag,
    "allow_overlap": _is_flag,
    "scope_key": _is_name,
    "event": _is_name,
    "agent": _is_name,
    "to": _is_name,
    "subject": _is_name,
    "request": _is_name,
    "action": _is_name,
    "conversation": _is_name,
    "window": _is_name,
    "author": _is_name,
    "token": _is_name,
    "upto": validation.is_line_or_nothing,
    "code": _is_name,
    "outcome": _is_name,
    "target": _is_target,
    "holder": _is_agent,
    "by": ids.is_principal,
    "owner": ids.is_principal,
    "reservation_id": _is_event,
    "ttl_minutes": _is_ttl,
    "group_state": _is_state_of_group,
    "patch": _is_object,
    "actors": lambda value: type(value) is list and all(map(_is_text, value)),
    "shared": _is_flag,
    "open": _is_flag,
    "region": validation.is_unfolded,
    "regions": lambda value: type(value) is list and all(not one or validation.is_unfolded(one) for one in value),
    "is_file": _is_flag,
    "event_id": _is_event,
    "state": lambda value: value in (ACCEPTED, REVERTED, TRANSFERRED),
    "about": _is_sound_about,
    "c2a": _is_sound_message,
    "names": _is_object,
    "settings": _is_object,
    "version": lambda value: type(value) is int and 0 < value < 1 << 60,
    "is_typing": _is_flag,
    "stale_minutes": lambda value: type(value) is int and (value == 0 or value in liveness.MINUTES_ALLOWED),
    "archived": _is_archived,
}


# Exceptions from FITS: members that have another rule in some facts.
EXCEPTIONS: dict[tuple[str, str], Fits] = {
    ("Posting", "state"): _is_name,
    ("Created", "title"): _is_text,
    ("Changed", "title"): _is_text,
    ("ScopeAttached", "title"): _is_text,  # the name of a directory
}


def _fits(fact: str, member: str) -> Fits:
    if member == "by" and fact in SAID_BY_ANYBODY:
        return ids.is_author
    return EXCEPTIONS.get((fact, member)) or FITS.get(member, _is_text)


_rows: dict[str, Row] = {}


def row(kind: str) -> Row | None:
    """How facts of a KIND are read; None if the kind is unknown or `cccs_forms` reads it."""
    if kind not in _rows:
        if kind not in NAMED:
            return None
        room, name, members = NAMED[kind]
        __import__(room)
        fact = getattr(sys.modules[room], name)
        fits = tuple(_fits(name, member) for member in members)
        _rows[kind] = (
            fact,
            members,
            fits,
            tuple(getattr(fact, field, None) for field in fact.__match_args__),
            fact.required(),
            {member: place for place, member in enumerate(members) if place or member != BY},
        )
    return _rows[kind]


def kind_and_data(fact: Fact) -> tuple[str, dict[str, Any]]:
    """The event kind and data that record FACT."""
    name = type(fact).__name__
    if name == SAID:
        return fact.kind, dict(fact.data)  # type: ignore[union-attr]
    if kind := WITH_OWN_FORMAT.get(name):
        return kind, forms().data_of(fact)
    kind, members = BY_FACT[name]
    data = dict(zip(members, fact.as_dict().values(), strict=True))
    data.pop("by", None)
    return kind, {member: value for member, value in data.items() if value is not None and value is not False}


def scope_of(fact: Fact) -> str:
    """The key of the group's directory that FACT is about; empty if it is about none."""
    return fact.scope_key if type(fact).__name__ == SAID else ""  # type: ignore[union-attr]


def fact_on(raw: bytes, decoder: Callable[[bytes], Any] | None = None) -> Fact | None:
    """The fact that a line records; None if it is unknown or the line is unreadable."""
    try:
        members = lines.members(raw, decoder)
    except lines.Unreadable:
        return None
    return fact_of(members["kind"], members["data"], members["by"])


def fact_of(kind: str, data: dict[str, Any], by: str = "") -> Fact | None:
    """The fact that an event of this kind, data and author records; None if it is unknown."""
    entry = _rows.get(kind) or row(kind)
    if entry is None:
        is_valid_author = ids.is_author if kind in FORMATS_OF_ANY_AUTHOR else ids.is_principal
        return forms().fact_of(kind, data, by) if kind in KINDS and is_valid_author(by) else None
    make, members, fits, defaults, required, places = entry
    values: list[Any] = [*defaults]
    if members[0] == BY:
        values[0] = by
        if not fits[0](by):
            return None
    for member, value in data.items():  # most lines have few of the members that their facts may have
        place = places.get(member)
        if place is None or value is None:
            continue
        if not fits[place](value):
            return None
        values[place] = value
    for place in range(required):
        if values[place] is None and not fits[place](None):
            return None
    fact: Fact = make(*values)
    return fact


def maker(kind: str, fact: Fact, member: str) -> Maker | None:
    """Makes facts of KIND that differ from FACT only in their author, who must be a principal, and in the text of
    MEMBER. None if the author and that member are no fields of the fact."""
    entry = _rows.get(kind)
    if entry is None or entry[1][0] != BY or entry[2][0] is not ids.is_principal or member not in entry[5]:
        return None
    make, _, fits, _, _, places = entry
    place, fits_text = places[member], fits[places[member]]
    values = list(fact.as_dict().values())

    def made(by: str, text: str) -> Fact | None:
        if not fits_text(text):
            return None
        again = values.copy()
        again[0], again[place] = by, text
        fact: Fact = make(*again)
        return fact

    return made


def forms() -> ModuleType:
    """Writes and reads the kinds with a format of their own."""
    from bb.ledger.journal import cccs_forms  # noqa: PLC0415  (it imports most rooms)

    return cccs_forms
