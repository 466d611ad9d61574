"""Bounties: needs with a budget, and the proposals on them."""
