"""The shared context of a group and its tasks (IPC §8.7), in the vocabularies of all client versions."""
