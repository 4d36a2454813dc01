"""A policy tried out by a script, with a ledger in memory."""
