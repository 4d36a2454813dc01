"""CBCL messages as mail: category, subject and body for any inbox, and additional data for readers of CBCL.

tell, reply, error, hello, bye, ok, cancel, and messages about dialects     INFO
ask, also by a call of a dialect                                            DECISION, requires acknowledgement
"""

from __future__ import annotations

from collections.abc import Sequence

from bb.cbcl.judge.authorship import signature_in
from bb.cbcl.read import names
from bb.cbcl.read.fuel import ResourceLimit
from bb.cbcl.read.message import Call, Define, Lang, Message, Query, Simple, Teach, core_of
from bb.cbcl.read.tree import STRING, text_of
from bb.cbcl.read.words import ASK, CANCEL, ERROR, OK, REPLY, TELL
from bb.cbcl.speak import effects
from bb.cbcl.speak.effects import Effect, Expected
from bb.kernel.digest import digest
from bb.kernel.validation import is_bead, is_thread
from bb.messaging.facts import Sent
from bb.messaging.mail import mail

ANSWERS = (REPLY, ERROR, OK)  # performatives that acknowledge the message they answer
TO_SOMETHING = (*ANSWERS, CANCEL)
HEADLINE_LENGTH = 120


def letter(
    sender: str,
    message: Message,
    to: Sequence[str],
    happened: Sequence[Effect],
    *,
    answered: str | None = None,
    thread: str | None = None,
    ledger: str = "",
) -> Sent:
    """MESSAGE as mail from SENDER to TO. ANSWERED is the id of the message that it answers; THREAD is that message's
    thread, used if MESSAGE names none. LEDGER is recorded with a signature, to explain why it may not verify elsewhere.
    """
    text, core, message_id = text_of(message.node), core_of(message), names.id_of(message)
    if len(text) > mail.BODY_LENGTH:
        why = f"the message has {len(text):,} characters; mail may have at most {mail.BODY_LENGTH:,}"
        raise ResourceLimit(why, hint="split it into several messages, or refer to a file", limit="size")
    performative = core.performative if isinstance(core, Simple) else type(core).__name__.lower()
    named = names.thread_of(message)
    about = {
        "id": message_id,
        "performative": performative,
        **({"thread": named} if named else {}),
        **({"reply_to": answered} if answered else {}),
        **({"ledger": ledger} if ledger and signature_in(message) else {}),
        "effects": effects.to_line(happened, own_texts(message)),
    }
    is_ask = performative == ASK or (isinstance(core, Lang) and any(isinstance(one, Expected) for one in happened))
    category = mail.DECISION if is_ask else mail.INFO
    where = _thread(named or thread or f"cbcl:{message_id}")
    return Sent(sender, tuple(to), category, headline(message), text, _bead(message), where, is_ask, cbcl=about)


def own_texts(message: Message) -> frozenset[str]:
    """The texts of a message: the whole message, its core, and its content."""
    core = core_of(message)
    content = core.content if isinstance(core, Simple) else None
    return frozenset(map(text_of, [message.node, core.node, *([] if content is None else [content])]))


def _thread(name: str) -> str:
    """NAME as a thread of mail, which is one short line; otherwise a digest of it."""
    return name if is_thread(name) and name.isprintable() else f"cbcl:{digest(name.encode())[:16]}"


def _bead(message: Message) -> str:
    """The bead that a message names."""
    core = core_of(message)
    bead = core.text("bead") if isinstance(core, Simple) else None
    return bead if bead and is_bead(bead) and bead.isprintable() else ""


def headline(message: Message) -> str:
    """MESSAGE in one line, for lists of mail: its content, or its action."""
    core = core_of(message)
    match core:
        case Simple():
            return _said(core)
        case Define():
            return _short(f"defines the dialect {core.definition.name}")
        case Teach():
            return _short(f"teaches the dialect {core.definition.name}")
        case Query():
            return _short(f"asks whether {core.dialect} is spoken")
        case Lang(inner=Call(node=node)):
            return _short(f"{core.dialect}: {_line(text_of(node)[1:-1])}")
    return _short(f"speaks {core.dialect}")


def _said(core: Simple) -> str:
    if core.content is None:
        return core.performative
    text = str(core.content.value) if core.content.tag == STRING else text_of(core.content)
    line = _line(text)
    return _short(line if core.performative == TELL and line else f"{core.performative}: {line}".removesuffix(": "))


def _line(text: str) -> str:
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def _short(line: str) -> str:
    return line if len(line) <= HEADLINE_LENGTH else line[: HEADLINE_LENGTH - 1] + "…"
