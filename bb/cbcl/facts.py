"""The facts of CBCL: an agent has heard a message; a dialect was installed or removed.

The effects of a message on an agent (`effects`) are recorded on the line of the message or of its `Heard` fact.
"""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


INSTALLED, REMOVED = "installed", "removed"


class Installed(Record):
    """A dialect was installed and REPLACES those with these hashes. SIGNATURE is the signature status, SOURCE the file
    or agent that it came from; SIGNED is the signature itself."""

    by: str
    dialect: str
    text: str
    hash: str
    author: str
    signature: str
    source: str
    signed: str = ""
    replaces: str = ""


class Removed(Record):
    """A dialect was removed."""

    by: str
    dialect: str
    hash: str


class Heard(Record):
    """An agent has accepted or refused a message. ABOUT holds the details of the OUTCOME, including its effects."""

    by: str
    event_id: str
    outcome: str
    about: dict[str, Any]
