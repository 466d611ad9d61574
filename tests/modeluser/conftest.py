"""The market of the scripted model: a real chain, both databases."""

from tests.operations.conftest import chain_process, trade  # noqa: F401 - the fixtures
