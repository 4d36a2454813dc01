"""A program on a pseudo-terminal, and what its screen shows."""
