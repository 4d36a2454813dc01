"""Ids of messages and conversations, and the text of answers.

The draft uses `:in-reply-to` but does not say how a message gets an id. Here a message has the id in its `:id`, or else
one derived from its content, so every holder of the message computes the same id. Answers repeat ids and threads: an
`:id` that is too long is ignored, and a thread that is too long is not repeated.
"""

from __future__ import annotations

from collections.abc import Sequence

from bb.cbcl.read import canonical
from bb.cbcl.read.message import Message, Simple, core_of
from bb.cbcl.read.tree import Node, agent, keyword, list_of, string, symbol, text_of, whole_number
from bb.cbcl.read.words import ASK
from bb.kernel.escaping import harmless

ID, IN_REPLY_TO, THREAD, CODE, RULE, DIALECTS = "id", "in-reply-to", "thread", "code", "rule", "dialects"
PREFIX, DIGITS = "m-", 16
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
LONGEST_NAME, LONGEST_TEXT = 200, 400  # characters of a repeated name, and of the text of an error
LONGEST_WAIT = 10**9  # seconds
LONGEST_SHOWN = 60  # of a name, in an error


def id_of(message: Message) -> str:
    """The id of a message."""
    core = core_of(message)
    own = given_id(core) if isinstance(core, Simple) else None
    return own or PREFIX + canonical.digest(message.node)[:DIGITS]


def given_id(said: Simple) -> str | None:
    """The `:id` of a message, if it has a usable one."""
    own = said.text(ID)
    return own if own and len(own) <= LONGEST_NAME else None


class ExpansionIds:
    """The ids of the messages in an expansion: their own `:id`, or else the id of the original message. If several of
    them ask the same agent, only the first one gets it; the others get one derived from their content, because each
    needs its own answer."""

    def __init__(self, outer: str) -> None:
        self._outer = outer
        self._asked: set[tuple[str, str]] = set()

    def known(self, said: Simple) -> str:
        message_id = given_id(said) or self._outer
        if said.performative == ASK:
            if (said.recipient, message_id) in self._asked:
                message_id = id_of(said)
            self._asked.add((said.recipient, message_id))
        return message_id


def timeout_of(said: Simple) -> str | None:
    """The seconds to wait for an answer. The draft gives the `:timeout` of an ask no unit; here it is seconds."""
    value = said.param("timeout")
    seconds = whole_number(value) if value is not None else None
    return str(seconds) if seconds and 0 < seconds < LONGEST_WAIT else None


def shortened(name: str) -> str:
    """NAME, shortened for an error message."""
    return name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}…"


def thread_of(message: Message) -> str | None:
    """The conversation of a message; `t-1` and `"t-1"` are the same."""
    core = core_of(message)
    return core.text(THREAD) if isinstance(core, Simple) else None


def name_node(text: str) -> Node:
    """A name as a symbol if possible, otherwise as a string."""
    is_plain = bool(text) and PLAIN.issuperset(text) and not text.lstrip("-").isdigit()
    return symbol(text) if is_plain else string(text)


def answer_text(
    performative: str,
    to: str,
    content: str | None = None,
    *,
    in_reply_to: str | None = None,
    thread: str | None = None,
    more: Sequence[tuple[str, Node]] = (),
) -> str:
    """The text of an answer."""
    params = list(more)
    params += [(IN_REPLY_TO, name_node(in_reply_to))] if in_reply_to else []
    params += [(THREAD, name_node(thread))] if thread and len(thread) <= LONGEST_NAME else []
    contents = [] if content is None else [string(content)]
    pairs = [node for key, value in params for node in (keyword(key), value)]
    return text_of(list_of(symbol(performative), agent(to), *contents, *pairs))


def error_text(
    to: str, code: str, text: str, *, in_reply_to: str | None, thread: str | None, rules: Sequence[str] = ()
) -> str:
    """The text of an `error` answer: the reason, the code and the id of the refused message."""
    more = [(CODE, string(code))]
    more += [(RULE, list_of(*map(symbol, rules)))] if rules else []
    content = harmless(text[:LONGEST_TEXT])
    return answer_text("error", to, content, in_reply_to=in_reply_to, thread=thread, more=more)
