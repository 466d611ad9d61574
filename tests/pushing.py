"""Push notifications for tests: configs set, read and ended in each form of A2A, and receivers on this machine."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from server.sender import Sender
from server.world.web import GuardedWeb
from tests.market import Agent
from tests.receiver import Posted, Receiver
from tests.surfaces.a2a_app import HTTP_03, RPC_03, RPC_1, RPC_FORMS, Heard
from tests.tasking import Desk
from tests.trading import Trade

TOKEN, SECRET = "the-token-of-mine", "bearer-of-mine"
ENTRY = {"scheme": "Bearer", "credentials": SECRET}
OLD_ENTRY = {"schemes": ["Bearer"], "credentials": SECRET}
OLD_FORMS = (RPC_03, HTTP_03)


@dataclass
class Pushes:
    """A client's configs, asked for in one form."""

    desk: Desk
    form: str

    async def set(self, job_id: str, receiver: Receiver | str, **more: Any) -> Heard:
        """With a token and credentials, unless it is said otherwise."""
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
    """A config as it was answered, in 1.0's words."""
    assert heard.status == 200, heard.raw
    found = heard.body["result"] if form in RPC_FORMS else heard.body
    if form not in OLD_FORMS:
        return {name: value for name, value in found.items() if name != "taskId"}
    config = dict(found["pushNotificationConfig"])
    config["authentication"] = {"scheme": config["authentication"]["schemes"][0]}
    return config


def configs_in(form: str, heard: Heard) -> list[Any]:
    """The urls of a list of configs."""
    found = heard.body["result"] if form in RPC_FORMS else heard.body
    listed = found if isinstance(found, list) else found.get("configs", [])
    return [one.get("pushNotificationConfig", one)["url"] for one in listed]


@asynccontextmanager
async def pushing(trade: Trade) -> AsyncIterator[Sender]:
    """Who sends for this market, which here may call loopback."""
    web, market = GuardedWeb(allow_private=True), trade.market.market
    market.world = replace(market.world, web=web)
    market.house = replace(market.house, allow_private_networks=True)
    yield Sender(market)
    await web.close()


def state_in(posted: Posted) -> str:
    """The state a notification tells, as 1.0 names it."""
    task = posted.body.get("task", posted.body)
    state: str = task["status"]["state"]
    return state.removeprefix("TASK_STATE_").upper().replace("-", "_")


async def shown(desk: Desk, form: str, job_id: str, agent: Agent) -> Any:
    """The task as GetTask answers it, marked as a notification of it is."""
    found = (await desk.task(form, job_id)).body["result"]
    found["metadata"]["service"]["agentId"] = agent.id
    return {"task": found} if form == RPC_1 else found
