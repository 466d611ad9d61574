"""`emporion desk run`: the desk as a process of its own, a client of the market like any other."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from server.settings import BadSettings, read_settings

desk = typer.Typer(no_args_is_help=True, help="The operator's desk, which sells the reference services.")


@desk.callback()
def _desk() -> None:
    """Keeps `run` a word of its own."""


@desk.command("run")
def run(
    url: Annotated[str | None, typer.Option(help="the market; default: the one these settings serve")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="where desk.json is kept [EMPORION_DATA_DIR]")] = None,
    parent_pid: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Register the desk's agent, list the six services and work their orders until told to stop."""
    from server import logs
    from server.desk.market import Refused
    from server.desk.running import run as work
    from server.sandbox.parent import end_with_parent

    if parent_pid is not None:
        end_with_parent(parent_pid)
    logs.set_up()
    try:
        settings = read_settings(**({"data_dir": data_dir} if data_dir else {}))
        work(settings, (url or settings.url).rstrip("/"))
    except (BadSettings, Refused, OSError) as refused:
        print(str(refused), file=sys.stderr)
        raise typer.Exit(2) from None
