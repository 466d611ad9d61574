"""Webhooks: events posted to an agent's URL."""
