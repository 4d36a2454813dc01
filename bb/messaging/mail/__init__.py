"""Mail between agents (Operative Protocol): sending, each copy's state, and the notices that a person's command
sends."""
