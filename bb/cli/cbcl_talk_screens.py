"""Dialects of a repository, and what its agents say to each other in CBCL, as a person reads them."""

from __future__ import annotations

from bb.cli import paint, proofs
from bb.cli.cbcl_screens import verbatim
from bb.cli.paint import column, counted, flowing, hanging, heading, painted, whole
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

LABEL = 14  # columns for the name of what follows


def of(command: str, data: Any) -> Iterable[str]:
    """The lines that say DATA, the answer of COMMAND, as wide as the terminal allows."""
    return paint.laid_out(FORMS[command](data))


# -- dialects


def listed(found: Mapping[str, Any]) -> Iterator[str]:
    """The dialects that are spoken here, one in a line."""
    rows = found["dialects"]
    if not rows:
        yield f"No dialects but the core. {whole('`bb cbcl dialect install FILE`')} installs one."
    wide = max((len(row["dialect"]) for row in rows), default=0)
    for row in rows:
        odd = "" if row["usable"] else f"  {painted('not spoken here', 'red')}"
        about = (
            f"{harmless(row['author'] or 'nobody')}, {harmless(row['signature'])}, by {harmless(row['installed_by'])}"
        )
        yield f"{column(harmless(row['dialect']), wide)}  {about}, {harmless(row['installed_at'])}{odd}"
        yield f"  adds {flowing(', '.join(row['adds']) or 'nothing')}"
        yield from _doubts(row)


def _doubts(row: Mapping[str, Any]) -> Iterator[str]:
    """Why a dialect is not spoken here, and what else has its name."""
    if row["why_not"]:
        yield f"  {flowing(row['why_not'])}"
    for event in row["conflicts"]:
        shown = whole(f"`bb ledger show {event}`")
        yield f"  {painted('conflict', 'yellow')}  {shown} has another of that name: --replace settles it"


def dialect(found: Mapping[str, Any]) -> Iterator[str]:
    """One dialect: who, whence, what it says, what became of it."""
    yield heading(harmless(found["dialect"]))
    yield f"{column('author', LABEL)}{harmless(found['author'] or 'not named')}, {harmless(found['signature'])}"
    yield f"{column('hash', LABEL)}{whole(found['hash'])}"
    for each in found["history"]:
        source = f", from {flowing(each['source'])}" if each.get("source") else ""
        action = "replaced" if each.get("replaces") else each["action"]
        about = f"{harmless(each['at'])} by {harmless(each['by'])}{source}"
        yield f"{column(harmless(action), LABEL)}{about}  {whole(harmless(each['hash'][:12]))}"
    yield from _doubts(found)
    yield ""
    yield from verbatim(found["formatted"])


def installed(found: Mapping[str, Any]) -> Iterator[str]:
    names = ", ".join(harmless(each["name"]) for each in found["definition"]["performatives"]) or "nothing"
    if not found["changed"]:
        yield f"{whole(harmless(found['dialect']))} is installed already."
        return
    yield f"{whole(harmless(found['dialect']))} is spoken here now; it adds {flowing(names)}"
    yield f"  {harmless(found['author'] or '')}, {harmless(found['signature'])}  [{whole(found['event_id'])}]"


def removed(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"{whole(harmless(found['dialect']))} is spoken here no more."


# -- talk


def sent(found: Mapping[str, Any]) -> Iterator[str]:
    """What was heard before, then the message that was sent; or, where it went to nobody, what it did."""
    for each in found["heard"]:
        yield from _heard(each)
    if found["to"]:
        to = ", ".join(map(harmless, found["to"]))
        yield f"Sent to {to}  [{whole(str(found['event_id']))}], known as {whole(harmless(found['id']))}"
    for each in found["effects"]:
        if each["effect"] == "installed":
            yield f"{whole(harmless(each['dialect']))} is spoken here now."
        elif each["effect"] in SETTLED:
            yield f"  {SETTLED[each['effect']]} {whole(harmless(each['id']))}: {harmless(each['how'])}"

    if found["settles_nothing"]:
        where = whole("`bb cbcl pending`")
        yield f"  {painted('it settles nothing', 'yellow')}: it names no open question; {where} shows them"


SETTLED = {"discharged": "you owe no answer any more to", "settled": "you wait no more for an answer to"}


def heard(found: Mapping[str, Any]) -> Iterator[str]:
    """What was heard, message by message, with what was answered."""
    if not found["heard"]:
        yield "Nothing to hear."
    for each in found["heard"]:
        yield from _heard(each)
    if found["left"]:
        yield f"{found['left']} more to hear."


def _heard(each: Mapping[str, Any]) -> Iterator[str]:
    proved = proofs.behind(each["verified"])
    yield f"{harmless(each['from'])}: {hanging(flowing(each['says']))}  [{whole(each['event_id'])}]{proved}"
    if each["status"] == "error":
        yield f"  {painted('refused', 'red')}  {harmless(each['code'])}: {hanging(flowing(each['message']))}"
    elif each["status"] == "duplicate":
        yield "  heard before"
    yield from (f"  which is  {hanging(flowing(text))}" for text in each["comes_to"])
    yield from (f"  answered  {hanging(flowing(text))}" for text in each["replies"])
    yield from (f"  passed on to {harmless(one['to'])}: {flowing(one['text'])}" for one in each["passed_on"])
    yield from (f"  {painted('not sent', 'red')}  to {harmless(one)}: not in service here" for one in each["unsent"])


def pending(found: Mapping[str, Any]) -> Iterator[str]:
    """Whose answers are waited for, and to whom some are owed."""
    agent = harmless(found["agent_id"])
    for title, whose, rows in (
        (f"{agent} waits for", "to", found["expects"]),
        (f"{agent} owes", "from", found["owes"]),
    ):
        yield heading(title)
        yield from (_open(each, whose) for each in rows)
        yield from ([] if rows else ["  nothing"])
    if found["unheard"]:
        yield f"{counted(found['unheard'], 'message')} not heard yet; {whole('`bb cbcl hear`')} hears what has come."


def _open(each: Mapping[str, Any], whose: str) -> str:
    until = f", until {each['due_at']}" if each["due_at"] else ""
    late = f" {painted('overdue', 'red')}" if each["is_overdue"] else ""
    return (
        f"  {harmless(each[whose])}  since {harmless(each['since'])}{until}{late}: "
        f"{hanging(flowing(each['text']))}  [{whole(harmless(each['id']))}]"
    )


def beliefs(found: Mapping[str, Any]) -> Iterator[str]:
    """Who says what."""
    if not found["beliefs"]:
        yield f"{harmless(found['agent_id'])} was told nothing yet."
    for each in found["beliefs"]:
        proved = proofs.behind(each["verified"])
        yield f"{harmless(each['who'])} says {hanging(flowing(each['text']))}  [{whole(each['event_id'])}]{proved}"


def conversations(found: Mapping[str, Any]) -> Iterator[str]:
    """The threads, or one of them."""
    if "messages" in found:
        for each in found["messages"]:
            proved = proofs.behind(each["verified"])
            yield f"{harmless(each['at'])}  {harmless(each['from'])}: {hanging(flowing(each['text']))}{proved}"
        yield from ([] if found["messages"] else ["Nothing was said there."])
        return
    for each in found["conversations"]:
        said = f": {harmless(each['last']['from'])}: {hanging(flowing(each['last']['text']))}" if each["last"] else ""
        yield f"{harmless(each['at'])}  {flowing(each['thread'])}, {counted(each['messages'], 'message')}{said}"
    yield from ([] if found["conversations"] else ["No conversations yet: a message with :thread begins one."])


FORMS: dict[str, Callable[[Any], Iterable[str]]] = {
    "cbcl dialect list": listed,
    "cbcl dialect show": dialect,
    "cbcl dialect install": installed,
    "cbcl dialect remove": removed,
    "cbcl dialect teach": sent,
    "cbcl dialect query": sent,
    "cbcl send": sent,
    "cbcl hear": heard,
    "cbcl pending": pending,
    "cbcl beliefs": beliefs,
    "cbcl conversations": conversations,
}
