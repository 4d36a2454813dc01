"""The findings of `bb ci check` as workflow commands in GitHub's log: each becomes an annotation on its file.

GitHub executes log lines that begin with `::`, so text from a ledger or a path is escaped and cannot start a line.
"""

from __future__ import annotations

from collections.abc import Iterator

from bb.kernel.foreign import Foreign, letters


def commands(answer: Foreign) -> Iterator[str]:
    """The lines that annotate a pull request with the findings of ANSWER."""
    for finding in answer["findings"]:
        where = f"file={_property(finding['path'])},line=1," if finding["path"] else ""
        title = _property("bb: " + letters(finding["rule"]))
        yield f"::{finding['severity']} {where}title={title}::{_message(finding['text'])}"
    if note := answer["ledger"]["note"]:
        yield f"::warning title=bb::{_message(note)}"
    counts = [_counted(int(answer[f"{what}s"]), what) for what in ("error", "warning", "commit")]
    yield f"::notice title=bb::{counts[0]}, {counts[1]} in {counts[2]}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _message(text: Foreign | str) -> str:
    return letters(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: Foreign | str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
