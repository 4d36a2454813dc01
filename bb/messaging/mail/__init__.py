"""Mail between agents (Operative Protocol): sending, the state of each copy, and notifications of a person's orders."""
