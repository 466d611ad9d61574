"""The scripted world. Its checks say what differs, as a test's own do."""

import pytest

pytest.register_assert_rewrite(*(f"tests.world.{name}" for name in ("cast", "changes", "checks", "courts", "deals")))
