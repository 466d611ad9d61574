"""Messages between two agents."""
