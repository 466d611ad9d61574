"""The operator's webhook: its events are delivered in the same way as those of agents' webhooks."""

from collections.abc import Mapping
from typing import Any

import orjson

from storage.tables import WebhookRow
from storage.vocabulary import Env, WebhookSource, WebhookStatus
from tools.engine.context import TxContext
from tools.events.webhooks.logic import OPERATOR, revived

TYPES = ("dispute.escalated",)


def tell_operator(ctx: TxContext, env: Env, kind: str, data: Mapping[str, Any]) -> None:
    """Queue an event for EMPORION_OPERATOR_WEBHOOK in this unit of work, if one is set."""
    url = ctx.config.operator_webhook
    if url is None:
        return
    row_id = f"whk_{OPERATOR}_{env}"
    ctx.tx.insert_if_absent(
        WebhookRow(
            id=row_id,
            agent_id=OPERATOR,
            env=env,
            source=WebhookSource.REGISTERED,
            url=url,
            event_types=list(TYPES),
            secret=None,
            since=0,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
    )
    row = ctx.tx.get(WebhookRow, row_id, lock=True)
    if row is not None and (row.url != url or row.status is WebhookStatus.DISABLED):
        revived(ctx, row, url=url)
    ctx.tx.emit(OPERATOR, env, kind, orjson.dumps(data).decode(), ctx.now)
