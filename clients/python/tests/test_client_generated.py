"""The table, the signatures and the records are those of the served market, and every operation has a method."""

import ast
import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import generate
import httpx
import pytest

import emporion_client
from emporion_client import EmporionError, Market, MarketError, records
from emporion_client.operation import place
from emporion_client.table import OPERATIONS

PACKAGE = Path(emporion_client.__file__).parent
GENERATED = ("table.py", "records.py", "methods.pyi")
NEVER_ENDS = "stream_events"


@pytest.fixture(scope="session")
def openapi(market_url: str) -> Any:
    return httpx.get(f"{market_url}/openapi.json", trust_env=False).json()


@pytest.fixture(scope="session")
def names(openapi: Any) -> set[str]:
    return {one["operationId"] for methods in openapi["paths"].values() for one in methods.values()}


def test_the_generated_modules_are_fresh(openapi: Any, tmp_path: Path) -> None:
    generate.generate(openapi, tmp_path)
    stale = [name for name in GENERATED if (tmp_path / name).read_text() != (PACKAGE / name).read_text()]
    assert stale == [], "run: make client"


def test_every_operation_has_a_method_and_a_signature(names: set[str], new_market: Callable[..., Market]) -> None:
    market = new_market()
    assert set(OPERATIONS) == names
    assert names <= set(dir(market))
    assert all(callable(getattr(market, name)) for name in names)
    with pytest.raises(AttributeError):
        _ = market.no_operation
    classes = [one for one in ast.parse((PACKAGE / "methods.pyi").read_text()).body if isinstance(one, ast.ClassDef)]
    for one in classes:
        assert {
            method.name for method in one.body if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
        } == names
    assert [one.name for one in classes] == ["Operations", "AsyncOperations"]


def test_every_operation_reaches_the_market(names: set[str], new_market: Callable[..., Market]) -> None:
    market, wrong = new_market("Caller"), {}
    for name in sorted(names - {NEVER_ENDS}):
        operation = OPERATIONS[name]
        given = dict.fromkeys(operation.in_path, "x") | ({"input": {}} if operation.body == "whole" else {})
        try:
            getattr(market, name)(**given)
        except MarketError as refused:
            if refused.code in ("route_not_found", "method_not_allowed", "malformed_json", "unsupported_media_type"):
                wrong[name] = refused.code
        except EmporionError as error:
            wrong[name] = repr(error)
    assert wrong == {}


def test_events_are_streamed(new_market: Callable[..., Market]) -> None:
    market = new_market("Listener")
    made = market.create_schedule(in_seconds=1, name="soon")
    event = next(iter(market.stream_events(types=["schedule.fired"], since="evt_" + "0" * 26)))
    assert (event["type"], event["data"]["schedule_id"]) == ("schedule.fired", made["id"])


def test_arguments_are_put_in_their_places() -> None:
    placed = place(OPERATIONS["put_memory"], {"key": "a/../b", "value": 1, "if_match": "v1", "idempotency_key": "k"})
    assert placed.path == "/v1/memory/a%2F..%2Fb"
    assert (placed.json, placed.headers) == ({"value": 1}, {"If-Match": "v1", "Idempotency-Key": "k"})
    placed = place(OPERATIONS["list_events"], {"types": ["a", "b"], "since": None, "wait_seconds": 0})
    assert placed.query == {"types": "a,b", "wait_seconds": "0"}
    placed = place(OPERATIONS["buy_with_x402"], {"listing_id": "lst_1", "input": {"units": 2}, "units": 3})
    assert (placed.json, placed.query) == ({"units": 2}, {"units": "3"})
    with pytest.raises(TypeError, match="job_id"):
        place(OPERATIONS["get_job"], {})


def test_every_record_is_a_type_that_can_be_imported() -> None:
    assert inspect.isclass(records.Job)
    assert {"id", "status", "output"} <= set(records.Job.__annotations__)


@pytest.mark.verify
def test_a_program_with_types_is_checked(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from emporion_client import AsyncMarket, Market\n"
        "market = Market()\n"
        "reveal_type(market.get_job(job_id='job_1')['status'])\n"
        "market.get_job(number=1)\n"
        "async def main(market: AsyncMarket) -> None:\n"
        "    reveal_type((await market.hire(listing_id='l', input={}))['terms'])\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "--config-file", "", str(program)]
    done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert 'Literal["quote_requested"]' in done.stdout.replace("'", '"')
    assert "PaymentTerms" in done.stdout
    assert 'Unexpected keyword argument "number"' in done.stdout
    assert done.stdout.count("error:") == 1, done.stdout
