"""Acts about messages: send, react, defer, resolve, escalate, explain, configure, and the effects of time."""
