"""Reads help texts from the docstring of an op: the description, and a text for each parameter.

    \"\"\"Send a message.

    The description: any lines.

    Parameters:
        subject: The subject, in one line.
        file (FILE): The file to send. A text may
            continue on lines that are indented further.
    \"\"\"

The name is that of the signature. The word in parentheses is the metavar, which stands for the value in help. Both the
entry and the metavar are optional: without them, those of the parameter's kind apply.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

HEADING = "\nParameters:\n"
ENTRY = "    "  # the indentation of an entry below the heading


def description(docstring: str) -> str:
    """The text between the summary and the help texts of the parameters."""
    return _parts(docstring)[0].strip()


def about(docstring: str, name: str) -> str:
    """The help text for the parameter called NAME; empty if the docstring has none."""
    return parameters(docstring).get(name, ("", ""))[1]


def metavar(docstring: str, name: str) -> str:
    """The metavar of the parameter called NAME; empty if the docstring has none."""
    return parameters(docstring).get(name, ("", ""))[0]


def parameters(docstring: str) -> Mapping[str, tuple[str, str]]:
    """The metavar and the help text of each parameter that the docstring describes."""
    return dict(_entry(line) for line in _entries(_parts(docstring)[1]))


def _parts(docstring: str) -> tuple[str, str]:
    """The description and the block of help texts."""
    _, _, rest = docstring.strip().partition("\n")
    before, _, block = f"\n{_dedented(rest)}".partition(HEADING)
    return before, block


def _entries(block: str) -> list[str]:
    """The entries, each as one line."""
    entries: list[str] = []
    for line in filter(str.strip, block.split("\n")):
        if line.startswith(ENTRY + " "):
            entries[-1] += " " + line.strip()
        else:
            entries.append(line.strip())
    return entries


def _entry(line: str) -> tuple[str, tuple[str, str]]:
    """The name, the metavar and the text of `NAME: text` or `NAME (METAVAR): text`."""
    head, _, text = line.partition(": ")
    name, _, word = head.partition(" (")
    return name, (word.removesuffix(")"), text)


def _dedented(text: str) -> str:
    """A docstring without its common indentation. From Python 3.13 on, the compiler removes it."""
    lines = text.strip("\n").split("\n")
    shared = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[shared:] for line in lines)


def brief(summary: str, width: int) -> str:
    """The beginning of a SUMMARY that fits into WIDTH columns: the first sentence, or as many of its clauses as fit."""
    sentence = summary.partition(". ")[0].rstrip(".")
    for mark in ("; ", ": ", ", and ", ", "):
        if len(sentence) <= width:
            break
        parts = sentence.split(mark)
        while len(parts) > 1 and len(mark.join(parts)) > width:
            parts.pop()
        sentence = mark.join(parts)
    return sentence
