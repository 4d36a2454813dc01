"""What the tests of lines share: agents, words as lines, and a file that agents have edited."""

from __future__ import annotations

from bb.coordination.lines import weave as weaves
from bb.coordination.lines.edits import edited
from bb.coordination.lines.file_state import FileState, Version
from bb.coordination.lines.weave import Weave

OTTER, HARBOR, IGUANA = "amber-otter", "cobalt-harbor", "vital-iguana"
A, B, C = "a" * 40, "b" * 40, "c" * 40  # blob ids
PLAIN_FILE, PROGRAM = "100644", "100755"


def lines(text: str) -> list[bytes]:
    """Each word of TEXT is a line."""
    return [f"{word}\n".encode() for word in text.split()]


def words(some: list[bytes]) -> str:
    return " ".join(line.decode().strip() for line in some)


def edits(base: str, *steps: tuple[str, str]) -> tuple[Weave, list[bytes]]:
    """The weave and the lines after STEPS: each the agent and what it made of the file."""
    weave, now = weaves.unchanged(len(lines(base))), lines(base)
    for agent, after in steps:
        weave = edited(weave, lines(base), now, lines(after), agent)
        now = lines(after)
    return weave, now


def state(weave: Weave = (), base: str = A, now: str = B, **more: object) -> FileState:
    """The state of src/dates.py, whose versions have the blobs BASE and NOW."""
    versions = {"base": Version(base, PLAIN_FILE if base else ""), "now": Version(now, PLAIN_FILE if now else "")}
    return FileState(**({"path": "src/dates.py", "weave": weave} | versions | more))
