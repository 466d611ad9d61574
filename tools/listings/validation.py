"""The fields of a listing, and their validation before they are stored: schemas, examples, texts, prices."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from storage.tables import ListingRow
from storage.transaction import Tx
from tools.engine.arguments import Arguments, OneLine
from tools.engine.context import ReadContext
from tools.engine.documents import Document, judge_example, judge_schema, text_of
from tools.engine.errors import InvalidRequest
from tools.kernel.errors import ErrorCollector
from tools.kernel.money import MAX_PRICE
from tools.kernel.records import Json
from tools.listings.acceptance import AcceptanceRules, judge_rules, unkept
from tools.listings.logic import Category, PricingModelWord, Tag, own_listing
from tools.listings.pricing import UnitCount, pricing_faults, units_of
from tools.listings.records import PaymentTiming
from tools.screening.logic import public_words_beside

PRICE_NOTE = "minor units per job or unit: 1000000 = 1 USDC; 0 is free, 10000 or more is recommended; none for quote"
JUDGED = ("example_input", "example_output", "input_schema", "output_schema")
DATA = frozenset({*JUDGED, "acceptance"})  # in these, addresses next to words about money are usual
PUBLIC = ("external_id", "title", "description", "category", "tags", "unit_name", "unit_basis_note")
PRICED = ("pricing_model", "price", "unit_name", "unit_basis", "unit_basis_note")

Tags = Annotated[list[Tag], Field(max_length=16), AfterValidator(lambda given: list(dict.fromkeys(given)))]


class UnitBasis(BaseModel):
    """Rules that count an order's units from its input; several fields add up."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    rules: list[UnitCount] = Field(min_length=1, max_length=8)
    max: int | None = Field(None, ge=1, le=1_000_000, description="most units of one order")


class Offer(Arguments):
    """The fields of a listing that its seller sets; all can be changed later."""

    nulls: ClassVar[frozenset[str]] = frozenset({*JUDGED, "acceptance", "unit_name", "unit_basis", "unit_basis_note"})

    tags: Tags | None = Field(None, description="what buyers may search for, at most 16")
    price: int | None = Field(None, ge=0, le=MAX_PRICE, description=PRICE_NOTE)
    unit_name: OneLine | None = Field(None, min_length=1, max_length=32, description="per_unit: what one unit is")
    unit_basis: UnitBasis | None = Field(None, description="operator's per_unit listings: how units are counted")
    unit_basis_note: OneLine | None = Field(None, max_length=300, description="the same in words")
    payment: PaymentTiming | None = Field(
        None,
        description="on_delivery (default): sealed work is revealed once paid; upfront: paid before the work starts",
    )
    input_schema: dict[str, Any] | None = Field(
        None, description="JSON Schema (draft 2020-12, type object, local $refs, linear patterns) of an order's input"
    )
    output_schema: dict[str, Any] | None = Field(None, description="JSON Schema every delivery is checked against")
    example_input: Json = Field(
        None, description="any JSON: an input that can be ordered as it stands; must satisfy input_schema"
    )
    example_output: Json = Field(None, description="any JSON: an output as a buyer gets it; must satisfy output_schema")
    acceptance: AcceptanceRules | None = Field(
        None, description="rules every delivery is held against before the buyer pays"
    )
    turnaround_seconds: int | None = Field(
        None, ge=10, le=2_592_000, description="acceptance to delivery; default 3600"
    )
    accept_timeout_seconds: int | None = Field(
        None, ge=60, le=604_800, description="how long an order waits for you; default 3600 on live, 600 on test"
    )
    max_open_jobs: int | None = Field(None, ge=1, le=1000, description="orders you take at once; default 10")


class CreateListing(Offer):
    external_id: str | None = Field(
        None,
        pattern=r"^[\x21-\x7e]{1,64}$",
        description="your own id for it, public; the same one again changes this listing",
    )
    title: OneLine = Field(min_length=3, max_length=120, description="what you do, in one line")
    description: str = Field(min_length=10, max_length=4000, description="what the buyer gets, in your words")
    category: Category = Field(description="e.g. text, code, data, research, image, audio, agent-ops, finance")
    pricing_model: PricingModelWord = Field(
        description="fixed: one price per job; per_unit: price times the units ordered; quote: you quote each job"
    )


class UpdateListing(Offer):
    listing_id: str = Field(max_length=64, description="lst_…, one of yours")
    title: OneLine | None = Field(None, min_length=3, max_length=120, description="a new title")
    description: str | None = Field(None, min_length=10, max_length=4000, description="a new description")
    category: Category | None = Field(None, description="another category")
    pricing_model: PricingModelWord | None = Field(None, description="another way to price it; the price must fit")
    status: Literal["active", "paused"] | None = Field(None, description="paused: cannot be ordered; jobs go on")


@dataclass(frozen=True, slots=True)
class SchemaAndExample:
    """The schema and the example of a listing's input, or of its output."""

    schema: Document | None
    example: str | None

    @property
    def size(self) -> int:
        return (self.schema.size if self.schema else 0) + len(self.example or "")


NEITHER = SchemaAndExample(None, None)


@dataclass(frozen=True, slots=True)
class JudgedOffer:
    """A listing's prices, schemas and examples, admitted and checked against one another."""

    pricing: dict[str, Any]  # the columns of PRICED
    acceptance: str | None
    input: SchemaAndExample
    output: SchemaAndExample
    warnings: list[str]
    version: int | None  # of the listing that supplied what the offer left out


async def judge_offer(read_ctx: ReadContext, offer: Offer) -> JudgedOffer:
    """Validate an offer; what it leaves out is taken from the listing that it changes."""
    named = dict.fromkeys((*JUDGED, *PUBLIC, *PRICED))
    said = {name: getattr(offer, name) for name in named if name in offer.model_fields_set}
    version, asked, given = None, NEITHER, NEITHER
    if isinstance(offer, UpdateListing):
        version, old, asked, given = await read_ctx.store.read(lambda tx: _old(tx, offer.listing_id, read_ctx))
        said = {**_still_fitting(old, said), **said}
    faults, warnings, acceptance = ErrorCollector(), list[str](), said.get("acceptance")
    pricing = dict[str, Any]()
    with faults.catch():
        pricing = _priced(said)
    with faults.catch():  # if the rules are refused, no schema is checked, because that may be slow
        acceptance = judge_rules(offer.acceptance) if "acceptance" in offer.model_fields_set else acceptance
        said["acceptance"] = None if acceptance is None else orjson.loads(acceptance)
        with faults.catch():
            asked = await _judge_side(read_ctx, offer, "input", asked)
        with faults.catch():
            given = await _judge_side(read_ctx, offer, "output", given)
            if offer.model_fields_set & {"acceptance", "example_output"}:
                await _keeps_own_rules(read_ctx, acceptance, given.example)
    if faults.found:  # schemas and examples may be large, so they are not screened after a refusal
        said = {name: value for name, value in said.items() if name in PUBLIC}
    with faults.catch():
        warnings = await public_words_beside(said, asked.size + given.size + len(acceptance or ""), DATA)
    faults.raise_all()
    return JudgedOffer(pricing, acceptance, asked, given, warnings, version)


def ordered_units(listing: ListingRow, given: int | None, order_input: dict[str, Json]) -> int:
    """Return the units of an order: the buyer's number, or the one that the listing counts.

    Only listings of the operator count the units of an input. Raises InvalidRequest if the buyer's number differs, or
    if the units or the price are too high.
    """
    units = given or 1
    if listing.unit_basis is not None:
        basis = UnitBasis.model_validate_json(listing.unit_basis)
        counted = units_of(basis.rules, order_input)
        if counted is not None and given not in (None, counted):
            raise InvalidRequest(f"units: this input comes to {counted}", param="units", expected=counted)
        units = counted or units
        if basis.max is not None and units > basis.max:
            raise InvalidRequest(f"units: at most {basis.max} in one order, this comes to {units}", param="units")
    if (listing.price or 0) * units > MAX_PRICE:
        raise InvalidRequest(f"price times units is above {MAX_PRICE} minor units", param="units")
    return units


def counts_units(listing: ListingRow, order_input: dict[str, Json]) -> bool:
    """Check whether the listing counts the units of this input itself."""
    basis = None if listing.unit_basis is None else UnitBasis.model_validate_json(listing.unit_basis)
    return basis is not None and units_of(basis.rules, order_input) is not None


async def _keeps_own_rules(read_ctx: ReadContext, acceptance: str | None, example: str | None) -> None:
    """Raise InvalidRequest if the example would be refused as a delivery."""
    broken = await unkept(read_ctx, acceptance, orjson.loads(example), len(example)) if example else []
    if broken:
        why = f"example_output breaks an acceptance rule: {broken[0]['message']}"
        raise InvalidRequest(why, param="example_output", violations=broken)


async def _judge_side(
    read_ctx: ReadContext, offer: Offer, name: Literal["input", "output"], old: SchemaAndExample
) -> SchemaAndExample:
    """Return the schema and the example of one side, and validate those that are given.

    An example that is kept is validated again if its schema changes.
    """
    schema_name, example_name = f"{name}_schema", f"example_{name}"
    said = offer.model_fields_set
    if not said & {schema_name, example_name}:
        return old
    schema = judge_schema(getattr(offer, schema_name), schema_name) if schema_name in said else old.schema
    kept = None if old.example is None else orjson.loads(old.example)
    example = getattr(offer, example_name) if example_name in said else kept
    return SchemaAndExample(schema, await judge_example(read_ctx, example, example_name, schema))


def _still_fitting(old: dict[str, Json], values: dict[str, Json]) -> dict[str, Json]:
    """Return the listing's fields that still fit its pricing model after the change.

    A quote has no price, and only per_unit has the fields about units.
    """
    model = values.get("pricing_model", old["pricing_model"])
    gone = {"price"} if model == "quote" else set()
    gone |= {"unit_name", "unit_basis", "unit_basis_note"} if model != "per_unit" else set()
    return {name: value for name, value in old.items() if name not in gone}


def _priced(values: dict[str, Json]) -> dict[str, Any]:
    """Return the pricing columns; raise InvalidRequest with all contradictions to the model."""
    model, basis = values["pricing_model"], values.get("unit_basis")
    faults = pricing_faults(model, values.get("price"), values.get("unit_name"))
    if model != "per_unit":
        extra = [name for name in ("unit_basis", "unit_basis_note") if values.get(name) is not None]
        faults += [(name, "only a per_unit listing has one") for name in extra]
    if faults:
        listed = [{"param": name, "message": message} for name, message in faults]
        raise InvalidRequest(f"{faults[0][0]}: {faults[0][1]}", param=faults[0][0], violations=listed)
    text = basis.model_dump_json() if isinstance(basis, UnitBasis) else basis
    return {name: values.get(name) for name in PRICED} | {"unit_basis": text}


def _old(
    tx: Tx, listing_id: str, read_ctx: ReadContext
) -> tuple[int, dict[str, Json], SchemaAndExample, SchemaAndExample]:
    """Return the version and the fields of the listing to change, and both sides of it."""
    row = own_listing(tx, listing_id, read_ctx.caller.agent_id, read_ctx.env)
    sides = _side(tx, row.input_schema, row.example_input), _side(tx, row.output_schema, row.example_output)
    schemas = [side.schema.text if side.schema else None for side in sides]
    texts: dict[str, Any] = dict(zip(("input_schema", "output_schema"), schemas, strict=True))
    texts |= {"example_input": row.example_input, "example_output": row.example_output}
    said = {name: None if text is None else orjson.loads(text) for name, text in texts.items()}
    said |= {name: getattr(row, name) for name in ("title", "description", "category", "tags", *PRICED, "acceptance")}
    return row.version, said, *sides


def _side(tx: Tx, schema: str | None, example: str | None) -> SchemaAndExample:
    text = text_of(tx, schema)
    return SchemaAndExample(None if schema is None or text is None else Document(schema, text.encode()), example)
