"""Ops on messages of a group: send, read, acknowledge, follow, attach. Mail between agents is in `mail`."""
