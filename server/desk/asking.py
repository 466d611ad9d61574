"""A word of the operator's, said by the desk's agent: beside a desk at work, or without one."""

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import TypeVar

from server.desk.keys import KeyFile
from server.desk.market import JsonObject, Market
from server.desk.opening import Terms, enter, enter_beside, label_call
from server.settings import BadSettings, Settings

T = TypeVar("T")


async def as_desk(settings: Settings, url: str, ask: Callable[[Market], Awaitable[T]]) -> T:
    """What the market answers. BadSettings where the agent is not labelled: what it posts would pass for a stranger's."""
    terms = Terms(settings.desk_env, settings.service_name, settings.desk_llm_url is not None, settings.operator_secret)
    async with Market(url) as market:
        me = await _entered(market, KeyFile(settings.data_dir), terms)
        if not me["first_party"]:
            raise BadSettings(
                f"the desk's agent {me['handle']} is not labelled first-party: set EMPORION_OPERATOR_SECRET, or make the call "
                f"{label_call(me)}"
            )
        return await ask(market)


async def _entered(market: Market, file: KeyFile, terms: Terms) -> JsonObject:
    with ExitStack() as stack:
        try:
            stack.enter_context(file.held())
        except BadSettings:
            return await enter_beside(market, file, terms)
        return await enter(market, file, terms)
