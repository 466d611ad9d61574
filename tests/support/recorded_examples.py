"""Records one call of every REST operation with its answer: the examples of openapi.json.

    python -m tests.support.recorded_examples

It runs the calls of test_parity, those that only REST has, and a purchase, and writes rest/examples.json.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import orjson

from storage.open import open_database, serve
from tests.protocol.test_parity import run_over
from tests.support.databases import SQLiteTemplate, close
from tests.support.market import OPERATOR_SECRET, Agent
from tests.support.parity_calls import Script, shortened
from tests.support.parity_calls.disputes import disputed
from tests.support.protocols import served
from tests.support.trade import Trade
from tests.support.x402_client import INPUT, opened_shop
from tests.tools.agents.test_recovery_operations import rotation, sign
from tools.catalogue import CATALOGUE
from tools.engine.idempotency import Response

FILE = Path(__file__).parents[2] / "rest" / "examples.json"
OF_AN_AGENT = ("get_registration_file", "get_agent_card", "get_did_document", "get_agent_keys", "get_client_metadata")
OF_THE_MARKET = ("get_service_registration", "get_platform_keys", "get_retired_keys")
Examples = dict[str, dict[str, Any]]


async def recorded(folder: Path) -> Examples:
    """Return the arguments and the answer of one success of each operation."""
    template = SQLiteTemplate(folder)
    made = await _traded(template.copy(_new(folder, "trade")))
    made |= await _bought(template.copy(_new(folder, "shop")))
    return {name: one | {"answer": shortened(one["answer"])} for name, one in made.items()}


async def _traded(database: str) -> Examples:
    store = serve(open_database(database))
    async with run_over("rest", store) as script:
        await script.run()
        others = Others(script)
        await others.run()
    await close(store)
    return script.done


class Others:
    """The calls that only REST has, on the market of a finished script."""

    def __init__(self, script: Script) -> None:
        self.script, self.market, self.done = script, script.market, script.done

    async def run(self) -> None:
        services = self.market.market.services  # the script has used up the limits
        services.config = replace(services.config, limits=replace(services.config.limits, enforced=False))
        ada = await self.market.register("Ada")
        for name in OF_THE_MARKET:
            await self.script(name)
        for name in OF_AN_AGENT:
            await self.script(name, agent_id=ada.id)
        await self.script("export_me", ada.keys["test"])
        await self._log_in(ada)
        await self._as_operator(ada)
        self._keep("recover_agent", {}, await sign(self.market, ada, "recover_agent"))
        self._keep("rotate_key", rotation(ada), await sign(self.market, ada, "rotate_key", **rotation(ada)))

    async def _as_operator(self, agent: Agent) -> None:
        case = await disputed(self.script)
        job = (await self.script("get_dispute", self.script.buyer, dispute_id=case))["job_id"]
        named = {"agent_id": agent.id}
        calls: list[tuple[str, dict[str, Any]]] = [
            ("get_overview", {}),
            ("resolve_job", {"job_id": job, "verdict": "buyer", "note": "The output is not what was ordered."}),
            ("set_first_party", named | {"first_party": True}),
            ("set_agent_status", named | {"status": "active"}),
        ]
        for name, given in calls:
            self._keep(name, given, await self.market.answer(name, given, admin_token=OPERATOR_SECRET))

    async def _log_in(self, agent: Agent) -> None:
        """Get an access token, and read one event of the stream."""
        given = {"grant_type": "client_credentials", "client_id": agent.id, "client_secret": agent.keys["test"]}
        async with served(self.market) as url, httpx.AsyncClient(base_url=url, trust_env=False) as http:
            answer = (await http.post("/v1/oauth/token", json=given)).raise_for_status()
            self.done["get_access_token"] = {"arguments": given, "answer": answer.json()}
            headers, text = {"X-API-Key": self.script.seller}, ""
            start = {"since": "evt_" + "0" * 26, "types": "job.*"}
            async with http.stream("GET", CATALOGUE["stream_events"].path, params=start, headers=headers) as stream:
                async for text in _grown(stream):
                    if "event: job" in text and text.endswith("\n\n"):
                        break
        self.done["stream_events"] = {"arguments": {}, "answer": text.split("\n\n")[-2] + "\n\n"}

    def _keep(self, name: str, given: Mapping[str, Any], answer: Response) -> None:
        assert not answer.refused, (name, answer.body)
        self.done[name] = {"arguments": dict(given), "answer": orjson.loads(answer.body)}


async def _grown(stream: httpx.Response) -> Any:
    whole = ""
    async for piece in stream.aiter_text():
        whole += piece
        yield whole


async def _bought(database: str) -> Examples:
    """Return the purchase of a service of the operator's, and the list of what it sells."""
    store = serve(open_database(database))
    async with run_over("rest", store) as script:
        shop = await opened_shop(Trade(script.market, script.evm))
        _, result = await shop.bought()
        listed = await script.call("list_x402_services", {"env": "test"}, None)
    await close(store)
    given = {"listing_id": shop.listing["id"], "input": INPUT}
    return {
        "buy_with_x402": {"arguments": given, "answer": result},
        "list_x402_services": {"arguments": {"env": "test"}, "answer": listed},
    }


def _new(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def _lines(made: Examples) -> str:
    rows = (f"{json.dumps(name)}: {json.dumps(one, ensure_ascii=False)}" for name, one in sorted(made.items()))
    return "{\n" + ",\n".join(rows) + "\n}\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="emporion-examples-") as folder:
        FILE.write_text(_lines(asyncio.run(recorded(Path(folder)))))
    sys.stdout.write(f"wrote {FILE}\n")
