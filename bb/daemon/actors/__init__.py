"""Running actors: start, stop, deliver messages, clean up."""
