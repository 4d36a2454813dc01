"""A cache of current state in SQLite: it is built from the journals and may be deleted at any time."""
