"""Replies: an answer to the author of a message, by mail or in the chat that the message is from."""

from __future__ import annotations

from bb.kernel.errors import BbError
from bb.ledger.views import mail as mails
from bb.messaging.facts import Read
from bb.messaging.mail import mail, mailbox
from bb.ops.catalogue import op
from bb.ops.mail import inbox
from bb.ops.mail.mail import NO_TEXT, Category, Subject, send_message, text_of
from bb.ops.params import AgentOrPerson, AllowSecretReason, Key, UncheckedText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.index.index import Index
    from bb.ops.desk.desk import Desk


class AnyMessageId(UncheckedText):
    """The id of the message, as `bb inbox`, `bb chat list` or a notification shows it."""

    metavar = "ID"


@op(
    "agent.reply",
    examples=(
        "bb agent reply --agent cobalt-harbor --message k7q2mzp4x3ab.17 --body 'The second format.'",
        "bb reply k7q2mzp4x3ab.17 'The second format.'",
    ),
    short="reply",
    positional=("message", "body"),
)
def reply(
    desk: Desk,
    *,
    agent: AgentOrPerson | None = None,
    message: AnyMessageId,
    body: UncheckedText,
    category: Category = Category(mail.INFO),  # noqa: B008  (a text)
    subject: Subject | None = None,
    key: Key | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Reply to a message: its author gets the answer, in the same thread.

    The message may be mail or a message of a chat. The reply to mail is mail about the same bead, and your copy of the
    message is marked as read. A message that must be acknowledged also needs `bb ack`.

    Parameters:
        body: The text of the reply; `-` reads it from stdin.
        category: For mail: HANDOFF, BLOCKED, DECISION or INFO.
        subject: For mail: the subject, in one line. Default: the first line of the reply.
    """
    who, index = inbox.inbox_owner(desk, agent, acts=True)
    original = _mail_of(index, message, who)
    if original is None:
        from bb.ops.chat import chat_replies  # noqa: PLC0415  (most replies answer mail)

        return chat_replies.reply(desk, who, message, text_of(desk, body), key, allow_secret)
    text = text_of(desk, body)
    letter = {
        "to": original["to_agent"] if original["from_agent"] == who else original["from_agent"],
        "category": category,
        "subject": (mail.first_line(text) or NO_TEXT) if subject is None else subject,
        "body": text,
        "bead": original["bead_id"] or None,
        "thread": original["thread_id"],
    }
    event = mail.split_message_id(message)[0]
    return send_message(desk, who, letter, key, allow_secret, also=lambda index, who: _read(index, event, who))


def _mail_of(index: Index, message: str, who: str) -> dict[str, Any] | None:
    """WHO's copy of the mail, else a recipient's copy; None if the id is not that of mail."""
    try:
        event, recipient = mail.split_message_id(message)
    except BbError:
        return None
    copies = mails.copies(index, event)
    own = [copy for copy in copies if copy["to_agent"] == (recipient or who)]
    return next(iter([*own, *copies]), None)


def _read(index: Index, event: str, who: str) -> list[Any]:
    copy = mails.copy_of(index, event, who)
    return [Read(who, event)] if copy and copy["state"] == mailbox.UNREAD else []
