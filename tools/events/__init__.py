"""Events: what happened to an agent."""
