"""Protocol events HANDOFF, BLOCKED, INCURSION and RESUME: what each must carry. How they travel as mail is in
`messaging`."""
