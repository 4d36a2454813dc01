"""The words of git and of hosts, as they were printed, and the codes that they are known by."""

from __future__ import annotations

import pytest

from bb.ledger.git.program import Done
from bb.ledger.travel.remote_refusals import refusal_of

REJECTED = "To https://host/x.git\n!\tabc:refs/heads/bb-ledger\t[remote rejected] ({})\nDone\n"
HOOK = "pre-receive hook declined"

# From a host: the code, its words, and the reason that git repeats behind `[remote rejected]`.
OF_HOSTS = [
    (
        "BRANCH_PROTECTED",
        (
            "error: GH006: Protected branch update failed for refs/heads/bb-ledger.\n\n- Changes must be made through "
            "a pull request."
        ),
        "protected branch hook declined",
    ),
    (
        "BRANCH_PROTECTED",
        "error: GH013: Repository rule violations found for refs/heads/x.\n\n- Cannot update this protected ref.",
        "push declined due to repository rule violations",
    ),
    (
        "SIGNATURE_REQUIRED",
        (
            "error: GH013: Repository rule violations found for refs/heads/bb-ledger.\n- Commits must have verified "
            "signatures."
        ),
        "push declined due to repository rule violations",
    ),
    (
        "HOOK_DECLINED",
        "error: GH013: Repository rule violations found for refs/heads/bb-ledger.\n- Branch name must match a pattern",
        "push declined due to repository rule violations",
    ),
    (
        "AUTHOR_REFUSED",
        "error: GH007: Your push would publish a private email address.",
        "push declined due to email privacy restrictions",
    ),
    ("BRANCH_PROTECTED", "GitLab: You are not allowed to push code to protected branches on this project.", HOOK),
    ("AUTHOR_REFUSED", "GitLab: Author 'ada@example.org' is not a member of team", HOOK),
    (
        "AUTHOR_REFUSED",
        (
            "GitLab: You cannot push commits for 'ada@example.org'. You can only push commits that were committed with "
            "one of your own verified emails."
        ),
        HOOK,
    ),
    ("AUTHOR_REFUSED", "GitLab: Committer's email 'x@y' does not follow the pattern '@example.org$'", HOOK),
    ("SIGNATURE_REQUIRED", "GitLab: Commit must be signed with a GPG key", HOOK),
    (
        "HUB_FULL",
        "GitLab: Your push has been rejected, because this repository has exceeded its size limit of 10 MB by 2 MB.",
        HOOK,
    ),
    ("BRANCH_PROTECTED", "Gitea: Not allowed to push to protected branch bb-ledger", HOOK),
    ("BRANCH_PROTECTED", "error: branch bb-ledger is protected from force push", HOOK),
    ("BRANCH_PROTECTED", "Branch refs/heads/bb-ledger can only be modified through pull requests.", HOOK),
    ("BRANCH_PROTECTED", "Permission denied to update branch bb-ledger.", HOOK),
    ("AUTHOR_REFUSED", "abc: expected committer email 'a@x' but found 'bb@localhost'", HOOK),
    ("AUTHOR_REFUSED", "Committer is not authenticated: bb <bb@localhost> pushes on behalf of Ada.", HOOK),
    (
        "BRANCH_PROTECTED",
        "error: TF402455: Pushes to this branch are not permitted; you must use a pull request to update this branch.",
        "TF402455: Pushes to this branch are not permitted; you must use a pull request to update this branch.",
    ),
    ("AUTHOR_REFUSED", "ERROR: email address bb@localhost is not registered in your account", "invalid committer"),
    ("BRANCH_PROTECTED", "", "prohibited by Gerrit: not permitted: update"),
    ("HUB_FULL", "fatal: write error: No space left on device", "unpacker error"),
    ("HUB_FULL", "error: unable to write file ./objects/ab/cd: Disk quota exceeded", "failed to update ref"),
    ("PUSH_TOO_LARGE", "fatal: pack exceeds maximum allowed size", "unpacker error"),
    ("HOOK_DECLINED", "No ticket in the message.", HOOK),
    ("HOOK_DECLINED", "", "hook declined"),
    ("PUSH_DENIED", "", "deny updating a hidden ref"),
]


@pytest.mark.parametrize(("code", "said", "reason"), OF_HOSTS)
def test_a_host_that_refuses_a_push_is_told_by_its_words(code: str, said: str, reason: str):
    rows = [f"remote: {row}".rstrip() for row in said.splitlines()]
    err = "\n".join(["remote: Resolving deltas: 100% (5/5), done.", *rows, "error: failed to push some refs to 'x'"])

    refusal = refusal_of("origin", Done(1, REJECTED.format(reason).encode(), err), ["x"], is_push=True)

    assert refusal.code == code
    assert "Resolving" not in refusal.message
    if said:
        assert said.splitlines()[0].removeprefix("error: ") in refusal.message, "the host's own words are shown"


# Of git, curl and OpenSSH: the code of a fetch, the code of a push, and the words.
ON_THE_WAY = [
    ("HOST_UNKNOWN", "", "fatal: unable to access 'https://h.invalid/x/': Could not resolve host: h.invalid"),
    ("HOST_UNKNOWN", "", "ssh: Could not resolve hostname h.invalid: Name or service not known\nfatal: Could not read"),
    ("HOST_UNKNOWN", "", "ssh: Could not resolve hostname h: Temporary failure in name resolution"),
    ("HOST_UNKNOWN", "", "fatal: unable to look up h.invalid (port 9418) (Name or service not known)"),
    ("HOST_NOT_TRUSTED", "", "Host key verification failed.\nfatal: Could not read from remote repository."),
    (
        "HOST_NOT_TRUSTED",
        "",
        "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key verification failed.",
    ),
    ("HOST_NOT_TRUSTED", "", "fatal: unable to access 'https://h/': SSL certificate problem: self-signed certificate"),
    (
        "HOST_NOT_TRUSTED",
        "",
        "fatal: unable to access 'https://h/': server certificate verification failed. CAfile: none",
    ),
    ("NOT_AUTHENTICATED", "", "fatal: could not read Username for 'https://h': terminal prompts disabled"),
    ("NOT_AUTHENTICATED", "", "fatal: Authentication failed for 'https://h/x.git/'"),
    ("NOT_AUTHENTICATED", "", "git@h: Permission denied (publickey).\nfatal: Could not read from remote repository."),
    ("NOT_AUTHENTICATED", "", "remote: HTTP Basic: Access denied.\nfatal: Authentication failed for 'https://h/x'"),
    ("NOT_AUTHENTICATED", "", "fatal: unable to access 'https://h/': Received HTTP code 407 from proxy after CONNECT"),
    ("ACCESS_DENIED", "PUSH_DENIED", "fatal: unable to access 'https://h/x/': The requested URL returned error: 403"),
    (
        "ACCESS_DENIED",
        "PUSH_DENIED",
        "remote: Permission to a/x.git denied to ada.\nfatal: unable to access 'https://h/x'",
    ),
    ("REMOTE_NOT_FOUND", "", "remote: Repository not found.\nfatal: repository 'https://h/x.git/' not found"),
    ("REMOTE_NOT_FOUND", "", "ERROR: Repository not found.\nfatal: Could not read from remote repository."),
    (
        "REMOTE_NOT_FOUND",
        "",
        "remote: The project you were looking for could not be found or you don't have permission",
    ),
    ("REFS_LOCKED", "OFFLINE", "error: cannot lock ref 'refs/bb/incoming/origin': is at 1f but expected 2e"),
    ("OFFLINE", "", "fatal: unable to access 'http://127.0.0.1:1/': Failed to connect to 127.0.0.1 port 1"),
    ("OFFLINE", "", "ssh: connect to host 127.0.0.1 port 22: Connection refused\nfatal: Could not read from remote"),
    ("OFFLINE", "", "fatal: unable to access 'https://h/': The requested URL returned error: 503"),
    ("OFFLINE", "", "fatal: unable to access 'https://h/': The requested URL returned error: 429"),
    ("OBJECTS_DAMAGED", "", "error: object file /x/.git/objects/75/67de is empty\nfatal: bad object refs/bb/ledger"),
    (
        "OBJECTS_DAMAGED",
        "",
        "fatal: loose object 7567de (stored in .git/objects/75/67de) is corrupt\nerror: /x did not send all objects",
    ),
    (
        "DISK_FULL",
        "HUB_FULL",
        "fatal: write error: No space left on device\nfatal: fetch-pack: invalid index-pack output",
    ),
    ("OFFLINE", "HUB_FULL", "error: RPC failed; HTTP 507 curl 22 The requested URL returned error: 507"),
    ("OFFLINE", "PUSH_TOO_LARGE", "error: RPC failed; HTTP 413 curl 22 The requested URL returned error: 413"),
]


@pytest.mark.parametrize(("fetched", "pushed", "err"), ON_THE_WAY)
def test_what_happens_on_the_way_is_told_by_the_words_of_git(fetched: str, pushed: str, err: str):
    assert refusal_of("origin", Done(128, b"", err), [], is_push=False).code == fetched
    assert refusal_of("origin", Done(128, b"", err), [], is_push=True).code == (pushed or fetched)


def test_words_in_an_address_mean_nothing():
    address = "https://denied.example/401/no space left on device/fsck.git"
    err = f"fatal: unable to access '{address}/': Failed to connect to denied.example port 443"

    for is_push in (False, True):
        assert (
            refusal_of(
                "origin", Done(128, b"", err.replace("denied.example port", "port")), [address], is_push=is_push
            ).code
            == "OFFLINE"
        )


def test_a_remote_that_gives_no_answer_in_time_is_offline():
    assert refusal_of("origin", Done(None, b"", ""), [], is_push=True).code == "OFFLINE"
