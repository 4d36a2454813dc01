"""The daemon: serves CCCC clients on a socket and runs actors. What is true is in the ledgers, not here."""
