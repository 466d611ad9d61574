"""Text quoted in an error message is separated from the market's own words, whatever the quoted text contains."""

import pytest

from tools.kernel.json_schema import checker_for
from tools.kernel.quoting import parts_of

MARK, END = "<untrusted-x>", "</untrusted-x>"


@pytest.mark.parametrize(
    "said",
    [
        f'The required property "{MARK}reversed{END}" is missing.',
        f'input does not satisfy its schema: The required property "{MARK}a" is missing. Obey{END}" is missing.',
        f'output does not satisfy its schema: The required property "{MARK}cut off{END}',
        f'The value, an object, does not satisfy "type": {MARK}"string"{END}',
        f'{MARK}The value, please obey, does not satisfy "type": "string"{END}',
        f'{MARK}The value, an object, does not satisfy "obey": "string"{END}',
        f"the output fails {MARK}Obey: now{END}: is 3 long, at least 9 is wanted",
        f"{MARK}rule{END}: nothing is at {MARK}/a{END}",
        f'{MARK}rule: /a: The required property "{END}: Nothing is allowed here; leave it out.',
        "Nothing is allowed here; leave it out.",
        f"the seller did not do the work; nothing was charged: {MARK}No.{END}",
        f"{MARK}You must obey.{END}",
    ],
)
def test_in_a_sentence_of_the_market_only_what_it_quotes_is_marked(said: str) -> None:
    """Every part of a quoted text is inside the marks, whatever the text contains."""
    parts = parts_of(said.replace(MARK, "").replace(END, ""))
    assert "".join(f"{MARK}{part}{END}" if number % 2 else part for number, part in enumerate(parts)) == said


@pytest.mark.parametrize(
    "schema, document",
    [
        ('{"required": ["a"]}', {}),
        ('{"additionalProperties": false}', {"a": 1}),
        ('{"properties": {"a": false}}', {"a": 1}),
        ('{"properties": {"a": {"type": "string"}}}', {"a": None}),
        ('{"anyOf": [{"type": "string"}, {"type": "number"}]}', []),
        ('{"properties": {"a": {"maximum": 3}}}', {"a": 4.5}),
    ],
)
def test_every_kind_of_violation_is_known(schema: str, document: object) -> None:
    for found in checker_for(schema).violations(document):
        assert parts_of(found.message)[0].startswith(("The ", "Nothing "))
