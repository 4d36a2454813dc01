"""Runs a script of steps against a ledger in memory, to try out a policy."""
