"""Edits to the configuration texts of editors and MCP hosts. `ledger` reads and writes the files."""
