"""How an installed `bb` starts: without `site`, and with the code of a hot verb read from one file, its *bundle*.

The launcher (`scripts/installed/bb`) runs the interpreter with `-I -S` and calls `prepare`. Nothing but the standard
library can be imported then, which is all that hot verbs need. `Packages` adds the environment's packages once a
command asks for one.

A bundle is a cache like a `.pyc` and lies beside those, in `__pycache__`: whoever can write it can write the code, too.
It has the modules that a verb imported before, in the order in which they can be executed, so that importing them costs
neither a search nor a lock each. It is believed if it was made by this very interpreter for this very place, and if no
source file has changed since. `cli/bundle.py` writes it.
"""

from __future__ import annotations

import gc
import marshal
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader, PathFinder, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType
    from typing import Any

    # its name, its file, when that was changed, its size, and whether it is a package
    Module = tuple[str, str, int, int, bool]

HERE = os.path.dirname(__file__)
# What a bundle is made for: another interpreter, or a copy of this folder, makes its own.
MADE_FOR = (sys.version, os.__file__, HERE)
NUMBER = 8  # bytes of each of the two numbers at the beginning of a bundle
# How to start another Python as this one was: without PYTHONPATH and the like, or at least without the directory we are
# in, where anybody may have put a `bb`.
ALONE = "-EP" if sys.flags.isolated else "-P"

# What only some runs of the verb import, and where in the bundle its code is; of no length where it is in C.
later: dict[str, tuple[Module, int, int]] = {}
missed: list[str] = []  # modules that had to be looked for in folders
_file = -1  # the bundle, which stays open for them


def prepare(program: str, words: list[str]) -> None:
    """Get ready to be `bb WORDS`, called as PROGRAM."""
    gc.disable()  # importing makes no garbage; `main` says from when on to look for some
    sys.argv = [program, *words]
    sys.path.append(os.path.dirname(HERE))
    sys.meta_path.insert(len(sys.meta_path) - 1, Bundled)
    sys.meta_path.append(Packages)
    plain = [word for word in words[:3] if word.replace("-", "").isalnum() and word[0] != "-"]
    for verb in (".".join(plain[:2]), plain[0]) if plain else ():
        if os.path.exists(path(verb)):
            for module, code in _first_modules(path(verb)):
                _execute(module, code)
            break


def path(verb: str) -> str:
    """Where the bundle of a verb lies."""
    return os.path.join(HERE, "__pycache__", f"{verb}.{sys.implementation.cache_tag}.bundle")


def _first_modules(bundle: str) -> list[tuple[Module, CodeType]]:
    """The modules that every run of a verb imports, and their code; none where the bundle is not to be believed."""
    global _file  # noqa: PLW0603  (a process starts once)
    try:
        _file = os.open(bundle, os.O_RDONLY | os.O_CLOEXEC)
        numbers = os.pread(_file, 2 * NUMBER, 0)
        made_for, parts, others = _read(
            int.from_bytes(numbers[:NUMBER], "big"), int.from_bytes(numbers[NUMBER:], "big")
        )
        modules = [each for part, _, _ in parts for each in part]
        # A number below 3 is that of a standard stream which is closed.
        if _file > 2 and made_for == MADE_FOR and all(map(is_current, modules)):
            # In parts: memory that was read into is used again for the next one, which is faster than new memory.
            codes = [code for _, at, length in parts for code in _read(at, length)]
            later.update(others)
            return list(zip(modules, codes, strict=True))
    except (OSError, EOFError, ValueError, TypeError, OverflowError, MemoryError):
        pass  # whatever it is, it is no bundle
    if _file >= 0:
        os.close(_file)
    return []


def _read(at: int, length: int) -> Any:
    return marshal.loads(os.pread(_file, length, at))  # noqa: S302  (as believable as a .pyc)


def is_current(module: Module) -> bool:
    """Whether a module's file has not changed. Its `ctime` says so: installers may set the `mtime` as they like."""
    try:
        found = os.stat(module[1])
    except OSError:
        return False
    return found.st_ctime_ns == module[2] and found.st_size == module[3]


def _execute(module: Module, code: CodeType) -> None:
    """Import a module whose own imports are there already."""
    name, file = module[:2]
    if name in sys.modules:  # imported by one before it, in a circle
        return
    spec = _spec(module, SourceFileLoader(name, file))
    made = type(sys)(name)
    made.__spec__, made.__loader__, made.__file__, made.__package__ = spec, spec.loader, file, spec.parent
    if spec.submodule_search_locations is not None:
        made.__path__ = spec.submodule_search_locations
    sys.modules[name] = made
    exec(code, made.__dict__)  # noqa: S102  (as an import does)
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, made)


def _spec(module: Module, loader: SourceFileLoader | ExtensionFileLoader) -> ModuleSpec:
    name, file, _, _, is_package = module
    spec = ModuleSpec(name, loader, origin=file, is_package=is_package)
    spec.has_location = True
    if is_package:
        spec.submodule_search_locations = [os.path.dirname(file)]
    return spec


class Bundled:
    """Finds modules in the bundle, and notes what is not there. It is asked before folders are searched."""

    @staticmethod
    def find_spec(name: str, _path: Sequence[str] | None = None, _target: object = None) -> ModuleSpec | None:
        """The spec of a module that is in the bundle."""
        if name not in later or not is_current(later[name][0]):
            missed.append(name)
            return None
        module, _, length = later[name]
        return _spec(module, (FromBundle if length else ExtensionFileLoader)(name, module[1]))


class FromBundle(SourceFileLoader):
    """Loads a module's code from the bundle, and all else from its file."""

    def get_code(self, fullname: str) -> CodeType | None:
        return code(fullname)


def code(name: str) -> CodeType:
    """The code of a module that only some runs import."""
    _, at, length = later[name]
    found: CodeType = _read(at, length)
    return found


class Packages:
    """Adds the environment's packages when something is imported that is nowhere else. It is asked last."""

    @staticmethod
    def find_spec(name: str, folders: Sequence[str] | None = None, _target: object = None) -> ModuleSpec | None:
        """The spec of a module from a package."""
        if folders is not None or name[0] == "_":  # a part of what was found, or of the standard library
            return None
        _add_packages()
        return PathFinder.find_spec(name)


def _add_packages() -> None:
    """Do what the interpreter does without `-S`: add the environment's packages, and those beside bb."""
    import site  # noqa: PLC0415

    sys.meta_path.remove(Packages)
    site.main()
    site.addsitedir(os.path.dirname(HERE))
