"""Where every `bb` process starts: the lean way if the words are plain, else Typer; and where it ends.

This is the one place that turns a bug into a report. Everything below lets bugs pass.
"""

from __future__ import annotations

import gc
import os
import sys

from bb import start
from bb.cli import lean
from bb.cli.calls import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

GARBAGE = 100_000  # values, until it is worth a look
INTERRUPTED = 130
READER_GONE = 141
OUTPUT_FAILED = 1


def main() -> NoReturn:
    """Run the command line, and end the process with its exit status."""
    # A command makes a few ten thousand values and ends: looking for garbage among them took a fifteenth of its time.
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
    except say.OutputFailed as error:
        status = _output_failed(error)
    except Exception as error:
        from bb.cli.calls import bug  # noqa: PLC0415

        status = bug.report(error, words)
    _leave(status, words)


def _answer(words: list[str]) -> int:
    status = lean.answer(words)
    if status is None:
        from bb.cli import app  # noqa: PLC0415  (Typer: five times what a heartbeat may take)

        status = app.answer(words)
    return status


def _leave(status: int, words: list[str]) -> NoReturn:
    """End the process once all it said is out.

    What was recorded is on the disk and what was opened is closed, so the interpreter's tidying up, a sixth of a
    bare start, is left to the operating system.
    """
    try:
        say.flush()
    except BrokenPipeError:
        # Whoever read our output has heard enough.
        status = READER_GONE
    except say.OutputFailed as error:
        status = _output_failed(error)
    if start.missed:
        from bb.cli import bundle  # noqa: PLC0415  (mostly everything is in the bundle)

        bundle.keep(words)
    os._exit(status)


def _output_failed(error: say.OutputFailed) -> int:
    say.lines([f"Error: [OUTPUT_FAILED] the answer could not be written: {error}"], sys.stderr)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the rest of it would only fail again
    return OUTPUT_FAILED


def _occupy_standard_streams() -> None:
    """Open /dev/null where a standard stream is closed.

    Otherwise the next file opened, a journal say, gets the stream's number, and what is printed goes into it.
    """
    for number, (name, mode) in enumerate([("stdin", "r"), ("stdout", "w"), ("stderr", "w")]):
        try:
            os.fstat(number)
        except OSError:
            stream = open(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8")  # noqa: SIM115  (for good)
            setattr(sys, name, stream)
