"""The result of `bb ci check` as text, or as GitHub, SARIF or JUnit output."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import bb
from bb.cli.screens.styling import counted
from bb.coordination.guards import ci_findings
from bb.kernel.errors import Conflict
from bb.kernel.foreign import Foreign, names, sentence
from bb.ledger.files import output_files
from bb.ops.catalogue import Op
from bb.ops.desk.desk import Desk
from bb.wire import github

ABBREVIATED = 10
MOST_NAMED = 3  # commits listed with a finding
LONG_AGO = 3600  # seconds; a higher age is shown in hours


def of(answer: Foreign) -> Iterable[str]:
    """ANSWER as lines, in the format that it requests."""
    if answer["format"] == "text":
        return _text(answer)
    return _document(answer, str(answer["format"])).splitlines()


def write_report(op: Op, desk: Desk, arguments: Mapping[str, Any]) -> Any:
    """Run OP, write its answer or its findings to the requested file, and return the answer."""
    path = os.path.join(desk.cwd, arguments["output"])
    form = arguments.get("format_", "text")
    try:
        answer = op.run(desk, arguments)
    except Conflict as refusal:
        _write(path, _document(Foreign(refusal.details), form))
        raise
    _write(path, _document(Foreign(answer), form))
    return answer


def _write(path: str, text: str) -> None:
    with output_files.Replacement(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def _document(answer: Foreign, form: str) -> str:
    if form == "sarif":
        from bb.wire import sarif  # noqa: PLC0415  (each of these two loads a library)

        return sarif.document(answer, ci_findings.RULES, bb.__version__)
    if form == "junit":
        from bb.wire import junit  # noqa: PLC0415

        return junit.document(answer)
    lines = github.commands(answer) if form == "github" else _text(answer)
    return "".join(f"{line}\n" for line in lines)


def _text(answer: Foreign) -> Iterator[str]:
    commits, paths = counted(int(answer["commits"]), "commit"), counted(int(answer["paths"]), "path")
    yield f"{commits}, {paths}, {_ledger(answer['ledger'])}"
    if note := answer["ledger"]["note"]:
        yield f"Note: {sentence(note)}"
    if not int(answer["commits"]):
        yield "Note: the change is empty, because --head has no commit that --base lacks"
    for (severity, rule), some in groupby(answer["findings"], key=lambda each: (each["severity"], each["rule"])):
        yield f"{severity}: {rule}"
        yield from map(_line, some)
    if recorded := answer.get("recorded"):
        yield f"Recorded; the holders are notified: {names(recorded)}"
    if answer["ledger"]["kind"] in ("published", "local") and not answer["findings"]:
        yield "No path in the change is held by another agent."
    if (hidden := int(answer["errors"]) + int(answer["warnings"]) - len(answer["findings"])) > 0:
        yield f"and {hidden:,} more"


def _line(finding: Foreign) -> str:
    commits = [str(commit[:ABBREVIATED]) for commit in finding["commits"][:MOST_NAMED]]
    more = ["..."] if len(finding["commits"]) > MOST_NAMED else []
    where = f"{finding['path']}  " if finding["path"] else ""
    return f"  {where}{sentence(finding['text'])}  [{' '.join([*commits, *more])}]"


def _ledger(ledger: Foreign) -> str:
    if ledger["kind"] == "local":
        return "checked against the ledger of this clone"
    if ledger["kind"] != "published":
        return "not checked"
    generation = f" (generation {ledger['generation']})" if ledger["generation"] else ""
    age = int(ledger["age_seconds"])
    ago = f"{age // 60} min" if age < LONG_AGO else f"{age // 3600} h"
    tip = f"{ledger['tip'][:ABBREVIATED]}{generation}, {ago} old"
    return f"checked against the ledger of {ledger['remote']} at {tip}"
