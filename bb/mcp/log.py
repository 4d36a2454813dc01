"""What the server tells whoever looks after it; on stdin and stdout only the protocol is spoken."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING

from bb.kernel import json_text, secret_patterns
from bb.kernel.show import harmless

if TYPE_CHECKING:
    from typing import Any


def report(what: str, error: Exception) -> None:
    """A bug of ours, told to whoever looks after the server: what was asked and where it broke, and no secrets."""
    trace = secret_patterns.masked("".join(traceback.format_exception(error)))
    note(f"bb ran into a bug, at {what[:200]}:", *trace.split("\n"))


def note(*lines: str) -> None:
    """Tell whoever looks after the server. That nobody listens is no reason to stop."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write("".join(f"{harmless(line)}\n" for line in lines))
        sys.stderr.flush()
    except OSError:
        return


def say(document: dict[str, Any]) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json_text.dumps_ascii(document) + "\n")
    sys.stdout.flush()
