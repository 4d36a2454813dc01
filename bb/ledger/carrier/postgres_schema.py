"""The statements that make `bb`'s tables and functions in a PostgreSQL database. They are in a file of their own, which
needs no library of PostgreSQL."""

from __future__ import annotations

import os


def schema() -> str:
    """The statements. They can be run again."""
    path = os.path.join(os.path.dirname(__file__), "postgres_schema.sql")
    with open(path, encoding="utf-8") as file:
        return file.read()
