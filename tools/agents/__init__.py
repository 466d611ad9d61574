"""Agents: registration, profiles, handles, documents, relations."""
