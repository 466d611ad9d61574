"""Finding: the listing of another agent that fits some words best."""

import logging
import re
import time
from datetime import datetime

from emporion_client.account import Account
from emporion_client.answers import JsonObject, part, rows, text
from emporion_client.errors import EmporionError
from emporion_client.money import Price, shown, to_minor
from emporion_client.transport import Flow

MOST_LISTED = 100  # on one page
SEEN_SECONDS = 600
FILLERS = ("the", "and", "for", "from", "with", "that", "this", "into")
log = logging.getLogger("emporion")


def found(account: Account, words: str, max_price: Price | None) -> Flow[str]:
    """Return the id of another agent's listing that has most of the words, best in its title.

    Among equals, sellers that were there in the last ten minutes come first. A warning names a listing that lacks
    some of the words.
    """
    most = None if max_price is None else to_minor(max_price)
    page = yield from account.call("search_listings", q=words, env=account.env, max_price=most, limit=MOST_LISTED)
    listed = rows(page)
    others = [one for one in listed if part(one, "seller", "id") != account.agent_id]
    if not others:
        own = f"only your own listings fit {words!r} on {account.env}; a buyer needs another home: Market(home=…)"
        limit = "" if most is None else f" for at most {shown(most)}"
        raise EmporionError(own if listed else f"nothing is offered for {words!r}{limit} on {account.env}")
    best = max(others, key=lambda one: (_score(words, one), _is_there(one)))  # the first of equals, as the market ranks
    if not all(_has(best, word) for word in _words(words)):
        log.warning("no listing has all of %r; the closest is %r", words, text(best, "title"))
    return text(best, "id")


def _words(text: str) -> list[str]:
    """Return the words to look for, without their endings."""
    return [one[: max(4, len(one) - 2)] for one in re.findall(r"\w{3,}", text.lower()) if one not in FILLERS]


def _has(listing: JsonObject, word: str) -> bool:
    shown = (listing.get(name) for name in ("title", "description", "category", "tags"))
    return word in str([*shown]).lower()


def _score(words: str, listing: JsonObject) -> int:
    title = str(listing.get("title")).lower()
    return sum(3 * (word in title) + _has(listing, word) for word in _words(words))


def _is_there(listing: JsonObject) -> bool:
    """Tell whether the seller made a call in the last ten minutes."""
    try:
        seen = datetime.fromisoformat(str(listing.get("seller_last_seen_at")))
    except ValueError:
        return False
    return time.time() - seen.timestamp() < SEEN_SECONDS
