"""Documents by which crawlers, catalogues and clients find the market."""
