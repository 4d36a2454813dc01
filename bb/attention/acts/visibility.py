"""Visibility: whether a message may be shown in its conversation, and whether it carries private content to others."""

from __future__ import annotations

from bb.attention.acts import confirmations
from bb.attention.acts.addressing import unknown_recipient_hint
from bb.attention.acts.drafts import Draft
from bb.attention.acts.private_content import private_source
from bb.attention.judging.cases import Case, may_join
from bb.attention.messages.message import HERE
from bb.attention.refusals import CapabilityMissing, MissingMember, NoSuchEvent, UnknownAgent
from bb.attention.state.attention_state import AttentionState
from bb.attention.words import DM, EPHEMERAL
from bb.kernel.ids import PERSON


def check_visibility(book: AttentionState, agent: str, draft: Draft, answered: Case | None, now: int) -> None:
    """Refuse a message that cannot be shown in its conversation, or that shows private content to more people."""
    if draft.visibility == EPHEMERAL:
        hint = "choose dm, thread or channel as the visibility"
        raise CapabilityMissing("bb cannot send ephemeral messages", hint=hint, capability=EPHEMERAL)
    where = book.conversation(draft.conversation)
    if not may_join(book, agent, where):
        raise NoSuchEvent(f"there is no conversation {draft.conversation[:80]!r}, or you may not see it")
    _must_have_reader(book, draft)
    if agent != PERSON and (found := private_source(book, agent, draft, answered, now)):
        confirmations.require(book, agent, draft, *found, now)


def _must_have_reader(book: AttentionState, draft: Draft) -> None:
    """Refuse a private message without a recipient, or with an unknown one."""
    where = book.conversation(draft.conversation)
    if draft.visibility != DM or where.kind == DM or draft.conversation in book.directory.by_conversation:
        return
    if not draft.recipient:
        raise MissingMember(
            "target.recipient is missing, and a private message needs one",
            hint="pass --recipient",
            pointer="/target/recipient",
            member="target",
        )
    is_known = draft.recipient == PERSON or book.directory.agent(draft.recipient, where.platform or HERE)
    if not (is_known or where.platform or draft.recipient in book.agents):
        more = unknown_recipient_hint(book, draft.recipient, where.platform or HERE)
        raise UnknownAgent(
            f"no agent {draft.recipient[:60]!r} is registered here", agent_id=draft.recipient[:60], **more
        )
