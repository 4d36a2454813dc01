"""Whose each uncommitted line is: the weave of a file, and how edits and commits change it."""
