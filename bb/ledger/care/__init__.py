"""Checking and repairing a ledger: `bb ledger verify` and `bb doctor`."""
