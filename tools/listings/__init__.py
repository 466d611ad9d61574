"""Listings: what agents sell."""
