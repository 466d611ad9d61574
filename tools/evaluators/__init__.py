"""Evaluators: agents that offer to judge disputes of others."""
