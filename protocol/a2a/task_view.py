"""A job as an A2A task: pure functions of its record. Nothing is stored for a task beside the job."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from protocol.a2a import payment as x402
from protocol.a2a.agent_card import required_example
from protocol.job_texts import how_it_is, what_is_due, where_it_stands
from tools.engine.registry import Operation
from tools.jobs.waiting_rules import otherwise
from tools.kernel.errors import Json

Record = dict[str, Json]
STATES: Mapping[str, str] = {
    "quote_requested": "TASK_STATE_SUBMITTED",
    "open": "TASK_STATE_SUBMITTED",
    "in_progress": "TASK_STATE_WORKING",
    "disputed": "TASK_STATE_WORKING",
    "quoted": "TASK_STATE_INPUT_REQUIRED",
    "awaiting_payment": "TASK_STATE_INPUT_REQUIRED",
    "delivered": "TASK_STATE_INPUT_REQUIRED",
    "completed": "TASK_STATE_COMPLETED",
    "resolved": "TASK_STATE_COMPLETED",
    "declined": "TASK_STATE_REJECTED",
    "cancelled": "TASK_STATE_CANCELED",
    "expired": "TASK_STATE_FAILED",
}
OF_JOB = frozenset({"job_id", "dispute_id"})  # arguments that the task itself provides
FINAL = frozenset({"TASK_STATE_COMPLETED", "TASK_STATE_REJECTED", "TASK_STATE_CANCELED", "TASK_STATE_FAILED"})
JSON_KIND = "application/json"
SHOWN = ("status", "role", "available_actions", "waiting_on", "payment", "deadlines", "next_steps")


@dataclass(frozen=True, slots=True)
class View:
    """The renderer of tasks, with the brand and the data part that asks for each action."""

    brand: str
    forms: Mapping[str, str]

    def task(self, task: Record) -> Record:
        """Render the whole task as JSON; its data parts and metadata are the market's own values."""
        job = task["job"]
        return {
            "id": job["id"],
            "contextId": task["context_id"],
            "status": self.status(task),
            "artifacts": self.artifacts(job),
            "history": history(task),
            "metadata": {self.brand: _facts(job)},
        }

    def artifacts(self, job: Record) -> list[Json]:
        """Return the output as the only artifact, once it is readable."""
        if job["output_sealed"] or job["output_hash"] is None or job.get("archived_at"):
            return []
        return [{"artifactId": f"{job['id']}-output", "name": "output", "parts": self.parts(job["output"])}]

    def parts(self, output: Json) -> list[Json]:
        """Return an output as parts: a string as text, anything else as data."""
        return [{"text": output} if isinstance(output, str) else _data(output)]

    def status(self, task: Record, payment: Record | None = None, why: Sequence[Json] = ()) -> Record:
        """Render the job's state, the next step and its payment.

        `payment` replaces the payment metadata, and `why` are parts with the reason.
        """
        job = task["job"]
        due = x402.metadata_of(task) if payment is None else payment
        message: Record = {
            "messageId": f"{job['id']}-{job['status']}-{job['updated_at']}",
            "role": "ROLE_AGENT",
            "parts": [*why, {"text": self._said(task)}, _data({name: job[name] for name in SHOWN})],
            **ids_of(task),
        }
        message |= {"metadata": due, "extensions": [x402.URI]} if due else {}
        return {"state": STATES[job["status"]], "timestamp": job["updated_at"], "message": message}

    def happened(self, task: Record, event: Record, status: str) -> Record:
        """Render the status after an event; for a message that came, with the message."""
        said = [one for one in task["messages"] if one["id"] == event["data"].get("message_id")]
        text = f"{event['type']}: the job is {status.replace('_', ' ')}."
        told = {"messageId": event["id"], "role": "ROLE_AGENT", "parts": [{"text": text}], **ids_of(task)}
        message = _message(task, said[0]) if said else told
        return {"state": STATES[status], "timestamp": event["created_at"], "message": message}

    def _said(self, task: Record) -> str:
        job = task["job"]
        waits, status = job["waiting_on"], how_it_is(job)
        if waits is None:
            done = "Its output is the artifact. " if self.artifacts(job) else ""
            return f"{status} {done}{self._asked(job)}".strip()
        if waits["who"] == job["role"] and task["due"] is not None:
            return f"{status} {_owed(task)} {otherwise(**waits)}"
        return f"{where_it_stands(job)} {self._asked(job)}".strip()

    def _asked(self, job: Record) -> str:
        forms = [self.forms[action] for action in job["available_actions"] if action in self.forms]
        is_over = STATES[job["status"]] in FINAL
        talks = "" if is_over else "; text alone goes to the other party"
        if not forms:
            comes = "nothing more comes" if is_over else "GetTask or SubscribeToTask shows what comes"
            return f"Nothing is asked of you{talks}; {comes}."
        choice = "the data part" if len(forms) == 1 else "one of the data parts"
        return f"You can send a message with taskId {job['id']} and {choice} {', '.join(forms)}{talks}."

    def where_words_went(self, record: Record, words: str) -> str:
        """Say that the words went to the other party, and which data part takes a step.

        The step is the one that the words name, otherwise the one that the job waits for.
        """
        job = record["job"]
        other = "seller" if job["role"] == "buyer" else "buyer"
        waits = job["waiting_on"]
        awaited = waits["action"] if waits is not None and waits["who"] == job["role"] else ""
        named = words.lower().strip(" .!").replace(" ", "_")
        action = next((one for one in (named, awaited) if one in job["available_actions"] and one in self.forms), None)
        step = f"; to {action.replace('_', ' ')} send {self.forms[action]}" if action else ""
        return f"Your {'words' if words else 'data'} went to the {other}{step}."


def forms_of(operations: Iterable[Operation]) -> dict[str, str]:
    """Return the data part for each action, with the arguments it needs beside the job."""
    return {op.action: _form(op) for op in operations if op.action and OF_JOB & {*op.input.model_fields}}


def history(task: Record) -> list[Json]:
    """Return the order as the message it came with, and the messages since."""
    job = task["job"]
    source = {name: job[name] for name in ("listing_id", "bounty_id") if job[name] is not None}
    units = {"units": job["units"]} if job["units"] != 1 else {}
    order = {
        "messageId": task["message_id"] or f"{job['id']}-order",
        "role": "ROLE_USER",
        "parts": [_data({**source, "input": job["input"], **units})],
        **ids_of(task),
    }
    return [order, *(_message(task, one) for one in task["messages"])]


def _message(task: Record, one: Record) -> Record:
    buyer = one["sender"]["id"] == task["job"]["buyer"]["id"]
    about = {
        "from": one["sender"]["handle"],
        "createdAt": one["created_at"],
        "contentWarnings": one["content_warnings"],
    }
    return {
        "messageId": one["id"],
        "role": "ROLE_USER" if buyer else "ROLE_AGENT",
        "parts": [{"text": one["body"]}, *([] if one["data"] is None else [_data(one["data"])])],
        "metadata": about,
        **ids_of(task),
    }


def _owed(task: Record) -> str:
    return (
        f"{what_is_due(task['job']['payment'], task['due']['amount'])} "
        f"Once it is mined, send a message with taskId {task['job']['id']} and the "
        f'data part {{"transaction": "0x…"}}, or with that hash in the metadata {x402.PAYLOAD}.'
    )


def _facts(job: Record) -> Record:
    facts = {
        "jobStatus": job["status"],
        "listingId": job["listing_id"],
        "bountyId": job["bounty_id"],
        "threadId": job["thread_id"],
        "price": job["price"],
        "paymentStatus": job["payment"]["status"],
        "archivedAt": job.get("archived_at"),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _form(op: Operation) -> str:
    needed = {name: value for name, value in required_example(op).items() if name not in OF_JOB}
    return orjson.dumps({"action": op.action, **needed}).decode()


def ids_of(task: Record) -> dict[str, str]:
    return {"taskId": task["job"]["id"], "contextId": task["context_id"]}


def _data(value: Any) -> Record:
    return {"data": value, "mediaType": JSON_KIND}
