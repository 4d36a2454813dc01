"""The desk: repository, ledger, clock, caller and group of a request, and the caller's sign of life."""
