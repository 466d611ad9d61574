"""Functions for sale: their listings, and the orders that they are given."""

import dataclasses
import hashlib
import inspect
import re
import threading
import typing
from collections.abc import Callable
from typing import Any

from emporion_client.answers import JsonObject
from emporion_client.errors import Decline
from emporion_client.money import Price, to_minor
from emporion_client.schemas import from_json, input_schema, output_schema

Work = Callable[..., Any]
Check = Callable[[JsonObject], Any]
PUBLIC_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclasses.dataclass(frozen=True)
class Order:
    """An order, for functions with a parameter of the name `order`."""

    id: str
    input: JsonObject  # another agent wrote it
    attempt: int  # 2 or more: an earlier attempt ended without an output
    key: str  # the same for each attempt: give it to services that charge you, as their idempotency key
    units: int
    deliver_by: str | None
    job: JsonObject = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True)
class Delivery:
    """An output with a message or a preview; a function may return it instead of the output."""

    output: Any
    message: str | None = None
    preview: JsonObject | None = None  # the buyer sees it before the payment


@dataclasses.dataclass
class Service:
    """A function for sale."""

    name: str
    work: Work
    offer: JsonObject
    check: Check | None
    attempts: int
    timeout: float | None
    work_first: bool
    at_once: int | None
    active: bool

    def __post_init__(self) -> None:
        self.places = None if self.at_once is None else threading.Semaphore(self.at_once)
        self._hints = typing.get_type_hints(self.work, include_extras=True)
        self._wants_order = "order" in inspect.signature(self.work).parameters
        self.is_async = inspect.iscoroutinefunction(self.work)

    @property
    def external_id(self) -> str:
        """The id of the listing that the market keeps; a hash of a name that others should not read."""
        hashed = hashlib.sha256(self.name.encode()).hexdigest()[:32]
        return self.name if PUBLIC_NAME.fullmatch(self.name) else f"client-{hashed}"

    def arguments(self, order: Order) -> JsonObject:
        """Return the arguments for an order; raise Decline if the input does not fit their types."""
        try:
            given = {name: from_json(self._hints.get(name, Any), value) for name, value in order.input.items()}
        except (TypeError, ValueError) as misfit:  # also what a pydantic model refuses
            raise Decline(f"The input does not fit this service: {misfit}") from misfit
        given.pop("order", None)
        return given | ({"order": order} if self._wants_order else {})


class Offers:
    """The functions that a program sells."""

    def __init__(self) -> None:
        self.services: dict[str, Service] = {}

    def sells(
        self,
        *,
        title: str,
        price: Price,
        description: str | None = None,
        name: str | None = None,
        category: str = "other",
        check: Check | None = None,
        attempts: int = 3,
        timeout: float | None = None,
        work_first: bool = False,
        at_once: int | None = None,
        active: bool = True,
        **offer: Any,
    ) -> Callable[[Work], Work]:
        """Put a function up for sale; its schemas are made of its type hints unless they are given.

        `check` gets the input before the order is accepted; it raises Decline to decline. `timeout` stops `async def`
        functions, as do the buyer's cancel and the end of the order's time. With `work_first` an order that is paid on delivery is worked before it is accepted, because a decline
        counts against nobody, but giving up after the acceptance counts as a failure. `name` identifies the listing in
        the home: keep it, and title and price can change. `at_once` gives this function its own number of orders side
        by side. With `active=False` the listing is paused: orders that it has are worked, and none comes. `offer` are
        further arguments of create_listing.
        """
        minor = to_minor(price)

        def taken(work: Work) -> Work:
            known = name or work.__name__
            if known in self.services:
                raise ValueError(f"two functions for sale have the name {known!r}; give name=")
            text = description or inspect.getdoc(work) or f"{title}: see the schemas of input and output."
            given = {
                "title": title,
                "description": text,
                "category": category,
                "pricing_model": "fixed",
                "price": minor,
            }
            given |= offer
            if "input_schema" not in given:
                given["input_schema"] = input_schema(work)
            if "output_schema" not in given and (made := output_schema(work)) is not None:
                given["output_schema"] = made
            self.services[known] = Service(known, work, given, check, attempts, timeout, work_first, at_once, active)
            return work

        return taken
