"""Ops on messages of a group: send, read, acknowledge, follow, attach. `bb/ops/mail` has mail between agents."""
