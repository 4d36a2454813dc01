"""Who is the author and the committer of the ledger's commits, and whether git signs them.

The author is the user, as git resolves it, because hosts show and judge authors; the committer is bb. Both can be set:

    bb.author      NAME <ADDRESS>, or bb          otherwise the user's identity; bb if git knows none
    bb.committer   NAME <ADDRESS>, bb or author   otherwise bb; `author` stands for the author
    bb.sign        true or false                  otherwise as commit.gpgSign says

git signs with the program and the key that it uses for `git commit -S`. A signature by git replaces that of bb's own
key on the commit; the lines have their own signatures.
"""

from __future__ import annotations

import os

from bb.kernel.errors import Refused
from bb.kernel.escaping import quotation
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.ledger.git.configuration import Configuration

BB = "bb <bb@localhost>"
OWN, AUTHOR = "bb", "author"  # values that stand for bb itself, and for the author
TRUE = ("", "true", "yes", "on", "1")
CRUD = " .,:;<>\"\\'\t\n\r"  # git removes these from both ends of a name

InvalidIdentity = Refused.declare(
    "IDENTITY_INVALID",
    "The author or the committer of the ledger's commits is not given as NAME <ADDRESS>",
    hint='`git config bb.author "NAME <ADDRESS>"`, or remove the setting: `git config --unset bb.author`',
)


class Authorship(Record):
    """The author and the committer, each as NAME <ADDRESS>, and whether git signs."""

    author: str
    committer: str
    is_signed: bool


def authorship(configuration: Configuration) -> Authorship:
    """What git is configured for, in a repository."""
    return resolved({name: values[-1] for name, values in configuration.settings.items()}, os.environ)


def resolved(settings: Mapping[str, str], env: Mapping[str, str]) -> Authorship:
    """The authorship that follows from git's SETTINGS and its variables, of which the last of each name counts."""
    author = _stated("bb.author", settings, {OWN: BB}) or _user(settings, env) or BB
    committer = _stated("bb.committer", settings, {OWN: BB, AUTHOR: author}) or BB
    sign = settings.get("bb.sign", settings.get("commit.gpgsign", "false"))
    return Authorship(author, committer, sign.lower() in TRUE)


def _stated(setting: str, settings: Mapping[str, str], short: Mapping[str, str]) -> str:
    """The identity that a setting has; empty if it is not set."""
    written = settings.get(setting, "").strip()
    if not written or written in short:
        return short.get(written, "")
    name, mark, address = written.partition("<")
    found = _identity(name, address.removesuffix(">"))
    if not (mark and address.endswith(">") and found):
        raise InvalidIdentity(f"{setting} is {quotation(written, 100)}, which is not NAME <ADDRESS>", setting=setting)
    return found


def _user(settings: Mapping[str, str], env: Mapping[str, str]) -> str:
    name = env.get("GIT_AUTHOR_NAME") or settings.get("author.name") or settings.get("user.name", "")
    of_settings = settings.get("author.email") or settings.get("user.email")
    return _identity(name, env.get("GIT_AUTHOR_EMAIL") or of_settings or env.get("EMAIL", ""))


def _identity(name: str, address: str) -> str:
    """The identity as git writes it, without characters that would end it; empty if a part is missing."""
    clean_name, clean_address = (
        "".join(character for character in text if character.isprintable() and character not in "<>").strip(CRUD)
        for text in (name, address)
    )
    return f"{clean_name} <{clean_address}>" if clean_name and clean_address else ""
