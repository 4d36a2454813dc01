"""Recording and reading events: the store, the policy of signers, redactions, lines that were set aside."""
