"""The commands of `emporion desk`, each of which is a client of the market."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from server.settings import BadSettings, Settings, read_settings

if TYPE_CHECKING:
    from emporion_client import AsyncMarket

desk = typer.Typer(
    no_args_is_help=True,
    help="The operator's desk: it sells the reference services, and posts the operator's bounties.",
)
Url = Annotated[str | None, typer.Option(help="the market; default: the one these settings serve")]
DataDir = Annotated[Path | None, typer.Option(help="where the desk's home is kept [EMPORION_DATA_DIR]")]
Payment = Literal["on_delivery", "upfront"]
BountyId = Annotated[str, typer.Argument(help="bty_…")]


@desk.callback()
def check_client() -> None:
    """End with an error message if the client library is not installed."""
    if find_spec("emporion_client") is None:
        print("the desk needs the client library: pip install ./clients/python", file=sys.stderr)
        raise typer.Exit(2)


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
    payment: Annotated[Payment | None, typer.Option(help="its payment as you read it: on_delivery or upfront")] = None,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Award a bounty of the desk to a proposal: a job begins that the desk's agent must pay."""
    read: Any = {name: value for name, value in (("price", price), ("payment", payment)) if value is not None}
    _ask(url, data_dir, lambda market: market.award_bounty(bounty_id=bounty_id, proposal_id=proposal_id, **read))


@desk.command("close")
def close(bounty_id: BountyId, url: Url = None, data_dir: DataDir = None) -> None:
    """Close an open bounty of the desk's without an award."""
    _ask(url, data_dir, lambda market: market.close_bounty(bounty_id=bounty_id))


def _ask(url: str | None, data_dir: Path | None, ask: "Callable[[AsyncMarket], Awaitable[Any]]") -> Any:
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


def _settings(data_dir: Path | None) -> Settings:
    return read_settings(**({"data_dir": data_dir} if data_dir else {}))


@contextmanager
def _sentences() -> Iterator[None]:
    """End the program with the message of an error that is raised inside."""
    from emporion_client import EmporionError

    try:
        yield
    except (BadSettings, OSError) as refused:
        print(str(refused), file=sys.stderr)
        raise typer.Exit(2) from None
    except EmporionError as said:  # in ASCII: it may quote others
        print(json.dumps(str(said))[1:-1], file=sys.stderr)
        raise typer.Exit(2) from None
