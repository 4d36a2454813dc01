"""What a CBCL message says, once its tree has been recognised.

    message  =  simple | meta | lang | wrapper around a message          call  =  only within lang

Each keeps the tree it was read from: what is printed, signed, hashed and counted is the tree, never something put
together again from these fields.
"""

from __future__ import annotations

from bb.cbcl.read.tree import Node
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.cbcl.read.definition import Definition

TELL, ASK, REPLY, HELLO, BYE, OK, ERROR, CANCEL = "tell", "ask", "reply", "hello", "bye", "ok", "error", "cancel"
PERFORMATIVES = (TELL, ASK, REPLY, HELLO, BYE, OK, ERROR, CANCEL)
META, LANG = "meta", "lang"
ENVELOPE, SIGNED, LIMITED = "envelope", "signed", "with-limits"
WRAPPERS = (ENVELOPE, SIGNED, LIMITED)
HEADS = (*PERFORMATIVES, META, LANG, *WRAPPERS)
DEFINE, QUERY, TEACH = "define", "query", "teach"
CORE = "cbcl"  # the dialect that everybody speaks

Pairs = tuple[tuple[str, Node], ...]


class Simple(Record):
    """One of the eight performatives."""

    node: Node
    performative: str
    recipient: str
    content: Node | None
    params: Pairs

    def param(self, name: str) -> Node | None:
        """The value that is given for a parameter."""
        return next((value for key, value in self.params if key == name), None)

    def text(self, name: str) -> str | None:
        """A parameter that is a name of something: `t-1` and `"t-1"` name the same."""
        value = self.param(name)
        return str(value.value) if value is not None and value.tag in ("sym", "str", "num", "qsym") else None


class Define(Record):
    """A dialect is defined."""

    node: Node
    definition: Definition


class Query(Record):
    """Somebody asks whether a dialect is spoken."""

    node: Node
    dialect: str


class Teach(Record):
    """A dialect is handed on, signed by its author or not."""

    node: Node
    recipient: str
    signature: str | None
    definition: Definition


class Call(Record):
    """A performative of a dialect, with what it is to be filled with."""

    node: Node
    name: str
    args: tuple[Node, ...]
    kwargs: Pairs


class Lang(Record):
    """What is said in a dialect."""

    node: Node
    dialect: str
    inner: Message | Call


class Envelope(Record):
    """A message with who sends it to whom, and when, outside of it."""

    node: Node
    sender: str | None
    to: str | None
    timestamp: str | None
    inner: Message


class Signed(Record):
    """A message with a signature of it."""

    node: Node
    signature: str
    inner: Message


class Limited(Record):
    """A message with hints how little should be spent on it."""

    node: Node
    timeout: int | None
    depth: int | None
    size: int | None
    deep: int  # how deep what is wrapped is: hints are kept to without going through it once for each
    inner: Message


Wrapper = Envelope | Signed | Limited
Meta = Define | Query | Teach
Message = Simple | Meta | Lang | Wrapper


def layers(message: Message) -> Iterator[Message]:
    """A message, then what is wrapped in it, down to what is no wrapper."""
    while isinstance(message, Wrapper):
        yield message
        message = message.inner
    yield message


def every_layer(message: Message) -> Iterator[Message]:
    """Likewise, through every dialect that it is said in, down to a call or what no dialect is around."""
    said: Message | Call = message
    while not isinstance(said, Call):
        yield from layers(said)
        core = core_of(said)
        if not isinstance(core, Lang):
            return
        said = core.inner


def core_of(message: Message) -> Simple | Meta | Lang:
    """What a message is within all its wrappers."""
    while isinstance(message, Wrapper):
        message = message.inner
    return message
