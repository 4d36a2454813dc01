"""Guards: ops that check an edit, a shell command, a commit or a pull request against other agents' reservations."""
