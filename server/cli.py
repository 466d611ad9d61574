"""The command line `emporion`: run, check, back up, export and operate a market."""

import asyncio
import gc
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from importlib.metadata import version as installed
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer

from server.desk.command import desk as desk_commands
from server.settings import BadSettings, Settings, read_settings

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Emporion: where software agents hire each other.")
sandbox = typer.Typer(no_args_is_help=True, help="The embedded test chain of `serve --sandbox`.")
app.add_typer(sandbox, name="sandbox")
keys = typer.Typer(no_args_is_help=True, help="The key this market signs receipts, webhooks and cards with.")
app.add_typer(keys, name="keys")
app.add_typer(desk_commands, name="desk")

Command = TypeVar("Command", bound=Callable[..., Any])
OWN_UMASK = 0o077  # files that a command writes are readable by their owner only
Host = Annotated[str | None, typer.Option(help="address to listen on [EMPORION_HOST]")]
Port = Annotated[int | None, typer.Option(help="port to listen on [EMPORION_PORT]")]
SandboxPort = Annotated[int | None, typer.Option(help="port of the embedded chain [EMPORION_SANDBOX_PORT]")]
MarketUrl = Annotated[
    str | None,
    typer.Option(
        "--url",
        help="where the market is served; default: where these settings serve it. Set EMPORION_OPERATOR_SECRET (a variable or a "
        "line of .env) to the secret that it is served with",
    ),
]
DataDir = Annotated[Path | None, typer.Option(help="where the database and secrets are kept [EMPORION_DATA_DIR]")]


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn errors of settings, storage and files into a message on stderr and exit 2."""
    from storage.transaction import StorageError

    try:
        yield
    except (BadSettings, StorageError, OSError) as refused:
        fail(str(refused))


def command(group: typer.Typer, name: str | None = None) -> Callable[[Command], Command]:
    """Add a command whose errors are shown as a message."""
    return lambda run: group.command(name)(plain_errors()(run))


def print_version(wanted: bool) -> None:
    if wanted:
        print(installed("emporion"))
        raise typer.Exit


@app.callback()
def emporion(
    _: Annotated[
        bool, typer.Option("--version", help="print the version and exit", is_eager=True, callback=print_version)
    ] = False,
) -> None:
    os.umask(OWN_UMASK)


@app.command()
def serve(
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    sandbox: Annotated[bool, typer.Option(help="also run an embedded test chain with a faucet")] = False,
    sandbox_port: SandboxPort = None,
    desk: Annotated[bool, typer.Option(help="with --sandbox: also run the operator's desk")] = False,
    change_brand: Annotated[
        bool,
        typer.Option("--change-brand", help="take EMPORION_SERVICE_NAME in place of the name this database serves"),
    ] = False,
) -> None:
    """Run the market in this process."""
    gc.disable()  # imports leave no garbage, and collecting takes a fifth of the start; serve enables it again
    from server.serve import serve as run

    if desk and not sandbox:
        fail("--desk goes with --sandbox; at any other market start `emporion desk run` beside it")
    run(settings(host=host, port=port, data_dir=data_dir, sandbox_port=sandbox_port), sandbox, desk, change_brand)


@command(sandbox, "reset")
def reset(data_dir: DataDir = None) -> None:
    """Delete the sandbox: the embedded chain and the SQLite market that traded on it."""
    from server.reset import reset_market

    found = settings(data_dir=data_dir)
    reset_market(found)
    print(f"The sandbox in {found.data_dir} is empty again.")


@command(keys, "rotate")
def rotate(data_dir: DataDir = None) -> None:
    """Replace the signing key. Earlier signatures become invalid; logins and API keys stay.

    SQLite: stop the market first. PostgreSQL: keep the processes running, each with the new seed as
    EMPORION_NEXT_SIGNING_SEED; they end within seconds and sign with the new key after a restart.
    """
    from server.adapters.clock import SystemClock
    from server.keys import rotate as replace_key

    found = settings(data_dir=data_dir)
    new, old = asyncio.run(replace_key(found, SystemClock().now()))
    print(f"Signing key {new}; {old} is retired (/.well-known/retired-keys.json).")
    if found.next_signing_seed:
        print(
            "Start every process again; then move EMPORION_NEXT_SIGNING_SEED to EMPORION_SIGNING_SEED at your leisure."
        )


@command(app)
def demo(
    url: Annotated[
        str | None, typer.Option(help="a market served with --sandbox; default: the one these settings serve")
    ] = None,
    receipt: Annotated[
        Path | None, typer.Option(help="write the trade's receipt to this file, for `emporion verify` and /verify")
    ] = None,
) -> None:
    """Make one real trade on a running `serve --sandbox`, over A2A, MCP and REST."""
    from server.demo import run_demo

    base = (url or settings().url).rstrip("/")
    if not base.startswith(("http://", "https://")):
        fail(f"--url {base}: begins with http:// or https://")
    signed = asyncio.run(run_demo(base))
    if signed is None:
        raise typer.Exit(1)
    if receipt is not None:
        receipt.write_text(json.dumps(signed, indent=2) + "\n", "utf-8")
        print(f"The receipt is in {receipt}. Check it: emporion verify {receipt}, or paste it at {base}/verify")


@command(app)
def migrate(data_dir: DataDir = None) -> None:
    """Upgrade the database to this version's tables. `serve` does this itself."""
    from storage.migrate import upgrade
    from storage.open import open_database

    found = settings(data_dir=data_dir)
    found.make_data_dir()
    with closing(open_database(found.database, found.database_direct_url)) as database:
        upgrade(database)
    print("The database is up to date.")


@command(app)
def doctor(
    data_dir: DataDir = None,
    recompute: Annotated[bool, typer.Option("--recompute", help="make every stored figure again, or continue")] = False,
    from_start: Annotated[bool, typer.Option("--from-start", help="with --recompute: do not continue")] = False,
    with_archive: Annotated[Path | None, typer.Option(help="also compare the archive in this folder")] = None,
) -> None:
    """Check settings, database, secrets and chains; exit 1 if anything is wrong."""
    from server.doctor import examine

    raise typer.Exit(asyncio.run(examine(settings(data_dir=data_dir), recompute, with_archive, from_start)))


@command(app)
def backup(
    folder: Annotated[Path, typer.Argument(help="where to: a folder that is empty or not there yet")],
    data_dir: DataDir = None,
) -> None:
    """Copy a SQLite market and its secrets into a folder, even while it is served.

    Keep the copy safe: it contains the secrets.
    """
    from server.adapters.clock import SystemClock
    from server.backup import MANIFEST, make_backup

    made = make_backup(settings(data_dir=data_dir), folder, SystemClock().now())
    print(f"{folder}: {', '.join(made.files)}, as of {made.made_at} (revision {made.revision}).")
    print(f"It holds the secrets and is whole once {MANIFEST} stands in it: `emporion restore {folder} --data-dir ...`")


@command(app)
def restore(
    folder: Annotated[Path, typer.Argument(help="what `emporion backup` made")],
    data_dir: Annotated[
        Path, typer.Option(help="where the market is to live: a folder that is empty or not there yet")
    ],
) -> None:
    """Restore a backup into an empty folder; exit 2 if one of its files was changed."""
    from server.backup import restore_backup

    made = restore_backup(folder, data_dir)
    print(f"{data_dir}: the market as of {made.made_at}. Serve it with EMPORION_DATA_DIR={data_dir},")
    print(
        f"EMPORION_SERVICE_NAME={made.service_name}, and without EMPORION_DATABASE_URL, _SIGNING_SEED and _KEY_PEPPER,"
    )
    print("whose place the files there take. Never serve two copies of one market: both would act for its agents.")


@command(app)
def archive(
    before: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="jobs that ended before it, UTC")
    ] = None,
    to: Annotated[Path | None, typer.Option(help="folder of the files; default: archive in the data folder")] = None,
    restore: Annotated[Path | None, typer.Option(help="move the jobs in this folder back; exit 2 if changed")] = None,
    job: Annotated[str | None, typer.Option(help="with --restore: only the file with this job")] = None,
    data_dir: DataDir = None,
) -> None:
    """Move inputs, outputs, history and messages of old jobs into signed files, and back.

    Only of jobs that ended 180 days ago or earlier and owe no refund. The market may be served meanwhile. A run that
    was interrupted is continued by the next. Keep the files: nothing else has what they have.
    """
    from server.archive import run

    asyncio.run(run(settings(data_dir=data_dir), before and before.replace(tzinfo=UTC), to, restore, job))


@command(app)
def export(
    out: Annotated[Path, typer.Option(help="where to: with --agent a new file, else a folder, empty or not there yet")],
    agent: Annotated[str | None, typer.Option(help="agent id or handle: the document it gets by export_me")] = None,
    env: Annotated[str, typer.Option(help="with --agent: live or test")] = "live",
    data_dir: DataDir = None,
) -> None:
    """Export the market, table by table as JSON Lines, or one agent's data.

    The export shows one moment, even if the market is being served. It contains no keys, secrets, seeds or sealed
    outputs, but it does contain private messages: protect it like the database.
    """
    from server.adapters.clock import SystemClock
    from server.export import MANIFEST, export_agent, export_market
    from storage.vocabulary import Env

    if env not in [one.value for one in Env]:
        fail(f"--env {env}: live or test")
    found, now = settings(data_dir=data_dir), SystemClock().now()
    if agent is not None:
        print(f"{out}: all of {asyncio.run(export_agent(found, agent, Env(env), out, now))} in {env}.")
        return
    made = asyncio.run(export_market(found, out, now))
    print(f"{out}: {sum(made.rows.values())} rows of {len(made.rows)} tables, as of {made.made_at}.")
    print(f"It is whole once {MANIFEST} stands in it; what was kept back is named there.")


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="a receipt, attestation, export or archive folder; - is standard input")],
    did: Annotated[str | None, typer.Option(help="the did:key that must have signed: the market's own")] = None,
    retired: Annotated[
        Path | None,
        typer.Option(help="the market's /.well-known/retired-keys.json: what these keys signed does not hold"),
    ] = None,
) -> None:
    """Check signed receipts and attestations offline; exit 1 if one is invalid."""
    from server.adapters.clock import SystemClock
    from server.verify import Unreadable
    from server.verify import verify as check

    try:
        raise typer.Exit(check(file, SystemClock().now(), did, retired))
    except (Unreadable, OSError) as refused:
        fail(str(refused))


@app.command()
def overview(
    dispute_id: Annotated[str | None, typer.Option("--dispute", help="also show this case whole")] = None,
    url: MarketUrl = None,
    watch: Annotated[bool, typer.Option("--watch", help="show it live in the terminal until Ctrl-C")] = False,
    every: Annotated[float, typer.Option(min=0.5, max=3600, help="with --watch: seconds between two reads")] = 2.0,
) -> None:
    """Show all counts and what needs the operator, such as escalated disputes and reports."""
    if watch:
        watch_overview(url, every, dispute_id)
    else:
        operate("get_overview", url, dispute_id=dispute_id)


@app.command()
def resolve(
    job_id: Annotated[str, typer.Argument(help="a job whose dispute is escalated")],
    verdict: Annotated[str, typer.Option(help="buyer, seller or split")],
    note: Annotated[str | None, typer.Option(help="what both parties are told")] = None,
    url: MarketUrl = None,
) -> None:
    """Decide an escalated dispute. No money moves: for buyer or split the seller owes a refund."""
    operate("resolve_job", url, job_id=job_id, verdict=verdict, note=note)


@app.command("set-status")
def set_status(
    agent_id: Annotated[str, typer.Argument(help="agent id or handle")],
    status: Annotated[str, typer.Argument(help="active, suspended or deleted")],
    url: MarketUrl = None,
) -> None:
    """Suspend, delete or reactivate an agent."""
    operate("set_agent_status", url, agent_id=agent_id, status=status)


@app.command("first-party")
def first_party(
    agent_id: Annotated[str, typer.Argument(help="agent id or handle")],
    off: Annotated[bool, typer.Option("--off", help="it is not the operator's any more")] = False,
    url: MarketUrl = None,
) -> None:
    """Label an agent, with its listings and bounties, as run by the operator."""
    operate("set_first_party", url, agent_id=agent_id, first_party=not off)


@command(app)
def draw(
    dispute_id: Annotated[str | None, typer.Argument(help="one dispute; default: every draw of the database")] = None,
    record: Annotated[Path | None, typer.Option(help="a closed dispute as get_dispute answered it")] = None,
    ids: Annotated[Path | None, typer.Option(help="the ids its panel was drawn from, as JSON")] = None,
    pairs: Annotated[Path | None, typer.Option(help="the related pairs that the draw met, as JSON")] = None,
    data_dir: DataDir = None,
) -> None:
    """Repeat the draws of dispute panels and check their results; exit 1 if one is wrong.

    Without options: every draw in this market's database (stop a SQLite market first). With --record and --ids: the
    draw of one closed case, without a database. The list of ids and, since version 2, the related pairs
    (--pairs) are compared with the hashes in the record; then the draw is repeated with the seed.
    """
    from server.verify_draws import examine_draws, examine_record

    if (record is None) != (ids is None):
        fail("--record and --ids go together: the seed comes from one, the list from the other")
    if record is not None and ids is not None:
        raise typer.Exit(examine_record(record, ids, pairs))
    raise typer.Exit(asyncio.run(examine_draws(settings(data_dir=data_dir), dispute_id)))


@app.command()
def openapi() -> None:
    """Print openapi.json."""
    from rest.openapi import openapi_json
    from server.settings import config_of
    from tools.catalogue import CATALOGUE

    sys.stdout.buffer.write(openapi_json(CATALOGUE.values(), config_of(settings(), bytes(32))))


def operate(name: str, url: str | None, **given: object) -> None:
    """Call an operator's operation of a served market and print the answer; exit 1 if refused."""
    from server.operator_client import call_operation

    with refusals():
        print(call_operation(settings(), url, name, **given))


def watch_overview(url: str | None, every_seconds: float, dispute_id: str | None) -> None:
    """Show the overview of a served market live in the terminal; exit 1 if refused."""
    from rich.console import Console

    from server.operator_client import read_operation
    from server.overview_watch import watch

    console, found = Console(), settings()
    if not console.is_terminal:
        fail("--watch: the output is not a terminal. Leave --watch out to print the overview once")
    if dispute_id is not None:
        fail("--watch shows no case: leave --dispute out, or --watch")
    with refusals():
        watch(lambda: read_operation(found, url, "get_overview"), every_seconds, console)


@contextmanager
def refusals() -> Iterator[None]:
    """Turn a refusal of the market into a message on stderr and exit 1."""
    from server.operator_client import Refused

    with plain_errors():
        try:
            yield
        except Refused as refused:
            print(refused, file=sys.stderr)
            raise typer.Exit(1) from None


def settings(**given: object) -> Settings:
    """Read the settings, overridden by the command line; exit 2 with a message if one is wrong."""
    with plain_errors():
        return read_settings(**{name: value for name, value in given.items() if value is not None})


def fail(sentence: str) -> NoReturn:
    print(sentence, file=sys.stderr)
    raise typer.Exit(2)
