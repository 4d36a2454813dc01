"""Sentences that bb has put together, and that end in somebody's own words: where those begin.

An op tells what happened in one sentence, for programs and people alike. A screen shows its end in quotation marks, so
it has to know where the end begins: behind the first colon, and nothing of ours follows.
"""

from __future__ import annotations

from bb.kernel.outside import Outside, sentence

ROLE = "started as "  # what follows is a role: a name, for people


def problem(each: Outside) -> tuple[str, Outside]:
    """What is the matter, in our words, and then in somebody's own, if there are any: then a message is at hand."""
    told, has_words, said = each["text"].parted(": ")
    if "message_id" in each and has_words:
        return f"{sentence(told)}: ", said
    return sentence(each["text"]), Outside("")


def happening(each: Outside) -> tuple[str, Outside]:
    """What has happened, in our words, and then in somebody's own. That it is unverified is ours to say."""
    told = each["text"]
    if each.get("signature"):
        doubt, has_doubt, rest = told.parted(": ")
        ours, said = _happening(rest if has_doubt else told)
        return f"{sentence(doubt)}: {ours}" if has_doubt else ours, said
    return _happening(told)


def _happening(told: Outside) -> tuple[str, Outside]:
    beginning, is_role, role = told.parted(ROLE)
    if is_role and beginning == "":
        return f"{ROLE}{role}", Outside("")
    before, has_words, said = told.parted(": ")
    return (f"{sentence(before)}: ", said) if has_words else (sentence(told), Outside(""))
