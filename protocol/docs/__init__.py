"""Documents made from the registry: for agents, and as web pages for people."""
