"""Files are opened for reading at one place, `bb/ledger/files/disk.py`.

A file that a user, a line or a repository names may be a pipe, a device or a link to one, and bb must not wait for it.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from tests.support import ROOT

DOOR = "ledger/files/disk.py"
OPENING = frozenset(
    [
        *("open", "os.open", "io.open", "codecs.open", "sqlite3.connect", "mmap.mmap", "fileinput.input"),
        *("gzip.open", "bz2.open", "lzma.open", "shelve.open", "dbm.open", "tarfile.open", "linecache.getlines"),
        *("zipfile.ZipFile", "tarfile.TarFile", "sqlite3.Connection", "io.FileIO", "os.sendfile", "runpy.run_path"),
        *("shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree", "tomllib.load", "json.load"),
    ]
)
METHODS = ("read_text", "read_bytes")  # of a path
WRITES = ("O_WRONLY", "O_CREAT")  # who writes waits for no writer, and reads nothing
WRITING = ("w", "wb", "a", "ab", "x", "xb")
# What reads past the door: where, how, and why.
REVIEWED = {
    ("start.py", "_open", "os.open"): "our own cache beside the compiled files; the door would have to be loaded first",
    ("mcp/stdio.py", "serve", "os.open"): "the null device, by its name",
    ("mcp/stdio.py", "_claimed", "open"): "stdin and stdout, which are open already",
    ("web/rendering.py", "asset", "open"): "our own files, in the package",
    ("ledger/wiring/skill.py", "_shipped", ".read_bytes"): "our own files, in the package or a zip of it",
    ("ledger/wiring/skill.py", "_told", ".read_bytes"): "the same",
    ("ledger/wiring/ci_files.py", "template", ".read_bytes"): "the same",
    (
        "ledger/index/database.py",
        "_opened",
        "sqlite3.connect",
    ): "SQLite opens by name; it opens to write, so a pipe keeps it from nothing, and what is no database is refused",
    ("ledger/files/output_files.py", "__enter__", "os.open"): "a file that the user names, opened to write, never read",
    ("ledger/files/file_systems.py", "_read_mounts", "open"): "a table of the kernel, by a fixed name",
    ("ledger/files/lock.py", "_opened", "os.open"): "a lock: opened to write, never through a link, never read",
    ("ledger/local/queue.py", "_is_alive", "os.open"): "a lock: opened to write, never read",
    ("ops/attention/connected.py", "is_connected", "os.open"): "the same",
    ("ledger/files/lock.py", "is_held", "os.open"): "the same",
    (
        "ledger/journal/rewriting.py",
        "blank",
        "os.open",
    ): "opened to write, where the line was just read at the door",
    (
        "ledger/journal/journal.py",
        "repair_tail",
        "os.open",
    ): "opened to write, where the end was read at the door just before",
    ("ledger/journal/unsynced.py", "_opened", "os.open"): "a segment of ours, opened to append, never through a link",
    ("ledger/journal/group_sync.py", "_opened", "os.open"): "state of the running processes, never through a link",
    ("ledger/journal/group_sync.py", "_write_again", "os.open"): "a segment of ours, opened to write what was read",
    ("ledger/files/work_tree_files.py", "write", "os.open"): "a new file of ours (O_EXCL)",
    ("ledger/files/folder_lock.py", "__enter__", "os.open"): "a folder, opened as one (O_DIRECTORY)",
    ("ledger/files/work_tree_files.py", "__init__", "os.open"): "a folder, opened as one (O_DIRECTORY)",
    ("ledger/files/work_tree_files.py", "enter", "os.open"): "the same, one step further, never through a link",
    ("cli/calls/process.py", "_occupy_standard_streams", "os.open"): "the null device",
    ("cli/calls/process.py", "_occupy_standard_streams", "open"): "the same, by its number",
    ("cli/programs/run_aside.py", "_is_in_foreground", "os.open"): "the terminal, by its name; never read",
    ("ledger/carrier/postgres_schema.py", "schema", "open"): "our own file, in the package",
    (
        "ledger/published/fleet_results.py",
        "_rows_through_sqlite",
        "sqlite3.connect",
    ): "SQLite opens by name: see ledger/index/database.py",
    ("ledger/fleet/results_file.py", "_opened", "sqlite3.connect"): "the same",
    ("ledger/published/resting_results.py", "_opened", "sqlite3.connect"): "the same",
    ("ledger/fleet/receiving.py", "_append", "os.open"): "opened to append, where the end was read at the door before",
}


def openings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Where TREE opens something that it may read: the function, and how."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and (how := _opens(call)):
                    yield function.name, how
    for statement in tree.body:
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            calls = (each for each in ast.walk(statement) if isinstance(each, ast.Call))
            yield from (("", how) for call in calls if (how := _opens(call)))


def _opens(call: ast.Call) -> str:
    name = ast.unparse(call.func)
    if isinstance(call.func, ast.Attribute) and call.func.attr in METHODS:
        return f".{call.func.attr}"
    if isinstance(call.func, ast.Attribute) and call.func.attr == "open" and name not in OPENING:
        return ".open" if not name.startswith(("webbrowser.", "self.", "urllib.")) else ""
    if name not in OPENING:
        return ""
    how = ast.unparse(call.args[1]) if len(call.args) > 1 else ""
    only_writes = any(flag in how for flag in WRITES) if name == "os.open" else how.strip("'") in WRITING
    return "" if only_writes else name


@functools.cache
def found() -> set[tuple[str, str, str]]:
    bb = ROOT / "bb"
    paths = [path for path in sorted(bb.rglob("*.py")) if path.relative_to(bb).as_posix() != DOOR]
    assert len(paths) > 300
    return {
        (path.relative_to(bb).as_posix(), *each) for path in paths for each in openings(ast.parse(path.read_text()))
    }


def test_nobody_opens_a_file_for_reading_past_the_door():
    assert found() - set(REVIEWED) == set(), "take `disk.reader`, or say in REVIEWED why not"


def test_every_exception_is_still_one():
    assert set(REVIEWED) - found() == set()
    assert all(REVIEWED.values())
