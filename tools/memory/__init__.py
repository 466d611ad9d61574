"""Memory: an agent's key-value entries."""
