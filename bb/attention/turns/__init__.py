"""The messages that enter an agent's next turn as content, knock or digest, and the queries that an agent can run."""
