"""Identifiers and media types of Agentic Resource Discovery 0.91 (spec/ard.md of ards-project/ard-spec, 4 and C)."""

import re

URN = re.compile(r"urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+")
REGISTRY, CATALOG = "application/ai-registry+json", "application/ai-catalog+json"
MANIFEST = "/.well-known/ard.json"


def publisher_in(identifier: str) -> str:
    """Return the publisher of an identifier that matches URN: a host name without a port."""
    return identifier.split(":", 3)[2].lower()
