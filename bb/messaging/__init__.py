"""Messages between agents, people and groups: who may send, read and accept them. Pure rules over facts."""
