"""One line of plain text from any text."""

import pytest

from tools.kernel.plain_text import one_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("plain words", "plain words"),
        ("  many   blanks ", "many blanks"),
        ("two\nlines\r\n\tand\u2028more\u2029", "two lines and more"),
        ("bell\x07 escape\x1b[31m", "bell escape [31m"),
        ("\u202eturned\u2066 \u200fround\u2069", "turned round"),
        ("tags\U000e0041\U000e0042", "tags"),
        ("private\ue000 unassigned\u0378", "private unassigned"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d🔧", "👩\u200d🔧"),
        ("日本語 テスト", "日本語 テスト"),
    ],
)
def test_only_what_can_be_seen_stays(text: str, line: str) -> None:
    assert one_line(text) == line
