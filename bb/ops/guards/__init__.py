"""Ops asked before an edit, a command or a commit: `check`, the hooks of git and of editors, CI."""
