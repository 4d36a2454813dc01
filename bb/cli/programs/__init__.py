"""Commands that are programs of their own: attach, daemon, demo, serve, MCP, web pages, CBCL batch."""
