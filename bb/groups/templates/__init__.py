"""Templates: a group as a text, and the changes that make a group match such a text."""
