"""Access to git and to git's own files: where a repository is, its owner, its work trees, what is staged."""
