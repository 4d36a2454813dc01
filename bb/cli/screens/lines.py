"""Text screens for uncommitted lines: whose they are, what was committed, and the lines themselves."""

from __future__ import annotations

from bb.kernel.escaping import harmless
from bb.kernel.foreign import Foreign, names, quotation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

NOBODY = "nobody known"
SHORT = 10  # hex digits of a commit
TAB = "        "
WIDEST = 24  # columns for an author


def edited(found: Foreign) -> list[str]:
    """The files, and who has changed them."""
    return [f"{file['path']}: {_whose(file)}" for file in found["files"]] or ["Nothing has changed there."]


def _whose(file: Foreign) -> str:
    parts = [f"{_agents(row['agents'])} {_counted(row)}" for row in file["lines"]]
    if mode := file.get("mode"):
        parts.append(f"{_agents(mode['agents'])} {_mode(mode)}")
    return "; ".join(parts) or "no uncommitted changes"


def _mode(mode: Foreign) -> str:
    if mode["from"].is_none:
        return "made it"
    return "deleted it" if mode["to"].is_none else "changed its mode"


def _agents(agents: Foreign) -> str:
    return str(names(agents)) or NOBODY


def _counted(row: Foreign) -> str:
    return f"+{row['added']} -{row['deleted']}"


def committed(found: Foreign) -> list[str]:
    """The commit, and what was left in the work tree."""
    branch = f" on {found['branch']}" if found["branch"] else ""
    count = len(list(found["files"]))
    files = f"{count} file" if count == 1 else f"{count} files"
    lines = [f"Committed {found['commit'][:SHORT]}{branch}: {quotation(found['subject'])}, {files}"]
    lines += [
        f"  {file['path']}: {'removed' if file['is_removed'] else _counted(file)}" for file in list(found["files"])[:20]
    ]
    if found["changed_by_hooks"]:
        lines.append(
            f"Hooks changed these files in the commit, but not in the work tree: {names(found['changed_by_hooks'])}"
        )
    lines += [f"Left in the work tree: {file['path']}: {_whose(file)}" for file in found["left"]]
    return lines


def differences(found: Foreign) -> Iterator[str]:
    """A patch of one agent, or all changes with their owners."""
    any_file = False
    for file in found["files"]:
        any_file = True
        if "patch" in file:
            yield from source_lines(file["patch"])
            continue
        yield f"{file['path']}: {_whose(file)}"
        for change in file["changes"]:
            yield f"@@ line {change['line']} @@ {_agents(change['agents'])}"
            yield from (f"-{source_line(text)}" for text in change["deleted"])
            yield from (f"+{source_line(text)}" for text in change["added"])
    if not any_file:
        yield "No uncommitted changes."


def source_lines(text: Foreign) -> list[str]:
    """The lines of a text of several lines, as `source_line` shows them."""
    return [source_line(Foreign(line)) for line in str(text.raw()).split("\n")]


def source_line(text: Foreign) -> str:
    """A line of a file. It is shown as it is, but for control characters."""
    return harmless(str(text.raw()).replace("\t", TAB))


def blamed(found: Foreign) -> Iterator[str]:
    """Each line with its author."""
    rows = list(found["lines"])
    digits = len(str(len(rows)))
    authors = [_author(row) for row in rows]
    width = min(max(map(len, authors), default=0), WIDEST)
    for row, author in zip(rows, authors, strict=True):
        yield f"{author[:WIDEST]:<{width}}  {row['line']:>{digits}}  {source_line(row['text'])}"


def _author(row: Foreign) -> str:
    if not row["agents"].is_none:
        return f"* {_agents(row['agents'])}"
    return f"{row['commit'][:SHORT]} {row['author']}"


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {
    "edit begin": edited,
    "edit end": edited,
    "mine": edited,
    "commit": committed,
    "diff": differences,
    "blame": blamed,
}
UNWRAPPED = frozenset(["diff", "blame"])
