"""The operator: labels, overview, support reports, retention, checks of stored sums."""
