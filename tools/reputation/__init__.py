"""Reputation: figures from settled jobs, and reviews."""
