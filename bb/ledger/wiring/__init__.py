"""Installs files into a work tree or git: hooks, editor settings, the skill."""
