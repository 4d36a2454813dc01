"""The reader: octets in, a tree out, or a refusal with position and reason. No other module parses CBCL text.

The checks run in this order: size, UTF-8, then tokens and nesting in one pass from left to right. So the first mistake
is the one reported, and a list that is nested too deep is refused before its content is read.

A token is a parenthesis, a string, or a run of characters up to the next separator, parenthesis, quote or semicolon.
A run is one token as a whole, or it is refused; it is never split. A separator must follow every atom. The draft's
grammar omits that rule and allows no line break, although its own examples have many.

Octets are decoded as Latin-1, so every character position is an octet position. Only strings can hold non-ASCII
characters; they are decoded as UTF-8 when the reader meets them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bb.cbcl.read.fuel import Fuel, for_text
from bb.cbcl.read.tree import AGENT, BOOLEAN, KEYWORD, LIST, NUMBER, OPERATOR, QUOTED, STRING, SYMBOL, UNSETTLED, Node
from bb.kernel.errors import BbError, Usage
from bb.kernel.escaping import harmless
from bb.kernel.gc_pause import GcPause
from bb.kernel.record import Record

# Why a text is refused.
ENCODING, LEX, PAREN, STRUCTURE, HEAD = "encoding", "lex", "paren", "structure", "head"
RECIPIENT, CONTENT, PARAM, WRAPPER = "recipient", "content", "param", "wrapper"
META, LANG, DIALECT, DEPTH, LIMIT = "meta", "lang", "dialect", "depth", "limit"

DEPTH_RECOMMENDED, DEPTH_MOST = 32, 64
SIZE_RECOMMENDED, SIZE_MOST = 1 << 20, 1 << 24

Malformed = Usage.declare(
    "SYNTAX_ERROR",
    "The text is not valid CBCL",
    hint="correct the text at that position; docs/cbcl.md describes the language on two pages",
)


class Bounds(Record):
    """The limits of a text: its size in octets and its nesting of lists. A value equal to a limit is allowed."""

    depth: int = DEPTH_RECOMMENDED
    size: int = SIZE_RECOMMENDED


BOUNDS = Bounds()
BEYOND = "shorten the text, or raise the limit: --max-depth or --max-size of the command, or `bb cbcl policy`"
MAXIMUM_BOUNDS = Bounds(DEPTH_MOST, SIZE_MOST)  # for texts that this program wrote, or checked before

IDENTIFIER = r"[A-Za-z0-9_-]++"  # possessive: no backtracking into a run
PLAIN = r" !#-\[\]-~\x80-\xff"  # characters that a string holds unescaped
END = r"(?![^ \t\r\n()\";])"  # the end of a run
# Alternatives in order. An integer also matches as a symbol; `trees` tells them apart.
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
CLOSES_NOTHING = "this closing parenthesis has no opening parenthesis"
BOM = "\xef\xbb\xbf"
STRIDE = 4096
CONTINUED = bytes(range(0x80, 0xC0))  # the octets of a UTF-8 character after its first


class Text:
    """A text that is being read: its octets as characters, its limits, and the refusal of a mistake in it."""

    def __init__(self, octets: bytes, bounds: Bounds = BOUNDS, fuel: Fuel | None = None) -> None:
        self.bounds = bounds
        self.fuel = fuel or for_text(bounds.size)
        self.has_unsettled = False  # whether any token so far may be a string, depending on its place
        self.size = len(octets)
        if self.size > bounds.size:
            self.characters = octets[: bounds.size].decode("latin-1")
            raise self.refuse(LIMIT, bounds.size, f"the text has {self.size:,} octets; the limit is {bounds.size:,}")
        self.fuel.spend(self.size)
        self.characters = octets.decode("latin-1")
        try:
            octets.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.refuse(ENCODING, error.start, "the text is not valid UTF-8") from None
        if self.characters.startswith(BOM):
            raise self.refuse(ENCODING, 0, "the text begins with a byte order mark")

    def refuse(self, reason: str, at: int, why: str) -> BbError:
        """The refusal of a mistake AT an octet."""
        before = self.characters[:at].encode("latin-1").decode("utf-8", "replace")
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        message = f"{why} (line {line}, column {column})"
        hint = BEYOND if reason in (DEPTH, LIMIT) else None
        return Malformed(message, hint=hint, reason=reason, offset=at, line=line, column=column)

    def run_at(self, at: int) -> str:
        """The run that begins at that octet."""
        run = RUN.match(self.characters, at)
        return run[0] if run else ""

    def unquoted_signature(self, node: Node) -> Node | None:
        """NODE as an unquoted signature; None if it cannot be one. A run of base64 may have been read as a symbol or a
        number, so the original spelling is used."""
        is_run = node.tag in (SYMBOL, NUMBER, UNSETTLED) and BASE64.match(self.run_at(node.at))
        return Node(STRING, self.run_at(node.at), node.at) if is_run else None

    def trees(self) -> Iterator[Node]:  # noqa: C901  (one loop: half of all time is spent here)
        """The trees of the text, one after the other."""
        deepest = min(self.bounds.depth, DEPTH_MOST)
        open_lists: list[list[Node]] = []
        elements: list[Node] = []
        behind = -1  # the end of the last atom: the next atom must not begin there
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
                    raise self.refuse(DEPTH, at, f"lists are nested more than {deepest} deep")
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
                rare = self._rare(WAYS[way], match, at)
                if rare is None:
                    continue
                node, begins = rare, rare.at
            if begins == behind:
                raise self.refuse(LEX, begins, "a space is missing before this")
            behind = match.end()
            elements.append(node)
            if not open_lists:
                yield elements.pop()
        if open_lists:
            begins = open_lists[-1][-1].at
            raise self.refuse(PAREN, self.size, f"the list that begins at octet {begins} has no closing parenthesis")

    def _rare(self, way: str, match: re.Match[str], at: int) -> Node | None:
        """The node of a less frequent token; None for a comment and at the end."""
        spelling = match[way]
        match way:
            case "comment" | "end":
                return None
            case "escaped":
                return Node(STRING, _together(ESCAPE.sub(lambda escape: MEANT[escape[1]], spelling)), at - 1)
            case "decimal":
                return Node(NUMBER, decimal(spelling), at)
            case "quoted":
                return Node(QUOTED, spelling, at - 1)
            case "boolean":
                return Node(BOOLEAN, spelling == "t", at - 1)
            case "operator":
                return Node(OPERATOR, spelling, at)
            case "unsettled":
                self.has_unsettled = True
                return Node(UNSETTLED, spelling, at)
        raise self._no_token(at)

    def _no_token(self, at: int) -> BbError:
        """The refusal of an invalid token that begins AT an octet, with the position of the mistake in it."""
        if self.characters[at] == '"':
            return self._no_string(at)
        if self.characters[at] == ";":
            return self._no_comment(at)
        if not " " < self.characters[at] < "\x7f":
            return self.refuse(LEX, at, "only printable ASCII is allowed outside of strings and comments")
        return self.refuse(LEX, at, f"{excerpt(self.run_at(at))} is not a valid token")

    def _no_string(self, at: int) -> BbError:
        place = at + 1
        while place < self.size:
            character = self.characters[place]
            if character == "\\":
                if self.characters[place + 1 : place + 2] not in MEANT:
                    return self.refuse(LEX, place, 'unknown escape: only \\" \\\\ \\n \\r \\t are allowed')
                place += 1
            elif character < " " or character == "\x7f":
                return self.refuse(LEX, place, f"the octet {ord(character):#04x} is not allowed unescaped in a string")
            place += 1
        return self.refuse(LEX, self.size, f"the string that begins at octet {at} has no closing quote")

    def _no_comment(self, at: int) -> BbError:
        place = at
        while self.characters[place] == "\t" or (self.characters[place] >= " " and self.characters[place] != "\x7f"):
            place += 1
        return self.refuse(LEX, place, f"the octet {ord(self.characters[place]):#04x} is not allowed in a comment")


class Places:
    """The lines and columns of one text, both counted from 1. The position of every STRIDE-th octet is cached, so a
    lookup far into the text does not take longer."""

    def __init__(self, octets: bytes) -> None:
        self._octets = octets
        self._noted = [(1, 1)]

    def __call__(self, at: int) -> tuple[int, int]:
        """The line and the column of the octet AT."""
        while len(self._noted) * STRIDE <= at:
            self._noted.append(self._after(len(self._noted) * STRIDE))
        return self._after(at)

    def _after(self, at: int) -> tuple[int, int]:
        """The position of AT, counted from the last cached position before it."""
        number = min(at // STRIDE, len(self._noted) - 1)
        line, column = self._noted[number]
        passed = self._octets[number * STRIDE : at]
        if breaks := passed.count(b"\n"):
            line, column, passed = line + breaks, 1, passed[passed.rindex(b"\n") + 1 :]
        return line, column + len(passed.translate(None, CONTINUED))


def single_tree(text: Text) -> Node:
    """The tree of a text that must be exactly one list."""
    with GcPause():
        trees = list(text.trees())  # read to the end, so that a lexical mistake is reported before an extra message
    if not trees:
        raise text.refuse(STRUCTURE, text.size, "the text contains no message")
    if trees[0].tag != LIST:
        raise text.refuse(STRUCTURE, trees[0].at, "a message must be a list")
    if len(trees) > 1:
        raise text.refuse(STRUCTURE, trees[1].at, "the message is followed by more text; only one message is allowed")
    return trees[0]


def first_head(octets: bytes) -> str | None:
    """The symbol after the first parenthesis of a text, whether or not the rest is valid."""
    tokens = (match for match in TOKEN.finditer(octets.decode("latin-1")) if match.lastgroup != "comment")
    first, second = next(tokens, None), next(tokens, None)
    return second["symbol"] if first and second and first["open"] else None


def integer(written: str) -> str:
    """A whole number in canonical spelling. It is not converted to a value: it may be as long as the text."""
    digits = written.removeprefix("-").lstrip("0")
    return "0" if not digits else "-" + digits if written[0] == "-" else digits


def decimal(written: str) -> str:
    """A decimal number in canonical spelling: `-0.50` becomes -0.5, `1.00` becomes 1.0, `-0.0` becomes 0.0."""
    whole, _, part = written.removeprefix("-").partition(".")
    whole, part = whole.lstrip("0") or "0", part.rstrip("0") or "0"
    sign = "-" if written[0] == "-" and (whole, part) != ("0", "0") else ""
    return f"{sign}{whole}.{part}"


def excerpt(text: str) -> str:
    """The beginning of a foreign text for a refusal, without control characters."""
    escaped = harmless(text[:24].encode("latin-1", "replace").decode("utf-8", "replace"))
    return f"`{escaped}{'…' if len(text) > 24 else ''}`"


def _together(text: str) -> str:
    """The text of a string, from its octets."""
    return text.encode("latin-1").decode("utf-8")
