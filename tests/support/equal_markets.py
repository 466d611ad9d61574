"""Two markets with the same history, one on each database, and the words and queries for both."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random  # noqa: TID251 - seeded: the same market and queries every time
from typing import Any, TypeVar

import orjson
from eth_account import Account

from tests.support.market import Agent, TestMarket
from tests.support.proofs import ReadContext
from tests.support.trade import OFFER, binding
from tests.tools.listings.test_search_operations import prove

T = TypeVar("T")
Json = dict[str, Any]
SCRIPTS = {
    "latin": ("traducción", "façade", "Straße", "smörgås", "naïve", "code", "review"),
    "cyrillic": ("перевод", "текста", "договор", "ёлка", "картина"),
    "arabic": ("ترجمة", "صورة", "عقد", "بيانات", "النص"),
    "hebrew": ("תרגום", "מסמך", "תמונה", "חוזה", "נתונים"),
    "devanagari": ("अनुवाद", "पाठ", "चित्र", "अनुबंध", "आंकड़े"),
    "han and kana": ("機械翻訳", "文書", "画像", "契約", "データ", "翻訳"),
    "hangul": ("번역", "문서", "이미지", "계약", "데이터"),
}
OPERATORS = (
    "AND",
    "OR",
    "NOT",
    "NEAR",
    "NEAR(a b, 2)",
    "*",
    '"',
    "^",
    "-",
    "+",
    ":",
    "(",
    ")",
    "\\",
    "&",
    "|",
    "<->",
    "!",
)
DRESSES = (
    '"{}"', "{}*", "^{}", "-{}", "+{}", "title:{}", "({})", "{}\\", "{{{}}}:", "{}:*", "!{}", "'{}", "{}--", "%{}_", "{})(",
)  # fmt: skip
CATEGORIES = ("text", "code", "r & d", "言語", "перевод")
TAGS = ("c++", "a b", '"quoted"', "it's", "back\\slash", "번역", "*", "or", ":*", "ترجمة")
PRICES = (0, 1, 9_999, 10_000, 250_000, 999_999, 1_000_000, 10**12)
DOMAINS = ("a.example.com", "b.example.com", "c.example.com")
FRAMEWORKS = ("lang graph", "none", "c++")
SORTS = ("relevance", "newest", "cheapest", "rating")


@dataclass
class Twins:
    """Two markets that get the same calls and must give the same answers, byte for byte."""

    markets: Sequence[TestMarket]
    agents: list[Agent] = field(default_factory=list)
    sellers: list[Agent] = field(default_factory=list)

    async def answer(self, operation: str, by: Agent | None = None, on: str = "test", **given: Any) -> Json:
        one, other = [await market.answer(operation, given, key=by.keys[on] if by else None) for market in self.markets]
        assert one.body == other.body, (operation, given)
        assert not one.refused, (operation, given, one.body)
        found: Json = orjson.loads(one.body)
        return found

    async def each(self, do: Callable[[TestMarket], Any]) -> None:
        for market in self.markets:
            await do(market)

    def pass_seconds(self, seconds: float) -> None:
        for market in self.markets:
            market.pass_seconds(seconds)

    async def fill(self, dice: Random, listings: int, bounties: int, agents: int) -> None:
        """Make agents, listings and bounties in every script, in both environments."""
        for number in range(agents):
            await self._agent(dice, number)
        for number in range(listings):
            await self._listing(dice, self.sellers[number % len(self.sellers)])
        for number in range(bounties):
            await self._bounty(dice, self.agents[number % len(self.agents)])

    async def _agent(self, dice: Random, number: int) -> None:
        made = await self.answer("register_agent", name=said(dice, 2))
        agent = Agent(
            made["agent"]["id"], made["agent"]["handle"], made["api_keys"], bytes.fromhex(made["keypair"]["secret_key"])
        )
        profile: Json = {"description": said(dice, 4), "framework": dice.choice((None, *FRAMEWORKS))}
        profile |= {"tags": some(dice, TAGS, 3), "capabilities": some(dice, TAGS, 3)}
        await self.answer("update_me", agent, **profile)
        self.agents.append(agent)
        if number < len(DOMAINS) * 2:
            await self._domain(agent, f"{number // len(DOMAINS) or 'www'}.{DOMAINS[number % len(DOMAINS)]}")
        if number < 6:
            agent.wallet = Account.from_key(bytes([number + 1] * 32))
            for on in ("live", "test"):
                await self.answer(
                    "set_wallet_address", agent, on, address=agent.wallet.address, signature=binding(agent)
                )
            self.sellers.append(agent)
        if number % 4 == 0:
            await self.each(lambda market: market.as_operator("set_first_party", agent_id=agent.id, first_party=True))
        self.pass_seconds(1)

    async def _domain(self, agent: Agent, domain: str) -> None:
        await self.answer("add_domain", agent, domain=domain)
        for market in self.markets:
            ReadContext(market).publish(agent, domain=domain)
        await self.answer("verify_domain", agent, domain=domain)

    async def _listing(self, dice: Random, seller: Agent) -> None:
        price = dice.choice((None, *PRICES))
        model = "quote" if price is None else dice.choice(("fixed", "per_unit"))
        offer = OFFER | {
            "title": said(dice, 3)[:100],
            "description": said(dice, 5),
            "category": dice.choice(CATEGORIES),
        }
        on = dice.choice(("live", "test", "test"))
        offer |= {
            "tags": some(dice, TAGS, 3),
            "payment": "upfront" if on == "test" and dice.random() < 0.5 else "on_delivery",
        }
        offer |= {"pricing_model": model, "price": price} | ({"unit_name": "page"} if model == "per_unit" else {})
        asked = {name: value for name, value in offer.items() if value is not None}
        listing = await self.answer("create_listing", seller, on, **asked)
        rating, graduated = dice.choice((None, 1.0, 3.5, 4.25, 4.251, 5.0)), dice.random() < 0.4
        await self.each(lambda market: prove(market, listing["id"], rating, graduated))
        if dice.random() < 0.15:
            await self.answer("update_listing", seller, listing["env"], listing_id=listing["id"], status="paused")
        self.pass_seconds(1)

    async def _bounty(self, dice: Random, buyer: Agent) -> None:
        need = {"title": said(dice, 3)[:100], "description": said(dice, 5), "category": dice.choice(CATEGORIES)}
        budget = {"budget_max": dice.choice(PRICES), "tags": some(dice, TAGS, 3)}
        on = dice.choice(("live", "test", "test"))
        bounty = await self.answer("create_bounty", buyer, on, **need, **budget, expires_in_seconds=7_776_000)
        if dice.random() < 0.1:
            await self.answer("close_bounty", buyer, on, bounty_id=bounty["id"])
        self.pass_seconds(1)


def some(dice: Random, values: Sequence[T], most: int) -> list[T]:
    return dice.sample(values, dice.randrange(most + 1))


def said(dice: Random, words: int) -> str:
    """Return plain words of two scripts."""
    first, second = dice.sample(sorted(SCRIPTS), 2)
    return " ".join(dice.choice(SCRIPTS[dice.choice((first, first, second))]) for _ in range(words))


def query(dice: Random, script: str) -> str:
    """Return one to five words, some of another script, some as or between operators."""
    words = list[str]()
    for _ in range(dice.randint(1, 5)):
        word = dice.choice(SCRIPTS[script if dice.random() < 0.8 else dice.choice(sorted(SCRIPTS))])
        words.append(dice.choice(DRESSES).format(word) if dice.random() < 0.4 else word)
        words += [dice.choice(OPERATORS)] if dice.random() < 0.3 else []
    return " ".join(words)[:200]


def filters(dice: Random, operation: str, agents: Sequence[Agent]) -> Json:
    """Return up to two filters of a search, and its detail level."""
    sellers = [*(one.id for one in agents[:6]), *(one.handle for one in agents[:6])]
    both = {"category": CATEGORIES, "tag": TAGS, "env": ("live",)}
    choices: dict[str, dict[str, Sequence[Any]]] = {
        "search_listings": both | {
            "seller": sellers, "max_price": PRICES, "pricing_model": ("fixed", "per_unit", "quote"),
            "payment": ("on_delivery", "upfront"), "graduated": (True, False),
        },
        "search_bounties": both | {"min_budget": PRICES, "first_party": (True, False)},
        "search_agents": {
            "tag": TAGS, "capability": TAGS, "framework": FRAMEWORKS, "verified": (True, False), "env": ("live",),
            "domain": [f"www.{one}" for one in DOMAINS],
        },
    }  # fmt: skip
    names = dice.sample(sorted(choices[operation]), dice.choice((0, 0, 1, 1, 2)))
    asked = {"env": "test"} | {name: dice.choice(choices[operation][name]) for name in names}
    if operation == "search_listings":
        asked["sort"] = dice.choice(SORTS)
    return asked | {"limit": dice.choice((1, 2, 3, 10))}
