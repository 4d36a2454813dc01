"""The members of a group: how they are run, and which notices they get. The daemon runs them."""
