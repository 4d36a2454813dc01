"""CCCC groups: settings, members, context, tasks and templates. Pure rules over facts."""
