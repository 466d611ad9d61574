"""Screening for payment redirection: texts that ask for money, or for power over it, outside the terms of payment.

A demand is a verb in its place (imperative, or after "please", "must" …), what it moves, and a destination, in one
sentence or in neighbouring ones. A text without a destination demands nothing.
"""

import re
from bisect import bisect_left, bisect_right
from functools import cache

from tools.screening.codes import Code
from tools.screening.phrase_rules import Clauses, TextMarks, vocabulary
from tools.screening.visible_text import folded

MARK = "zqaddress"  # replaces a destination in the text that is screened
_GAP = r"[\s.,·|/\\+*'\"`_~:()\[\]-]{0,4}"
_HEX = "[0-9a-fA-F]"
_BASE58 = "1-9A-HJ-NP-Za-km-z"
_NAMES = "eth|sol|crypto|bnb|wallet|nft|ton|blockchain"
_DOT = r"(?:\s{0,2}[.。·]\s{0,2}|\s{0,2}[(\[{]\s?(?:dot|punkt|point|punto|ponto|точка|点)\s?[)\]}]\s{0,2}|\s{1,2}(?:dot|punkt|point|punto|ponto|точка|点)\s{1,2})"
_WHOLE = rf"(?<![0-9A-Za-z])(?:[0oO]|zero|null|zéro|cero|ноль|零)\s?[xX×хХ](?:{_GAP}{_HEX}){{40}}(?!{_HEX})"
_SHORTENED = rf"(?<![0-9A-Za-z])0[xX]{_HEX}{{2,20}}\s?(?:\.{{2,6}}|\*{{2,6}}|_{{2,6}})\s?{_HEX}{{0,20}}"
_BARE = rf"(?<![0-9A-Za-z]){_HEX}{{40}}(?![0-9A-Za-z])"
_NAME = rf"(?<![\w.-])[\w-]{{2,60}}(?:\.[\w-]{{2,60}})?{_DOT}(?:{_NAMES})(?![\w-]|\.\w)"
_OTHER_CHAINS = (
    rf"(?<![0-9A-Za-z])(?:(?:bc|tb|ltc|cosmos|osmo|addr|kaspa|stake|celestia)1[02-9a-z]{{25,100}}|T[{_BASE58}]{{33}}"
    rf"|[13LM](?=[{_BASE58}]*[A-Z])(?=[{_BASE58}]*[a-z])[{_BASE58}]{{25,34}}"
    rf"|(?=[{_BASE58}]{{0,20}}\d)(?=[{_BASE58}]{{0,20}}[A-Z])(?=[{_BASE58}]{{0,20}}[a-z])[{_BASE58}]{{32,44}})(?![0-9A-Za-z])"
)
_PLACES = re.compile("|".join((_WHOLE, _SHORTENED, _NAME, _BARE, _OTHER_CHAINS)), re.ASCII & 0)
_BEGUN = re.compile(rf"(?<![0-9A-Za-z])0[xX]({_HEX}{{4,38}})(?![0-9A-Za-z])")
_RUN = re.compile(rf"(?<![0-9A-Za-z]){_HEX}{{4,36}}(?![0-9A-Za-z])")
_REACH = 160  # characters after one part of a cut address in which the next part is looked for
REACH = 26  # words between a demand and its destination


@cache
def _clauses() -> Clauses:
    return Clauses(({"place": {"any": [MARK]}}, vocabulary("money"), vocabulary("tools")), ())


TOOL_NAMES = frozenset({
    "accept_job", "accept_quote", "pay_job", "review_job", "award_bounty", "create_job", "create_bounty", "create_api_key",
    "create_webhook", "submit_verdict", "set_wallet_address", "cancel_job", "refund_job", "dispute_job", "deliver_job", "decline_job",
    "withdraw_dispute", "withdraw_proposal", "delete_me", "update_me", "rotate_key", "propose_on_bounty", "post_message",
    "start_thread", "request_revision", "put_memory", "revoke_api_key", "get_me", "export_me",
})  # fmt: skip
_TOOL = re.compile(rf"(?<![\w.])(?:{'|'.join(sorted(TOOL_NAMES))})(?!\w)", re.IGNORECASE)
_LISTING = re.compile(r"\blst_[\w.]+")
_VERBS = (
    ("pay", False),
    ("pay_base", True),
    ("move", False),
    ("move_base", True),
    ("approve", False),
    ("approve_base", True),
)

Mark = tuple[int, int]


def demands(seen: str) -> set[str]:
    """Return the codes of a visible text that redirects a payment or asks to use a tool."""
    text = _LISTING.sub(" zqlisting ", _TOOL.sub(" zqtool ", marked(seen)))
    if not any(mark in text for mark in (MARK, "zqtool", "zqlisting")):
        return set()
    reading = _Reading(_clauses().marks_of(folded(text)))
    found: set[str] = set()
    ways = (reading.demands, reading.is_owed, reading.replaces, reading.names_place, reading.waits_for_money)
    if MARK in text and any(way() for way in ways):
        found.add(Code.PAYMENT_REDIRECTION)
    if reading.uses_tools():
        found.add(Code.TOOL_INSTRUCTION)
    return found


class _Reading:
    """The marks of one text, with checks of what is near what."""

    def __init__(self, said: TextMarks) -> None:
        self._marks, self._ends, self._breaks = said.marks, said.ends, said.breaks
        self._within, self._same_sentence = said.within, said.same_sentence

    def demands(self) -> bool:
        """Check whether a verb asks to move money or approve a spender, with a destination near."""
        return any(
            self._asks(mark, base=base) and self._has_object(mark, kind) and self._leads_to_place(mark)
            for kind, base in _VERBS
            for mark in self._marks.get(kind, [])
        )

    def names_place(self) -> bool:
        """Check whether a destination follows right after a payee or is part of an advance."""
        for kind, reach in (("payee", 6), ("their_place", 2), ("advance", 12)):
            for mark in self._marks.get(kind, []):
                if self._told_of(mark) or (kind != "advance" and self._negated(mark)):
                    continue
                place = self._next("place", mark, reach)
                if place is not None and not self._example_between(mark, mark[1] + place):
                    return True
        return False

    def waits_for_money(self) -> bool:
        """Check whether the work begins only once money is at a destination."""
        return any(
            self._near("begins", mark, 24, 24)
            and self._near("money", mark, 10, 10)
            and self._near("place", mark, 10, 10)
            and self._near("if", mark, 16, 4)
            and not self._told_of(mark, conditions=False)
            for mark in self._marks.get("arrived", [])
        )

    def is_owed(self) -> bool:
        """Check whether money "must go to" a destination."""
        return any(
            self._near("money", mark, 9, 9)
            and not self._near("negated", mark, 3, 2)
            and not self._told_of(mark)
            and self._reaches(mark, 4, 9)
            for mark in self._marks.get("due", [])
        )

    def replaces(self) -> bool:
        """Check whether the market's payee is called outdated and another one is named."""
        return any(
            self._near("outdated", mark, 9, 9)
            and not self._told_of(mark)
            and self._some("place", mark[0] - REACH, mark[0] + REACH)
            for mark in self._marks.get("payee", [])
        )

    def uses_tools(self) -> bool:
        """Check whether the text asks to use a tool, or to order from a listing."""
        tools = [one for one in self._marks.get("tool", []) if not self._told_of(one) and not self._negated(one)]
        if any(self._near("at_once", one, 6, 6) for one in tools):
            return True
        called = [(call, "tool") for call in self._marks.get("call", [])]
        called += [(order, "listing") for order in self._marks.get("order", [])]
        return any(self._near(kind, verb, 2, 7) and self._asks(verb, base=True) for verb, kind in called)

    def _asks(self, mark: Mark, *, base: bool) -> bool:
        start = self._clause(mark[0])
        if self._told_of(mark) or self._negated(mark):
            return False
        if not base:
            return not self._before("subject", mark, 1)
        if self._before("subject", mark, 1) and not self._before("urge", mark, 1):
            return False
        return start == mark[0] or self._before("urge", mark, 4) or self._urged_far_ahead(mark)

    def _urged_far_ahead(self, mark: Mark) -> bool:
        """Check whether the verb ends what "please" began, as in German "bitte … überweisen"."""
        return self._some("urge_ahead", max(self._sentence(mark[0]), mark[0] - 18), mark[0] - 1)

    def _negated(self, mark: Mark) -> bool:
        """Check whether a "not" negates the mark: before it in its clause, or right behind it.

        A "not" behind it does not count if an alternative follows.
        """
        low = max(self._clause(mark[0]), mark[0] - 6)
        nots = [one for one in self._within("negated", low, mark[1] + 2) if not mark[0] <= one[0] <= mark[1]]
        for one in nots:
            if any(first <= one[0] <= last for first, last in self._within("still", one[0] - 4, one[0])):
                continue
            if one[0] < mark[0] or not self._near("rather", mark, 0, 14):
                return True
        return False

    def _told_of(self, mark: Mark, *, conditions: bool = True) -> bool:
        """Check whether the sentence talks about such demands, or its clause begins with "if"."""
        sentence, clause = self._sentence(mark[0]), self._clause(mark[0])
        if self._some("told_of", sentence, mark[0] - 1):
            return True
        return conditions and self._some("if", clause, mark[0] - 1)

    def _example_between(self, mark: Mark, place: int) -> bool:
        low, high = min(mark[1], place), max(mark[0], place)
        return self._some("example", low + 1, high - 1)

    def _has_object(self, mark: Mark, kind: str) -> bool:
        if kind.startswith("approve"):
            return self._near("spender", mark, 14, 14)
        data = self._next("data", mark, 4)
        money = self._next("money", mark, 9)
        if data is not None and (money is None or data <= money):
            return False
        if kind.startswith("move"):
            return money is not None or self._near("money", mark, 10, 0)
        return True

    def _leads_to_place(self, mark: Mark) -> bool:
        if self._reaches(mark, 12, REACH):
            return True
        theirs = self._near("their_place", mark, 8, 14)
        return theirs and self._some("place", mark[0] - REACH, mark[0] + 2 * REACH)

    def _reaches(self, mark: Mark, before: int, after: int) -> bool:
        """Check for a destination in the sentence, or as most of the next or the last one."""
        for place in self._within("place", mark[0] - before, mark[0] + after):
            if self._example_between(mark, place[0]):
                continue
            if self._same_sentence(place[0], mark[0]) or self._stands_alone(place, mark):
                return True
        return False

    def _stands_alone(self, place: Mark, mark: Mark) -> bool:
        at, own = bisect_right(self._ends, place[0]), bisect_right(self._ends, mark[0])
        first = self._ends[at - 1] if at else 0
        return place[0] - first <= {1: 6, -1: 4}.get(at - own, -1)

    def _near(self, kind: str, mark: Mark, before: int, after: int) -> bool:
        return any(
            self._same_sentence(one[0], mark[0])
            for one in self._within(kind, mark[0] - before, mark[1] + after)
            if one != mark
        )

    def _next(self, kind: str, mark: Mark, after: int) -> int | None:
        """Return how many words after a mark the next one of a kind begins, in its sentence."""
        found = [one[0] for one in self._within(kind, mark[1] + 1, mark[1] + after)]
        return next((at - mark[1] for at in found if self._same_sentence(at, mark[0])), None)

    def _before(self, kind: str, mark: Mark, words: int) -> bool:
        start = self._sentence(mark[0])
        return any(
            max(start, mark[0] - words) <= one[1] < mark[0]
            for one in self._within(kind, mark[0] - words - 4, mark[0] - 1)
        )

    def _some(self, kind: str, low: int, high: int) -> bool:
        """Check whether a mark of a kind begins between two places."""
        marks = self._marks.get(kind, [])
        at = bisect_left(marks, (low, 0))
        return at < len(marks) and marks[at][0] <= high

    def _sentence(self, place: int) -> int:
        at = bisect_right(self._ends, place)
        return self._ends[at - 1] if at else 0

    def _clause(self, place: int) -> int:
        at = bisect_right(self._breaks, place)
        return max(self._breaks[at - 1] if at else 0, self._sentence(place))


def marked(seen: str) -> str:
    """Replace each destination in a visible text with MARK."""
    return _whole(_PLACES.sub(f" {MARK} ", seen))


def _whole(text: str) -> str:
    """Mark the first address whose parts add up to forty hex digits."""
    for begun in _BEGUN.finditer(text):
        digits, last = len(begun[1]), begun.end()
        for part in _RUN.finditer(text, last, last + _REACH):
            digits, last = digits + len(part[0]), part.end()
            if digits >= 40:
                break
        if digits == 40:
            return f"{text[: begun.start()]} {MARK} {text[last:]}"
    return text
