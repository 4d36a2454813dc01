"""The door to git, and what git's own files say: where a repository is, whose it is, its work trees, what is staged."""
