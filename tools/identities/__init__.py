"""Identities on a chain: ERC-8004 tokens linked to agents."""
