"""The one reader: octets in, a tree out, or a refusal that says where and why. Nothing else takes CBCL text apart.

What is looked at in this order: size, UTF-8, then tokens and nesting in one pass from left to right, so that the first
mistake is the one that is named, and what is deep is refused before it is gone into.

A token is a parenthesis, a string, or a run up to the next separator, parenthesis, quote or semicolon. A run is one
token as a whole or it is none: nothing is split, nothing tried twice. After an atom something must separate it from
the next. The draft's grammar forgets that, and allows no line break at all; its own examples are full of them.

Octets are read as if each were a character (Latin-1), so that every place is an octet's. Only strings hold others than
ASCII, and those are put together again where they are met.
"""

from __future__ import annotations

import re

from bb.cbcl.read.fuel import Fuel, for_text
from bb.cbcl.read.tree import AGENT, BOOLEAN, KEYWORD, LIST, NUMBER, OPERATOR, QUOTED, STRING, SYMBOL, UNSETTLED, Node
from bb.kernel.errors import Usage
from bb.kernel.gc_pause import Undisturbed
from bb.kernel.record import Record
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Why a text is refused.
ENCODING, LEX, PAREN, STRUCTURE, HEAD = "encoding", "lex", "paren", "structure", "head"
RECIPIENT, CONTENT, PARAM, WRAPPER = "recipient", "content", "param", "wrapper"
META, LANG, DIALECT, DEPTH, LIMIT = "meta", "lang", "dialect", "depth", "limit"

DEPTH_RECOMMENDED, DEPTH_MOST = 32, 64
SIZE_RECOMMENDED, SIZE_MOST = 1 << 20, 1 << 24


class Malformed(Usage):
    """That is no CBCL text."""

    code = "SYNTAX_ERROR"
    hint = "docs/cbcl.md has the language on two pages, and what may stand where"


class Bounds(Record):
    """How much of a text is read at all: octets, and lists within lists. What reaches a bound is still within it."""

    depth: int = DEPTH_RECOMMENDED
    size: int = SIZE_RECOMMENDED


BOUNDS = Bounds()
BEYOND = "say less at once; the limit is of the command (--max-depth, --max-size) or of `bb cbcl policy`"
UTMOST = Bounds(DEPTH_MOST, SIZE_MOST)  # for what we have made ourselves, or judged before

IDENTIFIER = r"[A-Za-z0-9_-]++"  # possessive: a run is never tried in part
PLAIN = r" !#-\[\]-~\x80-\xff"  # what stands in a string for itself
END = r"(?![^ \t\r\n()\";])"  # the run is over
# Tried in this order. What looks like an identifier may be a number: that is seen to where it is met.
TOKEN = re.compile(
    rf"""[ \t\r\n]*+(?:
      (?P<symbol>{IDENTIFIER}){END}
    | :(?P<keyword>{IDENTIFIER}){END}
    | "(?P<string>[{PLAIN}]*+)"
    | (?P<open>\()
    | (?P<close>\))
    | @(?P<agent>{IDENTIFIER}){END}
    | "(?P<escaped>(?:[{PLAIN}]++|\\["\\nrt])*)"
    | (?P<decimal>-?[0-9]++\.[0-9]++){END}
    | '(?P<quoted>{IDENTIFIER}){END}
    | \#(?P<boolean>[tf]){END}
    | (?P<operator>speak\?|type\?|=|&key|&optional|&rest){END}
    | (?P<unsettled>[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[Tt][0-9:.]+(?:[Zz]|[+-][0-9]{{2}}:[0-9]{{2}})
      |[A-Za-z0-9+/=]++){END}
    | (?P<comment>;[\t\x20-~\x80-\xff]*+(?:\r?\n|\Z))
    | (?P<nothing>.)
    | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
BASE64 = re.compile(r"[A-Za-z0-9+/=]+\Z")
WAYS = {number: name for name, number in TOKEN.groupindex.items()}
_SYMBOL, _KEYWORD, _STRING, _OPEN, _CLOSE, _AGENT = (
    TOKEN.groupindex[name] for name in ("symbol", "keyword", "string", "open", "close", "agent")
)
INTEGER = re.compile(r"-?[0-9]+\Z")
ESCAPE = re.compile(r"\\(.)")
MEANT = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
RUN = re.compile(r"[^ \t\r\n()\";]+")
CLOSES_NOTHING = "this parenthesis closes nothing"
BOM = "\xef\xbb\xbf"


class Text:
    """A text that is being read: its octets, as characters, and how to say where a mistake is."""

    def __init__(self, octets: bytes, bounds: Bounds = BOUNDS, fuel: Fuel | None = None) -> None:
        self.bounds = bounds
        self.fuel = fuel or for_text(bounds.size)
        self.has_unsettled = False  # whether anything was met that only its place makes a string
        self.size = len(octets)
        if self.size > bounds.size:
            self.characters = octets[: bounds.size].decode("latin-1")
            raise self.refuse(LIMIT, bounds.size, f"the text has {self.size:,} octets; {bounds.size:,} are read")
        self.fuel.spend(self.size)
        self.characters = octets.decode("latin-1")
        try:
            octets.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.refuse(ENCODING, error.start, "the text is not well-formed UTF-8") from None
        if self.characters.startswith(BOM):
            raise self.refuse(ENCODING, 0, "the text begins with a byte order mark")

    def refuse(self, reason: str, at: int, why: str) -> Malformed:
        """The refusal of what stands AT an octet."""
        before = self.characters[:at].encode("latin-1").decode("utf-8", "replace")
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        message = f"{why} (line {line}, column {column})"
        hint = BEYOND if reason in (DEPTH, LIMIT) else None
        return Malformed(message, hint=hint, reason=reason, offset=at, line=line, column=column)

    def run_at(self, at: int) -> str:
        """The run that begins there."""
        found = RUN.match(self.characters, at)
        return found[0] if found else ""

    def unquoted_signature(self, node: Node) -> Node | None:
        """The string that NODE is where a signature stands; None where it can be none. A run of base64 may look like a
        symbol, or like a number, whose spelling then counts."""
        is_run = node.tag in (SYMBOL, NUMBER, UNSETTLED) and BASE64.match(self.run_at(node.at))
        return Node(STRING, self.run_at(node.at), node.at) if is_run else None

    def trees(self) -> Iterator[Node]:  # noqa: C901  (one loop: half of all time is spent here)
        """The trees that the text holds, one after the other."""
        deepest = min(self.bounds.depth, DEPTH_MOST)  # whatever is asked for
        open_lists: list[list[Node]] = []
        elements: list[Node] = []
        behind = -1  # where the last string or run ended: the next must not begin there
        for match in TOKEN.finditer(self.characters):
            way = match.lastindex or 0
            at = match.start(way)
            if way == _SYMBOL:
                name = match[_SYMBOL]
                if name[0] in "-0123456789" and INTEGER.match(name):
                    node = Node(NUMBER, integer(name), at)
                else:
                    node = Node(SYMBOL, name, at)
                begins = at
            elif way == _OPEN:
                if len(open_lists) >= deepest:
                    raise self.refuse(DEPTH, at, f"lists stand more than {deepest} deep in each other")
                node = Node(LIST, [], at)
                elements.append(node)
                open_lists.append(elements)
                elements = node.value
                continue
            elif way == _CLOSE:
                if not open_lists:
                    raise self.refuse(PAREN, at, CLOSES_NOTHING)
                elements = open_lists.pop()
                if not open_lists:
                    yield elements.pop()
                continue
            elif way == _KEYWORD:
                begins = at - 1
                node = Node(KEYWORD, match[_KEYWORD], begins)
            elif way == _STRING:
                begins = at - 1
                text = match[_STRING]
                node = Node(STRING, text if text.isascii() else _together(text), begins)
            elif way == _AGENT:
                begins = at - 1
                node = Node(AGENT, match[_AGENT], begins)
            else:
                seldom = self._seldom(WAYS[way], match, at)
                if seldom is None:
                    continue
                node, begins = seldom, seldom.at
            if begins == behind:
                raise self.refuse(LEX, begins, "nothing separates this from what stands before it")
            behind = match.end()
            elements.append(node)
            if not open_lists:
                yield elements.pop()
        if open_lists:
            begins = open_lists[-1][-1].at
            raise self.refuse(PAREN, self.size, f"the list that begins at octet {begins} does not end")

    def _seldom(self, way: str, match: re.Match[str], at: int) -> Node | None:
        """What is met more seldom; None for a comment, and at the end."""
        found = match[way]
        match way:
            case "comment" | "end":
                return None
            case "escaped":
                return Node(STRING, _together(ESCAPE.sub(lambda each: MEANT[each[1]], found)), at - 1)
            case "decimal":
                return Node(NUMBER, decimal(found), at)
            case "quoted":
                return Node(QUOTED, found, at - 1)
            case "boolean":
                return Node(BOOLEAN, found == "t", at - 1)
            case "operator":
                return Node(OPERATOR, found, at)
            case "unsettled":
                self.has_unsettled = True
                return Node(UNSETTLED, found, at)
        raise self._no_token(at)

    def _no_token(self, at: int) -> Malformed:
        """The refusal of what begins AT an octet and is no token; where in it the mistake is."""
        if self.characters[at] == '"':
            return self._no_string(at)
        if self.characters[at] == ";":
            return self._no_comment(at)
        if not " " < self.characters[at] < "\x7f":
            return self.refuse(LEX, at, "only printable ASCII may stand outside of strings and comments")
        return self.refuse(LEX, at, f"{excerpt(self.run_at(at))} is no token")

    def _no_string(self, at: int) -> Malformed:
        place = at + 1
        while place < self.size:
            found = self.characters[place]
            if found == "\\":
                if self.characters[place + 1 : place + 2] not in MEANT:
                    return self.refuse(LEX, place, 'only \\" \\\\ \\n \\r \\t are escapes')
                place += 1
            elif found < " " or found == "\x7f":
                return self.refuse(LEX, place, f"the octet {ord(found):#04x} stands unescaped in a string")
            place += 1
        return self.refuse(LEX, self.size, f"the string that begins at octet {at} does not end")

    def _no_comment(self, at: int) -> Malformed:
        place = at
        while self.characters[place] == "\t" or (self.characters[place] >= " " and self.characters[place] != "\x7f"):
            place += 1
        return self.refuse(LEX, place, f"the octet {ord(self.characters[place]):#04x} stands in a comment")


def one(text: Text) -> Node:
    """The tree that a text is, if it is exactly one list."""
    with Undisturbed():
        trees = list(text.trees())  # all of it: what is no token, or no list, is told before what is one too many
    if not trees:
        raise text.refuse(STRUCTURE, text.size, "the text holds no message")
    if trees[0].tag != LIST:
        raise text.refuse(STRUCTURE, trees[0].at, "a message is a list")
    if len(trees) > 1:
        raise text.refuse(STRUCTURE, trees[1].at, "something follows the message")
    return trees[0]


def first_head(octets: bytes) -> str | None:
    """The symbol that a text begins with behind its first parenthesis, be the rest what it may."""
    tokens = (match for match in TOKEN.finditer(octets.decode("latin-1")) if match.lastgroup != "comment")
    first, second = next(tokens, None), next(tokens, None)
    return second["symbol"] if first and second and first["open"] else None


def integer(written: str) -> str:
    """A whole number in its one spelling. Its value is nobody's business here: it may be as long as the text."""
    digits = written.removeprefix("-").lstrip("0")
    return "0" if not digits else "-" + digits if written[0] == "-" else digits


def decimal(written: str) -> str:
    """A decimal number in its one spelling: `-0.50` is -0.5, `1.00` is 1.0, and `-0.0` is 0.0."""
    whole, _, part = written.removeprefix("-").partition(".")
    whole, part = whole.lstrip("0") or "0", part.rstrip("0") or "0"
    sign = "-" if written[0] == "-" and (whole, part) != ("0", "0") else ""
    return f"{sign}{whole}.{part}"


def excerpt(text: str) -> str:
    """As much of what somebody has written as a refusal repeats: a few characters, none of them a control."""
    shown = harmless(text[:24].encode("latin-1", "replace").decode("utf-8", "replace"))
    return f"`{shown}{'…' if len(text) > 24 else ''}`"


def _together(text: str) -> str:
    """What a string says, from its octets."""
    return text.encode("latin-1").decode("utf-8")
