"""Split a sentence of bb from the user text at its end.

An op describes an event in one sentence, and the sentence may end with text that an agent wrote. Screens show that text
in quotation marks. It begins after the first colon and runs to the end of the sentence.
"""

from __future__ import annotations

from bb.kernel.foreign import Foreign, sentence

ROLE = "started as "  # a role follows; a screen shows it as a name, not as a quotation


def problem(each: Foreign) -> tuple[str, Foreign]:
    """A problem: our words, then the text of the message that it is about, if any."""
    ours, colon, theirs = each["text"].parted(": ")
    if "message_id" in each and colon:
        return f"{sentence(ours)}: ", theirs
    return sentence(each["text"]), Foreign("")


def happening(each: Foreign) -> tuple[str, Foreign]:
    """An entry of the timeline: our words, including a leading "unverified", then the user text."""
    text = each["text"]
    if each.get("signature"):
        doubt, has_doubt, rest = text.parted(": ")
        ours, theirs = _happening(rest if has_doubt else text)
        return f"{sentence(doubt)}: {ours}" if has_doubt else ours, theirs
    return _happening(text)


def _happening(text: Foreign) -> tuple[str, Foreign]:
    before, is_role, role = text.parted(ROLE)
    if is_role and before == "":
        return f"{ROLE}{role}", Foreign("")
    ours, colon, theirs = text.parted(": ")
    return (f"{sentence(ours)}: ", theirs) if colon else (sentence(text), Foreign(""))
