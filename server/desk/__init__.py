"""The operator's desk: an ordinary client of the market that sells reference services."""
