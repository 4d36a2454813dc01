"""Which ignored files of a work tree a throw-away tree goes without.

Tests need what was installed or configured, such as `node_modules`, `.venv` and `.env`. They must not get what was made
from the sources: it may contain half-done work of others, and a tool that finds it in two trees mixes them up.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

# Of git and bb: they belong to one work tree, or to all of them.
REPOSITORIES = frozenset([".git", ".bb", ".hg", ".jj", ".svn"])
# Results of compilers and bundlers.
MADE = frozenset(
    [
        *("build", "dist", "target", "out", "bin", "obj", "_build", "cmake-build-*", "DerivedData"),
        *(".next", ".nuxt", ".output", ".svelte-kit", ".angular", ".astro", ".docusaurus", "storybook-static"),
        *("*.o", "*.obj", "*.a", "*.pyc", "*.pyo", "*.class", "*.tsbuildinfo", "*.egg", "site"),
    ]
)
# Caches. Their entries have paths or times of one tree, and two runs that write one at once damage it.
CACHES = frozenset(
    [
        *("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".pytype", ".pyre", ".hypothesis"),
        *(
            ".import_linter_cache",
            ".tox",
            ".nox",
            ".cache",
            ".parcel-cache",
            ".turbo",
            ".nx",
            ".gradle",
            ".eslintcache",
        ),
        *(".stylelintcache", ".vite", ".webpack", ".sass-cache", ".ccache", ".zig-cache", "zig-out", ".dart_tool"),
    ]
)
# What a run leaves behind: coverage, logs, crash dumps, and files of editors and systems.
LEFTOVERS = frozenset(
    [
        *("coverage", "htmlcov", ".coverage", ".coverage.*", ".nyc_output", "lcov.info", "test-results"),
        *(
            "*.log",
            "logs",
            "tmp",
            "temp",
            "*.pid",
            "*.lock",
            "core.[0-9]*",
            "*.swp",
            "*.swo",
            "*~",
            ".DS_Store",
            "Thumbs.db",
        ),
        *(".idea", ".vscode", ".vs", ".direnv"),
    ]
)
LEFT_OUT = REPOSITORIES | MADE | CACHES | LEFTOVERS
_NAMES = frozenset(name for name in LEFT_OUT if not set(name) & set("*?["))
_PATTERNS = tuple(sorted(LEFT_OUT - _NAMES))


def is_left_out(path: str) -> bool:
    """Whether the ignored file or folder PATH, relative to the work tree and with slashes, is left out."""
    return any(part in _NAMES for part in path.split("/")) or _matches(path.rpartition("/")[2])


def _matches(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in _PATTERNS)
