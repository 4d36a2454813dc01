"""The entry point of `bb`: the lean parser for plain calls of hot verbs, else Typer."""

from __future__ import annotations

import sys

from bb import start
from bb.cli import fast_parser
from bb.cli.calls import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Run the command line, and end the process with its exit status."""
    process.run(sys.argv[1:], _answer, _keep_bundle)


def _answer(words: list[str]) -> int:
    if words[:1] == ["mcp"]:
        from bb.cli.programs import mcp_start  # noqa: PLC0415

        mcp_start.exec_if_plain(words[1:])
    if words[:1] == ["run"]:
        from bb.cli.programs import run_plain  # noqa: PLC0415

        status = run_plain.answer(words[1:])
    else:
        status = fast_parser.answer(words, at_exit=True)
    if status is None:
        from bb.cli import app  # noqa: PLC0415  (importing Typer takes five times as long as a heartbeat may)

        status = app.answer(words)
    return status


def _keep_bundle(words: list[str]) -> None:
    if start.not_in_bundle:
        from bb.cli import bundle  # noqa: PLC0415  (usually the bundle is complete)

        bundle.keep(words)
