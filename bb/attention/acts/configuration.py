"""Settings: names of agents on platforms, conversations, and the host's tuning; changing and showing them."""

from __future__ import annotations

from typing import Any

from bb.attention.facts import Answer, Arranged, Bound, Tuned
from bb.attention.judging import default_matrix
from bb.attention.judging.before_bind import MOST_REMEMBERED, messages_for_new_names, summary
from bb.attention.judging.cases import require_registered
from bb.attention.state import tuning
from bb.attention.state.attention_state import AttentionState
from bb.attention.state.conversations import NAME, values
from bb.attention.state.directory import EARLIER, EVERYBODY, LONGEST, MEMBERS, MOST, Binding
from bb.kernel.errors import Conflict, Usage
from bb.kernel.escaping import has_control

InvalidName = Usage.declare(
    "INVALID_NAME",
    "A handle must be `<platform>:<id>`, a role must begin with @, and no name may contain a space",
    hint="for example --handle slack:U123 --role @backend",
)

NameTaken = Conflict.declare(
    "NAME_TAKEN",
    "Another agent already has that name",
    hint="remove the name from the other agent first: `bb chat bind AGENT --handle … --remove`",
)


def bind(book: AttentionState, by: str, agent: str, given: dict[str, list[str]], now: int, *, remove: bool) -> Answer:
    """Add names of an agent on platforms, or remove them. The answer tells of messages that named it before."""
    require_registered(book, agent)
    before = book.directory.bindings.get(agent, Binding(agent)).names()
    if remove:
        names = {
            member: [name for name in before[member] if given and name not in given.get(member, ())]
            for member in MEMBERS
        }
    else:
        _check(book, agent, given)
        names = {member: list(dict.fromkeys([*before[member], *given.get(member, [])])) for member in MEMBERS}
        if any(len(listed) > MOST for listed in names.values()):
            raise InvalidName(f"an agent can have at most {MOST} names of each kind")
    answer: dict[str, Any] = {"agent": agent, **names}
    if names == before:
        return [], answer
    new = {member: [name for name in names[member] if name not in before[member]] for member in ("handles", "roles")}
    earlier = messages_for_new_names(book, agent, new["handles"], new["roles"], now)
    if earlier:
        answer["beforeBind"] = summary(earlier, now)
    remembered = [head.event for head in earlier] + list(book.binding(agent).earlier)
    kept = {EARLIER: remembered[:MOST_REMEMBERED]} if remembered and not remove else {}
    return [Bound(by, agent, {**names, **kept})], answer


def _check(book: AttentionState, agent: str, given: dict[str, list[str]]) -> None:
    for member, listed in given.items():
        for name in listed:
            is_odd = (
                has_control(name) or not name.strip() or len(name) > LONGEST or (" " in name and member != "threads")
            )
            if is_odd or not _has_form(member, name):
                raise InvalidName(f"{name[:60]!r} is not valid in {member}: {InvalidName.message}.", name=name[:60])
    for name in given.get("handles", ()):
        other = book.directory.by_handle.get(name)
        if other not in (None, agent):
            raise NameTaken(f"{name[:60]} is already a name of {other}", agent=other, name=name[:60])


def _has_form(member: str, name: str) -> bool:
    if member == "handles":
        platform, colon, own = name.partition(":")
        return bool(platform and colon and own) and platform != "agent"
    if member == "roles":
        return name.rpartition(":")[2].startswith("@") and name not in EVERYBODY
    return True


def bindings(book: AttentionState, agent: str | None) -> dict[str, Any]:
    """The names of one agent, or of all agents."""
    if agent:
        require_registered(book, agent)
        return {"agent": agent, **book.directory.bindings[agent].names()}
    return {"bindings": [{"agent": name, **binding.names()} for name, binding in book.directory.bindings.items()]}


def arrange(book: AttentionState, by: str, name: str, about: dict[str, Any]) -> Answer:
    """Change settings of a conversation."""
    for agent in [*(about.get("members") or ()), *(about[who] for who in ("lead", "owner") if who in about)]:
        require_registered(book, agent)
    before = conversation(book, name)
    return [Arranged(by, name, about)], {**before, **about}


def conversation(book: AttentionState, name: str) -> dict[str, Any]:
    """The settings of a conversation."""
    settings = book.conversation(name).as_dict()
    return {point: list(value) if isinstance(value, tuple) else value for point, value in settings.items()}


def tune(book: AttentionState, by: str, settings: Any) -> Answer:
    """Change settings of the host."""
    checked = tuning.checked(settings)
    kept = {name: list(value) if isinstance(value, tuple) else value for name, value in checked.items()}
    after = values(book.states.state(NAME, "tuning")) | kept
    return [Tuned(by, kept)], _shown(tuning.tuning({name: value for name, value in after.items() if value is not None}))


def policy(book: AttentionState) -> dict[str, Any]:
    """The default matrix and the settings of the host."""
    rows = [
        {"directedness": aimed, "for": list(fits), "policy": policy, "injection": mode}
        for aimed, fits, policy, mode in default_matrix.MATRIX
    ]
    return {"matrix": rows, **_shown(book.tuning)}


def _shown(tuned: tuning.Tuning) -> dict[str, Any]:
    settings = tuned.as_dict()
    return {"settings": {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}}
