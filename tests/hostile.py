"""Text that would harm whoever shows it as it is, and ledgers that are full of it: one corpus for every face.

A terminal obeys control characters, a browser obeys markup, and both let bidirectional overrides make one text read as
another. RAW are the characters that no face may ever let through.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from tests.faces.faces_support import Forger
from tests.near import Near
from tests.scene import set_scene
from tests.support import Scratch

SEVEN_BIT = "\x1b]8;;http://evil.invalid\x07link\x1b]8;;\x07\x1b[2J\x1b[31m"
C1 = "\x9b2J\x9d0;title\x9c"
BIDI = "abc\u202edef\u2066ghi\u2069\u200f\u061c"
LINES = "one\ntwo\r\nError: [FORGED] not ours\u2028three\u2029four\x85five\x0bsix\x0cseven"
ODD = "nul\x00del\x7ftab\tbel\x07back\x08soft\u00adzero\u200b\ufeffhigh\ue000tag\U000e0041"
HOSTILE = {"escapes": SEVEN_BIT, "c1": C1, "bidi": BIDI, "lines": LINES, "odd": ODD}
RAW = set(
    "\x00\x07\x08\t\x0b\x0c\r\x1b\x7f\x85\x9b\x9c\x9d\u00ad\u061c\u200b\u200f\u2028\u2029\u202e\u2066\u2069\ufeff"
)
RAW.add("\U000e0041")

# Each would call `haunted()` in a browser that took it for markup.
MARKUP = {
    "script": "<script>haunted()</script>",
    "image": "<img src=x onerror=haunted()>",
    "attribute": '"\' autofocus onfocus=haunted() x="',
    "closing": "</textarea></title></script></style><svg onload=haunted()>",
    "template": "{{ 7*7 }}{% raw %}{# #}${haunted()}",
    "address": "javascript:haunted()",
    "entity": "&lt;script&gt;&#x3c;script&#x3e;haunted()",
}
EVERYTHING = HOSTILE | MARKUP

# Members in which control characters may stand: a line that has them anywhere else could not have been written, and
# is shown as unreadable.
FREE = frozenset(
    ("body", "text", "summary", "next_action", "blocker", "requested_action", "reason", "evidence", "description")
)
# What people and agents write in their own words, wherever it stands in an event.
PROSE = frozenset(
    (
        *(
            "subject",
            "body",
            "text",
            "summary",
            "next_action",
            "blocker",
            "requested_action",
            "role",
            "title",
            "thread",
        ),
        *(
            "bead",
            "bead_id",
            "note",
            "reason",
            "evidence",
            "hint",
            "resolution_hint",
            "label",
            "description",
            "message",
        ),
    )
)


def haunt(repo: Scratch) -> int:
    """Say everything that stands in the ledger of REPO again, with all that is prose in it made hostile; how often."""
    events = repo.json("ledger", "log", "--limit", "1000").data
    forger = Forger(repo)
    texts = list(EVERYTHING.values())
    for number, event in enumerate(events):
        text = texts[number % len(texts)]
        for where in (PROSE, allowed(text)):
            said = _hostile(event["data"], text, where)
            forger.add(event["kind"], event["by"], said, ts=event["ts"], group_id=event["group_id"])
    for number, text in enumerate(texts):
        forger.add("actor.add", "user", {"actor_id": f"evil-{number}", "role": text, "title": text})
        forger.add(text, text, {text: text, "list": [text, {text: [text]}]}, ts=text, group_id=text, scope_key=text)
    return len(events)


def allowed(text: str) -> frozenset[str]:
    """The members of which TEXT may be a part on a line that bb could have written."""
    if text in MARKUP.values():
        return PROSE
    return FREE | {"subject"} if text == BIDI else FREE


def haunted_scene(folder: Path) -> Near:
    """A day's work in which every text is hostile."""
    made = set_scene(folder / "quiet" / "scene").repo.path
    repo = Near(Path(shutil.copytree(made, folder / "haunted" / "scene")))
    assert haunt(repo) > 20
    return repo


def _hostile(value: Any, text: str, where: frozenset[str], name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _hostile(each, text, where, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_hostile(each, text, where, name) for each in value]
    return f"{value} {text}" if isinstance(value, str) and name in where else value


def has_raw(said: str) -> set[str]:
    """What stands in SAID that must not; a line's end may."""
    return RAW & set(said)
