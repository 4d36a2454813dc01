"""Starts an installed `bb` quickly: without `site`, and with the code of a verb read from one file, its *bundle*.

The launcher (`scripts/installed/bb`) runs the interpreter with `-I -S` and calls `prepare`. At first only the standard
library can be imported, and hot verbs need nothing else. `Packages` adds the environment's packages when a command
imports one.

A bundle is a cache like a `.pyc`, in the same `__pycache__` folder: a user who can write it can also write the code. It
contains the modules that earlier runs of the verb imported, in the order of their execution, which saves a search and a
lock for each module. It is used only if the same interpreter made it for the same folder, and if no source file has
changed since. `cli/bundle.py` writes it.
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

    # name, file, time of its last change, size, and whether it is a package
    Module = tuple[str, str, int, int, bool]

HERE = os.path.dirname(__file__)
# A bundle is valid for one interpreter and one folder. A copy of this folder makes its own.
MADE_FOR = (sys.version, os.__file__, HERE)
# Names that are never packages: modules of the standard library on other systems, and `org`, which `copy` tries to
# import for Jython. Modules of other versions begin with `_`.
NOT_PACKAGES = sys.stdlib_module_names | {"org"}
NUMBER = 8  # bytes of each of the two numbers at the beginning of a bundle
OTHERS = "others"  # the bundle of all verbs that are not hot
# Options to start another Python like this one: without PYTHONPATH and similar variables, or at least without the
# current directory, which may contain a foreign `bb`.
ALONE = "-EP" if sys.flags.isolated else "-P"

preloaded: dict[str, tuple[Module, CodeType]] = {}  # imported by every run of the verb
# Imported by some runs of the verb: module, offset and length of its code in the bundle. The length of a C module is 0.
on_demand: dict[str, tuple[Module, int, int]] = {}
# What to import before some modules on demand, in this order: what they import themselves. Imported together, it takes
# half as long.
doors: dict[str, list[str]] = {}
not_in_bundle: list[str] = []  # modules that were not in the bundle
of_site: set[str] = set()  # modules that `site` and `.pth` files imported
_file = -1  # the bundle, kept open for `later`


def prepare(program: str, words: list[str]) -> None:
    """Prepare the interpreter to run `bb WORDS`, called as PROGRAM."""
    gc.disable()  # imports create no garbage; `main` enables the collector again
    sys.argv = [program, *words]
    sys.path.append(os.path.dirname(HERE))
    sys.meta_path.insert(len(sys.meta_path) - 1, Bundled)
    sys.meta_path.append(Packages)
    plain = [word for word in words[:3] if word.replace("-", "").isalnum() and word[0] != "-"]
    verbs = [".".join(plain[:2]), *plain[:1]]
    for verb in (*verbs, OTHERS):
        if verb and os.path.exists(path(verb)):
            _open(path(verb), verbs)
            break
    for name in preloaded:
        if name not in sys.modules:
            _import(name)


def path(verb: str) -> str:
    """The path of a verb's bundle."""
    return os.path.join(HERE, "__pycache__", f"{verb}.{sys.implementation.cache_tag}.bundle")


def _open(bundle: str, verbs: list[str]) -> None:
    """Read a bundle's table of contents, if the bundle is valid and may be used for these VERBS."""
    global _file  # noqa: PLW0603  (a process starts once)
    try:
        _file = os.open(bundle, os.O_RDONLY | os.O_CLOEXEC)
        numbers = os.pread(_file, 2 * NUMBER, 0)
        made_for, not_for, parts, others, first = _read(
            int.from_bytes(numbers[:NUMBER], "big"), int.from_bytes(numbers[NUMBER:], "big")
        )
        modules = [module for part, _, _ in parts for module in part]
        # A file number below 3 belongs to a standard stream that was closed.
        is_ours = made_for == MADE_FOR and not_for.isdisjoint(verbs)
        if _file > 2 and is_ours and all(map(is_current, modules)):
            # Read in parts, so that each part reuses the memory of the one before, which is faster than new memory.
            codes = [code for _, at, length in parts for code in _read(at, length)]
            preloaded.update((module[0], (module, code)) for module, code in zip(modules, codes, strict=True))
            on_demand.update(others)
            doors.update(first)
            return
    except (OSError, EOFError, ValueError, TypeError, OverflowError, MemoryError):
        pass  # not a valid bundle
    if _file >= 0:
        os.close(_file)


def _read(at: int, length: int) -> Any:
    return marshal.loads(os.pread(_file, length, at))  # noqa: S302  (trusted like a .pyc)


def is_current(module: Module) -> bool:
    """Whether a module's file is unchanged, judged by its `ctime`: installers may set any `mtime`."""
    try:
        file_stat = os.stat(module[1])
    except OSError:
        return False
    return file_stat.st_ctime_ns == module[2] and file_stat.st_size == module[3]


def _import(name: str) -> None:
    """Import a module whose own imports are loaded already. This is faster than Python's import."""
    parent, _, child = name.rpartition(".")
    if parent and parent not in sys.modules:  # import its package the usual way
        __import__(name)
        return
    module = preloaded[name][0] if name in preloaded else on_demand[name][0]
    file = module[1]
    spec = _spec(module, SourceFileLoader(name, file))
    loaded = type(sys)(name)
    loaded.__spec__, loaded.__loader__, loaded.__file__, loaded.__package__ = spec, spec.loader, file, spec.parent
    if spec.submodule_search_locations is not None:
        loaded.__path__ = spec.submodule_search_locations
    sys.modules[name] = loaded
    exec(code(name), loaded.__dict__)  # noqa: S102  (as an import does)
    if parent:
        setattr(sys.modules[parent], child, loaded)


def _spec(module: Module, loader: SourceFileLoader | ExtensionFileLoader) -> ModuleSpec:
    name, file, _, _, is_package = module
    spec = ModuleSpec(name, loader, origin=file, is_package=is_package)
    spec.has_location = True
    if is_package:
        spec.submodule_search_locations = [os.path.dirname(file)]
    return spec


class Bundled:
    """Finds modules in the bundle, and records modules that it lacks. Runs before folders are searched."""

    @staticmethod
    def find_spec(name: str, _path: Sequence[str] | None = None, _target: object = None) -> ModuleSpec | None:
        """The spec of a module in the bundle."""
        if name in preloaded:
            return _spec(preloaded[name][0], FromBundle(name, preloaded[name][0][1]))
        if name not in on_demand or not is_current(on_demand[name][0]):
            not_in_bundle.append(name)
            return None
        for first in doors.get(name, ()):
            if first not in sys.modules and first in on_demand and is_current(on_demand[first][0]):
                _import(first)
        module, _, length = on_demand[name]
        return _spec(module, (FromBundle if length else ExtensionFileLoader)(name, module[1]))


class FromBundle(SourceFileLoader):
    """Loads a module's code from the bundle, and everything else from its file."""

    def get_code(self, fullname: str) -> CodeType | None:
        return code(fullname)


def code(name: str) -> CodeType:
    """The code of a module in the bundle. If that part of the bundle is damaged, the code of its file."""
    if name in preloaded:
        return preloaded[name][1]
    module, at, length = on_demand[name]
    try:
        module_code: CodeType = _read(at, length)
        if type(module_code) is type(code.__code__):
            return module_code
    except (OSError, EOFError, ValueError, TypeError, MemoryError):
        pass
    found = SourceFileLoader(name, module[1]).get_code(name)
    if found is None:
        raise ImportError(name)
    return found


class Packages:
    """Adds the environment's packages when an import finds nothing elsewhere. Runs last."""

    @staticmethod
    def find_spec(name: str, folders: Sequence[str] | None = None, _target: object = None) -> ModuleSpec | None:
        """The spec of a module from a package."""
        if folders is not None or name in NOT_PACKAGES or name[0] == "_":
            return None
        _add_packages()
        return PathFinder.find_spec(name)


def _add_packages() -> None:
    """Add the environment's packages, as the interpreter does without `-S`, and the packages beside bb."""
    import site  # noqa: PLC0415

    sys.meta_path.remove(Packages)
    before = set(sys.modules)
    site.main()
    site.addsitedir(os.path.dirname(HERE))
    of_site.update(set(sys.modules) - before)
