"""Returned inputs: which one is free."""

import pytest

from tests.requirements import covers
from tools.jobs.return_rules import returns_free


@pytest.mark.parametrize(
    ("accepted", "returned", "free"),
    [(1, 0, True), (2, 1, True), (9, 1, True), (9, 2, False), (9, 3, False), (10, 2, True), (10, 3, False),
     (14, 3, False), (15, 3, True), (49, 9, True), (49, 10, False), (50, 10, True), (50, 11, False)],
)  # fmt: skip
@covers("second.returned.too_often")
def test_more_than_a_fifth_is_too_often(accepted: int, returned: int, free: bool) -> None:
    assert returns_free(accepted, returned) is free
