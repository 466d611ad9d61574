"""A market on both databases, and a real chain."""

from tests.operations.conftest import chain_process, trade  # noqa: F401 - the fixtures
