"""Ops on the ledger: log, verify, export, sync, rotation, redaction, signing."""
