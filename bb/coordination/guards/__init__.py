"""What a command or a commit would do to the work of others: shell lines, git hazards, CI verdicts. No program is
run here."""
