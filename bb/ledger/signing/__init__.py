"""Keys, signatures and the user's key ring. Which signed lines count is decided in `records`."""
