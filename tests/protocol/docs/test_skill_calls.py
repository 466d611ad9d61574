"""The examples in skill.md work unchanged against the real server."""

import re
import shlex
from textwrap import dedent

import httpx

from protocol.docs.skill import skill_source
from storage.store import Store
from tests.support.market import TestMarket
from tests.support.protocols import served


async def test_the_call_in_the_skill_is_answered_and_one_without_its_header_is_told_so(
    store: Store,
) -> None:
    (command,) = re.findall(r"```sh\n(.*?)```", skill_source(), re.DOTALL)
    words = shlex.split(dedent(command))
    headers = dict(words[at + 1].split(": ") for at, word in enumerate(words) if word == "-H")
    body = words[words.index("-d") + 1]
    async with served(TestMarket(store)) as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:
        answer = await http.post("/a2a", content=body, headers=headers)
        (part,) = answer.json()["result"]["message"]["parts"]
        assert (part["data"]["object"], part["data"]["env"]) == ("payments", "test")
        del headers["A2A-Version"]
        lost = await http.post("/a2a", content=body, headers=headers)
        assert "Send the header A2A-Version: 1.0." in lost.text
