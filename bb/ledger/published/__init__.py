"""The format of the published branch, and what this clone knows about it. Fetching and pushing are in `travel`."""
