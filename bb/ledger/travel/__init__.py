"""Moving lines between clones: sync, publication, snapshots, archives, rotation, the mirror in the work tree."""
