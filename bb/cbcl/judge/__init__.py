"""Whether a dialect may be installed and what its calls expand to: rules, signatures, trust, examples, comparison."""
