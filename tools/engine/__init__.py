"""The call path: registry, dispatch, authentication, rate limits, idempotency, and what operations run with."""
