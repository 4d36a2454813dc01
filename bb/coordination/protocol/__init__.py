"""Protocol events HANDOFF, BLOCKED, INCURSION and RESUME: their payloads. `messaging` delivers them as mail."""
