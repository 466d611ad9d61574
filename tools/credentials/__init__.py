"""API keys, and their recovery with the root key."""
