"""The story that the tests of the model change."""

import pytest

from tests.simulation.model.story import Story, tell_story
from tests.support.trade import Trade

STORIES: list[Story] = []  # the only one


@pytest.fixture
async def story(trade: Trade) -> Story:
    if not STORIES:
        STORIES.append(await tell_story(trade))
    return STORIES[0]
