"""The daemon: serves CCCC clients on a socket and runs actors. All lasting state is in the ledgers."""
