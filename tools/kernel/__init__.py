"""Values without a noun of the market: ids, money, keys, strict JSON, schemas, the bases of records and errors."""
