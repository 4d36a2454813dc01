"""One glyph for each reaction, however a platform writes it: by name, in a skin tone, as a coloured variant.

What it means is not decided here. Names that are not in the table are kept, since a workspace makes up its own.
"""

from __future__ import annotations

VARIANTS = dict.fromkeys(map(ord, "\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"))
GENDERS = ("\u200d♀", "\u200d♂")

NAMED = {
    "+1": "👍",
    "-1": "👎",
    "100": "💯",
    "ballot_box_with_check": "☑",
    "bug": "🐛",
    "bulb": "💡",
    "clap": "👏",
    "clock1": "🕐",
    "construction": "🚧",
    "exclamation": "❗",
    "eyes": "👀",
    "fire": "🔥",
    "hand": "✋",
    "heart": "❤",
    "heavy_check_mark": "✔",
    "hourglass": "⌛",
    "hourglass_flowing_sand": "⏳",
    "joy": "😂",
    "man-gesturing-no": "🙅",
    "memo": "📝",
    "ng_woman": "🙅",
    "no_entry": "⛔",
    "no_good": "🙅",
    "octagonal_sign": "🛑",
    "ok_hand": "👌",
    "pray": "🙏",
    "question": "❓",
    "raised_hand": "✋",
    "raised_hands": "🙌",
    "rocket": "🚀",
    "smile": "😄",
    "tada": "🎉",
    "thinking_face": "🤔",
    "thumbsdown": "👎",
    "thumbsup": "👍",
    "warning": "⚠",
    "wave": "👋",
    "white_check_mark": "✅",
    "woman-gesturing-no": "🙅",
    "wrench": "🔧",
    "x": "❌",
}


def plain(written: str) -> str:
    """The glyph that WRITTEN is, or names."""
    bare = written.strip(":").partition("::")[0]
    glyph = NAMED.get(bare, bare).translate(VARIANTS)
    for gender in GENDERS:
        glyph = glyph.removesuffix(gender)
    return glyph or written
