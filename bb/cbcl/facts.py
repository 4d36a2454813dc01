"""What is recorded of CBCL: that an agent has heard a message, and that a dialect came or went.

What happens to an agent by a message (`effects`) stands on the line of the message, or on that of its being heard.
"""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


INSTALLED, REMOVED = "installed", "removed"


class Installed(Record):
    """A dialect is spoken here from now on, in the place of the one whose hash it REPLACES. SIGNATURE says whether one
    was checked, SOURCE where it came from; SIGNED is the signature itself."""

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
    """A dialect is spoken here no more."""

    by: str
    dialect: str
    hash: str


class Heard(Record):
    """An agent has taken a message, or refused it. ABOUT says what came of it, EFFECTS among it."""

    by: str
    event_id: str
    outcome: str
    about: dict[str, Any]
