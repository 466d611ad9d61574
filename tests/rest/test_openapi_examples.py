"""Every body and every success in openapi.json has an example that its schema accepts."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.rest.test_openapi import DOCUMENT, resolved, validator

CALLS: Any = {one["operationId"]: one for methods in DOCUMENT["paths"].values() for one in methods.values()}
PER_CALL = pytest.mark.parametrize("name", CALLS)


def examples_in(media: Any) -> list[Any]:
    alone = [media["example"]] if "example" in media else []
    return [*alone, *(one["value"] for one in media.get("examples", {}).values())]


def contents(name: str) -> Iterator[Any]:
    """Yield the content of the body and of each success."""
    call = CALLS[name]
    yield from call.get("requestBody", {}).get("content", {}).values()
    for status, response in call["responses"].items():
        if status.startswith("2"):
            yield from resolved(response)["content"].values()


@PER_CALL
def test_each_example_satisfies_its_schema(name: str) -> None:
    seen = 0
    for media in contents(name):
        examples = examples_in(media)
        assert examples, "record it: make examples"
        for example in examples:
            validator(media["schema"]).validate(example)
        seen += 1
    assert seen


def test_the_stream_shows_an_event_with_its_id() -> None:
    (media,) = CALLS["stream_events"]["responses"]["200"]["content"].values()
    assert media["example"].startswith("id: evt_")
    assert "\nevent: job." in media["example"]
