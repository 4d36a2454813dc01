"""How an actor is run: its runtime, its runner, its command.

The environment of an actor is checked here but is not part of its profile: it can contain secrets, and profiles are
recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from bb.kernel import ids
from bb.kernel.errors import Usage
from bb.kernel.escaping import has_control
from bb.kernel.record import Record

PTY, HEADLESS = RUNNERS = ("pty", "headless")
ENTER, NEWLINE, NONE = SUBMITS = ("enter", "newline", "none")  # the key typed after a message to submit it

# runtime -> its command, without options that skip confirmations
DEFAULT_RUNTIME, CUSTOM = "codex", "custom"
RUNTIMES: dict[str, tuple[str, ...]] = {
    "amp": ("amp",),
    "auggie": ("auggie",),
    "claude": ("claude",),
    "codex": ("codex",),
    "cursor": ("cursor-agent",),
    "droid": ("droid",),
    "gemini": ("gemini",),
    "kilocode": ("kilocode",),
    "neovate": ("neovate",),
    "opencode": ("opencode",),
    "copilot": ("copilot",),
    CUSTOM: (),
}

TITLE_LENGTH, SCOPE_KEY_LENGTH = 80, 200
WORDS, COMMAND_LENGTH = 64, 4096
VARIABLES, VARIABLE_NAME_LENGTH, VARIABLE_LENGTH = 100, 100, 32_768
LETTERS = ids.LOWER + ids.LOWER.upper()


class InvalidProfile(Usage):
    """The profile of the actor is not valid."""

    code = "INVALID_PROFILE"

    def __init__(self, field: str, reason: str, message: str) -> None:
        super().__init__(message, reason=reason, path=f"$.{field}")
        self.field, self.reason = field, reason


class Profile(Record):
    """How an actor is run."""

    runtime: str = DEFAULT_RUNTIME
    runner: str = PTY
    command: tuple[str, ...] = ()
    submit: str = ENTER
    default_scope_key: str = ""
    enabled: bool = True

    def stored(self) -> dict[str, Any]:
        """The profile as plain JSON, in the recorded form."""
        return self.as_dict() | {"command": list(self.command)}


def profile(given: Mapping[str, Any]) -> Profile:
    """The checked profile. A missing or empty field gets its default; a missing command, that of the runtime."""
    checked = {
        field: CHECKS[field](given[field]) for field in Profile.__match_args__ if given.get(field) not in (None, "")
    }
    return runnable(filled(Profile(**checked)))


def profile_of(stored: Mapping[str, Any]) -> Profile:
    """A recorded profile. An invalid field counts as missing."""
    return filled(Profile(**{field: stored[field] for field in Profile.__match_args__ if _fits(field, stored)}))


def _fits(field: str, stored: Mapping[str, Any]) -> bool:
    try:
        CHECKS[field](stored.get(field))
    except InvalidProfile:
        return False
    return True


def filled(asked: Profile) -> Profile:
    """A profile with its runtime's command if it has none of its own."""
    return asked.replace(command=tuple(asked.command) or RUNTIMES[asked.runtime])


def runnable(asked: Profile) -> Profile:
    """The profile. Refused if its terminal would have no command to run."""
    if asked.runner == PTY and not asked.command:
        raise InvalidProfile(
            "command", "missing_command", f"the runtime {asked.runtime} needs a command to run in a terminal"
        )
    return asked


# -- fields


def title(value: Any) -> str:
    """VALUE as the title of an actor."""
    text = value.strip() if isinstance(value, str) else ""
    if not 0 < len(text) <= TITLE_LENGTH or has_control(text):
        raise InvalidProfile("title", "invalid_title", f"a title must be one line of 1 to {TITLE_LENGTH} characters")
    return text


def environment(value: Any) -> dict[str, str]:
    """VALUE as the environment of a program."""
    if not isinstance(value, dict) or len(value) > VARIABLES:
        raise InvalidProfile("env", "invalid_env", f"env must be an object with at most {VARIABLES} names and texts")
    for name, text in value.items():
        if not _is_variable_name(name):
            raise InvalidProfile(
                "env", "invalid_env", "a variable's name must have letters, digits and _, and not start with a digit"
            )
        if not isinstance(text, str) or "\0" in text or len(text) > VARIABLE_LENGTH:
            why = f"{name} must be a text of at most {VARIABLE_LENGTH:,} characters without NUL"
            raise InvalidProfile(f"env.{name}", "invalid_env", why)
    return dict(value)


def _is_variable_name(name: object) -> bool:
    return (
        isinstance(name, str)
        and 0 < len(name) <= VARIABLE_NAME_LENGTH
        and not name.strip(LETTERS + ids.DIGITS + "_")
        and name[0] not in ids.DIGITS
    )


def _command(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or len(value) > WORDS or not all(map(_is_word, value)):
        raise InvalidProfile("command", "invalid_command", f"a command must be a list of at most {WORDS} words")
    if sum(map(len, value)) > COMMAND_LENGTH:
        raise InvalidProfile("command", "invalid_command", f"a command can have at most {COMMAND_LENGTH} characters")
    if value and not value[0].strip():
        raise InvalidProfile("command", "invalid_command", "a command must start with the name of a program")
    return tuple(value)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _scope_key(value: Any) -> str:
    if not isinstance(value, str) or len(value) > SCOPE_KEY_LENGTH or has_control(value):
        raise InvalidProfile(
            "default_scope_key",
            "invalid_scope_key",
            f"a scope key must be one line of at most {SCOPE_KEY_LENGTH} characters",
        )
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidProfile("enabled", "invalid_enabled", "enabled must be true or false")
    return value


def _one_of(field: str, known: Collection[str]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            raise InvalidProfile(field, f"invalid_{field}", f"{field} must be one of {', '.join(known)}")
        return value

    return check


CHECKS: dict[str, Callable[[Any], Any]] = {
    "title": title,
    "runtime": _one_of("runtime", RUNTIMES),
    "runner": _one_of("runner", RUNNERS),
    "command": _command,
    "submit": _one_of("submit", SUBMITS),
    "default_scope_key": _scope_key,
    "enabled": _flag,
    "env": environment,
}
