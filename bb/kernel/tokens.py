"""Secrets that must not enter a ledger that is copied to every clone and never forgets.

A bounded table of token shapes that say of themselves what they are. Each is found by a fixed mark first, so that
a text without any mark costs a few substring searches and no pattern is ever compiled.
"""

from __future__ import annotations

from bb.kernel.errors import Refused

# kind, the mark to look for, what must follow the mark
TOKENS = (
    ("private key", "-----BEGIN ", r"[A-Z ]{0,40}PRIVATE KEY"),
    ("AWS access key", "AKIA", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    ("AWS temporary key", "ASIA", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    ("GitHub token", "ghp_", r"[0-9A-Za-z]{36}"),
    ("GitHub token", "gho_", r"[0-9A-Za-z]{36}"),
    ("GitHub token", "ghs_", r"[0-9A-Za-z]{36}"),
    ("GitHub token", "ghu_", r"[0-9A-Za-z]{36}"),
    ("GitHub token", "ghr_", r"[0-9A-Za-z]{36}"),
    ("GitHub token", "github_pat_", r"[0-9A-Za-z_]{50}"),
    ("GitLab token", "glpat-", r"[0-9A-Za-z_-]{20}"),
    ("Slack token", "xox", r"[abeoprs]-[0-9A-Za-z-]{10}"),
    ("Slack webhook", "hooks.slack.com/services/", r"T[0-9A-Z]{1,20}/B[0-9A-Z]{1,20}/\w+"),
    ("Anthropic key", "sk-ant-", r"[0-9A-Za-z_-]{20}"),
    ("OpenAI key", "sk-proj-", r"[0-9A-Za-z_-]{20}"),
    ("OpenAI key", "sk-", r"[0-9A-Za-z]{40}"),
    ("Stripe key", "sk_live_", r"[0-9A-Za-z]{20}"),
    ("Stripe key", "rk_live_", r"[0-9A-Za-z]{20}"),
    ("Google key", "AIza", r"[0-9A-Za-z_-]{35}"),
    ("npm token", "npm_", r"[0-9A-Za-z]{36}"),
    ("PyPI token", "pypi-AgEI", r"[0-9A-Za-z_-]{20}"),
    ("JSON web token", "eyJ", r"[0-9A-Za-z_-]{10,4000}\.eyJ[0-9A-Za-z_-]{10,4000}\.[0-9A-Za-z_-]{10}"),
    ("password in a URL", "://", r"[^\s/:@]{0,64}:[^\s/:@]{3,128}@"),
)
# A mark that starts with a letter starts a word: `task-` is no `sk-`. This also keeps a search from starting over and
# over within one long word. In escaped text a word may also start behind an escape, as in `\\nghp_…`.
ESCAPE = r"(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4})"
WORD_START = rf"(?:(?<![0-9A-Za-z])|{ESCAPE})"
WHOLE_WORD_START = rf"(?:(?<![0-9A-Za-z_-])|{ESCAPE})"
# What belongs to a secret that was found: the rest of its word, or all the lines of a key.
REST_OF_WORD = r"[0-9A-Za-z_/+=.-]*"
BREAK = r"(?:\s|\\[nr])+"
KEY_LINES = rf"-----(?:{BREAK}[0-9A-Za-z+/=]{{12,}})*"
KEY_END = rf"(?:{BREAK}[0-9A-Za-z+/=]{{1,11}})?{BREAK}-----END [A-Z ]{{0,40}}PRIVATE KEY-----"
REST_OF_KEY = rf"(?:{KEY_LINES}{KEY_END}|{KEY_LINES}|{REST_OF_WORD})"


class SecretFound(Refused):
    """The text holds what looks like a secret, and a ledger cannot forget."""

    code = "SECRET_FOUND"
    hint = "leave it out; if it is no secret, say why with --allow-secret REASON"


def found(text: str) -> list[str]:
    """The kinds of secret that TEXT seems to hold."""
    suspects = [row for row in TOKENS if row[1] in text]
    if not suspects:
        return []
    import re  # noqa: PLC0415  (a text with no mark must not pay for it)

    return sorted({kind for kind, mark, rest in suspects if re.search(_pattern(re.escape(mark), mark, rest), text)})


def masked(text: str) -> str:
    """TEXT with every such secret replaced by its kind: for reports that people paste elsewhere."""
    suspects = [row for row in TOKENS if row[1] in text]
    if suspects:
        import re  # noqa: PLC0415

        for kind, mark, rest in suspects:
            whole = REST_OF_KEY if kind == "private key" else REST_OF_WORD
            text = re.sub(_pattern(re.escape(mark), mark, rest) + whole, f"[{kind}]", text)
    return text


def _pattern(escaped: str, mark: str, rest: str) -> str:
    if mark == "eyJ":  # its own marks may follow one another within a word, so only a whole word starts one
        return WHOLE_WORD_START + escaped + rest
    return (WORD_START if mark[0].isalpha() else "") + escaped + rest


def refuse_secrets(text: str, allowed_because: str | None = None) -> None:
    """Refuse TEXT when it holds a secret that nobody has vouched for."""
    if not allowed_because and (kinds := found(text)):
        raise SecretFound(f"the text holds what looks like a secret: {', '.join(kinds)}", kinds=kinds)
