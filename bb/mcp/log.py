"""The server's messages for its operator, on stderr. Stdin and stdout carry only the protocol."""

from __future__ import annotations

import sys

from bb.kernel import json_text, secret_patterns
from bb.kernel.escaping import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def report(what: str, error: Exception) -> None:
    """Report a bug on stderr: the call and the traceback, with secrets masked."""
    import traceback  # noqa: PLC0415  (rarely needed)

    trace = secret_patterns.masked("".join(traceback.format_exception(error)))
    write_lines(f"bb ran into a bug in {what[:200]}:", *trace.split("\n"))


def write_lines(*lines: str) -> None:
    """Write lines to stderr. A closed stderr is ignored."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write("".join(f"{harmless(line)}\n" for line in lines))
        sys.stderr.flush()
    except OSError:
        return


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document on stdout."""
    sys.stdout.write(json_text.dumps_ascii(document) + "\n")
    sys.stdout.flush()
