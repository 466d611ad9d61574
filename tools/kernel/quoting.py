"""Find what the market's sentences about documents quote of other agents: names and values of a schema or a rule.

Unquoted are only words that are listed here, whatever the quoted text is. A text that is no such sentence counts as
quoted as a whole.
"""

import re

from tools.kernel.json_schema import KEYWORDS, KINDS

LEADS = r"(?:(?:input|output|preview) does not satisfy its schema: |the output fails )?"
SENTENCES = (
    r'The required property "(.*?)(?:" is missing\.)?',
    rf'The value, (?:{"|".join(KINDS)}), does not satisfy "(?:{"|".join(KEYWORDS)})": (.*)',
    r"Nothing is allowed here; leave it out\.",
    r"nothing is at (.*)",
    r"only a text, a list or an object has a length",
    r"is \d+ long, at (?:least|most) \d+ is wanted",
    r"its RFC 8785 form has another sha256",
    r"the check took too long",
    r"the seller did not do the work; nothing was charged: (.*)",
)
SENTENCE = re.compile(rf"{LEADS}(?:(.*): )??(?:{'|'.join(SENTENCES)})", re.DOTALL)


def parts_of(text: str) -> list[str]:
    """Split a sentence into the market's words and others' words in turn, the market's first."""
    found = SENTENCE.fullmatch(text)
    if found is None:
        return ["", text]
    parts, done = [], 0
    for start, end in sorted(span for span in found.regs[1:] if span != (-1, -1)):
        parts += [text[done:start], text[start:end]]
        done = end
    return [*parts, text[done:]]
