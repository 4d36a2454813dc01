"""Which programs a shell's command line would start, with which words and where: read, and never run.

Only as much of the shell's language as that takes: quotes, operators, redirections, here-documents, substitutions,
subshells, `cd`, programs that start programs (`env`, `sudo`, `bash -c`). What a variable holds is not known, so a
directory that depends on one is not known either. What cannot be read yields nothing.

What is redirected into a file is told as if a program called `>` had been given it.
"""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 1 << 17  # characters; nobody types that
DEEPEST = 8  # levels of shells within shells

BLANK = " \t\r"
# Longer ones first, so that each is found before its own beginning.
OPERATORS = ("<<<", "&>>", "<<-", "&&", "||", ";;", "|&", ">>", "<<", ">&", "<&", "&>", ">|", "<>", "((", *";&|()<>\n")
REDIRECTIONS = frozenset(["<<<", "&>>", "<<-", ">>", "<<", ">&", "<&", "&>", ">|", "<>", "<", ">"])
INTO_A_FILE = frozenset(["&>>", ">>", "&>", ">|", ">", ">&"])
NUMBER = "2>"  # of the stream that a redirection is about
HERE_DOCUMENTS = frozenset(["<<", "<<-"])
RESERVED = frozenset(
    ["if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "time", "coproc"]
)
SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "fish"])
# What starts another program: its options that take a value, and how many words stand before the program.
STARTERS: dict[str, tuple[frozenset[str], int]] = {
    "env": (frozenset(["-u", "--unset", "-C", "--chdir", "-S"]), 0),
    "sudo": (frozenset(["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-U", "-D"]), 0),
    "doas": (frozenset(["-u", "-C"]), 0),
    "nice": (frozenset(["-n"]), 0),
    "ionice": (frozenset(["-c", "-n"]), 0),
    "timeout": (frozenset(["-s", "--signal", "-k", "--kill-after"]), 1),
    "stdbuf": (frozenset(["-i", "-o", "-e"]), 0),
    "xargs": (frozenset(["-n", "-I", "-P", "-L", "-d", "-a", "-s"]), 0),
    "exec": (frozenset(["-a"]), 0),
    **dict.fromkeys(["command", "builtin", "nohup", "setsid", "time"], (frozenset(), 0)),
}
MOVES = frozenset(["cd", "pushd", "popd"])
INTO = ">"  # the program that a redirection counts as
ELSEWHERE = ("GIT_DIR=", "GIT_WORK_TREE=", "GIT_COMMON_DIR=")  # set before a command, they make it act somewhere else


class Run(Record):
    """One program that would be started: its name and words, and the directory, from where the shell starts."""

    words: tuple[str, ...]
    directory: str | None  # None when nobody can tell


class Unreadable(ValueError):
    """A quotation without an end, or the like."""


class _Operator(str):
    """A token that is no word."""


def runs(text: str, directory: str | None = ".", depth: int = 0) -> list[Run]:
    """The programs that TEXT would start, in order, as far as can be told; none where it cannot be read."""
    return [step for step in steps(text, directory, depth) if step.words[0] != INTO]


def steps(text: str, directory: str | None = ".", depth: int = 0) -> list[Run]:
    """The programs that TEXT would start, and what it would redirect into files."""
    if len(text) > LONGEST or depth > DEEPEST:
        return []
    reader = _Reader(text)
    try:
        tokens = reader.tokens()
    except Unreadable:
        return []
    found = list(_Commands(directory, depth).of(tokens))
    return [*found, *(step for inner in reader.inner for step in steps(inner, directory, depth + 1))]


class _Reader:
    """Takes a command line apart into words and operators. What stands in substitutions is kept, to be read alone."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self.inner: list[str] = []
        self._awaited: list[str] = []  # the ends of here-documents that begin on the next line

    def tokens(self) -> list[str]:
        found: list[str] = []
        while (piece := self._piece()) is not None:
            if found and isinstance(found[-1], _Operator) and found[-1] in HERE_DOCUMENTS:
                self._awaited.append(piece)
            found.append(piece)
            if isinstance(piece, _Operator) and piece == "\n":
                self._skip_here_documents()
        return found

    def _piece(self) -> str | None:
        text = self._text
        while self._place < len(text):
            if text[self._place] in BLANK:
                self._place += 1
            elif text.startswith("\\\n", self._place):
                self._place += 2
            elif text[self._place] == "#":
                self._place = self._found("\n", len(text))
            else:
                break
        if self._place >= len(text):
            return None
        return self._operator() or self._word()

    def _operator(self) -> str | None:
        text, place = self._text, self._place
        if text.startswith(("<(", ">("), place):
            return None  # a substitution, which is a word
        operator = next((each for each in OPERATORS if text.startswith(each, place)), None)
        if operator is None:
            return None
        self._place += len(operator)
        return _Operator(operator)

    def _word(self) -> str:
        text, parts = self._text, []
        while self._place < len(text):
            character = text[self._place]
            if character in BLANK or (character in ";&|()<>\n" and not text.startswith(("<(", ">("), self._place)):
                break
            parts.append(self._part(character))
        word = "".join(parts)
        # The number before a redirection belongs to it: `2>&1`.
        if word.isdigit() and self._place < len(text) and text[self._place] in "<>":
            return _Operator(NUMBER)
        return word

    def _part(self, character: str) -> str:
        """The next part of a word: a quotation, a substitution, or one character."""
        if character == "'":
            return self._until("'", self._place + 1)
        if character == '"':
            return self._double()
        if self._text.startswith(("$(", "<(", ">("), self._place):
            return self._substitution(self._place + 2)
        if self._text.startswith("$'", self._place):
            return self._until("'", self._place + 2)
        if character == "`":
            self.inner.append(self._until("`", self._place + 1))
            return "$()"
        if character == "\\":
            self._place += 2
            following = self._text[self._place - 1 : self._place]
            return "" if following == "\n" else following
        self._place += 1
        return character

    def _double(self) -> str:
        self._place += 1
        parts = []
        while (character := self._text[self._place : self._place + 1]) != '"':
            if not character:
                raise Unreadable
            if (
                (character == "\\" and self._text[self._place + 1 : self._place + 2] in ('"', "\\", "$", "`", "\n"))
                or character == "`"
                or self._text.startswith("$(", self._place)
            ):
                parts.append(self._part(character))
            else:
                parts.append(character)
                self._place += 1
        self._place += 1
        return "".join(parts)

    def _substitution(self, start: int) -> str:
        """What stands between `$(` and its `)`; it is read by itself later."""
        depth, place, quote = 1, start, ""
        while depth:
            character = self._text[place : place + 1]
            if not character:
                raise Unreadable
            if character == "\\" and quote != "'":
                place += 1
            elif quote:
                quote = "" if character == quote else quote
            elif character in "'\"":
                quote = character
            else:
                depth += (character == "(") - (character == ")")
            place += 1
        is_sum = self._text.startswith("((", start - 1)  # which is told apart by both of its parentheses
        self.inner.append(self._text[start - is_sum : place - 1])
        self._place = place
        return "$()"

    def _until(self, end: str, start: int) -> str:
        """The text from START up to END, which is passed."""
        place = self._text.find(end, start)
        if place < 0:
            raise Unreadable
        self._place = place + 1
        return self._text[start:place]

    def _found(self, what: str, otherwise: int) -> int:
        place = self._text.find(what, self._place)
        return otherwise if place < 0 else place

    def _skip_here_documents(self) -> None:
        for end in self._awaited:
            while self._place < len(self._text):
                stop = self._found("\n", len(self._text))
                line = self._text[self._place : stop]
                self._place = stop + 1
                if line.strip("\t\r") == end:
                    break
        self._awaited.clear()


class _Commands:
    """Puts tokens together to commands, and follows where `cd` leads."""

    def __init__(self, directory: str | None, depth: int) -> None:
        self._directory = directory
        self._outer: list[str | None] = []  # where the shells around a subshell are
        self._depth = depth
        self._is_test = False  # between `[[` and `]]`, where `>` compares
        self._sum: int | None = None  # so many parentheses stand around `((`, within which `>` compares as well

    def of(self, tokens: list[str]) -> Iterator[Run]:
        words: list[str] = []
        rest = iter([*tokens, _Operator("\n")])
        for piece in rest:
            if not isinstance(piece, _Operator):
                words.append(piece)
                self._is_test = piece == "[[" or (self._is_test and piece != "]]")
            elif piece in REDIRECTIONS:
                target = next(rest, None)
                if target is not None and self._is_written(piece, target):
                    yield Run((INTO, target), self._directory)
            elif piece != NUMBER:
                yield from self._command(words)
                words = []
                self._enter_or_leave(piece)

    def _is_written(self, operator: str, target: str) -> bool:
        """Whether that is a redirection into a file, and none into another stream such as `>&2`."""
        is_stream = operator == ">&" and target.rstrip("-").isdigit()
        is_compared = self._is_test or self._sum is not None
        return operator in INTO_A_FILE and not (is_stream or is_compared or isinstance(target, _Operator))

    def _enter_or_leave(self, operator: str) -> None:
        if operator in ("(", "(("):
            if operator == "((" and self._sum is None:
                self._sum = len(self._outer)
            self._outer += [self._directory] * len(operator)
        elif operator == ")" and self._outer:
            self._directory = self._outer.pop()
            if self._sum is not None and len(self._outer) <= self._sum:
                self._sum = None

    def _command(self, words: list[str]) -> Iterator[Run]:
        """The program that WORDS start, or those that it is given to start."""
        while words and words[0] in RESERVED:
            words = words[1:]
        words, is_elsewhere = _without_starters(words)
        if not words:
            return
        name, directory = program(words[0]), None if is_elsewhere else self._directory
        if name in MOVES:
            self._directory = self._moved(words[1:])
        elif name == "eval":
            yield from steps(" ".join(words[1:]), directory, self._depth + 1)
        elif name in SHELLS and (script := _script(words[1:])):
            yield from steps(script, directory, self._depth + 1)
        else:
            yield Run((name, *words[1:]), directory)

    def _moved(self, words: list[str]) -> str | None:
        plain = [word for word in words if word != "--"]
        return joined(self._directory, plain[0]) if len(plain) == 1 else None


def program(word: str) -> str:
    """What is started, without the folders it is in."""
    return word.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")


def joined(directory: str | None, path: str) -> str | None:
    """PATH as seen from where DIRECTORY is seen from; None when nobody can tell."""
    if not path or path[0] in "-~" or "$" in path or "*" in path:
        return None
    if path.startswith("/") or path[1:2] == ":":
        return path
    return None if directory is None else path if directory == "." else f"{directory}/{path}"


def _without_starters(words: list[str]) -> tuple[list[str], bool]:
    """WORDS from the program on that does the work, and whether it was told to do it somewhere else."""
    is_elsewhere = False
    while words:
        if _is_assignment(words[0]):
            is_elsewhere = is_elsewhere or words[0].startswith(ELSEWHERE)
            words = words[1:]
            continue
        starter = STARTERS.get(program(words[0]))
        if starter is None:
            break
        takes_value, before = starter
        words = words[1:]
        while words and words[0].startswith("-"):
            words = words[2 if words[0] in takes_value else 1 :]
        words = words[before:]
    return words, is_elsewhere


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _script(words: list[str]) -> str:
    """What follows the `-c` of a shell, alone or in a bundle such as `-lc`."""
    for place, word in enumerate(words):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            return next(iter(words[place + 1 :]), "")
        if not word.startswith(("-", "+")):
            break
    return ""
