"""What bb installs in a work tree or in git: hooks, editor settings, the skill."""
