"""The entry point of `bb`: the lean parser for plain calls of hot verbs, else Typer.

This is the only place that turns an unexpected exception into a bug report.
"""

from __future__ import annotations

import gc
import os
import sys

from bb import start
from bb.cli import fast_parser
from bb.cli.calls import output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

GARBAGE = 100_000  # allocations before the garbage collector runs
INTERRUPTED = 130
READER_GONE = 141
OUTPUT_FAILED = 1


def main() -> NoReturn:
    """Run the command line, and end the process with its exit status."""
    # A command allocates some ten thousand objects and ends. Garbage collection took 7 % of its time.
    gc.set_threshold(GARBAGE)
    gc.enable()
    _occupy_standard_streams()
    words = sys.argv[1:]
    try:
        status = _answer(words)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        status = READER_GONE
    except output.OutputFailed as error:
        status = _output_failed(error)
    except Exception as error:
        from bb.cli.calls import bug  # noqa: PLC0415

        status = bug.report(error, words)
    _leave(status, words)


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


def _leave(status: int, words: list[str]) -> NoReturn:
    """Flush the output and end the process.

    All facts are on disk and all files closed, so the interpreter's own cleanup is skipped. It would take a sixth of
    a bare start.
    """
    try:
        output.flush()
    except BrokenPipeError:
        status = READER_GONE
    except output.OutputFailed as error:
        status = _output_failed(error)
    if start.not_in_bundle:
        from bb.cli import bundle  # noqa: PLC0415  (usually the bundle is complete)

        bundle.keep(words)
    os._exit(status)


def _output_failed(error: output.OutputFailed) -> int:
    output.lines([f"Error: [OUTPUT_FAILED] the answer could not be written: {error}"], sys.stderr)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # further output would fail again
    return OUTPUT_FAILED


def _occupy_standard_streams() -> None:
    """Open /dev/null in place of a closed standard stream.

    Otherwise the next opened file, for example a journal, gets the stream's number, and printed text goes into it.
    """
    for number, (name, mode) in enumerate([("stdin", "r"), ("stdout", "w"), ("stderr", "w")]):
        try:
            os.fstat(number)
        except OSError:
            stream = open(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8")  # noqa: SIM115  (for good)
            setattr(sys, name, stream)
