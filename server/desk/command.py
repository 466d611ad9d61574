"""The commands of `emporion desk`, each of which is a client of the market."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from server.settings import BadSettings, Settings, read_settings

if TYPE_CHECKING:
    from server.desk.market import Market

desk = typer.Typer(
    no_args_is_help=True,
    help="The operator's desk: it sells the reference services, and posts the operator's bounties.",
)
Url = Annotated[str | None, typer.Option(help="the market; default: the one these settings serve")]
DataDir = Annotated[Path | None, typer.Option(help="where desk.json is kept [EMPORION_DATA_DIR]")]
BountyId = Annotated[str, typer.Argument(help="bty_…")]


@desk.command("run")
def run(
    url: Url = None,
    data_dir: DataDir = None,
    parent_pid: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Register the desk's agent, list the six services and work their orders until told to stop."""
    from server import logs
    from server.child_processes import end_with_parent
    from server.desk.opening import run as work

    if parent_pid is not None:
        end_with_parent(parent_pid)
    logs.set_up()
    with _sentences():
        settings = _settings(data_dir)
        work(settings, (url or settings.url).rstrip("/"))


@desk.command("bounties")
def bounties(
    file: Annotated[Path, typer.Argument(help="a JSON array: each a name and what create_bounty takes")],
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Post the operator's new bounties, and show the proposals on all open ones.

    Each bounty is posted once, however often you run it. It awards and pays nothing. Exits with 1 if the market refuses one.
    """
    from server.desk.bounties import post_bounties, read_bounties

    with _sentences():
        wanted = read_bounties(file)
    told = _ask(url, data_dir, lambda market: post_bounties(market, wanted))
    raise typer.Exit(int(any(one["did"] == "refused" for one in told)))


@desk.command("award")
def award(
    bounty_id: BountyId,
    proposal_id: Annotated[str, typer.Argument(help="the proposal to take")],
    price: Annotated[
        int | None, typer.Option(help="its price as you read it, minor units; refused if it changed")
    ] = None,
    payment: Annotated[str | None, typer.Option(help="its payment as you read it: on_delivery or upfront")] = None,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Award a bounty of the desk to a proposal: a job begins that the desk's agent must pay."""
    asked = {"proposal_id": proposal_id, "price": price, "payment": payment}
    chosen = {name: value for name, value in asked.items() if value is not None}
    _ask(url, data_dir, lambda market: market.post(f"{_path(bounty_id)}/award", chosen))


@desk.command("close")
def close(bounty_id: BountyId, url: Url = None, data_dir: DataDir = None) -> None:
    """Close an open bounty of the desk's without an award."""
    _ask(url, data_dir, lambda market: market.post(f"{_path(bounty_id)}/close"))


def _ask(url: str | None, data_dir: Path | None, ask: "Callable[[Market], Awaitable[Any]]") -> Any:
    """Call a market as the desk's agent and print the answer as JSON.

    It is ASCII, so that text of others cannot control the terminal.
    """
    from server import logs
    from server.desk.opening import as_desk

    logs.set_up()
    with _sentences():
        settings = _settings(data_dir)
        told = asyncio.run(as_desk(settings, (url or settings.url).rstrip("/"), ask))
    print(json.dumps(told, indent=2))
    return told


def _path(bounty_id: str) -> str:
    return f"/v1/bounties/{quote(bounty_id, safe='')}"


def _settings(data_dir: Path | None) -> Settings:
    return read_settings(**({"data_dir": data_dir} if data_dir else {}))


@contextmanager
def _sentences() -> Iterator[None]:
    """End the program with the message of an error that is raised inside."""
    from server.desk.market import Away, Refused

    try:
        yield
    except (BadSettings, OSError) as refused:
        print(str(refused), file=sys.stderr)
        raise typer.Exit(2) from None
    except (Refused, Away) as said:  # in ASCII: it may quote others
        print(json.dumps(str(said))[1:-1], file=sys.stderr)
        raise typer.Exit(2) from None
