"""The ledger: the only room with files and git."""
