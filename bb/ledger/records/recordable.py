"""Refuses facts that contain a secret, or that do not fit into a line."""

from __future__ import annotations

from bb.kernel import json_text, secret_patterns
from bb.ledger.journal import kinds
from bb.ledger.journal import line as lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.ledger.journal.kinds import Fact

LONGEST_HEAD = 4096  # bytes of a line without its data


def refuse_secrets_in(data: Any, allow_secret: str | None = None) -> bool:
    """Refuse DATA if one of its texts contains a secret, unless ALLOW_SECRET gives a reason; whether it contains one.

    A quick search of the whole data comes first. The patterns are then applied to each text by itself, because two
    adjacent texts do not make a secret.
    """
    if not secret_patterns.may_hold(json_text.dumps(data)):
        return False
    secret = next(filter(secret_patterns.found, _texts(data)), None)
    if secret is None:
        return False
    secret_patterns.refuse_secrets(secret, allow_secret)
    secret_patterns.refuse_secrets(allow_secret or "")
    return True


def must_be_recordable(fact: Fact) -> None:
    """Refuse a fact that recording would refuse, so that a caller can leave it out before it records many."""
    secret_patterns.refuse_secrets(str(getattr(fact, "by", "")))
    try:
        data = kinds.kind_and_data(fact)[1]
        text = json_text.dumps(data)
        if secret_patterns.may_hold(text):
            refuse_secrets_in(data)
        octets = len(text.encode())
    except UnicodeEncodeError as error:
        raise json_text.InvalidText() from error
    if octets + LONGEST_HEAD > lines.MAX_LINE:
        raise lines.LineTooLong(
            f"the event takes {octets:,} bytes; at most {lines.MAX_LINE:,} are allowed", bytes=octets
        )


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value, including the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for name, member in value.items() for text in (name, *_texts(member)))
    elif isinstance(value, list | tuple):
        yield from (text for item in value for text in _texts(item))
