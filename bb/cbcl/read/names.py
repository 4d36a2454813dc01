"""What messages and conversations are called, and how answers are written.

The draft speaks of `:in-reply-to` and never says how a message gets an id. It has the one that its `:id` gives it, else
one made of its content, so that everybody who has the message knows it by the same name. Names are repeated in answers:
an id that is too long for that is none, and a thread that is too long is not repeated.
"""

from __future__ import annotations

from bb.cbcl.read import canonical
from bb.cbcl.read.message import ASK, Message, Simple, core_of
from bb.cbcl.read.tree import Node, agent, keyword, listed, string, symbol, text_of, whole
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ID, IN_REPLY_TO, THREAD, CODE, RULE, DIALECTS = "id", "in-reply-to", "thread", "code", "rule", "dialects"
PREFIX, DIGITS = "m-", 16
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
LONGEST_NAME, LONGEST_TEXT = 200, 400  # characters of what an answer repeats, and of what an error says
LONGEST_WAIT = 10**9  # seconds
LONGEST_SHOWN = 60  # of a name, in an error


def id_of(message: Message) -> str:
    """What a message is called."""
    core = core_of(message)
    given = given_id(core) if isinstance(core, Simple) else None
    return given or PREFIX + canonical.digest(message.node)[:DIGITS]


def given_id(said: Simple) -> str | None:
    """The id that a message gives itself."""
    found = said.text(ID)
    return found if found and len(found) <= LONGEST_NAME else None


class Within:
    """What the messages are called that one message comes to: as they say themselves, else as that one is. Of several
    questions to one agent only the first: each is owed an answer, so the others are called by what they say."""

    def __init__(self, outer: str) -> None:
        self._outer = outer
        self._asked: set[tuple[str, str]] = set()

    def known(self, said: Simple) -> str:
        found = given_id(said) or self._outer
        if said.performative == ASK:
            if (said.recipient, found) in self._asked:
                found = id_of(said)
            self._asked.add((said.recipient, found))
        return found


def timeout_of(said: Simple) -> str | None:
    """For how long an answer is waited for. The draft gives the `:timeout` of an ask no unit: here it is seconds."""
    given = said.param("timeout")
    seconds = whole(given) if given is not None else None
    return str(seconds) if seconds and 0 < seconds < LONGEST_WAIT else None


def brief(name: str) -> str:
    """NAME, or as much of it as an error repeats."""
    return name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}…"


def thread_of(message: Message) -> str | None:
    """The conversation that a message belongs to; `t-1` and `"t-1"` are one."""
    core = core_of(message)
    return core.text(THREAD) if isinstance(core, Simple) else None


def name(text: str) -> Node:
    """A name as it is written: a symbol where it can be one."""
    is_plain = bool(text) and PLAIN.issuperset(text) and not text.lstrip("-").isdigit()
    return symbol(text) if is_plain else string(text)


def answer(
    performative: str,
    to: str,
    content: str | None = None,
    *,
    in_reply_to: str | None = None,
    thread: str | None = None,
    more: Sequence[tuple[str, Node]] = (),
) -> str:
    """A message of ours, as text."""
    params = list(more)
    params += [(IN_REPLY_TO, name(in_reply_to))] if in_reply_to else []
    params += [(THREAD, name(thread))] if thread and len(thread) <= LONGEST_NAME else []
    said = [] if content is None else [string(content)]
    pairs = [node for key, value in params for node in (keyword(key), value)]
    return text_of(listed(symbol(performative), agent(to), *said, *pairs))


def error(
    to: str, code: str, text: str, *, in_reply_to: str | None, thread: str | None, rules: Sequence[str] = ()
) -> str:
    """What is answered when a message cannot be processed: the reason, the code, and what it is about."""
    more = [(CODE, string(code))]
    more += [(RULE, listed(*map(symbol, rules)))] if rules else []
    said = harmless(text[:LONGEST_TEXT])
    return answer("error", to, said, in_reply_to=in_reply_to, thread=thread, more=more)
