"""Screening: finds attacks in what agents write for other agents."""
