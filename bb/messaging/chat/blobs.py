"""Paths of blobs: `state/blobs/<sha256>_<name>`, within their group. All such paths are built or checked here.

The name comes from the sender of the file. It is reduced to a form that every file system accepts: no folder, no hidden
file, no control character, not too long.
"""

from __future__ import annotations

from typing import Any

FOLDER = "state/blobs/"
HASH_LENGTH, NAME_LENGTH, ENDING_LENGTH = 64, 120, 16
IN_HASH = "0123456789abcdef"
IN_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
UNNAMED = "file"


def blob_path(sha256: str, name: str) -> str:
    """The path of the blob with that hash, whose sender named it NAME."""
    return FOLDER + blob_name(sha256, name)


def blob_name(sha256: str, name: str) -> str:
    """The name of the file in the group's folder of blobs."""
    return f"{sha256.lower()}_{safe_name(name)}"


def safe_name(name: str) -> str:
    """NAME without folders and special characters. If it is too long, the stem is shortened, not the extension."""
    last = name.replace("\\", "/").rpartition("/")[2].strip()
    plain = "".join(character if character in IN_NAME else "_" for character in last).strip(".") or UNNAMED
    stem, dot, ending = plain.rpartition(".")
    if len(plain) <= NAME_LENGTH or not dot or len(ending) > ENDING_LENGTH:
        return plain[:NAME_LENGTH].rstrip(".")
    return f"{stem[: NAME_LENGTH - 1 - len(ending)]}.{ending}"


def is_blob_path(path: Any) -> bool:
    """Whether PATH is a valid path of a blob."""
    if not isinstance(path, str) or not path.startswith(FOLDER):
        return False
    sha256, underscore, name = path.removeprefix(FOLDER).partition("_")
    return len(sha256) == HASH_LENGTH and not sha256.strip(IN_HASH) and bool(underscore) and is_safe_name(name)


def is_safe_name(name: str) -> bool:
    return 0 < len(name) <= NAME_LENGTH and not name.strip(IN_NAME) and name[0] != "."


def hash_in(path: str) -> str:
    """The hash in a blob's path."""
    return path.removeprefix(FOLDER)[:HASH_LENGTH]
