"""All rows of a database, read directly, and a check for partial writes.

A writing call changes several rows: the job, its history, the events of both parties, the settlement, the stored
answer. They are written in one transaction, so after a crash there are either all of them or none.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
from sqlalchemy import BigInteger, Table, create_engine, select
from sqlalchemy.pool import NullPool

import storage.tables.search  # noqa: F401 - declares its table
from storage.rows import metadata

Standing = dict[str, list[dict[str, Any]]]
COMPILED: dict[Any, Any] = {}
SEARCH_KEYS = {"rank", "newest", "cheapest"}
DOCUMENTS = ("input_schema", "output_schema", "output_preview")
PLACED = {
    "reputations": ("agent_id", "env"),
    "reputation_categories": ("agent_id", "env", "role", "category"),
    "reputation_counterparties": ("agent_id", "env", "role", "category", "counterparty"),
}
STATUS_AFTER = {
    "created": "open",
    "accepted": "in_progress",
    "delivered": "delivered",
    "completed": "completed",
    "expired": "expired",
}
ANSWERED_BY = {
    "created": "create_job",
    "accepted": "accept_job",
    "delivered": "deliver_job",
    "paid": "pay_job",
    "completed": "accept_job",
}


def standing(url: str) -> Standing:
    """Return every row of every table, by key. No other process may write.

    Sequence numbers are replaced by positions, because a rolled-back transaction consumes numbers.
    """
    path = url.removeprefix("sqlite:///")
    address = f"sqlite:///file:{path}?mode=ro&uri=true" if path != url else url.replace(":", "+psycopg:", 1)
    engine = create_engine(address, poolclass=NullPool)
    with engine.connect().execution_options(compiled_cache=COMPILED) as connection:
        return {
            table.name: _placed(table, [dict(row._mapping) for row in connection.execute(select(table))])
            for table in metadata.sorted_tables
        }


def half_states(found: Standing) -> list[str]:
    """Return a sentence for each row without its related rows.

    Only for the trades of tests.end_to_end.faults.
    """
    return [
        *_of_jobs(found),
        *_of_payments(found),
        *_of_answers(found),
        *_of_agents(found),
        *_of_listings(found),
        *_of_figures(found),
        *_of_reputation(found),
        *_of_threads(found),
        *_of_days(found),
    ]


def audit_of(found: Standing) -> dict[str, list[str]]:
    """Return the history of each job, in order."""
    happened: dict[str, list[str]] = {job["id"]: [] for job in found["jobs"]}
    for row in found["job_events"]:
        happened.setdefault(row["job_id"], []).append(row["type"])
    return happened


def _placed(table: Table, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = [column.name for column in table.primary_key]
    rows.sort(key=lambda row: [row[key] for key in keys])
    numbered = len(keys) == 1 and isinstance(table.c[keys[0]].type, BigInteger)
    return [_renumbered(row, keys[0], place) for place, row in enumerate(rows, 1)] if numbered else rows


def _renumbered(row: dict[str, Any], number: str, place: int) -> dict[str, Any]:
    """Shift the search keys, which end in the distance of their row's number from the maximum."""
    shift = row[number] - place
    return row | {number: place} | {key: row[key] + shift for key in SEARCH_KEYS & row.keys() if row[key] is not None}


def _of_jobs(found: Standing) -> Iterator[str]:
    audit, told = audit_of(found), _told(found)
    threads = Counter(thread["job_id"] for thread in found["threads"])
    for job in found["jobs"]:
        name, happened = f"job {job['id']}", audit[job["id"]]
        moves = [one for one in happened if one not in ("paid", "payment_due", "deadline_soon")]
        if len(set(happened)) != len(happened):
            yield f"{name}: something happened twice: {happened}"
        if not moves or job["status"] != STATUS_AFTER[moves[-1]]:
            yield f"{name} is {job['status']} after {happened}"
        if (job["output"] is not None) != ("delivered" in happened):
            yield f"{name}: the output is {job['output']} after {happened}"
        expected = Counter((party, f"job.{one}") for one in happened for party in (job["buyer_id"], job["seller_id"]))
        if told.get(job["id"], Counter()) != expected:
            yield f"{name}: after {happened} the parties were told {told.get(job['id'])}"
        if threads[job["id"]] != 1:
            yield f"{name} has {threads[job['id']]} threads"
    for stray in (set(told) | set(threads) | set(audit)) - {job["id"] for job in found["jobs"]} - {None}:
        yield f"there is no job {stray}"


def _of_figures(found: Standing) -> Iterator[str]:
    """Yield completed jobs missing from their listing's figures, and lost deliveries."""
    results = {one["job_id"]: one for one in found["job_results"]}
    paid: Counter[tuple[str, str]] = Counter()
    for job in found["jobs"]:
        if (job["status"] == "completed") != (job["id"] in results):
            yield f"job {job['id']} is {job['status']} and its result is {results.get(job['id'])}"
        if (job["output"] is not None) != any(one["job_id"] == job["id"] for one in found["job_deliveries"]):
            yield f"job {job['id']} has lost its delivery"
    for one in results.values():
        if one["payer"]:
            paid[one["listing_id"], one["payer"]] += one["paid_minor"]
    kept = {(one["listing_id"], one["wallet"]): one["paid_minor"] for one in found["listing_payers"]}
    if kept != dict(paid):
        yield f"wallets paid {dict(paid)}, counted are {kept}"
    agents = {one["id"] for one in found["agents"]}
    for table in ("handles", "agent_search"):
        if {one["agent_id"] for one in found[table]} != agents:
            yield f"an agent is missing from {table}"


def _of_days(found: Standing) -> Iterator[str]:
    """Yield the difference of the counts of days from the rows."""
    jobs, kept = found["jobs"], Counter[str]()
    for row in found["daily_counts"]:
        kept[row["name"]] += row["number"]
    paid = Counter[str]()
    for one in found["settlements"]:
        paid[one["job_id"]] += one["amount"]
    completed = [job["id"] for job in jobs if job["status"] == "completed"]
    expected = Counter({
        "created": len(jobs),
        "completed": len(completed),
        "volume": sum(paid[one] for one in completed),
        "payments": len(found["settlements"]),
        "paid": len(paid),
        "to_accept": sum(job["accepted_at"] is not None and job["accepted_at"] > job["created_at"] for job in jobs),
        "to_deliver": sum(job["delivered_at"] is not None for job in jobs),
    })  # fmt: skip
    expected.update(f"status.{job['status']}" for job in jobs)
    if +kept != +expected:
        yield f"the days have {+kept}, and the rows {+expected}"


def _of_reputation(found: Standing) -> Iterator[str]:
    """Yield ended jobs without a mark, and completed ones not counted for both parties."""
    marks = {one["job_id"]: orjson.loads(one["mark"]) for one in found["job_marks"]}
    tables = ("reputations", "reputation_categories", "reputation_counterparties")
    kept = {table: {tuple(row[name] for name in PLACED[table]) for row in found[table]} for table in tables}
    for job in found["jobs"]:
        if job["status"] in ("completed", "expired") and job["id"] not in marks:
            yield f"job {job['id']} is {job['status']} and has no mark"
        if job["status"] == "completed" and job["id"] in marks:
            for table, place in _counted(job, marks[job["id"]]):
                if place not in kept[table]:
                    yield f"job {job['id']} is counted nowhere in {table}: {place}"
    bound = {(one["agent_id"], one["address"]) for one in found["wallets"]}
    if not bound <= {(one["agent_id"], one["address"]) for one in found["wallets_held"]}:
        yield "a wallet is bound and was never held"


def _counted(job: dict[str, Any], mark: dict[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the rows that count a completed and paid job: table and key."""
    for side, other in (("seller", mark["payer"]), ("buyer", mark["payee"])):
        place = (job[f"{side}_id"], job["env"])
        yield "reputations", place
        yield "reputation_categories", (*place, side, job["category"])
        for category in ("", job["category"]):
            yield "reputation_counterparties", (*place, side, category, other)


def _told(found: Standing) -> dict[str, Counter[tuple[str, str]]]:
    """Return the number of events of each party, by job."""
    told: dict[str, Counter[tuple[str, str]]] = {}
    for event in found["events"]:
        if event["kind"].startswith("job."):
            told.setdefault(orjson.loads(event["data"])["job_id"], Counter())[event["agent_id"], event["kind"]] += 1
    return told


def _of_payments(found: Standing) -> Iterator[str]:
    hashes = Counter((one["network"], one["tx_hash"]) for one in found["settlements"])
    yield from (f"transaction {name} settled {count} times" for name, count in hashes.items() if count > 1)
    settled: Counter[str] = Counter()
    for one in found["settlements"]:
        if one["status"] != "settled":
            yield f"settlement {one['id']} is {one['status']}"
        settled[one["job_id"]] += one["amount"]
    audit = audit_of(found)
    for job in found["jobs"]:
        paid = "paid" in audit[job["id"]]
        if settled[job["id"]] != (job["price"] if paid else 0):
            yield f"job {job['id']}: {settled[job['id']]} of {job['price']} settled after {audit[job['id']]}"
        if (job["review_by"] is not None) != paid:
            yield f"job {job['id']}: review_by is {job['review_by']} after {audit[job['id']]}"


def _of_answers(found: Standing) -> Iterator[str]:
    """Yield differences between records and stored answers.

    Every call of these trades has an Idempotency-Key, so each is stored once.
    """
    answered: Counter[tuple[str, str]] = Counter()
    bodies = {one["hash"]: one["body"] for one in found["answer_bodies"]}
    for kept in found["answers"]:
        text = kept["body"] if kept["body_hash"] is None else bodies.get(kept["body_hash"])
        if text is None:
            yield f"the answer of {kept['operation']} has lost its body"
            continue
        body = {} if kept["sealed"] else orjson.loads(text)
        of = kept["owner"] if kept["operation"] == "set_wallet_address" else body.get("job_id", body.get("id", ""))
        answered[kept["operation"], of] += 1
    done = Counter((ANSWERED_BY[row["type"]], row["job_id"]) for row in found["job_events"] if row["actor_id"])
    done += Counter(("review_job", review["job_id"]) for review in found["reviews"])
    done += Counter(("create_listing", listing["id"]) for listing in found["listings"])
    done += Counter(("set_wallet_address", wallet["agent_id"]) for wallet in found["wallets"])
    done += Counter(("register_agent", "") for _ in found["agents"])
    yield from (f"done and not answered: {what}" for what in (done - answered).elements())
    yield from (f"answered and not done: {what}" for what in (answered - done).elements())


def _of_agents(found: Standing) -> Iterator[str]:
    keys = Counter((key["agent_id"], key["env"]) for key in found["api_keys"])
    if keys != Counter((agent["id"], env) for agent in found["agents"] for env in ("live", "test")):
        yield f"the keys are {keys}"
    told = Counter((event["agent_id"], event["kind"]) for event in found["events"] if event["kind"][:4] != "job.")
    due = Counter((wallet["agent_id"], "agent.wallet_address_changed") for wallet in found["wallets"])
    due += Counter((review["subject_id"], "review.received") for review in found["reviews"])
    parties = {thread["id"]: {thread["a"], thread["b"]} for thread in found["threads"]}
    for message in found["messages"]:
        for other in parties.get(message["thread_id"], set()) - {message["sender_id"]}:
            due[other, "message.received"] += 1
    yield from (f"{who} was not told of {what}" for who, what in (due - told).elements())
    yield from (f"{who} was told of {what} and it is not so" for who, what in (told - due).elements())


def _of_listings(found: Standing) -> Iterator[str]:
    places = Counter(place["listing_id"] for place in found["listing_search"])
    if places != Counter(listing["id"] for listing in found["listings"]):
        yield f"search knows {places}"
    kept = {document["hash"] for document in found["documents"]}
    for row in (*found["listings"], *found["jobs"]):
        lost = {row.get(name) for name in DOCUMENTS} - kept - {None}
        if lost:
            yield f"{row['id']} names the documents {lost}, which do not stand"
    due = {(job["id"], "input") for job in found["jobs"]}
    due |= {(one["job_id"], f"output/{one['revision']}") for one in found["job_deliveries"]}
    texts = {(one["job_id"], one["part"]) for one in found["job_texts"]}
    if due != texts:
        yield f"the texts of jobs are {texts}, not {due}"
    owners = {(one["seller_id"], one["env"]) for one in found["listings"]}
    owners |= {(one["buyer_id"], one["env"]) for one in found["jobs"]}
    counted = {(one["agent_id"], one["env"]) for one in found["agent_storage"] if one["used"] > 0}
    if not owners <= counted:
        yield f"bytes are stored for {owners}, counted for {counted}"


def _of_threads(found: Standing) -> Iterator[str]:
    """Yield threads and mailboxes whose counts differ from their messages.

    No message has been marked as read.
    """
    unread: Counter[tuple[str, str]] = Counter()
    for thread in found["threads"]:
        wrote = Counter(one["sender_id"] for one in found["messages"] if one["thread_id"] == thread["id"])
        told = (thread["message_count"], thread["from_a"], thread["from_b"], thread["unread_a"], thread["unread_b"])
        a, b = wrote[thread["a"]], wrote[thread["b"]]
        if told != (a + b, a, b, b, a):
            yield f"thread {thread['id']} counts {told} of {wrote}"
        unread += Counter({(thread["a"], thread["env"]): b, (thread["b"], thread["env"]): a})
    kept = Counter({(box["agent_id"], box["env"]): box["unread"] for box in found["mailboxes"]})
    if kept != unread:
        yield f"mailboxes hold {kept} of {unread}"
