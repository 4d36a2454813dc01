"""The recipient of a direct message. Only the bridge knows it on platforms whose events do not name it."""

from __future__ import annotations

from collections.abc import Mapping

from bb.attention.surfaces.line import Line
from bb.attention.surfaces.payload import header


def with_recipient(headers: Mapping[str, str], line: Line) -> Line:
    """LINE, with the user in the header `bb-recipient` as its recipient if it is a direct message to that user."""
    reader = header(headers, "bb-recipient")
    is_direct = line.get("conversation", {}).get("kind") == "dm" and "target" in line
    if not reader or not is_direct or line["author"]["id"] == reader or line["target"].get("recipient"):
        return line
    return line | {"target": line["target"] | {"recipient": reader}}
