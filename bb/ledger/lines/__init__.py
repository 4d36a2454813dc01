"""The lines of the work tree: the symbols of its files, and what the regions of scopes are there."""
