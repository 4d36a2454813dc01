"""Which ledger lines count: listed signers, how far a signature vouches, redactions. Files and keys are in `ledger`."""
