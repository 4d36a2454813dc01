"""How an installed `bb` starts: without `site`, and with the code of a verb read from one file, its *bundle*.

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
# What the standard library has on other systems, and what `copy` asks Jython for. With `_` begins what it has in other
# versions.
NOT_PACKAGES = sys.stdlib_module_names | {"org"}
NUMBER = 8  # bytes of each of the two numbers at the beginning of a bundle
OTHERS = "others"  # the bundle of all verbs that are not hot
# How to start another Python as this one was: without PYTHONPATH and the like, or at least without the directory we are
# in, where anybody may have put a `bb`.
ALONE = "-EP" if sys.flags.isolated else "-P"

first: dict[str, tuple[Module, CodeType]] = {}  # what every run of the verb imports
# What only some runs of the verb import, and where in the bundle its code is; of no length where it is in C.
later: dict[str, tuple[Module, int, int]] = {}
missed: list[str] = []  # modules that had to be looked for in folders
of_site: set[str] = set()  # modules that `site` and `.pth` files have imported
_file = -1  # the bundle, which stays open for them


def prepare(program: str, words: list[str]) -> None:
    """Get ready to be `bb WORDS`, called as PROGRAM."""
    gc.disable()  # importing makes no garbage; `main` says from when on to look for some
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
    for name in first:
        if name not in sys.modules:
            _import(name)


def path(verb: str) -> str:
    """Where the bundle of a verb lies."""
    return os.path.join(HERE, "__pycache__", f"{verb}.{sys.implementation.cache_tag}.bundle")


def _open(bundle: str, verbs: list[str]) -> None:
    """Take note of what is in a bundle, if that is to be believed, and is not for others than these VERBS."""
    global _file  # noqa: PLW0603  (a process starts once)
    try:
        _file = os.open(bundle, os.O_RDONLY | os.O_CLOEXEC)
        numbers = os.pread(_file, 2 * NUMBER, 0)
        made_for, not_for, parts, others = _read(
            int.from_bytes(numbers[:NUMBER], "big"), int.from_bytes(numbers[NUMBER:], "big")
        )
        modules = [each for part, _, _ in parts for each in part]
        # A number below 3 is that of a standard stream which is closed.
        is_ours = made_for == MADE_FOR and not_for.isdisjoint(verbs)
        if _file > 2 and is_ours and all(map(is_current, modules)):
            # In parts: memory that was read into is used again for the next one, which is faster than new memory.
            codes = [code for _, at, length in parts for code in _read(at, length)]
            first.update((module[0], (module, code)) for module, code in zip(modules, codes, strict=True))
            later.update(others)
            return
    except (OSError, EOFError, ValueError, TypeError, OverflowError, MemoryError):
        pass  # whatever it is, it is no bundle
    if _file >= 0:
        os.close(_file)


def _read(at: int, length: int) -> Any:
    return marshal.loads(os.pread(_file, length, at))  # noqa: S302  (as believable as a .pyc)


def is_current(module: Module) -> bool:
    """Whether a module's file has not changed. Its `ctime` says so: installers may set the `mtime` as they like."""
    try:
        found = os.stat(module[1])
    except OSError:
        return False
    return found.st_ctime_ns == module[2] and found.st_size == module[3]


def _import(name: str) -> None:
    """Import a module whose own imports are there already, by a shorter way than Python's."""
    parent, _, child = name.rpartition(".")
    if parent and parent not in sys.modules:  # its package imports it
        __import__(name)
        return
    module, code = first[name]
    file = module[1]
    spec = _spec(module, SourceFileLoader(name, file))
    made = type(sys)(name)
    made.__spec__, made.__loader__, made.__file__, made.__package__ = spec, spec.loader, file, spec.parent
    if spec.submodule_search_locations is not None:
        made.__path__ = spec.submodule_search_locations
    sys.modules[name] = made
    exec(code, made.__dict__)  # noqa: S102  (as an import does)
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
        if name in first:
            return _spec(first[name][0], FromBundle(name, first[name][0][1]))
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
    """The code of a module that is in the bundle."""
    if name in first:
        return first[name][1]
    _, at, length = later[name]
    found: CodeType = _read(at, length)
    return found


class Packages:
    """Adds the environment's packages when something is imported that is nowhere else. It is asked last."""

    @staticmethod
    def find_spec(name: str, folders: Sequence[str] | None = None, _target: object = None) -> ModuleSpec | None:
        """The spec of a module from a package."""
        if folders is not None or name in NOT_PACKAGES or name[0] == "_":
            return None
        _add_packages()
        return PathFinder.find_spec(name)


def _add_packages() -> None:
    """Do what the interpreter does without `-S`: add the environment's packages, and those beside bb."""
    import site  # noqa: PLC0415

    sys.meta_path.remove(Packages)
    before = set(sys.modules)
    site.main()
    site.addsitedir(os.path.dirname(HERE))
    of_site.update(set(sys.modules) - before)
