"""Writes the bundle that lets a verb start sooner the next time (`bb/start.py`): the code of what it imported.

It is made from what the verb has just imported, never from a list. So it has what the verb needs from other packages,
too, and the next time these need not even be looked for. Without a bundle, commands take longer and do the same.
"""

from __future__ import annotations

import marshal
import os
import sys
import time
from _frozen_importlib_external import ExtensionFileLoader, SourceFileLoader

from bb import start
from bb.cli import lean
from bb.ops import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

    from bb.start import Module

    Found = tuple[Module, CodeType | None]

SETTLED = 2_000_000_000  # nanoseconds after a change, during which another one may not be told from it
TYPER = "bb.cli.app"  # what every verb imports that is not hot
PART = 60_000  # bytes that are read at a time: from 128 KiB on, the C library asks the system for memory each time


def keep(words: list[str]) -> None:
    """Write the bundle for the verb that WORDS begin with, if that imported something that is in none."""
    names = _imported()
    if sys.dont_write_bytecode or not set(names).intersection(start.missed):
        return
    verb = lean.verb([word for word in words if word != lean.JSON])
    if verb and ("site" in sys.modules or TYPER in sys.modules):
        return  # this time it needed packages, or Typer to explain a mistake
    try:
        _write(start.path(verb or start.OTHERS), _bundle(names, catalogue.HOT[verb] if verb else TYPER))
    except (OSError, SyntaxError, ValueError):
        return


def _imported() -> list[str]:
    """The modules that were imported from files since the start, each after those that it imports."""
    names = list(sys.modules)
    since = names[names.index(start.__name__) + 1 :]
    return [name for name in since if name not in start.of_site and _loader(name) is not None]


def _loader(name: str) -> SourceFileLoader | ExtensionFileLoader | None:
    """What loaded a module, unless that is of a special kind."""
    spec = getattr(sys.modules[name], "__spec__", None)
    if spec is None or spec.name != name:
        return None
    return spec.loader if type(spec.loader) in (SourceFileLoader, ExtensionFileLoader, start.FromBundle) else None


def _bundle(names: list[str], last: str) -> bytes:
    """All NAMES, and what other runs imported. What comes before the module LAST, every run imports."""
    found = [_module(name) for name in names]
    if max(module[2] for module, _ in found) > time.time_ns() - SETTLED:
        raise ValueError("too new")
    always = names.index(last) + 1
    first = [(module, code) for module, code in found[:always] if code]
    rest = [each for each in found if each not in first] + [_kept(name) for name in start.later if name not in names]
    octets = bytearray(2 * start.NUMBER)
    parts, later = [], {}
    for modules, codes in _parts(first):
        parts.append((modules, len(octets), len(codes)))
        octets += codes
    for module, code in rest:
        codes = marshal.dumps(code) if code else b""
        later[module[0]] = (module, len(octets), len(codes))
        octets += codes
    not_for = frozenset(catalogue.HOT if last == TYPER else ())  # these have bundles of their own
    table = marshal.dumps((start.MADE_FOR, not_for, parts, later))
    octets[: 2 * start.NUMBER] = b"".join(each.to_bytes(start.NUMBER, "big") for each in (len(octets), len(table)))
    return bytes(octets + table)


def _parts(modules: list[tuple[Module, CodeType]]) -> Iterator[tuple[list[Module], bytes]]:
    """Some MODULES at a time, and their code."""
    part: list[tuple[Module, CodeType]] = []
    size = 0
    for each in modules:
        part.append(each)
        size += len(marshal.dumps(each[1]))
        if size >= PART or each is modules[-1]:
            yield [module for module, _ in part], marshal.dumps([code for _, code in part])
            part, size = [], 0


def _module(name: str) -> Found:
    """A module and its code as its file has it now, which may not be what this process has imported."""
    module = sys.modules[name]
    file = str(module.__file__)
    before = os.stat(file)
    found: Module = (name, file, before.st_ctime_ns, before.st_size, hasattr(module, "__path__"))
    code = SourceFileLoader(name, file).get_code(name) if isinstance(_loader(name), SourceFileLoader) else None
    if not start.is_current(found):
        raise ValueError("changed meanwhile")
    return found, code


def _kept(name: str) -> Found:
    """A module as the bundle has it that is now replaced."""
    module, _, length = start.later[name]
    return module, start.code(name) if length else None


def _write(path: str, octets: bytes) -> None:
    temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        with open(fd, "wb") as file:
            file.write(octets)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
