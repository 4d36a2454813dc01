"""Who said what to whom; what was read and what was accepted. Pure rules over facts."""
