"""The oracle of arrivals: at the end of a run, each webhook was taken by its receiver, or given up as promised."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select

from storage.query import Query
from storage.tables import AgentRow, DeliveryRow, EventRow, WebhookRow
from storage.transaction import Tx
from storage.vocabulary import AgentStatus, DeliveryStatus, WebhookStatus
from tests.simulation.oracles import Oracle, all_events
from tests.simulation.records import Observation, Violation
from tests.simulation.settle import SLACK_SECONDS, is_overdue
from tools.kernel.ids import event_id

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

LAST_SECONDS = 2 * SLACK_SECONDS  # for events of the last deadlines to be sent
MOST_FAILURES = 20  # deliveries given up in a row, which disable a webhook
TOO_MANY = "too_many_waiting"
TEST = "webhook.test"  # is for one webhook only
_deliveries = Query(
    select(DeliveryRow).where(
        DeliveryRow.webhook_id == bindparam("webhook_id"), DeliveryRow.event_number == bindparam("number")
    )
)


@dataclass(frozen=True, slots=True)
class Subscription:
    """A promise to the owner of a webhook: all events of these types after a time."""

    webhook_id: str
    owner: str
    env: str
    types: tuple[str, ...]
    since: datetime

    def wants(self, event: EventRow) -> bool:
        if (event.agent_id, event.env) != (self.owner, self.env) or event.created_at <= self.since:
            return False
        family = event.kind.partition(".")[0]
        return event.kind != TEST and not {"*", f"{family}.*", event.kind}.isdisjoint(self.types)


class Arrived(Oracle):
    """Each event that an active webhook subscribes to was taken, or its receiver refused it.

    Events of an agent that was suspended once are not judged, because a suspended agent is sent nothing.
    """

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self.promised: dict[str, Subscription] = {}  # by webhook
        self.ended: set[str] = set()  # webhooks that their owners deleted
        self.suspended: set[str] = set()

    def observe(self, seen: Observation) -> None:
        """Learn what a webhook subscribes to; a change of it counts from its answer on."""
        if seen.answer.refused:
            return
        match seen.call.operation:
            case "set_agent_status":
                self.suspended.add(seen.call.arguments["agent_id"])
            case "delete_webhook":
                self.ended.add(seen.call.arguments["webhook_id"])
                self.promised.pop(seen.call.arguments["webhook_id"], None)
            case "create_webhook" | "update_webhook":
                self._subscribed(seen)

    def _subscribed(self, seen: Observation) -> None:
        body = seen.answer.body
        wanted = Subscription(body["id"], seen.agent or "", body["env"], tuple(body["event_types"]), seen.ended)
        before = self.promised.pop(wanted.webhook_id, None)
        if body["status"] == "active" and wanted.webhook_id not in self.ended:
            self.promised[wanted.webhook_id] = before if before and before.types == wanted.types else wanted

    async def at_end(self) -> None:
        await self.simulation.sleep(LAST_SECONDS)
        await self.simulation.read(self._judge)

    def _judge(self, tx: Tx) -> None:
        """Raise Violation for the first event that should have arrived by now."""
        promised = [one for one in self.promised.values() if self._is_active(tx, one)]
        by_owner: dict[str, list[Subscription]] = {}
        for one in promised:
            by_owner.setdefault(one.owner, []).append(one)
        taken = {ids for _, ids in self.simulation.web.taken}
        for event in all_events(tx):
            for one in by_owner.get(event.agent_id, ()):
                ids = f"{event_id(event.id)} {one.webhook_id}"
                if one.wants(event) and ids not in taken and is_overdue(self.simulation, event.created_at):
                    self._check(tx, event, one, self.simulation.web.refused[ids])

    def _is_active(self, tx: Tx, one: Subscription) -> bool:
        """Tell if a webhook should work. Raises Violation if the market ended it without a reason."""
        owner, row = tx.get(AgentRow, one.owner), tx.get(WebhookRow, one.webhook_id)
        if owner is None or owner.status is not AgentStatus.ACTIVE or one.owner in self.suspended:
            return False
        if row is None:
            raise Violation(f"the webhook {one.webhook_id} of {one.owner} is gone")
        if row.status is WebhookStatus.ACTIVE:
            return True
        refused = self.simulation.web.refused
        failed = sum(count for ids, count in refused.items() if ids.endswith(one.webhook_id))
        if row.disabled_reason != "failures" or failed < MOST_FAILURES:  # no receiver answers 410
            raise Violation(f"{one.webhook_id} is disabled for {row.disabled_reason} after {failed} refused posts")
        return False

    def _check(self, tx: Tx, event: EventRow, one: Subscription, refused: int) -> None:
        """Raise Violation unless a refused delivery failed, or waits for its next attempt."""
        row = tx.one(_deliveries, webhook_id=one.webhook_id, number=event.id)
        if row is not None and (refused or row.last_error == TOO_MANY):
            if row.status is DeliveryStatus.FAILED:
                return
            if (
                row.status is DeliveryStatus.PENDING
                and row.due_at is not None
                and not is_overdue(self.simulation, row.due_at)
            ):
                return
        state = "no delivery" if row is None else f"{row.id} {row.status}, due {row.due_at}, {row.last_error}"
        raise Violation(
            f"{event_id(event.id)} {event.kind} of {event.created_at} did not arrive at {one.webhook_id} of {one.owner}: "
            f"{state}, refused {refused} times"
        )
