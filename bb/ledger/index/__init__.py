"""The cache of current state in SQLite. It is built from the journals and may be deleted at any time."""
