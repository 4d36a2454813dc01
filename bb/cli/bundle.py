"""Writes the bundle that makes the next start of a verb faster (`bb/start.py`): the code of the modules it imported.

The bundle is built from the modules that this run imported, not from a list. So it includes modules of other packages,
and the next run need not search for them. Without a bundle, commands do the same, but more slowly.

Only what every run of the verb imports is loaded at once: what came before the op's module, and what the modules that
open the ledger import themselves. What else this run needed, it perhaps needed for an unusual call, or because it had
to build the index anew, so later runs load that only if they import it.
"""

from __future__ import annotations

import marshal
import os
import sys
import time
from _frozen_importlib_external import ExtensionFileLoader, SourceFileLoader

from bb import start
from bb.cli import fast_parser
from bb.ops import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from types import CodeType

    from bb.start import Module

    Found = tuple[Module, CodeType | None]

SETTLED = 2_000_000_000  # nanoseconds; a second change to a file within this time might not be detected
TYPER = "bb.cli.app"  # the module that every verb imports except the hot ones
RUN, RUN_MODULE = "run", "bb.cli.programs.run_aside"  # `bb run -- COMMAND` needs no Typer either
# What opens the ledger, and what writes to it. Every hot verb that opened it once always does, except for those that
# usually do without.
LEDGER = ("bb.ledger.records.store", "bb.ledger.views.holdings")
RECORDING = ("bb.ledger.records.drafts", "bb.ledger.records.batch", "bb.ledger.journal.unsynced")
# Modules that some calls of a verb import inside a function, with many others.
DOORS = (
    *("bb.ops.guards.edit_check", "bb.ops.guards.changed_files", "bb.ops.guards.edit_brackets"),
    *("bb.ledger.lines.regions_now", "bb.ops.holdings.global_reservations", *LEDGER),
)
SELDOM_OPENS_IT = ("agent.heartbeat", "hook.pre-tool", "hook.post-tool")
PART = 60_000  # bytes per read; for 128 KiB or more, the C library requests new memory from the system each time


def keep(words: list[str]) -> None:
    """Write the bundle for the verb in WORDS, if this run imported modules that are not in a bundle."""
    names = _imported()
    if sys.dont_write_bytecode or not set(names).intersection(start.not_in_bundle):
        return
    verb = fast_parser.verb([word for word in words if word != fast_parser.JSON])
    if words[:1] == [RUN] and TYPER not in sys.modules:
        verb = RUN
    if verb and TYPER in sys.modules:
        return  # this run was not typical: it needed Typer to explain a mistake
    try:
        of_others = frozenset(
            () if verb else (*catalogue.HOT, *filter(catalogue.hot_name, catalogue.SHORT), RUN)
        )  # verbs with bundles of their own
        _write(start.path(verb or start.OTHERS), _bundle(names, _imported_by_all(verb, names), of_others))
    except (OSError, SyntaxError, ValueError):
        return


def _imported_by_all(verb: str | None, names: list[str]) -> frozenset[str]:
    """Those of NAMES, the modules of this run, that every run of the verb imports."""
    beginning = RUN_MODULE if verb == RUN else catalogue.HOT[catalogue.hot_name(verb)] if verb else TYPER
    found = set(start.preloaded or names[: names.index(beginning) + 1])
    for name in (*LEDGER, *RECORDING) if verb and verb not in SELDOM_OPENS_IT else ():
        found.update(_with_own_imports(name, names))
    return frozenset(found)


def _with_own_imports(name: str, names: list[str]) -> set[str]:
    """The module NAME, its packages, and what it imported itself: what was asked for after it, and loaded before it.
    Empty if this run did not import it, or had it from a bundle."""
    asked = {each: place for place, each in reversed([*enumerate(start.not_in_bundle)])}
    if name not in asked or name not in names:
        return set()
    parts = name.split(".")
    packages = (".".join(parts[:end]) for end in range(1, len(parts)))
    return {*packages, *(each for each in names[: names.index(name) + 1] if asked.get(each, -1) >= asked[name])}


def _imported() -> list[str]:
    """The modules imported from files since the start, each after its own imports."""
    names = list(sys.modules)
    since = names[names.index(start.__name__) + 1 :]
    return [name for name in since if name not in start.of_site and _loader(name) is not None]


def _loader(name: str) -> SourceFileLoader | ExtensionFileLoader | None:
    """The loader of a module; None for a special loader."""
    spec = getattr(sys.modules[name], "__spec__", None)
    if spec is None or spec.name != name:
        return None
    return spec.loader if type(spec.loader) in (SourceFileLoader, ExtensionFileLoader, start.FromBundle) else None


def _bundle(names: list[str], always: frozenset[str], not_for: frozenset[str]) -> bytes:
    """The bundle for NAMES and for modules that other runs imported. Every run imports those that are in ALWAYS."""
    modules_with_code = [_module(name) for name in names]
    if max(module[2] for module, _ in modules_with_code) > time.time_ns() - SETTLED:
        raise ValueError("too new")
    first = [(module, code) for module, code in modules_with_code if code and module[0] in always]
    rest = [pair for pair in modules_with_code if pair not in first] + [
        _kept(name) for name in start.on_demand if name not in names
    ]
    octets = bytearray(2 * start.NUMBER)
    parts, later = [], {}
    for modules, codes in _parts(first):
        parts.append((modules, len(octets), len(codes)))
        octets += codes
    for module, code in rest:
        codes = marshal.dumps(code) if code else b""
        later[module[0]] = (module, len(octets), len(codes))
        octets += codes
    table = marshal.dumps((start.MADE_FOR, not_for, parts, later, _before_doors(names, always, later)))
    octets[: 2 * start.NUMBER] = b"".join(size.to_bytes(start.NUMBER, "big") for size in (len(octets), len(table)))
    return bytes(octets + table)


def _before_doors(names: list[str], always: frozenset[str], later: Collection[str]) -> dict[str, list[str]]:
    """What to import before each door: what it imported itself in this run, or what an earlier run found."""
    doors = {door: found for door, found in start.doors.items() if door in later}
    for door in DOORS:
        if door in later and (own := _with_own_imports(door, names)):
            doors[door] = [each for each in names if each in own - always - {door} and _is_python(each)]
    return doors


def _is_python(name: str) -> bool:
    return not isinstance(_loader(name), ExtensionFileLoader)


def _parts(modules: list[tuple[Module, CodeType]]) -> Iterator[tuple[list[Module], bytes]]:
    """MODULES in parts, each with its marshalled code."""
    part: list[tuple[Module, CodeType]] = []
    size = 0
    for pair in modules:
        part.append(pair)
        size += len(marshal.dumps(pair[1]))
        if size >= PART or pair is modules[-1]:
            yield [module for module, _ in part], marshal.dumps([code for _, code in part])
            part, size = [], 0


def _module(name: str) -> Found:
    """A module and the current code of its file, which may be newer than the imported one."""
    module = sys.modules[name]
    file = str(module.__file__)
    before = os.stat(file)
    entry: Module = (name, file, before.st_ctime_ns, before.st_size, hasattr(module, "__path__"))
    code = SourceFileLoader(name, file).get_code(name) if isinstance(_loader(name), SourceFileLoader) else None
    if not start.is_current(entry):
        raise ValueError("changed meanwhile")
    return entry, code


def _kept(name: str) -> Found:
    """A module from the bundle that is being replaced."""
    module, _, length = start.on_demand[name]
    return module, start.code(name) if length else None


def _write(path: str, octets: bytes) -> None:
    temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        with open(fd, "wb") as file:
            if hasattr(os, "fchmod"):  # whoever may read the code may read the bundle, whatever the umask
                os.fchmod(fd, os.stat(start.__file__).st_mode & 0o644)
            file.write(octets)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
