"""`python -m bb.web serve PORT` and `python -m bb.web report FILE`: the processes behind `bb web` and `bb report`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from bb.kernel import json_text
from bb.kernel.errors import BbError, Usage
from bb.kernel.escaping import harmless
from bb.wire import envelope

TwoDocuments = Usage.declare(
    "TWO_DOCUMENTS",
    "Standard output can take either the report or the JSON result, not both",
    hint="omit --json, or name a file with --output",
)

INTERRUPTED = 130
OPEN, JSON = "--open", "--json"


def main(words: list[str]) -> int:
    """Run the command in WORDS; the exit status."""
    verb, argument, *options = words
    commands: dict[str, Callable[[], int]] = {
        "serve": lambda: _serve(argument, options),
        "report": lambda: _report(argument, options),
    }
    name = {"serve": "web", "report": "report"}[verb]
    try:
        return commands[verb]()
    except BbError as refusal:
        if JSON in options:
            _print(json_text.dumps_ascii(envelope.failure(name, refusal)))
        else:
            sys.stderr.write(f"Error: [{refusal.code}] {harmless(refusal.message)}\n")
            sys.stderr.write(f"Hint: {harmless(refusal.hint)}\n" if refusal.hint else "")
        return refusal.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED


def _serve(port: str, options: list[str]) -> int:
    from bb.web import serving  # noqa: PLC0415  (a report needs no server)

    def begun(address: str, port: int) -> None:
        if JSON in options:
            _print(json_text.dumps_ascii(envelope.success("web", {"url": address, "port": port, "pid": os.getpid()})))
        else:
            _print(f"Serving the pages at {address}")
            _print("Keep this address private: it contains your access token. Press Ctrl-C to stop.")

    serving.serve(os.getcwd(), os.environ, int(port) if port else None, begun, opens=OPEN in options)
    return 0


def _report(path: str, options: list[str]) -> int:
    from bb.web import report  # noqa: PLC0415

    if JSON in options and path == report.STDOUT:
        raise TwoDocuments()
    answer = report.write_report(os.getcwd(), os.environ, path)
    if JSON in options:
        _print(json_text.dumps_ascii(envelope.success("report", answer)))
    elif path != report.STDOUT:
        _print(f"Wrote {harmless(answer['path'])} ({answer['bytes']:,} bytes)")
    return 0


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
