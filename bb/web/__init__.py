"""Face: pages for people, live in a browser or as one file."""
