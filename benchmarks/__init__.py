"""Benchmarks: `python -m benchmarks` compares the real server with minimal servers on the same libraries."""
