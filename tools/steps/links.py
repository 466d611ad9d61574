"""Next steps, made from the registry: a step names only what exists."""

from tools.records.base import Json, Step
from tools.registry import CATALOGUE


def step(name: str, why: str, *, deadline: str | None = None, **arguments: Json) -> tuple[Step, ...]:
    """The call of operation `name` with these arguments, on every surface; empty where it is not built."""
    op = CATALOGUE.get(name)
    if op is None:
        return ()
    path = op.path
    for part in op.path_names:
        path = path.replace(f"{{{part}}}", str(arguments.get(part, f"<{part}>")))
    body = {key: value for key, value in arguments.items() if key not in op.path_names}
    return (
        Step(
            action=op.action or name,
            why=why,
            tool=name,
            arguments=arguments,
            method=op.method,
            path=path,
            deadline=deadline,
            body=body if op.method != "GET" and body else None,
        ),
    )


def steps(*found: tuple[Step, ...]) -> list[Step]:
    return [one for several in found for one in several]
