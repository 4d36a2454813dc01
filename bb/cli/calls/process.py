"""Runs a command line in its own process: the standard streams, the exit status, and the end.

This is the only place that turns an unexpected exception into a bug report.
"""

from __future__ import annotations

import gc
import os
import sys

from bb.cli.calls import output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

GARBAGE = 100_000  # allocations before the garbage collector runs
INTERRUPTED = 130
READER_GONE = 141
OUTPUT_FAILED = 1


def run(words: list[str], answer: Callable[[list[str]], int], before_end: Callable[[list[str]], None]) -> NoReturn:
    """ANSWER the WORDS, call BEFORE_END when all is printed, and end the process with the exit status."""
    # A command allocates some ten thousand objects and ends. Garbage collection took 7 % of its time.
    gc.set_threshold(GARBAGE)
    gc.enable()
    _occupy_standard_streams()
    try:
        status = answer(words)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        status = READER_GONE
    except output.OutputFailed as error:
        status = _output_failed(error)
    except Exception as error:
        from bb.cli.calls import bug  # noqa: PLC0415

        status = bug.report(error, words)
    try:
        output.flush()
    except BrokenPipeError:
        status = READER_GONE
    except output.OutputFailed as error:
        status = _output_failed(error)
    before_end(words)
    # All facts are on disk and all files closed, so the interpreter's own cleanup is skipped. It would take a sixth of
    # a bare start.
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
