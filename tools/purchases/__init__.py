"""Purchases: the operator's listings, bought with one signed x402 payment."""
