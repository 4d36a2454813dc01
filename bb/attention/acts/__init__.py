"""What agents, people and time do about a message: send, answer, escalate, explain, set things up."""
