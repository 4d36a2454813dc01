"""One glyph for each reaction, although platforms write it by name, with a skin tone, or as a coloured variant.

The meaning of a glyph is decided elsewhere. Names that are not in the table are kept, because a workspace can have its
own emoji.
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
NAMES = {glyph: name for name, glyph in reversed(NAMED.items())} | {"🙅": "no_good"}
ON_GITHUB = {"👍": "+1", "👎": "-1", "🙅": "-1", "😄": "laugh", "😂": "laugh", "❓": "confused", "🤔": "confused"}
ON_GITHUB |= {
    "❤": "heart",
    "🎉": "hooray",
    "✅": "hooray",
    "🚀": "rocket",
    "🔧": "rocket",
    "👀": "eyes",
}  # it has eight


def plain_glyph(written: str) -> str:
    """The glyph for WRITTEN, which is a glyph or the name of one."""
    bare = written.strip(":").partition("::")[0]
    glyph = NAMED.get(bare, bare).translate(VARIANTS)
    for gender in GENDERS:
        glyph = glyph.removesuffix(gender)
    return glyph or written


def name_of(glyph: str, platform: str) -> str:
    """The name of GLYPH on a platform that wants names; on GitHub, empty if there is none; else GLYPH itself."""
    return ON_GITHUB.get(glyph, "") if platform == "github" else NAMES.get(glyph, glyph)
