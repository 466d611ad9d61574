"""The command emporion-client: buy; pay; sell a command, an HTTP API or MCP tools; print receipts; finish payments."""

import argparse
import json
import logging
import shlex
import sys
from pathlib import Path
from typing import Any

from emporion_client import __version__
from emporion_client.answers import text
from emporion_client.buying import Bought
from emporion_client.errors import EmporionError, printable
from emporion_client.market import Market
from emporion_client.mcp_command import ENVIRONMENT, McpCommand
from emporion_client.mcp_tools import McpServer, McpTools, listing_of
from emporion_client.sources import command, http_api

OPTIONS = {"Market(home=…)": "--home", "Market(env='live', spend='5.00')": "--spend 5.00"}  # what errors name


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    options = _options().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        market = Market(
            options.market,
            env="live" if options.live else "test",
            name=options.name,
            home=options.home,
            spend=options.spend,
        )
        with market:
            options.does(market, options)
    except (EmporionError, ValueError) as error:
        said = str(error)
        for argument, option in OPTIONS.items():
            said = said.replace(argument, option)
        sys.exit(said)


def _buy(market: Market, options: argparse.Namespace) -> None:
    bought = market.buy(options.listing, json.loads(options.input), options.max_price, key=options.key)
    _print_output(bought)


def _pay(market: Market, options: argparse.Namespace) -> None:
    _print_output(market.pay(options.job, options.max_price))


def _print_output(bought: Bought) -> None:
    print(json.dumps(bought.output), flush=True)
    print(f"Its receipt: emporion-client receipt {printable(bought.id)}", file=sys.stderr)


def _receipt(market: Market, options: argparse.Namespace) -> None:
    print(json.dumps(market.get_receipt(job_id=options.job)))


def _find(market: Market, options: argparse.Namespace) -> None:
    listing = market.find(options.words, options.max_price)
    print(listing, flush=True)
    title = text(market.get_listing(listing_id=listing, env=market.account.env), "title")
    print(printable(title), file=sys.stderr)  # another agent wrote it


def _finish(market: Market, _: argparse.Namespace) -> None:
    paid = market.finish_payments()
    print("\n".join(paid) or "Nothing is open.")


def _sell(market: Market, options: argparse.Namespace) -> None:
    if options.http is not None:
        work = http_api(options.http, timeout=options.timeout)
    else:
        work = command(shlex.split(options.run), options.timeout)
    name = options.run or options.http
    market.sells(
        title=options.title,
        price=options.price,
        name=f"source:{name}",
        description=options.description,
        work_first=True,
        **_schemas(options.schema),
    )(work)
    market.run(at_once=options.at_once)


def _schemas(file: str | None) -> dict[str, Any]:
    """Return the schemas in a file; any object is taken without one."""
    if file is None:
        return {"input_schema": {"type": "object"}}
    try:
        found = json.loads(Path(file).read_text())
    except OSError as error:
        raise EmporionError(f"{file} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise EmporionError(f"{file} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise EmporionError(f"{file} holds no JSON object")
    return found if "input_schema" in found else {"input_schema": found}


def _sell_mcp(market: Market, options: argparse.Namespace) -> None:
    known = options.run or options.url
    if options.env and not options.run:
        raise EmporionError("--env is for a command (--run); a server with an address sees no variable of this program")
    server: McpTools
    if options.run:
        server = McpCommand(shlex.split(known), options.timeout, options.env)
    else:
        server = McpServer(known, timeout=options.timeout)
    try:
        tools = server.tools()
        for name in options.tool or tools:
            if name not in tools:
                raise EmporionError(f"{known} has no tool {name!r}; it has {', '.join(tools)}")
            market.sells(price=options.price, **listing_of(known, tools[name]))(server.tool(name))
        market.run(at_once=options.at_once)
    finally:
        server.close()


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="emporion-client", description="Buy and sell on an Emporion market.")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--market", help="its address; otherwise EMPORION_URL, or http://127.0.0.1:8000")
    parser.add_argument("--name", help="the name of the agent, if it is new")
    parser.add_argument("--home", type=Path, help="the folder of keys and journal")
    parser.add_argument("--live", action="store_true", help="real money; without it everything is play money")
    parser.add_argument("--spend", help="the most that is spent in 24 hours, in USDC; needed to buy on live")
    verbs = parser.add_subparsers(required=True)
    _buyer_options(verbs)
    selling = _verb(verbs, "sell", _sell, "sell a command or an HTTP API")
    source = selling.add_mutually_exclusive_group(required=True)
    source.add_argument("--run", help="a command: JSON on stdin and stdout; exit 65 declines the order")
    source.add_argument("--http", help="the URL of an API: the input is posted as JSON; 4xx declines the order")
    selling.add_argument("--title", required=True)
    selling.add_argument("--description")
    selling.add_argument("--schema", help="a file with the JSON Schema of the input, or input_schema and output_schema")
    wrapping = _verb(verbs, "sell-mcp", _sell_mcp, "sell tools of an MCP server")
    reached = wrapping.add_mutually_exclusive_group(required=True)
    reached.add_argument("url", nargs="?", help="its address, for example http://127.0.0.1:9000/mcp")
    reached.add_argument("--run", help="its command, which is called over stdin and stdout")
    wrapping.add_argument("--tool", action="append", help="one tool; otherwise all are sold")
    wrapping.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME",
        help=f"a variable that the command sees beside {', '.join(ENVIRONMENT)}",
    )
    for one in (selling, wrapping):
        one.add_argument("--price", required=True, help="in USDC, for example 0.01")
        one.add_argument("--timeout", type=float, default=300, help="seconds for one order")
        one.add_argument("--at-once", type=int, default=4, help="orders that are worked side by side")
    return parser


def _buyer_options(verbs: Any) -> None:
    buying = _verb(verbs, "buy", _buy, "order, wait, pay and print the output")
    buying.add_argument("listing", help="its id or address")
    buying.add_argument("input", help="JSON")
    buying.add_argument("--max-price", required=True, help="the most that is paid, in USDC")
    buying.add_argument("--key", help="your name for this purchase: with it, it is made once")
    paying = _verb(verbs, "pay", _pay, "pay for a job that was ordered in another way, and print the output")
    paying.add_argument("job", help="its id")
    paying.add_argument("--max-price", required=True, help="the most that is paid, in USDC")
    proving = _verb(verbs, "receipt", _receipt, "print the signed receipt of a job, which anybody can verify offline")
    proving.add_argument("job", help="its id")
    finding = _verb(verbs, "find", _find, "print the id of the best listing for some words")
    finding.add_argument("words")
    finding.add_argument("--max-price")
    _verb(verbs, "finish-payments", _finish, "send and report payments that a killed process signed")


def _verb(verbs: Any, name: str, does: Any, about: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = verbs.add_parser(name, help=about, description=about)
    made.set_defaults(does=does)
    return made


if __name__ == "__main__":
    main()
