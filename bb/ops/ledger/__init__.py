"""Ops on the ledger itself: log, verify, sync, rotation, redaction, signing."""
