"""The entry point of `bb-ci`: `bb ci check` as a program that needs Python and git only, no packages.

`scripts/zipapp` packs it with the modules that it can import into one file, `bb-ci.pyz`. It answers as `bb ci check`
does, with the same options, formats and exit status.
"""

from __future__ import annotations

import sys

import bb
from bb.cli import mistakes, single_command
from bb.cli.calls import output, process, run
from bb.kernel.json_text import InvalidText
from bb.ops import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

OP, VERB = "ci.check", "check"
USAGE = "python3 bb-ci.pyz check --base origin/main"


def main() -> NoReturn:
    """Run the command line, and end the process with its exit status."""
    process.run(sys.argv[1:], answer, lambda _: None)


def answer(words: list[str]) -> int:
    """Run `check WORDS`, also written as `ci check WORDS`, and return the exit status."""
    options = words[: words.index("--")] if "--" in words else words
    as_json = single_command.JSON in options
    plain = [word for word in options if word != single_command.JSON] + words[len(options) :]
    if plain == ["--version"]:
        return _print_version(as_json=as_json)
    plain = plain[1:] if plain[:1] == ["ci"] else plain
    op = catalogue.find(OP)
    if not plain or plain[0] in single_command.HELP:
        return _explain(as_json=as_json)

    def call() -> int:
        if any("\ud800" <= character <= "\udfff" for word in plain for character in word):
            raise InvalidText("the command line is not valid UTF-8")
        if plain[0] != VERB:
            raise mistakes.UnknownCommand(f"No such command {plain[0][:60]!r}", hint=f"the only one is `{USAGE}`")
        values = single_command.values(op, plain[1:])
        return _explain(as_json=as_json) if values is None else run.perform(op, values, as_json=as_json, at_exit=True)

    return run.guarded(op.words, call, as_json=as_json)


def _print_version(*, as_json: bool) -> int:
    if as_json:
        output.success("version", {"version": bb.__version__}, as_json=True)
    else:
        output.lines([f"bb {bb.__version__}"])
    return 0


def _explain(*, as_json: bool) -> int:
    op = catalogue.find(OP)
    lines = single_command.explained(op)
    if as_json:
        output.success(op.words, {"help": "".join(f"{line}\n" for line in lines)}, as_json=True)
    else:
        output.lines(lines)
    return 0


if __name__ == "__main__":
    main()
