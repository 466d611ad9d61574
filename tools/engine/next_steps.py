"""Next steps, made from the registry: a step names an existing operation and all arguments that the call needs.

An argument that only the caller knows is shown as `<description>`, with the argument's own description.
"""

from functools import cache

from tools.engine.registry import CATALOGUE
from tools.kernel.keys import binding_message
from tools.kernel.records import Json, Step

_LONG_LOOK = 20  # seconds to wait for the other party in one call, as in `hire`


def step(name: str, why: str, *, deadline: str | None = None, **arguments: Json) -> tuple[Step, ...]:
    """Return the step that calls an operation; empty if the operation does not exist."""
    op = CATALOGUE.get(name)
    if op is None:
        return ()
    arguments = {**_unknown(name), **arguments}
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


def sell_step(why: str) -> tuple[Step, ...]:
    """Return the step that offers a service; it names a price, which only quotes leave out."""
    op = CATALOGUE.get("create_listing")
    return () if op is None else step(op.name, why, price=f"<{op.input.model_fields['price'].description}>")


def wait_step(job_id: str) -> tuple[Step, ...]:
    """Return the step that waits for the other party to act."""
    return step("get_job", "Wait for the other party to act.", job_id=job_id, wait_seconds=_LONG_LOOK)


@cache
def _unknown(name: str) -> dict[str, Json]:
    """Return placeholders for the arguments that an operation requires."""
    fields = CATALOGUE[name].input.model_fields
    return {one: f"<{field.description or one}>" for one, field in fields.items() if field.is_required()}


def wallet_step(brand: str, agent_id: str, why: str) -> tuple[Step, ...]:
    """Return the step that binds a wallet, with the text that the wallet signs."""
    text = binding_message(brand, agent_id, "<address in lower case>")
    return step("set_wallet_address", why, address="<0x…, your wallet>", signature=f"<personal_sign by it of {text}>")
