"""Domains: claims and their proofs."""
