"""Wallets: binding by proof of control."""
