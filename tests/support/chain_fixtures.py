"""Fixtures for tests of the chain."""

from collections.abc import Iterator

import pytest

from tests.support.evm import Evm, backends


@pytest.fixture(scope="module", params=backends())
def evm(request: pytest.FixtureRequest) -> Iterator[Evm]:
    """A chain with Base Sepolia's id, shared by a module's tests.

    Each test runs once on each available kind of chain.
    """
    with Evm(backend=request.param) as chain:
        yield chain
