"""Disputes: panels, votes, verdicts."""
