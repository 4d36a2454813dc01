"""A program on a pseudo-terminal, and the content of its screen."""
