"""Runs the whole market in a simulated world, where one seed decides everything that happens."""
