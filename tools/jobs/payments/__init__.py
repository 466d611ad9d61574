"""Payments of jobs: terms, transfers, refunds."""
