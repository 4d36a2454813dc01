"""The digest: a summary of the messages since an agent's last digest.

It asks for no answer, unless a message in it mentions the agent. For each stream of work, or each conversation without
one, it gives the number of messages and authors, the status reports, and the progress of work.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from bb.attention.facts import Answer, AttentionFact, Digested
from bb.attention.judging.cases import bystander_delivery, current_message, may_see, require_registered
from bb.attention.messages.messages import EVERY, MessageHead
from bb.attention.state import activity
from bb.attention.state.attention_state import AttentionState
from bb.attention.turns import knocks
from bb.attention.turns.rendering import UNVERIFIED, header_value
from bb.attention.words import ASSIGNMENT, DIGEST, DIRECT_MENTION, MUST, MUST_NOT, SILENT
from bb.kernel import clock
from bb.kernel.escaping import stripped

MOST = 2000  # messages in one digest
MOST_REPORTS, REPORT_LENGTH = 5, 160
TITLE = "C2A DIGEST"


def make_digest(book: AttentionState, agent: str, now: int) -> Answer:
    """A digest of what happened since the last digest of AGENT."""
    require_registered(book, agent)
    state = book.states.state(activity.NAME, activity.DIGESTED + agent)
    since = state["upto"][3] if state and "upto" in state else ""
    sections: dict[str, dict[str, Any]] = {}
    calls: list[str] = []
    newest = ""
    for head in islice(book.newest_messages(EVERY), MOST):
        if head.place <= since:
            break
        newest = newest or head.place
        if head.agent != agent and not head.is_deleted and may_see(book, agent, head):
            _add(book, sections, calls, head, agent)
    progress = _progress(book, since)
    policy = MUST if calls else MUST_NOT
    digest = {
        "agent": agent,
        "policy": policy,
        "mode": DIGEST,
        "at": clock.text(now),
        "sections": [{"about": about, **section} for about, section in sorted(sections.items())],
        "progress": progress,
        "mentions": calls,
    }
    facts: list[AttentionFact] = [Digested(agent, newest)] if newest else []
    return facts, digest | {"text": digest_text(digest) if sections or progress else ""}


def _add(
    book: AttentionState, sections: dict[str, dict[str, Any]], calls: list[str], known: MessageHead, agent: str
) -> None:
    delivery = book.delivery(known.event, agent) or bystander_delivery(book, known, agent)
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
        text = " ".join(current_message(book, known).text.split())
        doubt = {"unverified": True} if book.is_doubted(known) else {}
        report = {
            "eventId": known.event,
            "contentVersion": known.version,
            "from": who,
            **doubt,
            "text": stripped(text)[:REPORT_LENGTH],
        }
        section["reports"].append(report)
    if decision.policy == MUST and delivery.is_open and decision.reason in (DIRECT_MENTION, ASSIGNMENT):
        calls.append(known.event)


def _progress(book: AttentionState, since: str) -> list[dict[str, Any]]:
    """The progress that was reported after the place SINCE."""
    reports: list[dict[str, Any]] = []
    for place, key, state in book.states.newest_first(activity.NAME, activity.PROGRESS.strip()):
        if place <= since or len(reports) >= MOST_REPORTS:
            break
        by, about, ms = state["progress"][3]
        token = key.rpartition(" ")[2]
        progress = {name: about[name] for name in ("progress", "total", "message") if name in about}
        reports.append({"token": token, "from": by, "at": clock.text(ms), **progress})
    return reports


def digest_text(found: dict[str, Any]) -> str:
    """A digest as text for a prompt. Reports of other authors are put in quotation marks."""
    lines = [TITLE, f"response_policy: {found['policy']}"]
    for section in found["sections"]:
        count, authors = section["messages"], len(section["authors"])
        lines.append(
            f"- {header_value(section['about'])}: {_counted(count, 'message')} from {_counted(authors, 'author')}"
        )
        lines += [
            f"  {header_value(report['from'])}{UNVERIFIED if 'unverified' in report else ''}: “{report['text']}”"
            for report in section["reports"]
        ]
    for entry in found["progress"]:
        total = f" of {entry['total']}" if entry.get("total") is not None else ""
        note = f": “{stripped(str(entry['message']))[:REPORT_LENGTH]}”" if entry.get("message") else ""
        lines.append(
            f"- {header_value(str(entry['from']))} {header_value(entry['token'])}: {entry.get('progress')}{total}{note}"
        )
    lines += [f"- you are mentioned in {header_value(event)}" for event in found["mentions"]]
    return "\n".join(lines)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
