"""Lessons from failures of similar markets. Each has a test that is named after it."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
IDS = re.compile(r"test_((?:[maor]\d+_)+)")
LESSONS = {
    "m1": "A wallet that was only declared let a stranger's transfer be claimed.",
    "m2": "The seller changed wallets while a transfer was under way.",
    "m3": "Late, second and short transfers were dropped.",
    "m4": "A round trip inside one transaction looked like a payment.",
    "m5": "The sweep expired a job while its payment was being verified.",
    "m6": "A node's nonsense became a fault, or passed.",
    "m7": "A crash fell between writing the settlement and moving the job.",
    "m8": "A short refund closed the obligation.",
    "m9": "A second obligation was lost, another booked twice.",
    "m10": "A seller accepted and never delivered.",
    "m11": "One bad row stopped the sweep for everyone behind it.",
    "m12": "Unconditional updates raced.",
    "m13": "Buyers who never paid filled a seller's capacity.",
    "m14": "Quoting again pushed the deadline out for ever.",
    "m15": "A limit before a filter hid rows from sweeps.",
    "m17": "Dust, and payments sent back in full, earned badges.",
    "m18": "A crashed request left its idempotency key in progress.",
    "a1": "A bearer key could rotate the root key.",
    "a2": "A signed request could be replayed, in the other environment too.",
    "a3": "A body was rewritten before its signature was checked.",
    "a4": "The leftmost forwarded address was believed.",
    "a5": "Bodies had no limit.",
    "a6": "Calls over MCP carried no address: all of its users shared one rate bucket.",
    "a7": "Agents' text was quoted in platform messages, unscreened.",
    "a8": "Hundreds of unanswered messages came from one agent.",
    "a9": "Overlapping sweeps delivered webhooks twice.",
    "a10": "A webhook was disabled without a word.",
    "a13": "One pattern stopped every service for seconds.",
    "a14": "The validator cache grew without bound; schemas with $id broke on second use.",
    "a15": "A header pattern was quadratic in spaces.",
    "a16": "A name led inside between check and connect; IPv4 hid in IPv6 forms.",
    "a17": "Demand figures were gamed by one poller.",
    "a18": "One seller filled the first page.",
    "a19": "Handles were hoarded.",
    "a20": "A forged payer squatted an account.",
    "a21": "Terms were published that no real client could read.",
    "a22": "An authorization sent again was charged again, or its answer lost.",
    "a23": "JSON without its content type was refused.",
    "a24": "A promise was contradicted by one endpoint.",
    "a26": "Job content leaked into a public page.",
    "r1": "One cheap regular outvoted everybody.",
    "r2": "The operator's own purchases looked like demand.",
    "r3": "A label that could change rewrote history.",
    "r4": "Two of four tier checks were the same set.",
    "r5": "Abandoned revisions read as on time.",
    "r6": "Free jobs counted as counterparties.",
    "r7": "The service's own probes polluted live figures.",
    "r8": "Stored sums drifted when a formula changed.",
    "r9": "What runs once ran at every start.",
    "o1": "Health touched neither the database nor the sweep.",
    "o2": "No backup, and no restore was ever tried.",
    "o3": "A second copy of the version, kept by hand, was forgotten.",
    "o4": "Texts advertised what did not exist.",
    "o5": "Ids of events interleaved; backlog and live stream had a gap between them.",
    "o6": "Lists read once per row, searches read whole tables.",
    "o7": "A limit that did not parse fell back to the largest.",
}
WISHES = {  # requests of agents and their operators
    "who must act, by when, and what happens by itself": "test_silence_says_who_must_act_by_when_and_what_happens_then",
    "a stated no, with its reason": "test_a_seller_says_no_before_the_work",
    "an example that can be ordered as it stands": "test_an_example_can_be_ordered_as_it_stands",
    "all that is wrong with a request at once": "test_all_that_is_wrong_is_said_at_once",
    "amount and payee before anything is signed": "test_amount_and_payee_are_shown_before_anything_is_signed",
    "no empty deliveries": "test_a_delivery_that_breaks_rules_is_refused_with_each_of_them",
    "checks of the sealed output": "test_the_buyer_sees_what_was_checked_while_it_is_sealed_and_nothing_else",
    "search in every script": "test_words_are_found_in_every_script",
}


@cache
def names_of_tests() -> set[str]:
    """Return the names of all tests, from their source."""
    found = set()
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found.add(node.name)
    return found


def test_every_lesson_has_a_test_of_its_name() -> None:
    named = {one for name in names_of_tests() if (ids := IDS.match(name)) for one in ids[1].strip("_").split("_")}
    assert named == LESSONS.keys()


@pytest.mark.parametrize("wish", WISHES)
def test_what_was_asked_for_has_its_test(wish: str) -> None:
    assert WISHES[wish] in names_of_tests()
