"""The members of a group: how they are run, and which notices they are owed. Running them is the daemon's job."""
