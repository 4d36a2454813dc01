"""The ledger: the only room that reads and writes files and runs git."""
