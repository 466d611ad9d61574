"""What can be done: the registry, the one door, the operations, their records and errors, the rules of the market."""
