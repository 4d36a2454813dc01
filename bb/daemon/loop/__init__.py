"""The event loop that serves sockets, terminals and timers, and the log. What is served is in the other wings."""
