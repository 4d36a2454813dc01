"""Starts the MCP server as hosts do, without Typer: hosts wait for it at the start of each session.

Everything else, including every mistake, goes to Typer (`commands.mcp`), which explains it.
"""

from __future__ import annotations

import sys

from bb.cli.programs import extras
from bb.kernel import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CHANNEL = "--channel"


def exec_if_plain(words: Sequence[str]) -> None:
    """Replace this process with the server if WORDS are only an agent, a directory and `--channel`, and no person is at
    stdin."""
    options = _options(words)
    if options is not None and not (sys.stdin is not None and sys.stdin.isatty()):
        extras.exec_face("mcp", [f"{option}={value}" if value else option for option, value in options.items()])


def _options(words: Sequence[str]) -> dict[str, str] | None:
    """The options in WORDS; None if Typer must parse them."""
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if word == CHANNEL and CHANNEL not in options:
            options[CHANNEL] = ""
            continue
        value = value if equals else next(rest, "")
        is_valid = (
            ids.is_actor_id(value) if option == "--agent" else option == "--directory" and value[:1] not in ("", "-")
        )
        if option in options or not is_valid or not value.isprintable():
            return None
        options[option] = value
    return options
