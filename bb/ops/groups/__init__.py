"""Ops on groups: members, context, tasks, templates, terminals and the daemon."""
