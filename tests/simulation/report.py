"""A page of HTML about a run."""

from tests.simulation.records import Result


def page(result: Result, command: str) -> str:
    return command
