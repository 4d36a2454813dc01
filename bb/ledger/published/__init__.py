"""The format of the published branch and what this clone knows of it. Fetching and pushing are in `travel`."""
