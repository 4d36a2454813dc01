"""A message in CBCL as mail: what any inbox shows of it, and what a reader of CBCL finds on its line.

tell, reply, error, hello, bye, ok, cancel, and what is about dialects     INFO
ask, also by way of a dialect                                              DECISION, to be accepted
"""

from __future__ import annotations

from bb.cbcl.judge.authorship import signature_in
from bb.cbcl.read import names
from bb.cbcl.read.fuel import ResourceLimit
from bb.cbcl.read.headlines import headline
from bb.cbcl.read.message import ASK, CANCEL, ERROR, OK, REPLY, Lang, Simple, core_of
from bb.cbcl.read.tree import text_of
from bb.cbcl.speak import effects
from bb.cbcl.speak.effects import Expected
from bb.kernel.digest import digest
from bb.kernel.validity import is_bead, is_thread
from bb.messaging.facts import Sent
from bb.messaging.mail import mail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.cbcl.read.message import Message
    from bb.cbcl.speak.effects import Effect

ANSWERS = (REPLY, ERROR, OK)  # what accepts the message it answers
TO_SOMETHING = (*ANSWERS, CANCEL)


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
    """MESSAGE as SENDER's mail TO these. It ANSWERS a message of that id, whose THREAD it goes on with unless it names
    one of its own. Beside a signature stands in which LEDGER it was made, for whoever wonders why it does not fit."""
    text, core, known = text_of(message.node), core_of(message), names.id_of(message)
    if len(text) > mail.BODY_LENGTH:
        why = f"a message has {len(text):,} characters, and mail at most {mail.BODY_LENGTH:,}"
        raise ResourceLimit(why, hint="say it in several messages, or hand over a file", limit="size")
    performative = core.performative if isinstance(core, Simple) else type(core).__name__.lower()
    named = names.thread_of(message)
    about = {
        "id": known,
        "performative": performative,
        **({"thread": named} if named else {}),
        **({"reply_to": answered} if answered else {}),
        **({"ledger": ledger} if ledger and signature_in(message) else {}),
        "effects": effects.written(happened, own_texts(message)),
    }
    is_ask = performative == ASK or (isinstance(core, Lang) and any(isinstance(each, Expected) for each in happened))
    category = mail.DECISION if is_ask else mail.INFO
    where = _thread(named or thread or f"cbcl:{known}")
    return Sent(sender, tuple(to), category, headline(message), text, _bead(message), where, is_ask, cbcl=about)


def own_texts(message: Message) -> frozenset[str]:
    """What a message says itself: all of it, and its content."""
    core = core_of(message)
    content = core.content if isinstance(core, Simple) else None
    return frozenset(map(text_of, [message.node, core.node, *([] if content is None else [content])]))


def _thread(name: str) -> str:
    """A thread as mail has it: one line of no great length."""
    return name if is_thread(name) and name.isprintable() else f"cbcl:{digest(name.encode())[:16]}"


def _bead(message: Message) -> str:
    """The bead that a message says it is about."""
    core = core_of(message)
    bead = core.text("bead") if isinstance(core, Simple) else None
    return bead if bead and is_bead(bead) and bead.isprintable() else ""
