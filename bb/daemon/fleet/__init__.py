"""The relays of a daemon: each connects one clone to the engine of its fleet, and answers the commands of the clone."""
