"""Parts of a message that are words: a text, or a voice note with its transcript."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

TEXT, AUDIO = "text", "audio"


def has_more_than_words(parts: Sequence[Mapping[str, Any]]) -> bool:
    """Whether PARTS hold more than words, such as a file or a link. PARTS is empty if there is one text."""
    kinds = {AUDIO if is_audio(part) else part.get("type") for part in parts}
    return bool(kinds) and kinds != {TEXT, AUDIO}


def is_audio(part: Mapping[str, Any]) -> bool:
    """Whether a part is a recording: a part of that type, or a file with such a media type."""
    return part.get("type") == AUDIO or str(part.get("mimeType", "")).startswith("audio/")
