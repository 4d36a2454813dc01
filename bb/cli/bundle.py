"""Writes the bundle that lets a hot verb start sooner the next time (`bb/start.py`): the code of what it imported.

It is made from what the verb has just imported, never from a list, and only of modules that lie beside bb or in the
standard library. Where it cannot be written, commands take longer and do the same.
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
PART = 60_000  # bytes that are read at a time: from 128 KiB on, the C library asks the system for memory each time


def keep(words: list[str]) -> None:
    """Write the bundle for the verb that WORDS begin with, if that imported something that is in none."""
    verb = lean.verb([word for word in words if word != lean.JSON])
    if verb is None or "site" in sys.modules or sys.dont_write_bytecode:
        return  # a module of another package may depend on more than its file
    names = _imported()
    if not set(names).intersection(start.missed):
        return
    try:
        _write(start.path(verb), _bundle(names, catalogue.HOT[verb]))
    except (OSError, SyntaxError, ValueError):
        return


def _imported() -> list[str]:
    """The modules that were imported from files since the start, each after those that it imports."""
    names = list(sys.modules)
    return [name for name in names[names.index(start.__name__) + 1 :] if _loader(name) is not None]


def _loader(name: str) -> SourceFileLoader | ExtensionFileLoader | None:
    loader = getattr(getattr(sys.modules[name], "__spec__", None), "loader", None)
    return loader if isinstance(loader, SourceFileLoader | ExtensionFileLoader) else None


def _bundle(names: list[str], declaring: str) -> bytes:
    """All NAMES, and what other runs imported. What comes before the module DECLARING the op, every run imports."""
    found = [_module(name) for name in names]
    if max(module[2] for module, _ in found) > time.time_ns() - SETTLED:
        raise ValueError("too new")
    always = names.index(declaring) + 1
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
    table = marshal.dumps((start.MADE_FOR, parts, later))
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
