"""Commands for CBCL texts: parse, format, verify, expand, explain and compare them.

They record nothing and send nothing. `answers.py` has the answers; this module reads the texts, the dialects and the
limits of the user's policy.
"""

from __future__ import annotations

from typing import Any

from bb.cbcl.read import canonical, grammar
from bb.cbcl.read.fuel import for_text
from bb.cbcl.speak import replay as speak_replay
from bb.kernel import json_text
from bb.kernel.errors import BbError, Usage
from bb.ops.agent_params import Name
from bb.ops.catalogue import op
from bb.ops.cbcl import answers
from bb.ops.cbcl.inputs import (
    DialectFile,
    File,
    InlineText,
    MaxDepth,
    MaxExpansion,
    MaxSize,
    bounds_of,
    expansion_limits,
    known_with,
    naming_file,
    read,
    read_input,
)
from bb.ops.cbcl.installable import examples_beside, must_verify
from bb.ops.desk import input_text
from bb.ops.desk.desk import Desk
from bb.ops.desk.input_text import Source
from bb.ops.json_params import Json

LARGEST_SCRIPT = 16 << 20


@op(
    "cbcl.parse",
    reads=True,
    screen="cbcl",
    examples=("bb cbcl parse greeting.cbcl --json", """bb cbcl parse --text '(tell @bob "hi" :thread t-1)'"""),
)
def parse(
    desk: Desk,
    file: File | None = None,
    *,
    text: InlineText | None = None,
    many: bool = False,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """Parse a message: show its parts, its text on one line, its hash, and the id that answers refer to.

    An S-expression is shown as a pair [tag, value]; numbers stay text. If the text is not a message, the refusal gives
    the reason with the octet, line and column.

    Parameters:
        many: The file contains several texts, one after the other.
    """
    bounds = bounds_of(max_depth, max_size)
    octets = read_input(desk, file, text, bounds).octets
    if not many:
        return answers.parsed(octets, bounds)
    messages = [answers.described(message) for message in grammar.messages(octets, bounds)]
    return {"messages": messages, "count": len(messages)}


@op(
    "cbcl.format",
    reads=True,
    screen="cbcl",
    examples=("bb cbcl format planning.cbcl", "bb cbcl format --many log.cbcl > tidy.cbcl"),
)
def format_(
    desk: Desk,
    file: File | None = None,
    *,
    text: InlineText | None = None,
    many: bool = False,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """Format a message or a dialect to 80 columns, unless a single word is longer.

    The result has the same meaning, but comments are removed. Output to a file or a pipe is unchanged; at a terminal,
    control characters are escaped.

    Parameters:
        many: The file contains several texts, one after the other.
    """
    bounds = bounds_of(max_depth, max_size)
    octets, fuel = read_input(desk, file, text, bounds).octets, for_text(bounds.size)
    if not many:
        return answers.formatted(answers.parse_text(octets, bounds, fuel).node, fuel)
    messages = [answers.formatted(parsed_text.node, fuel) for parsed_text in answers.parse_texts(octets, bounds, fuel)]
    return {"messages": messages, "count": len(messages)}


@op(
    "cbcl.canonical",
    reads=True,
    screen="cbcl",
    output="octets",
    examples=("bb cbcl canonical planning.cbcl", "bb cbcl canonical planning.cbcl --raw | sha256sum"),
)
def canonical_(
    desk: Desk,
    file: File | None = None,
    *,
    text: InlineText | None = None,
    raw: bool = False,  # noqa: ARG001  (the face handles it)
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """Show the canonical octets of a message or dialect, by RFC 9804. Hashes and signatures are computed from them.

    Parameters:
        raw: Write the raw octets to stdout instead of hexadecimal. No effect with --json.
    """
    bounds = bounds_of(max_depth, max_size)
    octets = canonical.octets(answers.parse_text(read_input(desk, file, text, bounds).octets, bounds).node)
    return {"canonical_hex": octets.hex(), "octets": len(octets)}


@op("cbcl.hash", reads=True, screen="cbcl", examples=("bb cbcl hash planning.cbcl",))
def hash_(
    desk: Desk,
    file: File | None = None,
    *,
    text: InlineText | None = None,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """Show the hash of a message or a dialect: the SHA-256 of its canonical octets. The layout does not matter.

    For a signed or taught dialect, `dialect_hash` is the hash of its definition, which identifies the dialect.
    """
    bounds = bounds_of(max_depth, max_size)
    what = answers.parse_text(read_input(desk, file, text, bounds).octets, bounds)
    of_dialect = canonical.digest(what.definition.node) if what.definition else None
    return {"hash": canonical.digest(what.node), "dialect_hash": of_dialect}


@op(
    "cbcl.verify",
    reads=True,
    screen="cbcl",
    verdicts=("DIALECT_REJECTED",),
    examples=(
        "bb cbcl verify planning.cbcl",
        "bb cbcl verify child.cbcl --dialect parent.cbcl --examples child.examples.cbcl",
    ),
)
def verify(
    desk: Desk,
    file: File | None = None,
    *,
    text: InlineText | None = None,
    dialect: list[DialectFile] | None = None,
    examples_: Name | None = None,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """Check whether a dialect may be installed. All violations are listed, each with its place.

    The file contains a definition, a signed definition, or a message that defines or teaches one. A signature is
    checked if you trust a key of the author, else it stays unchecked. Examples have the forms (example CALL MESSAGE…)
    and (example CALL refused CODE); an example with a different result is a violation too.

    Parameters:
        examples_ (FILE): The file with examples for the dialect; unless given, NAME.examples.cbcl beside NAME.cbcl.
    """
    bounds = bounds_of(max_depth, max_size)
    source = read_input(desk, file, text, bounds)
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
    text: InlineText | None = None,
    dialect: list[DialectFile] | None = None,
    max_expansion_size: MaxExpansion | None = None,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """Expand a call in a dialect: show the resulting messages, with their total size and depth.

    The dialects of this repository and those passed with --dialect are known. A message without a call expands to
    itself.
    """
    bounds = bounds_of(max_depth, max_size)
    message = grammar.message(read_input(desk, file, text, bounds).octets, bounds)
    dialects = known_with(desk, dialect, bounds)
    return answers.expanded(message, dialects, expansion_limits(desk, max_depth, max_expansion_size))


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
    text: InlineText | None = None,
    dialect: list[DialectFile] | None = None,
    max_expansion_size: MaxExpansion | None = None,
    max_depth: MaxDepth | None = None,
    max_size: MaxSize | None = None,
) -> dict[str, Any]:
    """Explain the expansion of a call: the value of each parameter, the branches taken, the limits that apply.

    If the expansion is refused, the answer contains the refusal, and the command still succeeds.
    """
    bounds = bounds_of(max_depth, max_size)
    message = grammar.message(read_input(desk, file, text, bounds).octets, bounds)
    dialects = known_with(desk, dialect, bounds)
    return answers.explained(message, dialects, expansion_limits(desk, max_depth, max_expansion_size))


@op("cbcl.diff", reads=True, screen="cbcl", examples=("bb cbcl diff planning-1.cbcl planning-2.cbcl",))
def diff(
    desk: Desk, a: Name, b: Name, *, max_depth: MaxDepth | None = None, max_size: MaxSize | None = None
) -> dict[str, Any]:
    """Show the differences between two dialects: clauses, limits and performatives, each with its place.

    Parameters:
        a (FILE-A): The file with the first dialect; - reads stdin.
        b (FILE-B): The file with the second dialect; - reads stdin.
    """
    if str(a) == str(b) == input_text.STDIN:
        raise Usage("stdin can be read only once", hint="use a file for one of the two dialects")
    bounds = bounds_of(max_depth, max_size)
    fuel = for_text(2 * bounds.size)
    first, second = (read(desk, file, bounds) for file in (a, b))
    definitions = []
    for source in (first, second):
        with naming_file(source.name):
            definitions.append(answers.defined(source.octets, bounds, fuel)[1])
    return answers.compared(definitions[0], definitions[1], (first.octets, second.octets), fuel)


@op(
    "cbcl.replay",
    reads=True,
    screen="cbcl",
    examples=("bb cbcl replay conversation.json", "bb cbcl replay - --json < conversation.json"),
)
def replay(desk: Desk, file: Name | None = None, *, script: Json | None = None) -> dict[str, Any]:
    """Play a scripted conversation in memory, and show the result of each step.

    Nothing is recorded or sent, and your own keys are not read: the script defines the trusted keys. Its members are
    agents, each a name or an object with id, dialects, trust (author to keys) and policy; trust and policy for all
    agents; deliver, to deliver each sent message to its recipients; and steps, each with agent and either sent (and
    to), or received and from.

    Parameters:
        file (FILE): The file with the script, a JSON object; - reads stdin.
        script: The script, instead of a file.
    """
    if (file is None) == (script is None):
        raise speak_replay.InvalidScript("pass either a file or the script itself")
    return speak_replay.replay(script if file is None else _parsed_script(input_text.read(desk, file, *_OF_SCRIPTS)))


# -- scripts


def _script_too_large(name: str, size: int) -> BbError:
    return speak_replay.InvalidScript(f"{name} has {size:,} octets or more; the limit is {LARGEST_SCRIPT:,}")


_OF_SCRIPTS = (LARGEST_SCRIPT, _script_too_large)


def _parsed_script(source: Source) -> Any:
    try:
        return json_text.read(source.octets)
    except json_text.NotJson:
        import json  # noqa: PLC0415  (its error has the place of the mistake)

        try:
            json.loads(source.octets)
        except json.JSONDecodeError as error:
            line, column = error.lineno, error.colno
            why = f"the script is not valid JSON: {error.msg} (line {line}, column {column})"
            raise speak_replay.InvalidScript(why, offset=error.pos, line=line, column=column) from None
        except (ValueError, RecursionError):
            pass
        raise speak_replay.InvalidScript("the script is not valid JSON, or not valid UTF-8") from None
