"""What an op works with: repository, ledger, clock, caller, group; and each caller's sign of life."""
