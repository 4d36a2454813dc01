"""Groups of CCCC: settings, members, context, tasks and templates. Pure rules over facts."""
