"""Chains for the tests of this directory."""

from collections.abc import Iterator

import pytest

from tests.chain.evm import Evm, backends


@pytest.fixture(scope="module", params=backends())
def evm(request: pytest.FixtureRequest) -> Iterator[Evm]:
    """A chain with Base Sepolia's id, shared by a module's tests; once per chain that is present here."""
    with Evm(backend=request.param) as chain:
        yield chain
