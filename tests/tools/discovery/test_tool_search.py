"""find_tools: a search by purpose finds every operation, with its arguments."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.evaluation.questions import questions
from tests.support.market import TestMarket
from tools import discovery
from tools.catalogue import CATALOGUE
from tools.discovery.market_operations import tool_search
from tools.discovery.tool_search import example_questions, phrases, stem, vocabulary
from tools.engine.json_schemas import input_schema

UNRELATED = [
    "weather in paris tomorrow", "recipe for pancakes", "capital of france", "who won the world cup in 1998",
    "translate hello to french for me please mum", "how tall is mount everest", "best restaurant near the station",
    "solve x squared plus two x", "fix the brakes of my bicycle", "sing a song", "what is love",
    "football scores yesterday", "horoscope for libra", "play some jazz", "turn on the kitchen lamp",
    "how do plants grow", "buy milk and eggs", "train from berlin to prague", "who painted the mona lisa",
    "cure for a headache", "convert ten miles to kilometres", "tell me a joke", "what time is it in tokyo",
    "write a poem about autumn", "is it going to rain", "play chess with me", "explain quantum physics",
    "book a flight to rome", "how old is the pope", "spell necessary", "lose weight fast", "knit a scarf",
    "name three rivers in africa", "call my mother", "how many legs has a spider", "tomato soup ingredients",
    "fastest animal on earth", "directions to the airport", "meaning of dreams", "population of brazil",
    "wash a wool sweater", "learn the piano", "dentist nearby", "the plot of hamlet", "repair a leaking tap",
    "when does the shop close", "birthday present for dad", "dog will not eat", "plural of mouse",
    "square root of two",
]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("refund_job", "refund_job"),
        ("send the refund", "refund_job"),
        ("register a webhook", "create_webhook"),
        ("link my ERC-8004 identity", "link_erc8004"),
        ("prove a domain", "verify_domain"),
        ("store something in memory", "put_memory"),
        ("vote on a dispute", "submit_verdict"),
        ("leaderboard", "get_leaderboard"),
        ("award a bounty", "award_bounty"),
        ("rotate my key", "rotate_key"),
    ],
)
async def test_a_tool_is_found_by_what_it_is_for(market: TestMarket, asked: str, first: str) -> None:
    found = await market.call("find_tools", query=asked)
    assert first in [one["name"] for one in found["data"]][:3]


@pytest.mark.parametrize("verb", ["buy", "purchase", "order", "pay", "hire"])
async def test_a_purchase_without_an_account_comes_before_the_claim_of_one(market: TestMarket, verb: str) -> None:
    first, *_ = (await market.call("find_tools", query=f"{verb} without an account"))["data"]
    assert first["name"] == "buy_with_x402"
    first, *_ = (await market.call("find_tools", query="I bought without an account, give me the keys"))["data"]
    assert first["name"] == "claim_x402_account"


async def test_a_found_tool_says_all_that_a_call_needs(market: TestMarket) -> None:
    (found,) = (await market.call("find_tools", query="put_memory", limit=1))["data"]
    op = CATALOGUE["put_memory"]
    assert found == {
        "object": "tool", "name": "put_memory", "title": "Put memory", "toolset": "memory", "summary": op.summary,
        "description": op.description, "auth": "key", "read_only": False, "surfaces": ["a2a", "mcp", "rest"],
        "method": "PUT", "path": "/v1/memory/{key}", "input_schema": input_schema(op),
    }  # fmt: skip


async def test_without_words_the_index_of_all_tools_or_of_a_toolset_is_answered(market: TestMarket) -> None:
    whole = await market.call("find_tools")
    offered = {name: CATALOGUE[name].summary for name in phrases()}
    assert (whole["index"] | offered, whole["data"], whole["has_more"]) == (whole["index"], [], False)
    listed = await market.call("find_tools", toolset="webhooks", limit=3)
    assert listed["index"] == {name: text for name, text in offered.items() if CATALOGUE[name].toolset == "webhooks"}


def test_every_operation_has_three_to_six_phrases_of_its_own() -> None:
    known = phrases()
    assert known.keys() == {op.name for op in CATALOGUE.values() if op.auth != "admin"}
    assert [name for name, own in known.items() if not 3 <= len(own) <= 6] == []
    every = [phrase for own in known.values() for phrase in own]
    assert len(every) == len(set(every))


async def test_a_destructive_tool_comes_first_only_if_its_own_phrase_was_asked(market: TestMarket) -> None:
    for asked, first in (("delete my account", "delete_me"), ("delete_me", "delete_me")):
        assert (await market.call("find_tools", query=asked))["data"][0]["name"] == first
    for asked in ("delete", "delete prices", "remove everything that is old", "clear the log"):
        names = [one["name"] for one in (await market.call("find_tools", query=asked, limit=20))["data"]]
        assert not names or not CATALOGUE[names[0]].destructive, asked


def test_most_unrelated_questions_find_nothing() -> None:
    found = [asked for asked in UNRELATED if tool_search().find(asked)]
    assert len(found) <= len(UNRELATED) // 4, found


async def test_what_has_nothing_to_do_with_the_market_finds_nothing(market: TestMarket) -> None:
    for asked in ("weather in paris tomorrow", "recipe for pancakes", "capital of france"):
        found = await market.call("find_tools", query=asked)
        assert found["data"] == [], asked


async def test_the_operators_tools_are_nobody_elses(market: TestMarket) -> None:
    names = {one["name"] for page in ["resolve_job", "set_agent_status", "get_overview"]
             for one in (await market.call("find_tools", query=page, limit=20))["data"]}  # fmt: skip
    assert names.isdisjoint({op.name for op in CATALOGUE.values() if op.auth == "admin"})


async def test_where_nothing_is_found_the_toolsets_are_named(market: TestMarket) -> None:
    refused = await market.refusal("find_tools", toolset="bounty")
    assert (refused["code"], refused["param"]) == ("invalid_request", "toolset")
    assert "bounties" in refused["hint"]
    found = await market.call("find_tools", query="zzzzzz")
    assert found["data"] == []
    assert "bounties" in found["hint"]


def test_the_questions_of_the_evaluation_name_tools_that_exist() -> None:
    every = [question for half in questions() for question in half]
    assert len(every) >= 150
    assert {name for question in every for name in question.tools} <= CATALOGUE.keys()


def test_examples_name_offered_tools_and_leave_out_the_questions_of_the_figure() -> None:
    examples = example_questions()
    assert examples.keys() <= phrases().keys()
    _, of_the_figure = questions()
    asked = {normalized(text) for texts in examples.values() for text in texts}
    assert [question.text for question in of_the_figure if normalized(question.text) in asked] == []


def normalized(text: str) -> str:
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text.lower()).split())


def test_each_synonym_has_one_meaning_and_is_no_stop_word() -> None:
    same = tomllib.loads(Path(discovery.__file__).with_name("vocabulary.toml").read_text("utf-8"))["synonyms"]
    stems = [*map(stem, same), *(stem(word) for row in same.values() for word in row)]
    assert [one for one, count in Counter(stems).items() if count > 1] == []
    assert not {word for row in same.values() for word in row} & vocabulary().stop_words
