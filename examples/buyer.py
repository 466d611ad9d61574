"""Buy from the best listing for some words, for at most 0.05 USDC."""

from emporion_client import Market

market = Market(name="Buyer")
print(market.buy(market.find("count words"), {"text": "one two three"}, max_price="0.05").output)
