"""Chains: verifies transfers, wallets and identities from a node's answers."""
