"""The displayed name of the market, next to the signed name."""

from dataclasses import replace

from protocol.discovery.mcp_server import server_json
from protocol.docs.texts import Texts
from rest.openapi import openapi_json
from tests.requirements import covers
from tests.support.market import house
from tools.agents.agent_cards import card_of
from tools.catalogue import CATALOGUE


@covers("second.start.title")
def test_a_market_without_a_name_of_its_own_is_shown_as_emporion() -> None:
    for brand, title in (("service", "Emporion"), ("agora", "agora")):
        shown = replace(house(), brand=brand)
        assert (shown.title, shown.brand) == (title, brand)
        texts = Texts(CATALOGUE.values(), shown)
        assert texts.llms_txt.startswith(f"# {title}\n")
        assert texts.index_json["name"] == title
        assert f'"title":"{title}"'.encode() in openapi_json(CATALOGUE.values(), shown).replace(b'": "', b'":"')
        assert server_json(CATALOGUE.values(), shown)["title"] == title.capitalize()
        assert card_of(shown, shown.title, "", [])["provider"]["organization"] == title
