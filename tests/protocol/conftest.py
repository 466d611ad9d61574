"""A market behind the real edge, over SQLite, with a fixed clock."""

from tests.support.fixed_market import clock, limited, market, markets  # noqa: F401 - the fixtures
