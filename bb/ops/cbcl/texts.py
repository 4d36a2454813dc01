"""CBCL at the command line: what a text says, how it is written, what it comes to, what there is to say against it.

Nothing is recorded and nobody is told. What is asked about a text is answered by `cbcltexts`; here is where it comes
from, which dialects count as installed, and what this user's policy grants.
"""

from __future__ import annotations

from bb.cbcl.read import canonical, grammar
from bb.cbcl.read.fuel import for_text
from bb.cbcl.speak import replay as speak_replay
from bb.kernel import json_text
from bb.kernel.errors import BbError, Usage
from bb.ops.catalogue import op
from bb.ops.cbcl import answers
from bb.ops.cbcl.inputs import (
    DialectFile,
    File,
    Given,
    MaxDepth,
    MaxExpansion,
    MaxSize,
    about,
    bounds_of,
    given,
    known_with,
    read,
    room_of,
)
from bb.ops.cbcl.installable import examples_beside, must_verify
from bb.ops.desk import sources
from bb.ops.params import Json, Name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk
    from bb.ops.desk.sources import Source

LARGEST_SCRIPT = 16 << 20


class ExamplesFile(Name):
    """The file with examples of the dialect; NAME.examples.cbcl beside NAME.cbcl unless given."""

    metavar = "FILE"


class Script(Name):
    """The file with the script, a JSON object; - reads stdin."""

    metavar = "FILE"


class ScriptItself(Json):
    """The script itself, in place of a file."""


class FirstFile(Name):
    """The file with the one dialect; - reads stdin."""

    metavar = "FILE"


class SecondFile(Name):
    """The file with the other dialect; - reads stdin."""

    metavar = "FILE"


MANY = "The file holds several, one after the other."


@op(
    "cbcl.parse",
    reads=True,
    screen="cbcl",
    examples=("bb cbcl parse greeting.cbcl --json", """bb cbcl parse --text '(tell @bob "hi" :thread t-1)'"""),
    many=MANY,
)
def parse(
    desk: Desk,
    file: File | None = None,
    *,
    text: Given | None = None,
    many: bool = False,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """What a message says: its parts, its text on one line, its hash, and the id that answers refer to.

    An S-expression comes as a pair [tag, value]; numbers stay text. Where the text is no message, the refusal says why,
    with the octet, line and column at which that shows.
    """
    bounds = bounds_of(max_depth, max_size)
    octets = given(desk, file, text, bounds).octets
    if not many:
        return answers.parsed(octets, bounds)
    found = [answers.described(message) for message in grammar.messages(octets, bounds)]
    return {"messages": found, "count": len(found)}


@op(
    "cbcl.format",
    reads=True,
    screen="cbcl",
    examples=("bb cbcl format planning.cbcl", "bb cbcl format --many log.cbcl > tidy.cbcl"),
    many=MANY,
)
def format_(
    desk: Desk,
    file: File | None = None,
    *,
    text: Given | None = None,
    many: bool = False,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """Lay out a message or a dialect over lines of 80 columns, where its words are not longer than that.

    It reads back as the same, but comments are no part of what is read, and vanish. Into a file or a pipe it goes as it
    is; at a terminal, characters that would command it are shown escaped.
    """
    bounds = bounds_of(max_depth, max_size)
    octets, fuel = given(desk, file, text, bounds).octets, for_text(bounds.size)
    if not many:
        return answers.formatted(answers.said(octets, bounds, fuel).node, fuel)
    found = [answers.formatted(each.node, fuel) for each in answers.each_of(octets, bounds, fuel)]
    return {"messages": found, "count": len(found)}


@op(
    "cbcl.canonical",
    reads=True,
    screen="cbcl",
    output="octets",
    examples=("bb cbcl canonical planning.cbcl", "bb cbcl canonical planning.cbcl --raw | sha256sum"),
    raw="Write the octets themselves to stdout, not as hex. With --json there is no difference.",
)
def canonical_(
    desk: Desk,
    file: File | None = None,
    *,
    text: Given | None = None,
    raw: bool = False,  # noqa: ARG001  (how it is written is the face's matter)
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """The canonical octets of a message or a dialect (RFC 9804): what is hashed, and what is signed."""
    bounds = bounds_of(max_depth, max_size)
    octets = canonical.octets(answers.said(given(desk, file, text, bounds).octets, bounds).node)
    return {"canonical_hex": octets.hex(), "octets": len(octets)}


@op("cbcl.hash", reads=True, screen="cbcl", examples=("bb cbcl hash planning.cbcl",))
def hash_(
    desk: Desk,
    file: File | None = None,
    *,
    text: Given | None = None,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """What a message or a dialect is known by: the SHA-256 of its canonical octets, whatever its layout.

    A dialect that is signed or taught is known by the hash of its definition, which is told besides.
    """
    bounds = bounds_of(max_depth, max_size)
    said = answers.said(given(desk, file, text, bounds).octets, bounds)
    of_dialect = canonical.digest(said.definition.node) if said.definition else None
    return {"hash": canonical.digest(said.node), "dialect_hash": of_dialect}


@op(
    "cbcl.verify",
    reads=True,
    screen="cbcl",
    examples=(
        "bb cbcl verify planning.cbcl",
        "bb cbcl verify child.cbcl --dialect parent.cbcl --examples child.examples.cbcl",
    ),
)
def verify(
    desk: Desk,
    file: File | None = None,
    *,
    text: Given | None = None,
    dialect: list[DialectFile] | None = None,
    examples_: ExamplesFile | None = None,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """Whether a dialect may be installed: all the rules it breaks, each with its place, not only the first.

    The file holds a definition, a signed one, or a message that defines or teaches it. A signature is checked where you
    trust its author, and else left unchecked. Examples are forms (example CALL MESSAGE…) and (example CALL refused
    CODE); one that turns out otherwise is a violation too.
    """
    bounds = bounds_of(max_depth, max_size)
    source = given(desk, file, text, bounds)
    return must_verify(desk, source, bounds, examples_ or examples_beside(desk, file), dialect)[0]


@op(
    "cbcl.expand",
    reads=True,
    screen="cbcl",
    examples=("""bb cbcl expand --text '(lang planning (propose "ship"))' --dialect planning.cbcl""",),
)
def expand(
    desk: Desk,
    file: File | None = None,
    *,
    text: Given | None = None,
    dialect: list[DialectFile] | None = None,
    max_expansion_size: MaxExpansion | None = None,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """The messages that a call in a dialect stands for, with how large and how deep they are together.

    The dialects of this repository count, and those that are named. A message that calls nothing stands for itself.
    """
    bounds = bounds_of(max_depth, max_size)
    message = grammar.message(given(desk, file, text, bounds).octets, bounds)
    known = known_with(desk, dialect, bounds)
    return answers.expanded(message, known, room_of(desk, max_depth, max_expansion_size))


@op(
    "cbcl.explain",
    reads=True,
    screen="cbcl",
    examples=("bb cbcl explain call.cbcl --dialect planning.cbcl",),
)
def explain(
    desk: Desk,
    file: File | None = None,
    *,
    text: Given | None = None,
    dialect: list[DialectFile] | None = None,
    max_expansion_size: MaxExpansion | None = None,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """How a call comes to its messages: what each parameter stands for, which branches are taken, which limits hold.

    Where a limit, or what it comes to, forbids it, that is told too and is no failure of this command.
    """
    bounds = bounds_of(max_depth, max_size)
    message = grammar.message(given(desk, file, text, bounds).octets, bounds)
    known = known_with(desk, dialect, bounds)
    return answers.explained(message, known, room_of(desk, max_depth, max_expansion_size))


@op("cbcl.diff", reads=True, screen="cbcl", examples=("bb cbcl diff planning-1.cbcl planning-2.cbcl",))
def diff(
    desk: Desk,
    a: FirstFile,
    b: SecondFile,
    *,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """What differs between two dialects: clauses, limits, performatives, and where in each of those it begins."""
    if str(a) == str(b) == sources.STDIN:
        raise Usage("stdin is read once", hint="name a file for one of the two")
    bounds = bounds_of(max_depth, max_size)
    fuel = for_text(2 * bounds.size)
    sources_read = [read(desk, each, bounds) for each in (a, b)]
    found = []
    for each in sources_read:
        with about(each.name):
            found.append(answers.defined(each.octets, bounds, fuel)[1])
    one, other = (each.octets for each in sources_read)
    return answers.compared(found[0], found[1], (one, other), fuel)


@op(
    "cbcl.replay",
    reads=True,
    screen="cbcl",
    examples=("bb cbcl replay conversation.json", "bb cbcl replay - --json < conversation.json"),
)
def replay(desk: Desk, file: Script | None = None, *, script: ScriptItself | None = None) -> dict[str, Any]:
    """Play a scripted conversation in memory: who is there, what each says or hears, what becomes of it.

    Nothing is recorded, nobody is told, and no key of yours is looked at: whom the agents trust stands in the script.
    It has agents, each a name or an object with id, dialects, trust (author to keys) and policy; trust and policy for
    all of them; deliver, so that what is said reaches whom it is for; and steps, each with agent and either sent (and
    to), or received and from.
    """
    if (file is None) == (script is None):
        raise speak_replay.InvalidScript("the script comes from a file, or is given itself: one of the two")
    return speak_replay.replay(script if file is None else _parsed_script(sources.read(desk, file, *_OF_SCRIPTS)))


# -- scripts


def _script_too_large(name: str, size: int) -> BbError:
    return speak_replay.InvalidScript(f"{name} has {size:,} octets or more; {LARGEST_SCRIPT:,} are read")


_OF_SCRIPTS = (LARGEST_SCRIPT, _script_too_large)


def _parsed_script(source: Source) -> Any:
    try:
        return json_text.read(source.octets)
    except json_text.NotJson:
        import json  # noqa: PLC0415  (which, unlike its core, says where the mistake is)

        try:
            json.loads(source.octets)
        except json.JSONDecodeError as error:
            line, column = error.lineno, error.colno
            why = f"it is no JSON: {error.msg} (line {line}, column {column})"
            raise speak_replay.InvalidScript(why, offset=error.pos, line=line, column=column) from None
        except (ValueError, RecursionError):
            pass
        raise speak_replay.InvalidScript("it is no JSON that can be read, or no UTF-8") from None
