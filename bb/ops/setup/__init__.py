"""Ops for setup: `init`, `doctor`, hooks, the skill, and the configuration of editors and MCP hosts."""
