"""Storage quotas: counts each agent's data, and refuses too much of it."""
