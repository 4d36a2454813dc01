"""The names of a repository's log on a NATS server: its streams, their subjects, and what a machine may do there.

    stream bb_REPO_INCARNATION     the log; subject bb.REPO.INCARNATION.MACHINE.WRITER, one message a row
    stream bbk_REPO_INCARNATION    what readers begin with: the last numbers of the writers at a place (the keeper's)
    stream bbm_REPO_INCARNATION    the last beat of each machine, and which connection archives
    subject bbw.REPO.INCARNATION.> the number of each row once it is stored; it wakes readers

The machine is a token of the subject, so that the server can bind a user to a machine. It does not know the writers of
a machine beforehand: readers bind a writer to the first machine that it comes from (`nats_rows.py`).
"""

from __future__ import annotations

from bb.kernel.record import Record

ANY = "any"  # the machine of a user without restrictions
FIRST = "Bb-First"  # the header with the number of the first line
EXPECTED = "Nats-Expected-Last-Subject-Sequence"
API = "$JS.API"
WHO_AM_I = "$SYS.REQ.USER.INFO"
LONGEST_TOKEN = 64


class Names(Record):
    """The names of one log."""

    repo: str
    incarnation: str

    @property
    def log(self) -> str:
        return f"bb_{self.repo}_{self.incarnation}"

    @property
    def book(self) -> str:
        return f"bbk_{self.repo}_{self.incarnation}"

    @property
    def machines(self) -> str:
        return f"bbm_{self.repo}_{self.incarnation}"

    @property
    def rows(self) -> str:
        """The subjects of all rows."""
        return f"bb.{self.repo}.{self.incarnation}.>"

    @property
    def closed(self) -> str:
        """The subject of a closed log. No machine may publish there, and nobody does."""
        return f"bbend.{self.repo}.{self.incarnation}"

    @property
    def wake(self) -> str:
        return f"bbw.{self.repo}.{self.incarnation}.>"

    @property
    def pages(self) -> str:
        return f"bbk.{self.repo}.{self.incarnation}"

    @property
    def leader(self) -> str:
        return f"bbm.{self.repo}.{self.incarnation}.lead"

    def beat(self, machine: str, writer: str) -> str:
        return f"bbm.{self.repo}.{self.incarnation}.beat.{machine}.{writer}"

    def row(self, machine: str, writer: str) -> str:
        return f"bb.{self.repo}.{self.incarnation}.{machine}.{writer}"


def is_token(text: str) -> bool:
    """Whether TEXT can be one word of a subject, and of a stream's name."""
    return 0 < len(text) <= LONGEST_TOKEN and text.isascii() and text.replace("-", "").replace("_", "").isalnum()


def machine_of(permitted: object) -> str | None:
    """The machine whose rows a user may append, as ENROLLED gives it; None if the user may append others' too."""
    allowed = permitted.get("allow") if isinstance(permitted, dict) else None
    for subject in allowed or ():
        words = str(subject).split(".")
        if len(words) == 5 and words[0] == "bb" and words[1:3] == ["*", "*"] and words[4] == ">" and is_token(words[3]):
            return words[3]
    return None


def may_publish(machine: str) -> list[str]:
    """The subjects that a machine's user may publish to: its own rows and beats, and questions."""
    questions = ("STREAM.INFO.*", "STREAM.MSG.GET.*", "DIRECT.GET.*")
    own = [f"bb.*.*.{machine}.>", f"bbm.*.*.beat.{machine}.*", "bbm.*.*.lead"]
    return [*own, *(f"{API}.{question}" for question in questions), WHO_AM_I]


# What a machine's user may subscribe to: answers to it, and what wakes readers.
MAY_SUBSCRIBE = ("_INBOX.>", "bbw.>")
