"""Pages for people: the public reads as web pages, rendered from the same records."""
