"""Why a remote did not do what was asked: the words of git and of the host, translated into refusals.

git has one exit status for everything, so its words decide, and the words that it passes on from the host. They are in
English, because bb sets the locale. The address is taken out before, because its words mean nothing.

The rows of a table are tried in order. A push has more reasons than a fetch: the host judges what comes.
"""

from __future__ import annotations

from bb.kernel.errors import Busy, NotFound, Refused
from bb.ledger.files.disk_refusals import DiskFull
from bb.ledger.git import git
from bb.ledger.published.charter import NotALedger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bb.kernel.errors import BbError
    from bb.ledger.git import program

LONGEST_SAID = 300  # characters of the host's words in a message
BROKEN_OFF = "fatal: Could not read from remote repository."  # what git says when ssh ends, whatever the reason
KEPT = "what you recorded stays in this clone"

RemoteNotFound = NotFound.declare(
    "REMOTE_NOT_FOUND", "There is no such remote", hint="`git remote -v` shows all remotes; name one with --remote"
)

Offline = Busy.declare(
    "OFFLINE",
    "The remote cannot be reached",
    hint="everything you recorded stays in this clone; when the remote can be reached: `bb sync`",
)

RefsLocked = Busy.declare(
    "REFS_LOCKED",
    "Another git process is changing the refs of this repository",
    hint=f"nothing was fetched, and {KEPT}. Try again in a moment. If it stays so, a git process was killed: the words "
    "of git name the file that it left behind",
)
HostUnknown = Busy.declare(
    "HOST_UNKNOWN",
    "The name of the remote's host cannot be resolved: the name is wrong, or this machine has no network",
    hint=f"`git remote -v` shows the name; {KEPT}; when the name can be resolved: `bb sync`",
)

HostNotTrusted = Refused.declare(
    "HOST_NOT_TRUSTED",
    "The key or the certificate of the remote's host is not known here, or has changed",
    hint="compare it with what the host's operator publishes, accept it once by hand (`ssh HOST`), then `bb sync`; "
    f"{KEPT}",
)

NotAuthenticated = Refused.declare(
    "NOT_AUTHENTICATED",
    "The remote does not accept your login, or none was given",
    hint="renew the token or the ssh key; `git ls-remote REMOTE` must work without a question; then `bb sync`; " + KEPT,
)

AccessDenied = Refused.declare(
    "ACCESS_DENIED",
    "The remote knows your account, but does not let it read",
    hint=f"ask an owner of the repository for access; test it: `git ls-remote REMOTE`; {KEPT}",
)

TransportNotAllowed = Refused.declare(
    "TRANSPORT_NOT_ALLOWED",
    "The address of the remote uses a transport that git may not use here: a program, or a file descriptor",
    hint="`git remote -v` shows the address; to allow it: `GIT_ALLOW_PROTOCOL=ext:ssh:https:file bb sync`",
)

PushDenied = Refused.declare(
    "PUSH_DENIED",
    "The remote does not let you push to its ledger",
    hint="give your account permission to push to the branch bb-ledger; `bb sync --pull` works without it",
)

# Refusals of a push for a known reason.
RemoteIsBundle = Refused.declare(
    "REMOTE_IS_BUNDLE",
    "The remote is a bundle, a file that can only be read",
    hint="`bb sync --pull` reads it; to publish, add a remote that can be written: `git remote add NAME URL`, then "
    "`bb sync --publish --remote NAME`",
)

HubFull = Refused.declare(
    "HUB_FULL",
    "The remote has no space left for the push, or the repository has reached its quota",
    hint=f"ask the host's operator for space; {KEPT}; then `bb sync`",
)

PushTooLarge = Refused.declare(
    "PUSH_TOO_LARGE",
    "The push is larger than the remote accepts",
    hint="ask the host's operator to raise the limit (nginx: client_max_body_size; git: receive.maxInputSize); "
    f"{KEPT}; then `bb sync`",
)

AuthorRefused = Refused.declare(
    "AUTHOR_REFUSED",
    "The remote has a rule about the authors or committers of commits, which the ledger's commits do not meet",
    hint='set an address that the rule allows: `git config bb.author "NAME <ADDRESS>"` and '
    '`git config bb.committer "NAME <ADDRESS>"`, then `bb sync`; see docs/sync.md',
)

SignatureRequired = Refused.declare(
    "SIGNATURE_REQUIRED",
    "The remote takes only commits with signatures that it can verify",
    hint="sign commits with a key that your account on the host has: `git config commit.gpgsign true` and "
    '`git config bb.committer "NAME <ADDRESS OF THE ACCOUNT>"`, then `bb sync`; see docs/sync.md',
)

BranchProtected = Refused.declare(
    "BRANCH_PROTECTED",
    "A rule of the remote protects the branch bb-ledger",
    hint="exempt the branch bb-ledger from the rule, or let your account push to it; `bb sync --pull` works without it",
)

HookDeclined = Refused.declare(
    "HOOK_DECLINED",
    "A hook or a rule of the remote declined the push",
    hint="show its words to the host's operator: the branch bb-ledger must be exempt from that rule; "
    "`bb sync --pull` works without it",
)

ObjectsDamaged = Refused.declare(
    "OBJECTS_DAMAGED",
    "git cannot read one of its own objects, perhaps after a power failure",
    hint="git fetches emptied objects again: `find .git/objects -type f -empty -delete`, then `bb sync`",
)


# The words by which a reason is known, in lower case. Sources: git, curl and OpenSSH; GitHub, GitLab, Gitea, Forgejo,
# Bitbucket, Azure DevOps, Gerrit and JetBrains Space.
NO_REMOTE = ("no such remote", "no configured push destination")
NOT_FOUND = (
    "repository not found",
    "does not exist or you do not have permission",
    "fatal: repository '",
    "project you were",
)
IS_FULL = (
    *("no space left on device", "disk quota exceeded", "quota exceeded", "exceeded its size limit", "over quota"),
    *(
        "couldn't write '",
        "storage limit",
        "size limit for this repository",
        "repository size limit",
        "error: 507",
        "is over its",
    ),
)
IS_TOO_LARGE = ("error: 413", "http 413", "pack exceeds maximum allowed size", "gh001", "tf402462")
LOGIN = (
    *("authentication failed", "error: 401", "http 401", "could not read username", "could not read password"),
    *("permission denied (publickey", "permission denied (keyboard", "permission denied (password", "407 from proxy"),
    *("too many authentication failures", "invalid username or", "http basic: access denied", "sign_and_send_pubkey"),
)
IS_FORBIDDEN = ("error: 403", "http 403", "denied", "forbidden", "not allowed", "prohibited", "not authorized")
UNTRUSTED = (
    *("host key verification failed", "remote host identification has changed", "no matching host key"),
    *("ssl certificate problem", "certificate verification failed", "certificate verify failed", "self-signed"),
    *("server certificate", "certificate subject name", "certificate has expired"),
)
UNKNOWN_HOST = (
    *("could not resolve host", "could not resolve proxy", "name or service not known", "unknown host"),
    *("temporary failure in name resolution", "nodename nor servname", "unable to look up", "no such host is known"),
    "no address associated with hostname",
)
UNSIGNED = (
    *("must have verified signatures", "must be signed", "not signed", "unsigned commit", "signed with a gpg key"),
    *("signature verification failed", "not signed with", "requires signed commits", "unverified signature"),
)
AUTHORS = (
    *("is not a member of team", "you cannot push commits for", "committed with one of your own verified emails"),
    *("author's email", "committer's email", "author's name", "committer's name", "is inconsistent with your git"),
    *("committer is not authenticated", "email privacy", "gh007", "private email address", "forge committer"),
    *("forge author", "invalid committer", "invalid author", "expected committer", "expected author", "author email"),
    *("committer email", "author_email", "committer_email", "verified email", "vs403702", "vs403654", "email address"),
    *("not a known user", "unknown author", "unknown committer", "author must", "committer must"),
)
IS_PROTECTED = (
    *("protected branch", "gh006", "protected ref", "branch is protected", "is protected from", "branch permission"),
    *("branch restriction", "through a pull request", "through pull requests", "must use a pull request", "tf402455"),
    *("through merge request", "ref is protected", "permission to update branch", "not permitted: update"),
    "to update branch",
)
DECLINED = ("hook declined", "declined due to", "gh013", "gh009", "rule violation", "pre-receive hook", "push rejected")
WRITES_NOT = ("read-only", "read only", "repository was archived")
DAMAGED = ("error: object file", "fatal: loose object", "error: inflate", "bad object refs/")
UNSOUND = ("fsck", "bad object", "unpack", "index-pack")

Table = tuple[
    tuple["Callable[..., BbError]", tuple[str, ...], str], ...
]  # a refusal, its words, and its message; {0} is the remote

# What can happen to a fetch and to a push, before the host looks at the commits.
ON_THE_WAY: Table = (
    (ObjectsDamaged, DAMAGED, "git cannot sync with {0}"),
    (TransportNotAllowed, ("transport '",), "{0}"),
    (HostNotTrusted, UNTRUSTED, "the host of {0} is not trusted"),
    (HostUnknown, UNKNOWN_HOST, "the host of {0} is not found"),
    (NotAuthenticated, LOGIN, "{0} does not accept the login"),
    (RemoteNotFound, (*NO_REMOTE, *NOT_FOUND), "git finds no repository at {0}"),
)
OF_A_FETCH: Table = (
    (RefsLocked, ("cannot lock ref", "packed-refs.lock"), "git cannot keep what {0} sent, because a ref is locked"),
    *ON_THE_WAY,
    (DiskFull, ("no space left on device", "disk quota exceeded"), "git could not keep what {0} sent"),
    (AccessDenied, IS_FORBIDDEN, "{0} does not let you read"),
    (NotALedger, UNSOUND, "{0} sent invalid objects"),
)
OF_A_PUSH: Table = (
    (HubFull, IS_FULL, "{0} has no space left"),
    (PushTooLarge, IS_TOO_LARGE, "{0} does not accept so much at once"),
    *ON_THE_WAY,
    (AuthorRefused, AUTHORS, "{0} refused the author"),
    (SignatureRequired, UNSIGNED, "{0} wants signed commits"),
    (BranchProtected, IS_PROTECTED, "{0} protects the branch"),
    (HookDeclined, DECLINED, "{0} declined the push"),
    (PushDenied, (*IS_FORBIDDEN, *WRITES_NOT, "[remote rejected]"), "{0} refused"),
    (NotALedger, UNSOUND, "{0} sent invalid objects"),
)


def unreachable() -> tuple[type[BbError], ...]:
    """The refusals of a remote that cannot be reached now, and perhaps later."""
    return Offline.error, HostUnknown.error


def denied() -> tuple[type[BbError], ...]:
    """The refusals of a remote that does not let this user read or push."""
    of_pushes = AuthorRefused, SignatureRequired, BranchProtected, HookDeclined, PushDenied
    return tuple(refusal.error for refusal in (NotAuthenticated, AccessDenied, *of_pushes))


def refusal_of(name: str, done: program.Done, addresses: Sequence[str], *, is_push: bool) -> BbError:
    """Why git could not fetch from the remote NAME, or push to it. Words of its ADDRESSES do not count."""
    output = done.err + ("\n" if done.err else "") + done.out.decode("utf-8", "replace")
    about = {"remote": name, "said": last_words(output)}
    if git.TOO_LARGE in output:
        from bb.ledger.published.bounds import LedgerTooLarge  # noqa: PLC0415

        return LedgerTooLarge(f"an object of that branch on {name} is larger than a ledger can have", **about)
    if done.status is None:
        return Offline(f"{name} did not answer in time", **about)
    if f"'{name}' does not appear to be a git repository" in output:
        return RemoteNotFound(f"git finds no repository at {name}: {about['said']}", **about)
    plain = output
    for address in filter(None, addresses):
        plain = plain.replace(f"'{address}", "'").replace(f"To {address}", "To")
    for refusal, words, message in OF_A_PUSH if is_push else OF_A_FETCH:
        if says(plain, words):
            return refusal(f"{message.format(name)}: {about['said']}", **about)
    return Offline(f"{name} cannot be reached: {about['said']}", **about)


def says(output: str, any_of: Sequence[str]) -> bool:
    """Whether OUTPUT contains one of these words."""
    output = output.lower()
    return any(words in output for words in any_of)


def last_words(output: str) -> str:
    """What the host said in its own words, else the first error of git. Progress and empty lines are left out."""
    rows = [row.strip() for row in output.splitlines() if row.strip()]
    said = [row for row in rows if row.startswith(("fatal:", "error:", "remote:", "!", "ssh:", "ERROR:"))]
    of_host = list(_of_host(said))
    if of_host and any("rejected]" in row for row in rows):
        return " ".join(of_host)[:LONGEST_SAID]
    best = [row for row in said if not row.startswith("remote:")] if not of_host else said
    found = (best or rows or ["git gave no reason"])[0]
    return (_of_ssh(rows) if found == BROKEN_OFF else found)[:LONGEST_SAID]


def _of_ssh(rows: Sequence[str]) -> str:
    """What ssh or the program at its other end said last, before git said that there is nothing to read."""
    before = rows[: rows.index(BROKEN_OFF)]
    return next((row for row in reversed(before) if not row.startswith(("(", "Warning:"))), BROKEN_OFF)


def _of_host(rows: Sequence[str]) -> Iterator[str]:
    for row in rows:
        mark, _, words = row.partition("remote:")
        words = words.strip().removeprefix("error: ").strip()
        if not mark and words.strip("-=* ") and not ("% (" in words or words.startswith(("Total ", "Enumerating"))):
            yield words
