"""In short: what went on around an agent since it was last told. It asks nothing, unless somebody named the agent.

For each stream of work, or where there is none each conversation: how much was said and by how many, what was reported
there, and how far things have come.
"""

from __future__ import annotations

from bb.attention.facts import Digested
from bb.attention.judging.cases import may_see, must_be_here, of_bystander, said_in
from bb.attention.messages.messages import EVERY
from bb.attention.messages.messages import NAME as MESSAGES
from bb.attention.messages.messages import kept as message_kept
from bb.attention.state import activity
from bb.attention.turns import knocks
from bb.attention.turns.rendering import UNVERIFIED, value
from bb.attention.words import ASSIGNMENT, DIGEST, DIRECT_MENTION, MUST, MUST_NOT, SILENT
from bb.kernel import clock
from bb.kernel.show import stripped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.attention.facts import AttentionFact
    from bb.attention.messages.messages import Kept
    from bb.attention.state.book import Book

    Answer = tuple[list[AttentionFact], dict[str, Any]]

MOST = 2000  # messages that are summed up at once
MOST_REPORTS, REPORT_LENGTH = 5, 160
TITLE = "C2A DIGEST"


def digest(book: Book, agent: str, now: int) -> Answer:
    """What AGENT has not been told of yet, in short."""
    must_be_here(book, agent)
    state = book.states.state(activity.NAME, activity.DIGESTED + agent)
    since = state["upto"][3] if state and "upto" in state else ""
    sections: dict[str, dict[str, Any]] = {}
    calls: list[str] = []
    newest = ""
    for seen, (_, event, message_state) in enumerate(book.states.newest_first(MESSAGES, EVERY)):
        known = message_kept(event, message_state)
        if known is None or known.place <= since or seen >= MOST:
            break
        newest = newest or known.place
        if known.agent != agent and not known.is_deleted and may_see(book, agent, known):
            _add(book, sections, calls, known, agent)
    progress = _progress(book, since)
    policy = MUST if calls else MUST_NOT
    found = {
        "agent": agent,
        "policy": policy,
        "mode": DIGEST,
        "at": clock.text(now),
        "sections": [{"about": about, **section} for about, section in sorted(sections.items())],
        "progress": progress,
        "mentions": calls,
    }
    facts: list[AttentionFact] = [Digested(agent, newest)] if newest else []
    return facts, found | {"text": rendered(found) if sections or progress else ""}


def _add(book: Book, sections: dict[str, dict[str, Any]], calls: list[str], known: Kept, agent: str) -> None:
    delivery = book.delivery(known.event, agent) or of_bystander(book, known, agent)
    decision = delivery.decision
    if decision.mode == SILENT or known.reason:
        return
    about = f"stream {known.stream}" if known.stream else f"{known.kind} {known.conversation}"
    section = sections.setdefault(about, {"messages": 0, "authors": [], "reports": []})
    section["messages"] += 1
    who = knocks.author_of(known)
    if who not in section["authors"]:
        section["authors"].append(who)
    if decision.mode == DIGEST and len(section["reports"]) < MOST_REPORTS:
        text = " ".join(said_in(known, book.data(known.line)).text.split())
        doubt = {"unverified": True} if book.is_doubted(known) else {}
        report = {"eventId": known.event, "from": who, **doubt, "text": stripped(text)[:REPORT_LENGTH]}
        section["reports"].append(report)
    if decision.policy == MUST and delivery.is_open and decision.reason in (DIRECT_MENTION, ASSIGNMENT):
        calls.append(known.event)


def _progress(book: Book, since: str) -> list[dict[str, Any]]:
    """How far things have come that have moved since."""
    found: list[dict[str, Any]] = []
    for place, key, state in book.states.newest_first(activity.NAME, activity.PROGRESS.strip()):
        if place <= since or len(found) >= MOST_REPORTS:
            break
        by, about, ms = state["progress"][3]
        token = key.rpartition(" ")[2]
        said = {name: about[name] for name in ("progress", "total", "message") if name in about}
        found.append({"token": token, "from": by, "at": clock.text(ms), **said})
    return found


def rendered(found: dict[str, Any]) -> str:
    """A digest, for a prompt. What was reported stands in quotation marks."""
    lines = [TITLE, f"response_policy: {found['policy']}"]
    for section in found["sections"]:
        lines.append(f"- {value(section['about'])}: {section['messages']} from {len(section['authors'])}")
        lines += [
            f"  {value(each['from'])}{UNVERIFIED if 'unverified' in each else ''}: “{each['text']}”"
            for each in section["reports"]
        ]
    for each in found["progress"]:
        total = f" of {each['total']}" if each.get("total") is not None else ""
        note = f": “{stripped(str(each['message']))[:REPORT_LENGTH]}”" if each.get("message") else ""
        lines.append(f"- {value(str(each['from']))} {value(each['token'])}: {each.get('progress')}{total}{note}")
    lines += [f"- you are named in {value(event)}" for event in found["mentions"]]
    return "\n".join(lines)
