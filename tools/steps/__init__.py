"""Steps: functions that several operations share, and the timed jobs that the workers run."""
