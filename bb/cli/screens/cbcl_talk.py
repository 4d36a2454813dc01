"""Dialects of a repository, and what its agents say to each other in CBCL, as a person reads them."""

from __future__ import annotations

from bb.cli.screens import paint, proofs
from bb.cli.screens.cbcl import verbatim
from bb.cli.screens.paint import column, counted, expression, flowing, hanging, heading, painted, whole
from bb.kernel.outside import Outside, names, sentence, shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LABEL = 14  # columns for the name of what follows


def of(command: str, data: Outside) -> Iterable[str]:
    """The lines that say DATA, the answer of COMMAND, as wide as the terminal allows."""
    return paint.laid_out(FORMS[command](data))


# -- dialects


def listed(found: Outside) -> Iterator[str]:
    """The dialects that are spoken here, one in a line."""
    rows = found["dialects"]
    if not rows:
        yield f"No dialects but the core. {whole('`bb cbcl dialect install FILE`')} installs one."
    wide = max((paint.occupied(str(row["dialect"])) for row in rows), default=0)
    for row in rows:
        odd = "" if row["usable"] else f"  {painted('not spoken here', 'red')}"
        about = f"{row['author'] or 'nobody'}, {row['signature']}, by {row['installed_by']}"
        yield f"{column(str(row['dialect']), wide)}  {about}, {row['installed_at']}{odd}"
        yield f"  adds {flowing(names(row['adds']) or 'nothing')}"
        yield from _doubts(row)


def _doubts(row: Outside) -> Iterator[str]:
    """Why a dialect is not spoken here, and what else has its name."""
    if row["why_not"]:
        yield f"  {flowing(sentence(row['why_not']))}"
    for event in row["conflicts"]:
        shown = whole(f"`bb ledger show {shell_word(event)}`")
        yield f"  {painted('conflict', 'yellow')}  {shown} has another of that name: --replace settles it"


def dialect(found: Outside) -> Iterator[str]:
    """One dialect: who, whence, what it says, what became of it."""
    yield heading(str(found["dialect"]))
    yield f"{column('author', LABEL)}{found['author'] or 'not named'}, {found['signature']}"
    yield f"{column('hash', LABEL)}{whole(found['hash'])}"
    for each in found["history"]:
        source = f", from {flowing(each['source'])}" if each.get("source") else ""
        action = "replaced" if each.get("replaces") else each["action"]
        about = f"{each['at']} by {each['by']}{source}"
        yield f"{column(str(action), LABEL)}{about}  {whole(each['hash'][:12])}"
    yield from _doubts(found)
    yield ""
    yield from verbatim(found["formatted"])


def installed(found: Outside) -> Iterator[str]:
    added = ", ".join(str(each["name"]) for each in found["definition"]["performatives"]) or "nothing"
    if not found["changed"]:
        yield f"{whole(found['dialect'])} is installed already."
        return
    yield f"{whole(found['dialect'])} is spoken here now; it adds {flowing(added)}"
    yield f"  {found['author'] or ''}, {found['signature']}  [{whole(found['event_id'])}]"


def removed(found: Outside) -> Iterator[str]:
    yield f"{whole(found['dialect'])} is spoken here no more."


# -- talk


def sent(found: Outside) -> Iterator[str]:
    """What was heard before, then the message that was sent; or, where it went to nobody, what it did."""
    for each in found["heard"]:
        yield from _heard(each)
    if found["to"]:
        yield f"Sent to {names(found['to'])}  [{whole(found['event_id'])}], known as {whole(found['id'])}"
    for each in found["effects"]:
        if each["effect"] == "installed":
            yield f"{whole(each['dialect'])} is spoken here now."
        elif each["effect"] in SETTLED:
            yield f"  {each['effect'].among(SETTLED, '')} {whole(each['id'])}: {each['how']}"

    if found["settles_nothing"]:
        where = whole("`bb cbcl pending`")
        yield f"  {painted('it settles nothing', 'yellow')}: it names no open question; {where} shows them"


SETTLED = {"discharged": "you owe no answer any more to", "settled": "you wait no more for an answer to"}


def heard(found: Outside) -> Iterator[str]:
    """What was heard, message by message, with what was answered."""
    if not found["heard"]:
        yield "Nothing to hear."
    for each in found["heard"]:
        yield from _heard(each)
    if found["left"]:
        yield f"{found['left']} more to hear."


def _heard(each: Outside) -> Iterator[str]:
    proved = proofs.behind(each["verified"])
    yield f"{each['from']}: {hanging(expression(each['says']))}  [{whole(each['event_id'])}]{proved}"
    if each["status"] == "error":
        yield f"  {painted('refused', 'red')}  {each['code']}: {hanging(flowing(sentence(each['message'])))}"
    elif each["status"] == "duplicate":
        yield "  heard before"
    yield from (f"  which is  {hanging(expression(text))}" for text in each["comes_to"])
    yield from (f"  answered  {hanging(expression(text))}" for text in each["replies"])
    yield from (f"  passed on to {one['to']}: {expression(one['text'])}" for one in each["passed_on"])
    yield from (f"  {painted('not sent', 'red')}  to {one}: not in service here" for one in each["unsent"])


def pending(found: Outside) -> Iterator[str]:
    """Whose answers are waited for, and to whom some are owed."""
    agent = str(found["agent_id"])
    for title, whose, rows in (
        (f"{agent} waits for", "to", found["expects"]),
        (f"{agent} owes", "from", found["owes"]),
    ):
        yield heading(title)
        yield from (_open(each, whose) for each in rows)
        yield from ([] if rows else ["  nothing"])
    if found["unheard"]:
        unheard = counted(int(found["unheard"]), "message")
        yield f"{unheard} not heard yet; {whole('`bb cbcl hear`')} hears what has come."


def _open(each: Outside, whose: str) -> str:
    until = f", until {each['due_at']}" if each["due_at"] else ""
    late = f" {painted('overdue', 'red')}" if each["is_overdue"] else ""
    return (
        f"  {each[whose]}  since {each['since']}{until}{late}: "
        f"{hanging(expression(each['text']))}  [{whole(each['id'])}]"
    )


def beliefs(found: Outside) -> Iterator[str]:
    """Who says what."""
    if not found["beliefs"]:
        yield f"{found['agent_id']} was told nothing yet."
    for each in found["beliefs"]:
        proved = proofs.behind(each["verified"])
        yield f"{each['who']} says {hanging(expression(each['text']))}  [{whole(each['event_id'])}]{proved}"


def conversations(found: Outside) -> Iterator[str]:
    """The threads, or one of them."""
    if "messages" in found:
        for each in found["messages"]:
            proved = proofs.behind(each["verified"])
            yield f"{each['at']}  {each['from']}: {hanging(expression(each['text']))}{proved}"
        yield from ([] if found["messages"] else ["Nothing was said there."])
        return
    for each in found["conversations"]:
        said = f": {each['last']['from']}: {hanging(expression(each['last']['text']))}" if each["last"] else ""
        yield f"{each['at']}  {each['thread']}, {counted(int(each['messages']), 'message')}{said}"
    yield from ([] if found["conversations"] else ["No conversations yet: a message with :thread begins one."])


FORMS: dict[str, Callable[[Outside], Iterable[str]]] = {
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
