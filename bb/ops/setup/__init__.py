"""Ops that install and remove: `init`, `doctor`, hooks, the skill, editor and MCP host configuration."""
