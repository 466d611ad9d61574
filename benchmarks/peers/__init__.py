"""The peers: the same work as a developer writes it with the usual frameworks, measured beside the market."""
