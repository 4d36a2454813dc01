"""The configuration texts of editors and MCP hosts, changed in place. The files themselves are read and written by
`ledger`."""
