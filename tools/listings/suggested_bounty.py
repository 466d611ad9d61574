"""A bounty for a search that found nothing, ready to be posted."""

import unicodedata

from tools.engine.arguments import BIDI
from tools.kernel.records import Json
from tools.listings.records import ReadyBounty
from tools.screening.errors import ContentRejected
from tools.screening.logic import public_words

USUAL_BUDGET = 1_000_000  # 1 USDC, if the search named no price
ANYTHING, ANY_CATEGORY = "a service", "other"
MAX_TITLE = 120


def ready_bounty(q: str | None, category: str | None, tag: str | None, max_price: int | None) -> ReadyBounty | None:
    """Return a create_bounty body for these words and filters; None if screening refuses it."""
    for words in (_one_line(q or tag or category or ANYTHING), ANYTHING):
        body: dict[str, Json] = {
            "title": f"Wanted: {words}"[:MAX_TITLE].strip(),
            "description": f"Wanted: {words}. Say in your proposal what you deliver, in which form, and by when.",
            "budget_max": USUAL_BUDGET if max_price is None else max_price,
            "category": category or ANY_CATEGORY,
            "tags": [tag] if tag else [],
        }
        try:
            public_words({name: body[name] for name in ("title", "description", "category", "tags")})
        except ContentRejected:
            continue
        return ReadyBounty(body=body)
    return None


def _one_line(text: str) -> str:
    """Return the text without the characters that are not allowed in one line."""
    kept = (" " if unicodedata.category(one) in ("Cc", "Zl", "Zp") else one for one in text if one not in BIDI)
    return " ".join("".join(kept).split()) or ANYTHING
