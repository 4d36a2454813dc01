"""A group as a text, and the changes that make a group match a text."""
