"""Face: the tools and resources that an MCP host sees."""
