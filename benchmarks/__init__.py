"""Benchmarks: `python -m benchmarks` runs the real server beside the least that any server must do, in turns."""
