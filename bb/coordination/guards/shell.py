"""Finds the programs that a shell command line would start, with their arguments and directories. Nothing is run.

It understands a part of the shell's language: quotes, operators, redirections, here-documents, substitutions,
subshells, `cd`, and programs that start programs (`env`, `sudo`, `bash -c`). Values of variables are unknown, and so is
a directory that depends on one. A command line that cannot be parsed yields no programs.

A redirection into a file is reported as a program named `>` with that file as argument.
"""

from __future__ import annotations

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 1 << 17  # characters; longer command lines are ignored
DEEPEST = 8  # levels of shells within shells

BLANK = " \t\r"
# Longer operators come first, because some operators are prefixes of others.
OPERATORS = ("<<<", "&>>", "<<-", "&&", "||", ";;", "|&", ">>", "<<", ">&", "<&", "&>", ">|", "<>", "((", *";&|()<>\n")
REDIRECTIONS = frozenset(["<<<", "&>>", "<<-", ">>", "<<", ">&", "<&", "&>", ">|", "<>", "<", ">"])
INTO_A_FILE = frozenset(["&>>", ">>", "&>", ">|", ">", ">&"])
NUMBER = "2>"  # the stream number before a redirection
HERE_DOCUMENTS = frozenset(["<<", "<<-"])
RESERVED = frozenset(
    ["if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "time", "coproc"]
)
SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "fish"])
# Programs that start another program: their options that take a value, and the number of operands before the program.
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
EXPORTS = frozenset(["export", "declare", "typeset"])
EMPTIED = "*="  # all variables are removed
MOVES = frozenset(["cd", "pushd", "popd"])
INTO = ">"  # the program name that stands for a redirection
ELSEWHERE = ("GIT_DIR=", "GIT_WORK_TREE=", "GIT_COMMON_DIR=")  # variables that make git work in another directory


class Run(Record):
    """One program that would be started: its name and arguments, its directory relative to the shell's, and what it
    would read: the file after `<`, or the text of a here-document."""

    words: tuple[str, ...]
    directory: str | None  # None if unknown
    settings: tuple[str, ...] = ()  # variables set for it, as `NAME=value`; `NAME=` also if a variable is removed
    stdin: str | None = None
    document: str | None = None


class Unreadable(ValueError):
    """The command line has a syntax error, such as an unclosed quote."""


class _Operator(str):
    """An operator token, as opposed to a word."""


def runs(text: str) -> list[Run]:
    """The programs that TEXT would start, in order. Empty if TEXT cannot be parsed."""
    return [step for step in steps(text) if step.words[0] != INTO]


def steps(text: str, directory: str | None = ".", depth: int = 0) -> list[Run]:
    """The programs that TEXT would start, and its redirections into files."""
    if len(text) > LONGEST or depth > DEEPEST:
        return []
    reader = _Reader(text)
    try:
        tokens = reader.tokens()
    except Unreadable:
        return []
    outer = list(_Commands(directory, depth, reader.documents).of(tokens))
    return [*outer, *(step for inner in reader.inner for step in steps(inner, directory, depth + 1))]


class _Reader:
    """Splits a command line into words and operators. The texts of substitutions are collected in `inner`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self.inner: list[str] = []
        self._awaited: list[str] = []  # the end markers of here-documents that begin on the next line
        self.documents: list[str] = []  # the texts of here-documents, in their order

    def tokens(self) -> list[str]:
        tokens: list[str] = []
        while (piece := self._piece()) is not None:
            if tokens and isinstance(tokens[-1], _Operator) and tokens[-1] in HERE_DOCUMENTS:
                self._awaited.append(piece)
            tokens.append(piece)
            if isinstance(piece, _Operator) and piece == "\n":
                self._skip_here_documents()
        return tokens

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
            return None  # a substitution is part of a word
        operator = next((symbol for symbol in OPERATORS if text.startswith(symbol, place)), None)
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
        """The next part of a word: a quoted text, a substitution, or one character."""
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
        """Collect the text between `$(` and its `)`. It is parsed separately later."""
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
        is_sum = self._text.startswith("((", start - 1)  # arithmetic: keep the second parenthesis to recognize it
        self.inner.append(self._text[start - is_sum : place - 1])
        self._place = place
        return "$()"

    def _until(self, end: str, start: int) -> str:
        """The text from START up to END. The position moves behind END."""
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
            rows = []
            while self._place < len(self._text):
                stop = self._found("\n", len(self._text))
                line = self._text[self._place : stop]
                self._place = stop + 1
                if line.strip("\t\r") == end:
                    break
                rows.append(line + "\n")
            self.documents.append("".join(rows))
        self._awaited.clear()


class _Commands:
    """Groups tokens into commands and follows `cd`."""

    def __init__(self, directory: str | None, depth: int, documents: list[str]) -> None:
        self._directory = directory
        self._documents = iter(documents)
        self._stdin: dict[str, str] = {}  # what the current command reads, as members of Run
        self._outer: list[str | None] = []  # the directories of the enclosing shells
        self._depth = depth
        self._exported: list[str] = []  # variables of the shell that its programs see
        self._is_test = False  # inside `[[ … ]]`, where `>` is a comparison
        self._sum: int | None = None  # the number of parentheses around `((`, inside which `>` is a comparison

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
                if piece in HERE_DOCUMENTS:
                    self._stdin = {"document": next(self._documents, "")}
                elif piece == "<" and target is not None:
                    self._stdin = {"stdin": target}
            elif piece != NUMBER:
                yield from self._command(words)
                words, self._stdin = [], {}
                self._enter_or_leave(piece)

    def _is_written(self, operator: str, target: str) -> bool:
        """Whether it redirects into a file, and not into a stream such as `>&2`."""
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
        """The program that WORDS start, or the programs in its script."""
        while words and words[0] in RESERVED:
            words = words[1:]
        words, own = _without_starters(words)
        if not words:
            return
        settings = (*self._exported, *own)
        name, directory = program(words[0]), None if _is_elsewhere(settings) else self._directory
        if name in MOVES:
            self._directory = self._moved(words[1:])
        elif name in EXPORTS:
            self._exported += [word for word in words[1:] if _is_assignment(word)]
            yield Run((name, *words[1:]), directory)
        elif name == "unset":
            self._exported += [f"{word}=" for word in words[1:] if not word.startswith("-")]
            yield Run((name, *words[1:]), directory)
        elif name == "eval":
            yield from self._inner(" ".join(words[1:]), directory, settings)
        elif name in SHELLS and (script := _script(words[1:])):
            yield from self._inner(script, directory, settings)
        else:
            yield Run((name, *words[1:]), directory, settings, **self._stdin)
            if name == "find":
                yield from self._of_find(words[1:])

    def _inner(self, script: str, directory: str | None, settings: tuple[str, ...]) -> Iterator[Run]:
        for run in steps(script, directory, self._depth + 1):
            yield run.replace(settings=(*settings, *run.settings)) if settings else run

    def _of_find(self, words: list[str]) -> Iterator[Run]:
        """The programs that `find` starts, each with `{}` for what is found."""
        for place, word in enumerate(words):
            if word in ("-exec", "-execdir", "-ok", "-okdir"):
                end = next((at for at, other in enumerate(words[place:], place) if other in (";", "+")), len(words))
                yield from self._command(words[place + 1 : end])

    def _moved(self, words: list[str]) -> str | None:
        plain = [word for word in words if word != "--"]
        return joined(self._directory, plain[0]) if len(plain) == 1 else None


def program(word: str) -> str:
    """The program's name without its folder."""
    return word.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")


def joined(directory: str | None, path: str) -> str | None:
    """PATH in DIRECTORY, or None if unknown."""
    if not path or path[0] in "-~" or "$" in path or "*" in path:
        return None
    if path.startswith("/") or path[1:2] == ":":
        return path
    return None if directory is None else path if directory == "." else f"{directory}/{path}"


def _without_starters(words: list[str]) -> tuple[list[str], list[str]]:
    """WORDS without programs such as `env` in front, and the variables set for the program."""
    settings: list[str] = []
    while words:
        if _is_assignment(words[0]):
            settings.append(words[0])
            words = words[1:]
            continue
        starter = STARTERS.get(program(words[0]))
        if starter is None:
            break
        is_env = program(words[0]) == "env"
        takes_value, before = starter
        words = words[1:]
        while words and words[0].startswith("-"):
            taken = words[: 2 if words[0] in takes_value else 1]
            settings += _removed(taken) if is_env else []
            words = words[len(taken) :]
        words = words[before:]
    return words, settings


def _removed(option: list[str]) -> list[str]:
    """The variables that an OPTION of `env` removes."""
    name, _, value = option[0].partition("=")
    if name in ("-i", "-", "--ignore-environment"):
        return [EMPTIED]
    glued = option[0][2:] if option[0].startswith("-u") else ""
    return [f"{glued or value or option[-1]}="] if name == "--unset" or option[0].startswith("-u") else []


def _is_elsewhere(settings: tuple[str, ...]) -> bool:
    """Whether variables make git work in another directory."""
    return any(setting.startswith(ELSEWHERE) for setting in settings)


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _script(words: list[str]) -> str:
    """The word after a shell's `-c`, alone or combined as in `-lc`."""
    for place, word in enumerate(words):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            return next(iter(words[place + 1 :]), "")
        if not word.startswith(("-", "+")):
            break
    return ""
