"""The inbox: everything that waits for the caller."""
