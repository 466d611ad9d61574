"""A small market in FastAPI and SQLModel: a key check, a listing, a search and an order, on SQLite.

    python -m benchmarks.peers.fastapi_sqlmodel --port 8000 --data market.db

It is written as the documentation of both shows it: functions that run in threads, a session for each request, response
models. Its orders are durable: WAL, synchronous FULL, a job, a thread and two events in one transaction. It does less
than the market: no schema is checked, no text is screened, no rate is limited, and hits have no order by fit.
"""

import argparse
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import uvicorn
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.security import APIKeyHeader
from sqlalchemy import JSON, event
from sqlmodel import Column, Field, Session, SQLModel, col, create_engine, or_, select

from server.child_processes import end_with_parent

CONNECTIONS = 40  # as many as FastAPI has threads
COPIED = "id, seller_id, title, description, category, pricing_model, price, payment, turnaround_seconds, status"
LISTINGS = f"""
    INSERT INTO listing ({COPIED}, tags, example_input, stats, created_at, updated_at, input_schema, output_schema)
    SELECT {COPIED}, tags, example_input, stats, :at, :at, given.text, made.text
    FROM seeded.listings
    JOIN seeded.documents AS given ON given.hash = input_schema JOIN seeded.documents AS made ON made.hash = output_schema
    WHERE env = 'live'
"""
TAGS = "INSERT INTO listingtag (tag, listing_id) SELECT value, listing.id FROM listing, json_each(listing.tags)"


class Trader(SQLModel, table=True):
    id: str = Field(primary_key=True)
    key_hash: str = Field(unique=True)


class ListingPublic(SQLModel):
    id: str = Field(primary_key=True)
    seller_id: str = Field(index=True)
    title: str
    description: str
    category: str = Field(index=True)
    tags: list[str] = Field(sa_column=Column(JSON))
    pricing_model: str
    price: int | None = Field(index=True)
    payment: str
    input_schema: dict[str, Any] = Field(sa_column=Column(JSON))
    output_schema: dict[str, Any] = Field(sa_column=Column(JSON))
    example_input: dict[str, Any] = Field(sa_column=Column(JSON))
    turnaround_seconds: int
    status: str
    stats: dict[str, Any] = Field(sa_column=Column(JSON))
    created_at: datetime
    updated_at: datetime


class Listing(ListingPublic, table=True):
    pass


class ListingTag(SQLModel, table=True):
    tag: str = Field(primary_key=True)
    listing_id: str = Field(primary_key=True)


class Page(SQLModel):
    data: list[ListingPublic]
    has_more: bool


class Order(SQLModel):
    listing_id: str
    input: dict[str, Any]


class JobPublic(SQLModel):
    id: str = Field(primary_key=True)
    listing_id: str = Field(index=True)
    buyer_id: str = Field(index=True)
    seller_id: str = Field(index=True)
    thread_id: str
    title: str
    price: int | None
    status: str = "open"
    input: dict[str, Any] = Field(sa_column=Column(JSON))
    created_at: datetime


class Job(JobPublic, table=True):
    pass


class Thread(SQLModel, table=True):
    id: str = Field(primary_key=True)
    job_id: str = Field(index=True)
    created_at: datetime


class Event(SQLModel, table=True):
    id: int | None = Field(default=None, primary_key=True)
    agent_id: str = Field(index=True)
    type: str
    data: dict[str, Any] = Field(sa_column=Column(JSON))
    created_at: datetime


def fill(path: Path, seeded: Path, traders: Iterable[tuple[str, str]]) -> None:
    """Make the tables, and copy the live listings of a seeded market and these (id, key) pairs."""
    engine = create_engine(f"sqlite:///{path}")
    SQLModel.metadata.create_all(engine)
    engine.dispose()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ATTACH ? AS seeded", [str(seeded)])
        connection.execute(LISTINGS, {"at": "2026-01-01 00:00:00"})
        connection.execute(TAGS)
        hashed = [(trader, hash_of(key)) for trader, key in traders]
        connection.executemany("INSERT INTO trader (id, key_hash) VALUES (?, ?)", hashed)
        connection.commit()
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("ANALYZE")


def hash_of(key: str) -> str:
    return sha256(key.encode()).hexdigest()


def session_of_request(request: Request) -> Iterator[Session]:
    with Session(request.app.state.engine) as session:
        yield session


WithSession = Annotated[Session, Depends(session_of_request)]


def caller_of_request(session: WithSession, key: Annotated[str, Depends(APIKeyHeader(name="x-api-key"))]) -> Trader:
    trader = session.exec(select(Trader).where(Trader.key_hash == hash_of(key))).first()
    if trader is None:
        raise HTTPException(401, "unknown key")
    return trader


WithCaller = Annotated[Trader, Depends(caller_of_request)]
app = FastAPI()


@app.get("/v1/listings/{listing_id}", response_model=ListingPublic)
def get_listing(listing_id: str, session: WithSession, caller: WithCaller) -> Listing:
    listing = session.get(Listing, listing_id)
    if listing is None:
        raise HTTPException(404, "no such listing")
    return listing


@app.get("/v1/listings", response_model=Page)
def search_listings(
    session: WithSession,
    caller: WithCaller,
    q: str | None = None,
    category: str | None = None,
    tag: str | None = None,
    max_price: int | None = None,
    limit: int = 20,
) -> Any:
    query = select(Listing)
    if q:
        query = query.where(or_(col(Listing.title).contains(q), col(Listing.description).contains(q)))
    if category:
        query = query.where(Listing.category == category)
    if max_price is not None:
        query = query.where(col(Listing.price) <= max_price)
    if tag:
        query = query.join(ListingTag, col(ListingTag.listing_id) == Listing.id).where(ListingTag.tag == tag)
    found = session.exec(query.limit(limit + 1)).all()
    return {"data": found[:limit], "has_more": len(found) > limit}


@app.post("/v1/jobs", status_code=201, response_model=JobPublic)
def create_job(order: Order, session: WithSession, caller: WithCaller) -> Job:
    listing = session.get(Listing, order.listing_id)
    if listing is None:
        raise HTTPException(404, "no such listing")
    now = datetime.now(UTC)  # noqa: TID251 - the peer has no World
    job = Job(
        id=f"job_{uuid4().hex}", listing_id=listing.id, buyer_id=caller.id, seller_id=listing.seller_id,
        thread_id=f"thr_{uuid4().hex}", title=listing.title, price=listing.price, input=order.input, created_at=now,
    )  # fmt: skip
    session.add(job)
    session.add(Thread(id=job.thread_id, job_id=job.id, created_at=now))
    for agent in (job.buyer_id, job.seller_id):
        session.add(Event(agent_id=agent, type="job.created", data={"job_id": job.id}, created_at=now))
    session.commit()
    session.refresh(job)
    return job


def application(path: Path) -> FastAPI:
    """Return the application over a filled file."""
    engine = create_engine(
        f"sqlite:///{path}", pool_size=CONNECTIONS, connect_args={"check_same_thread": False, "timeout": 30}
    )

    @event.listens_for(engine, "connect")
    def durable(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA synchronous=FULL")

    app.state.engine = engine
    return app


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True)
    given = parser.parse_args()
    end_with_parent(os.getppid())
    uvicorn.run(application(given.data), port=given.port, loop="uvloop", http="httptools", access_log=False)


if __name__ == "__main__":
    main()
