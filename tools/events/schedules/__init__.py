"""Schedules: events at times an agent chose."""
