"""What operations share, and the timed steps the workers run."""
