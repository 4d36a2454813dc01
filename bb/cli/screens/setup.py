"""Text screens for `bb setup`: the plan, the outcome of each part, and what is left for the person."""

from __future__ import annotations

from bb.cli.screens import styling
from bb.kernel.foreign import Foreign, names, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

COLOURS = {
    **dict.fromkeys(("installed", "renewed", "undone"), "green"),
    **dict.fromkeys(("to install", "to undo", "newer available"), "cyan"),
    **dict.fromkeys(("refused", "left"), "red"),
    **dict.fromkeys(("skipped", "kept"), "yellow"),
    "already there": "dim",
}
WORDS = {outcome: outcome for outcome in COLOURS}
WIDEST = max(map(len, COLOURS))


def set_up(report: Foreign) -> Iterable[str]:
    """The answer of `bb setup`."""
    if "checked" in report:
        yield from _checked(report)
        return
    yield f"{_title(report)} {sentence(report['repository'])}"
    if "hosts" in report:
        yield from _found(report)
    yield ""
    yield from _parts(report)
    yield from _last(report)


STATES = {"proved": "green", "not proved": "red", "in place": "dim", "not installed": "yellow", "skipped": "yellow"}


def _checked(report: Foreign) -> Iterable[str]:
    """The answer of `bb setup --check`."""
    yield f"Checked bb setup in {sentence(report['repository'])}, with trials in a repository of their own"
    yield ""
    rows = report["checked"]
    width = max((len(str(row["part"])) for row in rows), default=0)
    for row in rows:
        word = row["state"].among({state: state for state in STATES}, "?")
        padded = styling.coloured(word, STATES.get(word, "dim")) + " " * (len("not installed") - len(word))
        yield f"  {row['part']!s:<{width}}  {padded}  {styling.hanging(_found_out(row, report))}"
        if row["mend"]:
            yield f"  {'':<{width}}  {'':<13}  -> {styling.hanging(sentence(row['mend']))}"


def _found_out(row: Foreign, report: Foreign) -> str:
    about, where = _relative(row["why"] or row["shown"], report), _short(row["where"], report)
    text = f"{where}: {about}" if about and where else about or where
    if row["note"]:
        return f"{text}; {sentence(row['note'])}"
    return f"{text}; last called {row['last_call']}" if row["last_call"] else text


def _title(report: Foreign) -> str:
    is_undo = "hosts" not in report
    if not report["changes"]:
        return "Nothing to undo in" if is_undo else "Nothing to change in"
    if report["is_done"]:
        return "Undid bb setup in" if is_undo else "Set up bb in"
    return "Plan: undo bb setup in" if is_undo else "Plan: set up bb in"


def _found(report: Foreign) -> Iterable[str]:
    found = [f"{sentence(each['title'])} ({names(each['signs'])})" for each in report["hosts"]]
    yield f"Hosts found: {', '.join(found) or 'none'}"
    yield f"Program that hooks call: {sentence(report['program'])} ({sentence(report['program_note'])})"


def _parts(report: Foreign) -> Iterable[str]:
    if not report["parts"]:
        yield "  nothing to do"
    width = max((len(str(row["part"])) for row in report["parts"]), default=0)
    for row in report["parts"]:
        yield _row(row, width, report)


def _row(row: Foreign, width: int, report: Foreign) -> str:
    outcome = row["outcome"].among(WORDS, "?")
    colour = row["outcome"].among(COLOURS, "dim")
    padded = styling.coloured(outcome, colour) + " " * (WIDEST - len(outcome))
    return f"  {row['part']!s:<{width}}  {padded}  {styling.hanging(_about(row, outcome, report))}"


def _about(row: Foreign, outcome: str, report: Foreign) -> str:
    """What a part does and where, with a note; or why nothing was done."""
    why = _relative(row["why"], report)
    if outcome in ("refused", "skipped"):
        return why
    where, what = _short(row["where"], report), sentence(row["what"])
    about = f"{where}: {what}" if where and what else where or what
    return f"{about}; {why}" if why else about


def _relative(text: Foreign, report: Foreign) -> str:
    """TEXT with paths relative to the repository."""
    return sentence(text).replace(f"{sentence(report['repository'])}/", "") if text else ""


def _short(where: Foreign, report: Foreign) -> str:
    """A path relative to the repository."""
    prefix = f"{sentence(report['repository'])}/"
    return ", ".join(sorted(path.removeprefix(prefix) for path in sentence(where).split(", ")))


def _last(report: Foreign) -> Iterable[str]:
    steps = [sentence(step) for step in report["steps"]]
    if commit := report["to_commit"]:
        steps.append("Commit these files, so that other clones have them:")
    if steps:
        yield ""
        is_now = report["is_done"] or not report["changes"]
        yield "Only you can do this:" if is_now else "Afterwards, only you can do this:"
    for number, step in enumerate(steps, start=1):
        yield f"  {number}. {styling.hanging(step)}"
        if number == len(steps) and commit:
            yield f"     {styling.whole(sentence(commit['command']))}"


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {"setup": set_up}
