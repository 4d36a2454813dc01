"""Which ledger lines count: listed signers, the range of a signature, redactions. Files and keys are in `ledger`."""
