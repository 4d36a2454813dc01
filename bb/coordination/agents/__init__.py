"""Who an agent is: names, registration, sessions that hold a name, liveness, pauses. What agents hold is in
`holdings`."""
