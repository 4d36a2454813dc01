"""Text screens for the dialects of a repository and the CBCL messages of its agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from bb.cli.screens import proofs, styling
from bb.cli.screens.cbcl import verbatim
from bb.cli.screens.styling import coloured, column, counted, expression, flowing, hanging, heading, whole
from bb.kernel.foreign import Foreign, names, sentence, shell_word

LABEL = 14  # columns for a label


# -- dialects


def listed(found: Foreign) -> Iterator[str]:
    """The installed dialects."""
    rows = found["dialects"]
    if not rows:
        yield f"No dialects are installed besides the core. {whole('`bb cbcl dialect install FILE`')} installs one."
    wide = styling.widest(row["dialect"] for row in rows)
    for row in rows:
        odd = "" if row["usable"] else f"  {coloured('not usable here', 'red')}"
        about = f"{row['author'] or 'no author'}, {row['signature']}, by {row['installed_by']}"
        yield f"{column(str(row['dialect']), wide)}  {about}, {styling.ago(row['installed_at'])}{odd}"
        yield f"  adds {flowing(names(row['adds']) or 'nothing')}"
        yield from _doubts(row)


def _doubts(row: Foreign) -> Iterator[str]:
    """Why a dialect is not usable here, and other dialects of the same name."""
    if row["why_not"]:
        yield f"  {flowing(sentence(row['why_not']))}"
    for event in row["conflicts"]:
        command = whole(f"`bb ledger show {shell_word(event)}`")
        yield f"  {coloured('conflict', 'yellow')}  {command} shows another dialect of that name: --replace resolves it"


def dialect(found: Foreign) -> Iterator[str]:
    """One dialect: author, hash, history and text."""
    yield heading(str(found["dialect"]))
    yield f"{column('author', LABEL)}{found['author'] or 'not named'}, {found['signature']}"
    yield f"{column('hash', LABEL)}{whole(found['hash'])}"
    for entry in found["history"]:
        source = f", from {flowing(entry['source'])}" if entry.get("source") else ""
        action = "replaced" if entry.get("replaces") else entry["action"]
        about = f"{styling.ago(entry['at'])} by {entry['by']}{source}"
        yield f"{column(str(action), LABEL)}{about}  {whole(entry['hash'][:12])}"
    yield from _doubts(found)
    yield ""
    yield from verbatim(found["formatted"])


def installed(found: Foreign) -> Iterator[str]:
    added = ", ".join(str(performative["name"]) for performative in found["definition"]["performatives"]) or "nothing"
    if not found["changed"]:
        yield f"{whole(found['dialect'])} is already installed."
        return
    yield f"Installed {whole(found['dialect'])}; it adds {flowing(added)}"
    yield f"  {found['author'] or ''}, {found['signature']}  [{whole(found['event_id'])}]"


def removed(found: Foreign) -> Iterator[str]:
    yield f"Removed {whole(found['dialect'])}."


# -- talk


def sent(found: Foreign) -> Iterator[str]:
    """The messages processed before, then the message sent and its effects."""
    for row in found["heard"]:
        yield from _heard(row)
    if found["to"]:
        yield f"Sent to {names(found['to'])}  [{whole(found['event_id'])}], message id {whole(found['id'])}"
    for row in found["effects"]:
        if row["effect"] == "installed":
            yield f"Installed {whole(row['dialect'])}."
        elif row["effect"] in SETTLED:
            yield f"  {row['effect'].among(SETTLED, '')} {whole(row['id'])}: {row['how']}"

    if found["settles_nothing"]:
        where = whole("`bb cbcl pending`")
        yield f"  {coloured('it closes no question', 'yellow')}: it names no open one; {where} shows them"


SETTLED = {"discharged": "you no longer owe an answer to", "settled": "you no longer wait for an answer to"}


def heard(found: Foreign) -> Iterator[str]:
    """The processed messages, each with its replies."""
    if not found["heard"]:
        yield "No new messages."
    for message in found["heard"]:
        yield from _heard(message)
    if found["left"]:
        yield f"{found['left']} more to process."


def _heard(each: Foreign) -> Iterator[str]:
    proved = proofs.verification_suffix(each["verified"])
    yield f"{each['from']}: {hanging(expression(each['says']))}  [{whole(each['event_id'])}]{proved}"
    if each["status"] == "error":
        yield f"  {coloured('refused', 'red')}  {each['code']}: {hanging(flowing(sentence(each['message'])))}"
    elif each["status"] == "duplicate":
        yield "  already processed"
    yield from (f"  expands to  {hanging(expression(text))}" for text in each["comes_to"])
    yield from (f"  answered  {hanging(expression(text))}" for text in each["replies"])
    yield from (f"  forwarded to {one['to']}: {expression(one['text'])}" for one in each["passed_on"])
    yield from (f"  {coloured('not sent', 'red')}  to {one}: not in service here" for one in each["unsent"])


def pending(found: Foreign) -> Iterator[str]:
    """The answers that an agent waits for, and those that it owes."""
    agent = str(found["agent_id"])
    for title, whose, rows in (
        (f"{agent} waits for", "to", found["expects"]),
        (f"{agent} owes", "from", found["owes"]),
    ):
        yield heading(title)
        yield from (_open(row, whose) for row in rows)
        yield from ([] if rows else ["  nothing"])
    if found["unheard"]:
        unheard = counted(int(found["unheard"]), "message")
        yield f"{unheard} not processed yet; {whole('`bb cbcl hear`')} processes new messages."


def _open(each: Foreign, whose: str) -> str:
    until = f", due {styling.ago(each['due_at'])}" if each["due_at"] else ""
    late = f" {coloured('overdue', 'red')}" if each["is_overdue"] else ""
    return (
        f"  {each[whose]}  since {styling.ago(each['since'])}{until}{late}: "
        f"{hanging(expression(each['text']))}  [{whole(each['id'])}]"
    )


def beliefs(found: Foreign) -> Iterator[str]:
    """The statements that an agent has received, with their authors."""
    if not found["beliefs"]:
        yield f"{found['agent_id']} has received no statements yet."
    for belief in found["beliefs"]:
        proved = proofs.verification_suffix(belief["verified"])
        yield f"{belief['who']} says {hanging(expression(belief['text']))}  [{whole(belief['event_id'])}]{proved}"


def conversations(found: Foreign) -> Iterator[str]:
    """The threads, or one of them."""
    if "messages" in found:
        for row in found["messages"]:
            proved = proofs.verification_suffix(row["verified"])
            yield f"{styling.ago(row['at'])}  {row['from']}: {hanging(expression(row['text']))}{proved}"
        yield from ([] if found["messages"] else ["No messages in this thread."])
        return
    for row in found["conversations"]:
        last_text = f": {row['last']['from']}: {hanging(expression(row['last']['text']))}" if row["last"] else ""
        yield f"{styling.ago(row['at'])}  {row['thread']}, {counted(int(row['messages']), 'message')}{last_text}"
    yield from ([] if found["conversations"] else ["No conversations yet: a message with :thread starts one."])


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {
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
