"""Groups of CCCC: their settings, actors, tasks and templates. Pure."""
