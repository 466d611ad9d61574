"""The operator's desk: a client of the market like any other, which sells the operator's reference services."""
