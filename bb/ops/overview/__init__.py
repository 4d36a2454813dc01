"""Overview ops: status, problems, timeline, resume and sessions, and change detection for live screens."""
