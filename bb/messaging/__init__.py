"""Messages between agents, people and groups: the rules for sending, reading and accepting them. No I/O."""
