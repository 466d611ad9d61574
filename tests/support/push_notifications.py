"""Push notifications for tests: manage configs in each form of A2A, and receive notifications on this machine."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from server.adapters.web import GuardedWeb
from server.webhook_sender import Sender
from tests.support.a2a_requests import HTTP_03, RPC_03, RPC_1, RPC_FORMS, Heard
from tests.support.a2a_tasks import Desk
from tests.support.http_receiver import Posted, Receiver
from tests.support.market import Agent
from tests.support.trade import Trade

TOKEN, SECRET = "the-token-of-mine", "bearer-of-mine"
ENTRY = {"scheme": "Bearer", "credentials": SECRET}
OLD_ENTRY = {"schemes": ["Bearer"], "credentials": SECRET}
OLD_FORMS = (RPC_03, HTTP_03)


@dataclass
class Pushes:
    """The push configs of a client, managed in one form of A2A."""

    desk: Desk
    form: str

    async def set(self, job_id: str, receiver: Receiver | str, **more: Any) -> Heard:
        """Create a config, with a token and credentials unless arguments say otherwise."""
        config = self.config(receiver, **more)
        if self.form == RPC_1:
            return await self._rpc("CreateTaskPushNotificationConfig", {"taskId": job_id, **config})
        if self.form == RPC_03:
            return await self._rpc(
                "tasks/pushNotificationConfig/set", {"taskId": job_id, "pushNotificationConfig": config}
            )
        old = {"parent": f"tasks/{job_id}", "config": {"pushNotificationConfig": config}}
        body = old if self.form == HTTP_03 else config
        return await self.desk.a2a.post(self.form, json.dumps(body).encode(), self._path(job_id), self.desk.headers)

    def config(self, receiver: Receiver | str, **more: Any) -> dict[str, Any]:
        url = receiver if isinstance(receiver, str) else receiver.url
        entry = OLD_ENTRY if self.form in OLD_FORMS else ENTRY
        return {"url": url, "token": TOKEN, "authentication": entry} | more

    async def get(self, job_id: str, config_id: str = "") -> Heard:
        if self.form == RPC_1:
            return await self._rpc("GetTaskPushNotificationConfig", {"taskId": job_id, "id": config_id or job_id})
        if self.form == RPC_03:
            named = {"pushNotificationConfigId": config_id} if config_id else {}
            return await self._rpc("tasks/pushNotificationConfig/get", {"id": job_id, **named})
        path = f"{self._path(job_id)}/{config_id or job_id}"
        return await self.desk.a2a.fetch(self.form, path, headers=self.desk.headers)

    async def all(self, job_id: str) -> Heard:
        if self.form in RPC_FORMS:
            new = self.form == RPC_1
            params = {"taskId": job_id} if new else {"id": job_id}
            return await self._rpc(
                "ListTaskPushNotificationConfigs" if new else "tasks/pushNotificationConfig/list", params
            )
        return await self.desk.a2a.fetch(self.form, self._path(job_id), headers=self.desk.headers)

    async def end(self, job_id: str, config_id: str) -> Heard:
        if self.form == RPC_1:
            return await self._rpc("DeleteTaskPushNotificationConfig", {"taskId": job_id, "id": config_id})
        if self.form == RPC_03:
            params = {"id": job_id, "pushNotificationConfigId": config_id}
            return await self._rpc("tasks/pushNotificationConfig/delete", params)
        path = f"{self._path(job_id)}/{config_id}"
        return await self.desk.a2a.fetch(self.form, path, "DELETE", self.desk.headers)

    async def _rpc(self, method: str, params: Any) -> Heard:
        return await self.desk.a2a.ask(self.form, method, params, self.desk.headers)

    def _path(self, job_id: str) -> str:
        return f"/a2a{'/v1' if self.form == HTTP_03 else ''}/tasks/{job_id}/pushNotificationConfigs"


def config_in(form: str, heard: Heard) -> dict[str, Any]:
    """Return a config from an answer, in the terms of protocol 1.0."""
    assert heard.status == 200, heard.raw
    found = heard.body["result"] if form in RPC_FORMS else heard.body
    if form not in OLD_FORMS:
        return {name: value for name, value in found.items() if name != "taskId"}
    config = dict(found["pushNotificationConfig"])
    config["authentication"] = {"scheme": config["authentication"]["schemes"][0]}
    return config


def configs_in(form: str, heard: Heard) -> list[Any]:
    """Return the URLs of a list of configs."""
    found = heard.body["result"] if form in RPC_FORMS else heard.body
    listed = found if isinstance(found, list) else found.get("configs", [])
    return [one.get("pushNotificationConfig", one)["url"] for one in listed]


@asynccontextmanager
async def pushing(trade: Trade) -> AsyncIterator[Sender]:
    """Return the sender of this market, which may call loopback here."""
    web, market = GuardedWeb(allow_private=True), trade.market.market
    market.world = replace(market.world, web=web)
    market.config = replace(market.config, allow_private_networks=True)
    yield Sender(market)
    await web.close()


def state_in(posted: Posted) -> str:
    """Return the state in a notification, as protocol 1.0 names it."""
    task = posted.body.get("task", posted.body)
    state: str = task["status"]["state"]
    return state.removeprefix("TASK_STATE_").upper().replace("-", "_")


async def shown(desk: Desk, form: str, job_id: str, agent: Agent) -> Any:
    """Return the task from GetTask, with the mark that notifications have."""
    found = (await desk.task(form, job_id)).body["result"]
    found["metadata"]["service"]["agentId"] = agent.id
    return {"task": found} if form == RPC_1 else found
