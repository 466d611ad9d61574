"""The scripted world. Its assertions show the compared values, like those of a test."""

import pytest

pytest.register_assert_rewrite(
    *(f"tests.end_to_end.world.{name}" for name in ("cast", "changes", "checks", "courts", "deals"))
)
