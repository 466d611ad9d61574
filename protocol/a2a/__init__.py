"""A2A at /a2a."""
